"""Random distributions are distributions, and the weights hold them exactly, or as well as the encoder."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, InputError
from constructions.heads_of_theorem_1.random.laws import (
    full_rank_laws_memory,
    laws_with_a_mode,
    low_rank_laws_memory,
    random_laws,
    random_laws_memory,
)
from constructions.model.attention import logits, softmax
from constructions.model.construction import Construction
from constructions.tasks.task import Task


def divergences(made: Construction[Task]) -> np.ndarray:
    assert made.task.laws is not None
    predicted = softmax(logits(made.model, made.task.contexts))
    return (made.task.laws * np.log(made.task.laws / predicted)).sum(axis=1)


@given(st.integers(1, 8), st.integers(1, 20), st.integers(0, 100))
def test_the_laws_have_full_support_and_a_mode(tokens, rows, seed):
    laws = laws_with_a_mode(rows, tokens, seed=seed)
    assert laws.shape == (rows, tokens) and laws.min() > 0 and np.allclose(laws.sum(axis=1), 1.0)
    assert (laws.max(axis=1) > 0.6).all()


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 99))
def test_laws_are_positive_and_sum_to_one(tokens: int, n_ctx: int, seed: int) -> None:
    laws = random_laws(tokens, n_ctx, 0, seed).laws
    assert laws is not None and laws.shape == (tokens**n_ctx, tokens)
    assert laws.min() > 0 and np.allclose(laws.sum(axis=1), 1.0)


@pytest.mark.parametrize("seed", [0, 4])
def test_the_laws_are_held(seed: int) -> None:
    of_theorem_1 = random_laws_memory(d_vocab=4, n_ctx=3, d_model=3, d_head=2, facts=20, seed=seed)
    of_proposition_2 = full_rank_laws_memory(d_vocab=4, n_ctx=2, d_head=2, seed=seed)
    assert of_theorem_1.model.n_heads == 9 and of_proposition_2.model.d_model == 3
    assert max(divergences(of_theorem_1).max(), divergences(of_proposition_2).max()) < 1e-9


def test_what_is_asked_of_a_low_rank_is_what_was_reached() -> None:
    made = low_rank_laws_memory(d_vocab=4, n_ctx=2, d_model=1, d_head=1, seed=2)
    reached, asked = divergences(made).mean(), made.criterion.bound
    assert asked is not None and 0.01 < reached < asked < 1.001 * reached


def test_one_seed_is_one_memory_and_another_is_another() -> None:
    sizes = {"d_vocab": 3, "n_ctx": 4, "d_model": 3, "d_head": 2, "facts": 20}
    assert random_laws_memory(**sizes).model.sha256() == random_laws_memory(**sizes).model.sha256()
    assert random_laws_memory(**sizes).model.sha256() != random_laws_memory(**sizes, seed=1).model.sha256()


def test_sizes_for_which_there_is_nothing_to_build_are_refused() -> None:
    with pytest.raises(CapacityError, match="rank T"):
        random_laws_memory(d_vocab=4, n_ctx=2, d_model=4, d_head=4, n_heads=2)
    with pytest.raises(InputError, match="d_head"):
        full_rank_laws_memory(d_vocab=3, n_ctx=2, d_head=3, seed=0)
    with pytest.raises(InputError, match="facts = 5"):
        random_laws(2, 2, 5, 0)
