"""Exact values, in rationals and in balls, beside which enclosures are memorized."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq, fmpq_mat

from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import UNIT

LARGEST = float(np.finfo(np.float64).max)


SMALLEST = 2.0**-1074


def rational(x: float) -> fmpq:
    return fmpq(*float(x).as_integer_ratio())


def exactly(x: Any) -> np.ndarray:
    """The entries as fractions."""
    return np.vectorize(Fraction, otypes=[object])(np.asarray(x, dtype=object))


def upper(x: arb) -> Fraction:
    """The upper end of a ball, exactly."""
    mantissa, exponent = x.upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def rationals(x: np.ndarray) -> list[fmpq]:
    return [rational(value) for value in np.asarray(x).ravel()]


def full_radius(x: Enclosure) -> np.ndarray:
    return np.broadcast_to(x.radius, x.shape)


def outside(x: Enclosure, points: list) -> list[tuple[int, float, float]]:
    """The entries that are not in the set: their index, midpoint and radius. Points are rationals or balls."""
    wrong = []
    middles, radii = x.midpoint.ravel(), full_radius(x).ravel()
    assert len(points) == len(middles)
    for index, (m, r, point) in enumerate(zip(middles, radii, points, strict=True)):
        if r == np.inf:
            continue
        middle, radius = (rational(m), rational(r)) if isinstance(point, fmpq) else (arb(float(m)), arb(float(r)))
        if not abs(point - middle) <= radius:
            wrong.append((index, float(m), float(r)))
    return wrong


def anywhere(rng: np.random.Generator, size: int, lowest: int = -1074, highest: int = 1023) -> np.ndarray:
    """Floats of both signs whose exponents are spread evenly; some are subnormal, some have few bits, some are 0."""
    mantissas = rng.uniform(1.0, 2.0, size)
    few = rng.random(size) < 0.3
    mantissas[few] = 1.0 + rng.integers(0, 4, size)[few] / 4.0
    x = np.ldexp(mantissas, rng.integers(lowest, highest, size, endpoint=True)) * rng.choice([-1.0, 1.0], size)
    x[rng.random(size) < 0.02] = 0.0
    return x


def corners(x: Enclosure) -> list[list[fmpq]]:
    middles, radii = rationals(x.midpoint), rationals(full_radius(x))
    return [[m + sign * r for m, r in zip(middles, radii, strict=True)] for sign in (-1, 0, 1)]


def swallowing(n: int) -> np.ndarray:
    """1 and terms that are lost one by one if they are added to it, but not together."""
    terms = np.full(n, UNIT * (1 - 2.0**-20))
    terms[0] = 1.0
    return terms


def exact_product(a: list[fmpq], b: list[fmpq], shape: tuple[int, int, int]) -> list[fmpq]:
    m, n, p = shape
    return list((fmpq_mat(m, n, a) * fmpq_mat(n, p, b)).entries())


def matrices(rng: np.random.Generator, kind: str, m: int, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    if kind == "normal":
        return rng.normal(size=(m, n)), rng.normal(size=(n, p))
    if kind == "wild":
        return anywhere(rng, m * n, -500, 500).reshape(m, n), anywhere(rng, n * p, -500, 500).reshape(n, p)
    if kind == "underflowing":
        return anywhere(rng, m * n, -560, -500).reshape(m, n), anywhere(rng, n * p, -560, -500).reshape(n, p)
    if kind == "subnormal":
        return anywhere(rng, m * n, 900, 1000).reshape(m, n), anywhere(rng, n * p, -1074, -1030).reshape(n, p)
    if kind in ("large left", "large right"):
        large, small = (400, 500), (-640, -560)
        left, right = (large, small) if kind == "large left" else (small, large)
        return anywhere(rng, m * n, *left).reshape(m, n), anywhere(rng, n * p, *right).reshape(n, p)
    if kind == "cancelling":
        a, b = rng.normal(size=(m, n)), rng.normal(size=(n, p))
        a[:, n // 2 : 2 * (n // 2)], b[n // 2 : 2 * (n // 2)] = a[:, : n // 2], -b[: n // 2]
        return a, b
    if kind == "swallowing":
        return np.tile(swallowing(n), (m, 1)), np.ones((n, p))
    raise AssertionError(kind)


KINDS = ["normal", "wild", "underflowing", "subnormal", "large left", "large right", "cancelling", "swallowing"]


def balls(function: Callable[[arb], arb], x: np.ndarray) -> list[arb]:
    return [function(arb(float(value))) for value in x]
