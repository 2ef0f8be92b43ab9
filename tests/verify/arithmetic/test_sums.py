"""Enclosures of sums hold the exact sum, compared in rationals."""

import math

import numpy as np
import pytest
from flint import fmpq

from constructions.errors import InputError
from tests.exact_values import LARGEST, anywhere, full_radius, outside, rational, rationals, swallowing
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import TINY, UNIT
from verify.arithmetic.sums import lower_sum, total, upper_sum


@pytest.mark.parametrize("length", [1, 2, 5, 63, 64, 65, 127, 128, 129, 1000, 4095, 4096, 4097, 4161])
def test_sums_hold_the_exact_sum_at_every_length(length: int) -> None:
    rng = np.random.default_rng(length)
    cancelling = rng.normal(size=length)
    cancelling[: length // 2] = -cancelling[length // 2 : 2 * (length // 2)]
    for terms in (
        rng.normal(size=length),
        swallowing(length),
        -swallowing(length),
        anywhere(rng, length, -1074, 900),
        cancelling,
    ):
        exact = sum(rationals(terms), fmpq(0))
        assert not outside(total(terms, 0), [exact])
        assert rational(upper_sum(terms)) >= exact >= rational(lower_sum(terms))
        depth = 63 * max(1, math.ceil(math.log(length, 64) - 1e-9))
        assert total(terms).radius <= 1.001 * depth * UNIT * np.abs(terms).sum() + 2 * TINY


def test_the_depth_of_the_tree_of_additions_is_counted_in_full() -> None:
    terms = np.zeros((64, 64))
    # Block 0 loses 63 terms one by one, and the sum of the blocks loses 63 more.
    terms[0] = terms[:, 0] = UNIT * (1 - 2.0**-20)
    terms[0, 0] = 1.0
    # Along the first axis NumPy adds row after row.
    columns = np.tile(terms.reshape(-1, 1), (1, 8))
    exact = sum(rationals(terms), fmpq(0))
    result = total(columns, 0)
    assert exact - rational(result.midpoint[0]) > rational(125 * UNIT)
    assert not outside(result, [exact] * 8)


@pytest.mark.parametrize("shape", [(), (1,), (640,), (3, 1), (1, 640), (3, 640)])
def test_radii_are_summed_upward_whatever_their_shape(shape: tuple[int, ...]) -> None:
    radius = np.broadcast_to(swallowing(shape[-1]), shape) if shape else np.array(1 / 3)
    x = Enclosure(np.zeros((3, 640)), radius)
    for axis in (0, 1, None):
        result = total(x, axis)
        rows = full_radius(x).reshape(1, -1) if axis is None else np.moveaxis(full_radius(x), axis, -1)
        points = [sum(rationals(row), fmpq(0)) for row in rows]
        assert not outside(result, points)
        assert not outside(result, [-point for point in points])
        assert np.all(full_radius(result).ravel() <= 1.0001 * rows.sum(axis=-1) + 2 * TINY)


def test_radii_that_are_added_row_after_row_are_summed_upward() -> None:
    radius = np.tile(swallowing(64)[:, None], (1, 8))
    result = total(Enclosure(np.zeros((64, 8)), radius), 0)
    assert not outside(result, [sum(rationals(radius[:, 0]), fmpq(0))] * 8)


def test_sums_along_any_axis_agree_with_sums_of_rows() -> None:
    rng = np.random.default_rng(11)
    m, r = rng.normal(size=(3, 700, 5)), rng.random((3, 700, 5))
    for axis in (0, 1, 2, -1):
        result = total(Enclosure(m, r), axis)
        assert np.allclose(result.midpoint, m.sum(axis=axis), rtol=0, atol=1e-12)
        assert np.allclose(result.radius, r.sum(axis=axis), rtol=1e-12)
    assert total(np.zeros((0, 3)), 0).midpoint.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(InputError, match="axis is 3"):
        total(m, 3)


def test_a_sum_with_an_entry_that_is_not_finite_bounds_nothing() -> None:
    for bad in (np.nan, np.inf, -np.inf):
        assert upper_sum([1.0, bad]) == np.inf
        assert lower_sum([1.0, bad]) == -np.inf
    assert total(Enclosure(np.ones(90), np.where(np.arange(90) == 7, np.inf, 0.0))).radius == np.inf
    assert upper_sum([LARGEST, LARGEST]) == np.inf
