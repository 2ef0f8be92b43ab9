"""Sets become the sets between the ends where no slope is known, with every rounding outward."""

import numpy as np

from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.monotone import increasing
from verify.arithmetic.rounding import Floats


def stepwise(x: Floats) -> tuple[Floats, Floats]:
    """An increasing function with values from 0 to 1, known up to an eighth."""
    return np.clip(np.floor(x) / 8.0, 0.25, 0.75), np.full(x.shape, 0.125)


def test_a_known_change_is_added_to_the_error() -> None:
    x = Enclosure([1.0, 2.0], 0.25)
    y = increasing(x, np.array([0.5, 0.5]), np.array([0.125, 0.0]), np.array([0.25, 0.0]), stepwise, 0.0)
    assert np.all(y.lower() <= [0.125, 0.5])
    assert np.all(y.upper() >= [0.875, 0.5])
    assert np.allclose(y.radius, [0.375, 0.0], atol=1e-300)


def test_without_a_known_change_the_ends_and_their_errors_count() -> None:
    x = Enclosure([4.0, 4.0], [1.0, 1e300])
    unknown = np.full(2, np.inf)
    y = increasing(x, np.array([0.5, 0.5]), np.zeros(2), unknown, stepwise, 0.0)
    assert np.all(y.lower() <= [0.25, 0.125])
    assert np.all(y.upper() >= [0.75, 0.875])
    assert np.allclose(y.lower(), [0.125, 0.125], atol=1e-15)
    assert np.allclose(y.upper(), [0.75, 0.875], atol=1e-15)


def test_no_value_leaves_the_range_of_the_function() -> None:
    def loose(x: Floats) -> tuple[Floats, Floats]:
        return np.sign(x) * 1.0, np.full(x.shape, 5.0)

    y = increasing(Enclosure([0.0], [9.0]), np.zeros(1), np.zeros(1), np.array([np.inf]), loose, -1.0)
    assert (y.midpoint.tolist(), y.radius.round(12).tolist()) == ([0.0], [1.0])


def test_a_set_without_information_stays_one() -> None:
    x = Enclosure([1.0, 1.0], [np.inf, 0.0])
    y = increasing(x, np.array([0.5, 0.5]), np.zeros(2), np.array([np.inf, 0.0]), stepwise, 0.0)
    assert np.isinf(y.radius).tolist() == [True, False]
