"""Random distributions are distributions, and the weights hold them exactly, or as well as the encoder."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, InputError
from constructions.heads_of_theorem_1.random.distributions import (
    distributions_with_a_mode,
    full_rank_distributions_memory,
    low_rank_distributions_memory,
    random_distributions,
    random_distributions_memory,
)
from constructions.model.attention import logits, softmax
from constructions.model.construction import Construction
from constructions.tasks.task import Task


def divergences(made: Construction[Task]) -> np.ndarray:
    assert made.task.distributions is not None
    predicted = softmax(logits(made.model, made.task.contexts))
    return (made.task.distributions * np.log(made.task.distributions / predicted)).sum(axis=1)


@given(st.integers(1, 8), st.integers(1, 20), st.integers(0, 100))
def test_the_distributions_have_full_support_and_a_mode(tokens, rows, seed):
    distributions = distributions_with_a_mode(rows, tokens, seed=seed)
    assert (
        distributions.shape == (rows, tokens)
        and distributions.min() > 0
        and np.allclose(distributions.sum(axis=1), 1.0)
    )
    assert (distributions.max(axis=1) > 0.6).all()


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 99))
def test_distributions_are_positive_and_sum_to_one(tokens: int, n_ctx: int, seed: int) -> None:
    distributions = random_distributions(tokens, n_ctx, 0, seed).distributions
    assert distributions is not None and distributions.shape == (tokens**n_ctx, tokens)
    assert distributions.min() > 0 and np.allclose(distributions.sum(axis=1), 1.0)


@pytest.mark.parametrize("seed", [0, 4])
def test_the_distributions_are_memorized(seed: int) -> None:
    of_theorem_1 = random_distributions_memory(d_vocab=4, n_ctx=3, d_model=3, d_head=2, facts=20, seed=seed)
    of_proposition_2 = full_rank_distributions_memory(d_vocab=4, n_ctx=2, d_head=2, seed=seed)
    assert of_theorem_1.model.n_heads == 9 and of_proposition_2.model.d_model == 3
    assert max(divergences(of_theorem_1).max(), divergences(of_proposition_2).max()) < 1e-9


def test_what_is_asked_of_a_low_rank_is_what_was_reached() -> None:
    made = low_rank_distributions_memory(d_vocab=4, n_ctx=2, d_model=1, d_head=1, seed=2)
    reached, asked = divergences(made).mean(), made.criterion.bound
    assert asked is not None and 0.01 < reached < asked < 1.001 * reached


def test_one_seed_is_one_memory_and_another_is_another() -> None:
    sizes = {"d_vocab": 3, "n_ctx": 4, "d_model": 3, "d_head": 2, "facts": 20}
    assert random_distributions_memory(**sizes).model.sha256() == random_distributions_memory(**sizes).model.sha256()
    assert (
        random_distributions_memory(**sizes).model.sha256()
        != random_distributions_memory(**sizes, seed=1).model.sha256()
    )


def test_sizes_for_which_there_is_nothing_to_build_are_refused() -> None:
    with pytest.raises(CapacityError, match="rank T"):
        random_distributions_memory(d_vocab=4, n_ctx=2, d_model=4, d_head=4, n_heads=2)
    with pytest.raises(InputError, match="d_head"):
        full_rank_distributions_memory(d_vocab=3, n_ctx=2, d_head=3, seed=0)
    with pytest.raises(InputError, match="facts = 5"):
        random_distributions(2, 2, 5, 0)
