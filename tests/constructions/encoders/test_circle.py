"""The circle is mirrored bit by bit, is rounded as IEEE 754 rounds, and has a factor for every divergence."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.circle import arc, circle, gap, strength
from constructions.errors import InputError
from constructions.model.precision import SIGNIFICAND, rounded


@given(st.integers(1, 3000))
def test_the_vectors_are_cosines_and_sines_and_mirrored_exactly(count: int) -> None:
    vectors = circle(count)
    angles = 2 * np.pi * np.arange(count) / count
    assert np.abs(vectors - np.stack([np.cos(angles), np.sin(angles)], axis=1)).max() < 4e-15
    mirrored = vectors[-np.arange(count) % count]
    assert (mirrored[:, 0] == vectors[:, 0]).all()
    assert (mirrored[:, 1] == -vectors[:, 1]).all()


@given(st.integers(1, 500), st.data())
def test_an_arc_is_the_beginning_of_the_circle(count: int, data: st.DataObject) -> None:
    points = data.draw(st.integers(1, count))
    assert (arc(count, points) == circle(count)[:points]).all()


@given(st.integers(1, 4000))
def test_rounding_is_that_of_numpy(count: int) -> None:
    vectors = circle(count)
    assert (rounded(vectors, "float32") == vectors.astype(np.float32)).all()
    normal = np.abs(vectors) >= 2.0**-14
    assert (rounded(vectors, "float16")[normal] == vectors.astype(np.float16)[normal]).all()
    assert (rounded(vectors, "float64") == vectors).all()


def test_ties_go_to_the_even_significand() -> None:
    halfway = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, -(1 + 2.0**-8), 0.0])
    assert rounded(halfway, "bfloat16").tolist() == [1.0, 1 + 2.0**-6, -1.0, 0.0]


@given(st.integers(2, 10**6), st.floats(1e-30, 10.0))
def test_the_factor_makes_the_bound_the_divergence_that_was_wanted(count: int, wanted: float) -> None:
    x = math.exp(-strength(count, wanted) * gap(count))
    assert 2 * x / (1 - x) == pytest.approx(wanted, rel=1e-7)


def test_one_token_needs_no_factor() -> None:
    assert strength(1, 1e-12) == 0.0


def test_what_is_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match="count = 0"):
        circle(0)
    with pytest.raises(InputError, match="float8"):
        rounded(np.zeros(1), "float8")
    for count, wanted in ((0, 1.0), (3, 0.0), (3, math.nan)):
        with pytest.raises(InputError, match="positive number"):
            strength(count, wanted)
    assert set(SIGNIFICAND) == {"bfloat16", "float16", "float32", "float64"}
