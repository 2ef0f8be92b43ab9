"""ReLU networks of two layers through given points, in rationals."""

import numpy as np
import pytest

from constructions.errors import HypothesisError, InputError
from constructions.rational.interpolating_network import interpolating_network
from verify.forward.in_rationals import exact_network_logits


def test_equal_points_and_outputs_that_do_not_fit_are_refused():
    with pytest.raises(HypothesisError, match="distinct points, but two that are equal"):
        interpolating_network(np.array([[1, 2], [1, 2]]), [[1], [2]], offset=True)
    with pytest.raises(InputError, match=r"3 outputs, expected \[n, d\]"):
        interpolating_network(np.array([[1, 2], [2, 2]]), [[1], [2], [3]], offset=True)


@pytest.mark.parametrize("offset", [False, True])
def test_equal_values_and_a_single_point_are_met(offset):
    for count in (1, 4):
        points = np.arange(count)[:, None]
        model = interpolating_network(points, [[7]] * count, offset=offset)
        assert exact_network_logits(model, points).entries() == [7] * count
