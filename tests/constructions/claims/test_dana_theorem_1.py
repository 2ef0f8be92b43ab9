"""Theorem 1': what is built holds its laws at the paper's count, and exactly in rationals; hypotheses are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions.claims import claim
from constructions.claims.dana_theorem_1 import CLAIM, build, exact_memory
from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.memories.parameters import paper_heads
from constructions.models.attention import logits
from constructions.models.construction import Construction
from constructions.tasks.task import Task
from verify.forward.in_rationals import exact_network_logits


def worst_error(made: Construction[Task]) -> float:
    assert made.task.laws is not None
    return float(np.ptp(logits(made.model, made.task.contexts) - np.log(made.task.laws), axis=1).max())


def test_the_register_finds_the_claim() -> None:
    assert claim("dana.theorem-1") is CLAIM
    assert CLAIM.judgement == "false"


@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(2, 3), st.data())
def test_all_contexts_are_reached_exactly_with_the_paper_s_number_of_heads(
    tokens: int, length: int, data: st.DataObject
) -> None:
    if tokens**length > 16:
        length = 2
    width = data.draw(st.integers(1, tokens))
    head_width = data.draw(st.integers(1, width))
    seed = data.draw(st.integers(0, 99))
    made = exact_memory(tokens=tokens, length=length, width=width, head_width=head_width, seed=seed)
    assert made.model.n_heads == paper_heads(tokens**length, width, head_width)
    assert exact_network_logits(made.model, made.contexts) == made.targets


@settings(max_examples=20)
@given(st.integers(2, 6), st.data())
def test_all_contexts_are_held_by_float64_weights(tokens: int, data: st.DataObject) -> None:
    width = data.draw(st.integers(tokens - 1, tokens))
    head_width = data.draw(st.integers(1, width))
    made = CLAIM.construct(
        tokens=tokens, length=2, width=width, head_width=head_width, seed=data.draw(st.integers(0, 99))
    )
    assert made.model.n_heads == paper_heads(tokens**2, width, head_width)
    assert worst_error(made) < 1e-4


def test_some_contexts_are_held_if_their_rank_allows_it() -> None:
    made = CLAIM.construct(tokens=9, length=12, width=8, head_width=4, facts=100)
    assert made.task.n_contexts == 100
    assert len(np.unique(made.task.contexts, axis=0)) == 100
    assert worst_error(made) < 1e-6


def test_one_seed_is_one_memory_and_another_is_another() -> None:
    sizes = {"tokens": 3, "length": 4, "width": 3, "head_width": 2, "facts": 20}
    assert build(**sizes).model.sha256() == build(**sizes).model.sha256()
    assert build(**sizes).model.sha256() != build(**sizes, seed=1).model.sha256()


def test_too_few_heads_are_refused() -> None:
    with pytest.raises(HypothesisError, match="generic rank T"):
        CLAIM.construct(tokens=4, length=2, width=4, head_width=4, heads=2)
    with pytest.raises(CapacityError, match="rank T"):
        build(tokens=4, length=2, width=4, head_width=4, heads=2)
    with pytest.raises(CapacityError, match="rank T"):
        exact_memory(tokens=2, length=2, width=2, head_width=1, heads=1)


def test_contexts_that_the_paper_counts_wrongly_are_refused() -> None:
    """One token at each position: the heads see nothing, and d does not help where all last tokens are equal."""
    with pytest.raises(HypothesisError, match="generic rank T"):
        CLAIM.construct(tokens=4, length=1, width=3, head_width=1, heads=9)


@pytest.mark.parametrize(
    ("changed", "hypothesis"),
    [({"width": 14, "head_width": 2}, "d >= N - 1"), ({"head_width": 17}, "d_h <= d"), ({"head_width": 0}, "1 <= d_h")],
)
def test_each_hypothesis_is_refused(changed: dict[str, int], hypothesis: str) -> None:
    with pytest.raises(HypothesisError, match=hypothesis):
        CLAIM.construct(**changed)


@pytest.mark.parametrize("changed", [{"facts": -1}, {"facts": 257}, {"tokens": 2, "length": 70, "facts": 3}])
def test_impossible_numbers_of_contexts_are_refused(changed: dict[str, int]) -> None:
    with pytest.raises(InputError, match="facts"):
        CLAIM.construct(**changed)
    with pytest.raises(InputError, match="expected at least 1"):
        exact_memory(tokens=0, length=2, width=1, head_width=1)
    with pytest.raises(InputError, match="head_width = 0"):
        paper_heads(4, 2, 0)


@pytest.mark.parametrize("sizes", [(5, 5, 2), (4, 4, 1), (2, 2, 1)])
def test_one_position_whose_laws_lower_the_rank_is_refused(sizes):
    tokens, width, head_width = sizes
    with pytest.raises(HypothesisError, match="needs S >= 2, or T < d, or T < N"):
        CLAIM.construct(tokens=tokens, length=1, width=width, head_width=head_width)
    made = CLAIM.construct(tokens=tokens, length=1, width=width + 1, head_width=head_width)
    assert made.task.n_contexts == tokens
