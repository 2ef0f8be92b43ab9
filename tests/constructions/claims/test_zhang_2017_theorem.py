"""Networks through points have exactly the wanted values, and points that are equal are refused."""

import numpy as np
import pytest

from constructions.claims.zhang_2017_theorem import CLAIM, interpolating_network, random_contexts
from constructions.errors import HypothesisError, InputError
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


def test_contexts_that_are_drawn_differ_and_are_no_more_than_there_are():
    found = random_contexts(tokens=3, length=2, facts=9, seed=1)
    assert len(np.unique(found, axis=0)) == 9
    with pytest.raises(InputError, match="facts = 10, of 9 contexts"):
        random_contexts(tokens=3, length=2, facts=10, seed=1)
    with pytest.raises(HypothesisError, match="1 <= T <= N"):
        CLAIM.construct(tokens=3, length=2, facts=10)
