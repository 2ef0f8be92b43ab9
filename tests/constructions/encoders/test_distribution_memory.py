"""Targets for distributions: logits that are their logarithms, or those of the best encoder where these do not fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.distribution_memory import targets
from constructions.encoders.sequence_encoder import best_encoder
from constructions.errors import InputError
from constructions.tasks.task import Counts, make_task


def task_with(rows, size, target="distributions"):
    contexts = np.arange(len(rows))[:, None]
    vocabulary = tuple(f"t{i}" for i in range(max(size, len(rows))))
    return make_task(contexts, Counts.from_rows(rows), vocabulary=vocabulary, target=target)


rows = st.lists(st.dictionaries(st.integers(0, 4), st.integers(1, 10**6), min_size=1), min_size=1, max_size=5)


@given(rows, st.integers(-1, 3))
def test_the_softmax_of_the_targets_is_the_distribution(rows, more):
    task = task_with(rows, 5)
    size = task.d_vocab
    W_U, stream = targets(task, size + more)
    assert W_U.shape == (size + more, size) and stream.shape == (task.n_contexts, min(size, size + more))
    logits = stream @ W_U[: stream.shape[1]]
    assert np.ptp(logits - np.log(task.distributions), axis=1).max() < 1e-14
    distribution = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert np.allclose(distribution, task.distributions, rtol=1e-13)


def test_with_room_for_it_the_shift_of_smallest_norm_is_taken():
    _, stream = targets(task_with([{0: 5}, {1: 3, 2: 1}], 5), 5)
    assert np.abs(stream.sum(axis=1)).max() < 1e-14


def test_one_context_is_exact_in_any_dimension():
    task = task_with([{0: 5}], 5)
    W_U, stream = targets(task, 3)
    assert W_U.shape == (3, 5) and stream.shape == (1, 3)
    assert np.ptp(stream @ W_U - np.log(task.distributions)) < 1e-12


def test_too_few_dimensions_get_the_best_encoder_by_the_prior():
    task = task_with([{0: 5}, {1: 4, 2: 1}, {3: 2}, {4: 1, 0: 1}], 5)
    W_U, stream = targets(task, 2, seed=1)
    found = best_encoder(task.distributions, 2, prior=task.prior, seed=1)
    assert W_U.tobytes() == found.W.T.tobytes() and stream.tobytes() == found.E.tobytes()
    assert found.starts > 1 and found.divergence > 0.01


def test_whoever_interrupts_the_search_gets_no_memory():
    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        targets(task_with([{0: 5}, {1: 4}, {2: 1}, {3: 2}], 4), 1, progress=interrupted)


def test_labels_are_not_distributions():
    with pytest.raises(InputError, match="target is 'labels'"):
        targets(task_with([{0: 5}], 5, target="labels"), 5)
