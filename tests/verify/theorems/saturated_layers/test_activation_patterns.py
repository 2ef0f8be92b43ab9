"""All activation patterns are found, and no output of a network is ever said to be out of reach."""

from math import comb

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError, ResourceError
from constructions.saturated_layers.relu_barrier import moment_curve
from verify.theorems.saturated_layers.activation_patterns import affine_dichotomies, relu_barrier

SEEDS = st.integers(0, 2**32)


def positions(count: int, width: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 10, (count, width))


@pytest.mark.parametrize(("count", "width"), [(2, 1), (5, 1), (5, 2), (8, 2), (6, 3), (7, 4)])
def test_there_are_as_many_dichotomies_as_cover_counted(count, width):
    found = affine_dichotomies(moment_curve(count, width))
    assert len(found) == 2 * sum(comb(count - 1, k) for k in range(width + 1))
    # On the moment curve: the sets with at most d changes along the curve.
    changes = [sum((t in chosen) != (t + 1 in chosen) for t in range(count - 1)) for chosen in found]
    assert max(changes) <= width


@given(st.integers(1, 3), st.integers(1, 4), SEEDS, SEEDS)
def test_every_affine_function_has_a_pattern_that_was_found(width, more, seed, other):
    points = positions(width + more, width, seed)
    try:
        found = affine_dichotomies(points)
    except HypothesisError:
        assume(False)
        return
    rng = np.random.default_rng(other)
    for _ in range(20):
        values = points @ rng.integers(-9, 10, width) + rng.integers(-20, 21)
        assert frozenset(np.flatnonzero(values > 0).tolist()) in found


@given(st.integers(1, 2), st.integers(0, 2), st.integers(1, 3), SEEDS, SEEDS)
def test_what_a_network_puts_out_is_never_out_of_reach(width, neurons, more, seed, other):
    points, rng = positions(width + more, width, seed), np.random.default_rng(other)
    labels = np.full(len(points), rng.integers(-9, 10))
    for _ in range(neurons):
        active = points @ rng.integers(-3, 4, width) + rng.integers(-9, 10)
        labels += rng.integers(-3, 4) * np.maximum(active, 0)
    try:
        assert not relu_barrier(points, labels, neurons=neurons).outside
    except HypothesisError:
        assume(False)


def test_labels_that_bend_too_often_are_out_of_reach():
    line = np.arange(1, 7)[:, None]
    zigzag = np.array([0, 1, 0, 1, 0, 1])
    assert relu_barrier(line, zigzag, neurons=1).outside
    assert relu_barrier(line, zigzag, neurons=2).outside
    assert not relu_barrier(line, zigzag, neurons=3).outside


def test_no_neuron_has_constant_outputs():
    line = np.arange(1, 4)[:, None]
    assert not relu_barrier(line, np.array([4, 4, 4]), neurons=0).outside
    assert relu_barrier(line, np.array([4, 4, 5]), neurons=0).outside


@pytest.mark.parametrize("points", [[[0, 0], [1, 1], [2, 2], [0, 1]], [[1], [1], [2]]])
def test_points_in_special_position_are_refused(points):
    with pytest.raises(HypothesisError, match="general position"):
        affine_dichotomies(np.array(points))


def test_arguments_that_do_not_fit_are_refused():
    line = np.arange(1, 4)[:, None]
    for points, labels, neurons in [
        (line, np.arange(2), 1),
        (line, np.arange(3), -1),
        (line.astype(float), np.arange(3), 1),
        (np.eye(2, dtype=int), np.arange(2), 1),
    ]:
        with pytest.raises(InputError):
            relu_barrier(points, labels, neurons=neurons)
    with pytest.raises(ResourceError, match="more than 2"):
        relu_barrier(moment_curve(8, 2), np.arange(8), neurons=6)


def test_masked_points_and_labels_are_refused():
    line, labels = np.arange(1, 6)[:, None], np.array([0, 5, 1, 7, 2])
    for arrays in (
        (np.ma.array(line, mask=line == 2), labels),
        (line, np.ma.array(labels, mask=labels == 7)),
    ):
        with pytest.raises(InputError):
            relu_barrier(*arrays, neurons=1)
