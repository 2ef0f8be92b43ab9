"""Four neurons for d points: any labels on the moment curve, and points that are dependent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.claims.bubeck_2020_four import four_neurons_a_group
from constructions.errors import HypothesisError, InputError
from constructions.saturated.relu_barrier import moment_curve
from verify.forward.rationals import exact_network_logits


@given(st.integers(1, 9), st.integers(1, 4), st.data())
def test_any_labels_on_the_moment_curve_are_met(count, width, data):
    labels = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=count, max_size=count)))
    model = four_neurons_a_group(moment_curve(count, width), labels)
    assert exact_network_logits(model, np.arange(count)[:, None]).entries() == labels.tolist()
    assert model.blocks[0].d_mlp == 4 * -(-count // width)


def test_points_in_a_plane_on_a_line_or_twice_are_refused():
    labels = np.array([0, 1, 1, 0])
    with pytest.raises(HypothesisError, match=r"general position, but .* with another point"):
        four_neurons_a_group(np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]]), labels)
    with pytest.raises(HypothesisError, match="affinely independent points"):
        four_neurons_a_group(np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 1, 5]]), labels)
    with pytest.raises(HypothesisError, match="general position"):
        four_neurons_a_group(np.array([[1], [1]]), labels[:2])


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"labels \(3,\)"):
        four_neurons_a_group(np.array([[1], [2]]), np.array([1, 2, 3]))
    with pytest.raises(InputError, match="expected integers"):
        four_neurons_a_group(np.array([[1.5], [2.0]]), np.array([1, 2]))
