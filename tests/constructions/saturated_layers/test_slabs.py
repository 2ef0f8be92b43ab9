"""Networks of slabs have any labels as outputs, in rationals, with as few neurons as is said."""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.model.blocks import FeedForward
from constructions.saturated_layers.relu_barrier import fewest_examples, moment_curve
from constructions.saturated_layers.slabs import slab_network


def outputs(network: FeedForward, points: np.ndarray) -> list[fmpq]:
    """Neuron by neuron, by nothing that the packages compute."""
    assert network.b_in is not None and network.b_out is not None and not network.skip
    found = []
    for point in points.tolist():
        total = network.b_out[0]
        for column, shift, weight in zip(network.W_in.T, network.b_in, network.W_out[:, 0], strict=True):
            total += weight * max(fmpq(0), shift + sum(a * int(x) for a, x in zip(column, point, strict=True)))
        found.append(total)
    return found


@given(st.integers(1, 5), st.integers(1, 25), st.sampled_from([1, 3, 1000]), st.integers(0, 2**31))
def test_any_labels_of_any_points_are_outputs(width: int, count: int, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = np.unique(rng.integers(-size, size + 1, (count, width)), axis=0)
    labels = rng.integers(-50, 50, len(points))
    network = slab_network(points, labels, seed=seed)
    assert outputs(network, points) == labels.tolist()
    assert network.d_mlp <= max(1, len(points) - 1)  # no more than knots, groups have two points or more


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("neurons", [1, 2, 3, 4, 7])
def test_points_in_general_position_take_two_neurons_for_each_d_plus_one(width: int, neurons: int) -> None:
    count = (neurons + 1) // 2 * (width + 1) + (neurons % 2 == 0)
    points = moment_curve(count, width)
    labels = np.random.default_rng(1).integers(0, 100, count)
    network = slab_network(points, labels)
    assert network.d_mlp == neurons
    assert outputs(network, points) == labels.tolist()
    # Between this and what almost no labels survive there is a factor of two.
    beyond = fewest_examples(d_model=width, neurons=neurons)
    assert count < beyond <= 2 * count + 1


@pytest.mark.parametrize(
    ("points", "neurons"),
    [
        ([[7]], 1),
        ([[0, 0, 0]], 1),
        ([[0], [1], [2], [3]], 3),
        ([[0, 0], [1, 1], [2, 2], [3, 3]], 3),
        ([[0, 0], [0, 1], [1, 0], [1, 1]], 2),
        ([[0, 1], [0, 0]], 1),
    ],
    ids=["one point of one coordinate", "one point", "a line", "a line in the plane", "a square", "two points"],
)
def test_degenerate_points_are_memorized(points: list[list[int]], neurons: int) -> None:
    array = np.array(points)
    for labels in (np.arange(len(array)) % 2, np.full(len(array), 3), np.zeros(len(array), dtype=np.int64)):
        network = slab_network(array, labels)
        assert network.d_mlp == neurons and outputs(network, array) == labels.tolist()


def test_tokens_side_by_side_are_memorized_though_they_are_in_no_general_position() -> None:
    # x(a, b) + x(c, d) = x(a, d) + x(c, b) for additive codes.
    rng = np.random.default_rng(4)
    first, second = rng.integers(-99, 99, (2, 6, 4))
    points = (first[:, None] + second[None]).reshape(36, 4)
    labels = rng.integers(0, 6, 36)
    network = slab_network(points, labels)
    assert outputs(network, points) == labels.tolist()
    assert 15 <= network.d_mlp <= 24  # at least 2 ceil(36 / 5) - 1


def test_a_network_with_a_neuron_less_misses_a_label() -> None:
    points, labels = moment_curve(9, 2), np.array([3, 1, 4, 1, 5, 9, 2, 6, 5])
    network = slab_network(points, labels)
    for left_out in range(network.d_mlp):
        kept = [j for j in range(network.d_mlp) if j != left_out]
        assert network.b_in is not None
        fewer = FeedForward(
            W_in=network.W_in[:, kept],
            b_in=network.b_in[kept],
            W_out=network.W_out[kept],
            b_out=network.b_out,
            skip=False,
        )
        assert outputs(fewer, points) != labels.tolist()


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(HypothesisError, match="needs distinct points, but some occur more than once"):
        slab_network(np.array([[1, 2], [1, 2]]), np.array([0, 0]))
    with pytest.raises(InputError, match="labels are 2 of 3 points"):
        slab_network(np.array([[1], [2], [3]]), np.array([0, 0]))
    with pytest.raises(InputError, match="points is float64 of shape"):
        slab_network(np.array([[0.5]]), np.array([0]))
    with pytest.raises(InputError, match="expected sizes below"):
        slab_network(np.array([[2**31]]), np.array([0]))
