"""Heads of rank one hold contexts in general position: proved on the weights as they are rounded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.memories.rank_one_heads import rank_one_heads_memory
from constructions.model.precision import Precision
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from tests.bigrams import KINDS, bigram_task
from verify.divergence.kullback_leibler import argmax_margin
from verify.forward.logits import enclose_logits

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")


def margins(task: Task, **options: object) -> np.ndarray:
    model = rank_one_heads_memory(task, **options).model  # pyright: ignore[reportArgumentType]
    return argmax_margin(enclose_logits(model, task.contexts), task.modes())


@given(st.integers(1, 9), st.sampled_from(KINDS), st.sampled_from(PRECISIONS), st.integers(3, 6), st.integers(0, 2**32))
def test_any_labels_of_bigrams_are_memorized(tokens: int, kind: str, dtype: Precision, width: int, seed: int) -> None:
    task = bigram_task(tokens, kind, seed % 2**31)
    assert margins(task, d_model=width, dtype=dtype, seed=seed % 2**31).min() > 0


@given(st.integers(2, 5), st.integers(5, 12), st.integers(0, 2**32))
def test_random_contexts_of_any_length_are_memorized(n_ctx: int, tokens: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, tokens, (40, n_ctx)), axis=0)
    labels = rng.integers(0, tokens, len(contexts))
    task = array_task(contexts, next_tokens=labels, vocabulary=tokens + 1, target="labels")
    assert margins(task, dtype="float32").min() > 0


@pytest.mark.parametrize(("tokens", "n_ctx", "width"), [(10, 2, 3), (10, 2, 4), (4, 3, 3), (5, 3, 4), (8, 2, 6)])
def test_the_fewest_heads_of_the_rank_are_enough_for_all_contexts(tokens: int, n_ctx: int, width: int) -> None:
    task = enumerated_task(tokens, n_ctx, seed=3)
    n_heads = max(1, -(-(tokens**n_ctx) // width) - 1)
    model = rank_one_heads_memory(task, d_model=width).model
    assert (model.n_heads, model.d_qk, model.d_head) == (n_heads, 1, 1)
    assert model.parameters == width * (n_ctx + 2 * tokens) + 4 * width * n_heads
    assert (margins(task, d_model=width) > 0.45).all()


def test_one_head_fewer_than_the_rank_asks_for_is_refused() -> None:
    task = enumerated_task(6, 2, seed=0)
    assert rank_one_heads_memory(task, d_model=4, n_heads=8).model.n_heads == 8
    with pytest.raises(
        CapacityError, match="needs features of rank T = 36, but no draw has them; 7 heads of rank one, d = 4"
    ):
        rank_one_heads_memory(task, d_model=4, n_heads=7)


def test_contexts_whose_features_are_dependent_are_refused() -> None:
    contexts = np.array([[a, b, 2] for a in range(2) for b in range(2)])
    task = array_task(contexts, next_tokens=np.array([0, 1, 1, 0]), vocabulary=3, target="labels")
    with pytest.raises(CapacityError, match="features of rank T = 4"):
        rank_one_heads_memory(task, n_heads=1, d_model=3)
    assert margins(task, n_heads=3, d_model=3).min() > 0


def test_labels_that_the_heads_alone_write_are_memorized() -> None:
    for label in (0, 2, 4):  # one label: f is 0 but for the constant coordinate
        task = enumerated_task(5, 2, labels=np.full(25, label))
        assert margins(task, dtype="float32").min() > 0.4


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="d_model = 1, expected at least 2"):
        rank_one_heads_memory(enumerated_task(2, 2), d_model=1)
    with pytest.raises(HypothesisError, match="needs labels, but the target is 'distributions'"):
        rank_one_heads_memory(enumerated_task(2, 2, target="distributions"))
    with pytest.raises(HypothesisError, match="contexts of two tokens or more, but they have 1"):
        rank_one_heads_memory(enumerated_task(2, 1))
    with pytest.raises(InputError, match="dtype = 'half'"):
        rank_one_heads_memory(enumerated_task(2, 2), dtype="half")  # pyright: ignore[reportArgumentType]
