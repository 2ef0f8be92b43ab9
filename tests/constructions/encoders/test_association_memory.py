"""Targets for labels: a margin that leaves the other tokens no more than e^-34."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.association_memory import in_general_position, targets
from constructions.errors import HypothesisError, InputError
from constructions.tasks.task import Counts, make_task


def task_with(labels, size, target="labels"):
    contexts = np.stack([np.arange(len(labels)) // size, np.arange(len(labels)) % size], axis=1)
    counts = Counts.from_rows([{label: 1} for label in labels])
    return make_task(contexts, counts, vocabulary=tuple(f"t{i}" for i in range(size)), target=target)


@given(st.lists(st.integers(0, 8), min_size=1, max_size=20), st.integers(1, 8))
def test_the_label_has_all_but_e_to_the_minus_34(labels, d_model):
    task = task_with(labels if d_model > 1 else [label % 2 for label in labels], 9)
    W_U, stream = targets(task, d_model)
    assert not W_U[stream.shape[1] :].any()
    logits = stream @ W_U[: stream.shape[1]]
    with mpmath.workprec(200):
        for row, label in zip(logits, task.labels, strict=True):
            others = mpmath.fsum(mpmath.exp(mpmath.mpf(x) - mpmath.mpf(row[label])) for x in np.delete(row, label))
            assert mpmath.log1p(others) < mpmath.exp(-34)
            assert np.delete(row, label).max() + np.log(9) + 34 <= row[label]


def test_the_margin_is_not_larger_than_it_needs_to_be():
    task = task_with(list(range(9)), 9)
    for d_model in (2, 3, 5, 9):
        W_U, stream = targets(task, d_model)
        logits = stream @ W_U[: stream.shape[1]]
        own = logits[np.arange(9), task.labels].copy()
        logits[np.arange(9), task.labels] = -np.inf
        assert (own - logits.max(axis=1)).min() == pytest.approx(np.log(9) + 34, rel=1e-5)


@given(st.lists(st.integers(0, 8), min_size=2, max_size=9), st.integers(2, 8), st.integers(0, 2**32))
def test_targets_in_general_position_keep_the_lead(labels, d_model, seed):
    task = task_with(labels, 9)
    W_U, stream = targets(task, d_model)
    moved = in_general_position(W_U, stream, seed=seed)
    assert np.linalg.matrix_rank(moved) == min(moved.shape)
    logits = moved @ W_U[: moved.shape[1]]
    for row, label in zip(logits, task.labels, strict=True):
        assert np.delete(row, label).max() + np.log(9) + 34 <= row[label]


def test_three_labels_on_a_line_are_refused():
    with pytest.raises(HypothesisError, match="Proposition 3"):
        targets(task_with([0, 1, 2], 3), 1)


def test_distributions_are_not_labels():
    with pytest.raises(InputError, match="target is 'distributions'"):
        targets(task_with([0, 1], 3, target="distributions"), 3)
