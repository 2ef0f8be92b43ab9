"""Tests of verify/folds/means.py: bounds of means over all inputs, against exact means of each."""

from fractions import Fraction

import numpy as np
import pytest

from tests.verify.folds.test_paths import FOLDS, paths_of
from verify.folds import means
from verify.folds.means import largest_mean


@pytest.mark.parametrize("scale", [0.0, 3.0, 40.0])
@pytest.mark.parametrize("fold", FOLDS, ids=lambda fold: fold.origin)
def test_a_bound_is_above_every_exact_mean_and_near_the_largest(fold, scale: float) -> None:
    rng = np.random.default_rng(1)
    for place in range(len(fold.answer)):
        for paths, _, rows, count in paths_of(fold, place):
            value, radius = rng.normal(size=count), np.full(count, 2.0**-30)
            upper = np.exp(-scale * rng.random(count))
            lower = upper * (1.0 - 2.0**-20)
            [bound], _ = largest_mean(paths, paths.whole(), value, radius, lower, upper)
            worst = Fraction(-(2**60))
            for row in rows.tolist():
                for heavy in range(len(row)):  # one numerator at its upper bound, the others at their lower one
                    e = [Fraction(float(upper[r] if i == heavy else lower[r])) for i, r in enumerate(row)]
                    v = [Fraction(float(value[r])) + Fraction(float(radius[r])) for r in row]
                    worst = max(worst, sum(a * b for a, b in zip(e, v, strict=True)) / sum(e))
            assert worst <= Fraction(float(bound)) <= worst + Fraction(1, 2**14)


def test_values_that_nothing_bounds_leave_the_mean_open() -> None:
    for paths, _, _, count in paths_of(FOLDS[1], 1):
        value, one = np.zeros(count), np.ones(count)
        for radius, upper in ((np.full(count, np.inf), one), (value, np.full(count, np.inf))):
            with np.errstate(all="ignore"):
                [bound], _ = largest_mean(paths, paths.whole(), value, radius, np.zeros(count), upper)
            assert bound == np.inf or not np.isfinite(radius).all() or bound >= 0.0
            assert np.isfinite(radius).all() or bound == np.inf


def test_a_level_that_nobody_looked_for_is_raised_until_it_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(means, "_MOST_STEPS", 0)
    rng = np.random.default_rng(2)
    for paths, _, rows, count in paths_of(FOLDS[1], 1):
        value, weight = rng.normal(size=count), rng.random(count) + 0.1
        [bound], _ = largest_mean(paths, paths.whole(), value, np.zeros(count), weight, weight)
        every = (value[rows] * weight[rows]).sum(axis=1) / weight[rows].sum(axis=1)
        assert every.max() - 1e-12 <= bound < np.inf
