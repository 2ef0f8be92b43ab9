"""Decide exactly whether every label on a circle still wins after its vectors have been rounded.

Page: docs/claims/rounded_circle.md
"""

import bisect
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure, sqrt
from verify.arithmetic.exact_inputs import as_float64
from verify.arithmetic.rounding import TINY, UNIT
from verify.forward.in_balls import rounded_outwards
from verify.verdict import Verdict

_BITS = 128
_FILTER = 8.0 * UNIT  # outweighs the five roundings of an inner product of two terms, and those of the bound
# cos(2 pi q) is rational for these denominators of q only (Niven).
_RATIONAL = {1: fmpq(1), 2: fmpq(-1), 3: fmpq(-1, 2), 4: fmpq(0), 6: fmpq(1, 2)}


@dataclass(frozen=True)
class Winners:
    r"""Whether each vector has a larger inner product with itself than with any other one.

    Args:
        verdict: PROVED if all have, REFUTED if one has not. It is decided exactly.
        loser: For REFUTED: tokens (g, j) with $\langle v_g, v_j \rangle \ge \langle v_g, v_g \rangle$.
        distance: Upper bound of the distance of the vectors from the circle, $\max |v_j - u_j|$.
        reach: Pairs whose tokens differ by less, modulo N, were looked at one by one; the others win by the distance.
        pairs: How many were looked at.
    """

    verdict: Verdict
    loser: tuple[int, int] | None
    distance: float
    reach: int
    pairs: int


def winners(vectors: Float64Array) -> Winners:
    r"""Decide whether $\langle v_g, v_g \rangle > \langle v_g, v_j \rangle$ for all $g \ne j$, for the exact numbers.

    Let $\delta = \max_j |v_j - u_j|$ for the circle $u$, and $s = |u_g - u_j| = 2 \sin(\pi k / N)$ for tokens k apart.
    Then $\langle v_g, v_g - v_j \rangle \ge s^2/2 - \delta s - 2 \delta - 2 \delta^2$, which is positive for
    $s > \delta + \sqrt{5 \delta^2 + 4 \delta}$. The other pairs are evaluated. Vectors far from the circle are no
    special case: all pairs are then evaluated.

    Why it is rigorous: $\delta$ comes from balls. A pair counts as won if its float64 value exceeds a bound of its own
    rounding errors; otherwise it is evaluated in rationals.

    Args:
        vectors: $v_j$, exact as they are given, `[N, 2]`.

    Returns:
        The decision.

    Raises:
        InputError: Vectors of another shape, or not finite.

    Example:
        >>> winners(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])).verdict.value
        'PROVED'
        >>> winners(np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]])).loser
        (0, 1)
    """
    blas.require_ieee()
    vectors = _checked(vectors)
    count = len(vectors)
    distance = circle_distance(vectors)
    steps = range(1, count // 2 + 1)
    with ctx.workprec(_BITS):
        least = _separation(arb(distance))
        reach = 1 + bisect.bisect_left(steps, True, key=lambda k: bool(2 * arb.sin_pi_fmpq(fmpq(k, count)) > least))
    for done, step in enumerate(range(1, reach)):
        loser = first_loser(vectors, step)
        if loser is not None:
            return Winners(Verdict.REFUTED, loser, distance, reach, (done + 1) * count)
    return Winners(Verdict.PROVED, None, distance, reach, (reach - 1) * count)


def first_loser(vectors: Float64Array, step: int) -> tuple[int, int] | None:
    """Return the first token that does not win against the one `step` places after or before it, or None.

    Args:
        vectors: `[N, 2]`.
        step: 1 or more.

    Returns:
        The token and the one it loses to, or ties with.

    Example:
        >>> first_loser(np.array([[1.0, 0.0], [1.0, 0.5], [0.0, 1.0]]), 1)
        (0, 1)
    """
    count = len(vectors)
    for towards in (step, -step):
        others = np.roll(vectors, -towards, axis=0)
        products = vectors * (vectors - others)
        value, size = products.sum(axis=1), np.abs(products).sum(axis=1)
        for g in np.flatnonzero(~(value > _FILTER * size + TINY)).tolist():
            if not _wins(vectors[g], others[g]):
                return g, (g + towards) % count
    return None


def circle_distance(vectors: Float64Array) -> float:
    r"""Return an upper bound of $\max_j |v_j - u_j|$ for the circle $u_j = (\cos, \sin)(2 \pi j / N)$, in balls.

    Args:
        vectors: `[N, 2]`.

    Returns:
        The bound.

    Example:
        >>> 0.25 <= circle_distance(np.array([[1.0, 0.0], [-1.25, 0.0]])) < 0.25 + 1e-12
        True
    """
    exact = _enclosed(len(vectors), len(vectors))
    across, up = (Enclosure.exact(vectors[:, axis]) - exact[axis] for axis in (0, 1))
    squares = (across * across + up * up).upper()
    return float(sqrt(squares.max()).upper())


def is_rounded_circle(vectors: Float64Array, bits: int, *, count: int | None = None) -> bool:
    """Tell whether all numbers are those of the circle, rounded to nearest with a significand of `bits` bits.

    Why it is rigorous: a cosine in $[2^{e-1}, 2^e]$ is compared with the number in units of $2^{e-p}$: the number has
    to be an integer and the distance below one half, in balls. Cosines that are rational have to be hit exactly.

    Args:
        vectors: `[points, 2]`, the first ones of the circle.
        bits: p, at most 100.
        count: N, by default as many as there are.

    Returns:
        Whether this is proved.

    Example:
        >>> is_rounded_circle(np.array([[1.0, 0.0], [-0.5, 0.8671875], [-0.5, -0.8671875]]), 8)
        True
        >>> is_rounded_circle(np.array([[1.0, 0.0], [-0.5, 0.86328125], [-0.5, -0.86328125]]), 8)
        False
    """
    total = len(vectors) if count is None else count
    doubtful = np.zeros(len(vectors), dtype=bool)
    for axis, exact in enumerate(_enclosed(total, len(vectors))):
        values = vectors[:, axis]
        fraction, exponent = np.frexp(values)
        mantissa = np.ldexp(fraction, bits)
        # A quarter of a unit where the numbers below are twice as dense. 0 has no unit: only 0 is rounded to it.
        room = np.ldexp(np.where(np.abs(fraction) == 0.5, 0.25, 0.5), exponent - bits)
        near = (Enclosure.exact(values) - exact).magnitude() < room
        surely = (values != 0.0) & (mantissa == np.rint(mantissa)) & near
        doubtful |= ~surely
    return all(_is_rounded_pair(vectors[j], int(j), total, bits) for j in np.flatnonzero(doubtful))


def always_enough(bits: int) -> int:
    r"""Return a number of tokens up to which every circle keeps its winners when rounded to `bits` bits: $\pi 2^{p/2 +
    1/4}$, nearly.

    Rounding moves a coordinate by at most $2^{-p-1}$ and a vector by at most $\delta = 2^{-p-1/2}$, and neighbours win
    if $2 \sin(\pi / N) > \delta + \sqrt{5 \delta^2 + 4 \delta}$, which is the harder the larger N is.

    Args:
        bits: p, 2 to 60.

    Returns:
        The number, for which the inequality was proved in balls.

    Raises:
        InputError: p out of range.

    Example:
        >>> [always_enough(bits) for bits in (8, 11, 24, 53)]
        [58, 167, 15301, 354570218]
    """
    with ctx.workprec(_BITS):
        farthest_move = arb(2) ** (-_significand(bits)) / arb(2).sqrt()
        needed = _separation(farthest_move)
        count = int(math.pi * 2.0 ** (bits / 2 + 0.25)) + 1
        while count > 1 and not 2 * arb.sin_pi_fmpq(fmpq(1, count)) > needed:
            count -= 1
        return count


def never_enough(bits: int) -> int:
    r"""Return a number of tokens from which on no circle keeps its winners when rounded to `bits` bits: $\pi 2^{p/2 +
    1}$, nearly.

    If $1 - \cos(2 \pi / N) = 2 \sin^2(\pi / N) \le 2^{-p-1}$, the first coordinate of $u_1$ is rounded to 1, and token
    0, with the vector (1, 0), ties with token 1.

    Args:
        bits: p, 2 to 60.

    Returns:
        The number, for which the inequality was proved in balls.

    Raises:
        InputError: p out of range.

    Example:
        >>> [never_enough(bits) for bits in (8, 11, 24, 53)]
        [101, 285, 25736, 596313654]
    """
    with ctx.workprec(_BITS):
        largest = arb(2) ** (-_significand(bits) - 1)
        n = int(math.pi * 2.0 ** (bits / 2 + 1)) - 1
        while not 2 * arb.sin_pi_fmpq(fmpq(1, n)) ** 2 <= largest:
            n += 1
        return n


def losing_pair(count: int, vectors: Float64Array, bits: int) -> tuple[int, int] | None:
    """Return a proof in two neighbours that the rounded circle of N does not keep its winners, for the first points of
    it.

    Args:
        count: N.
        vectors: The first vectors of the rounded circle, `[points, 2]`.
        bits: Bits of the significand.

    Returns:
        Neighbours (g, j) of which g does not win, both proved to be rounded correctly; `None` if none is found.

    Example:
        >>> losing_pair(1000, np.array([[1.0, 0.0], [1.0, 0.00628662109375]]), 8)
        (0, 1)
    """
    first, second = vectors[:-1], vectors[1:]
    for forward, (own, other) in ((1, (first, second)), (0, (second, first))):
        products = own * (own - other)
        for g in np.flatnonzero(products.sum(axis=1) <= _FILTER).tolist():
            if not _wins(own[g], other[g]) and _is_rounded_pair(own[g], g + 1 - forward, count, bits):
                if _is_rounded_pair(other[g], g + forward, count, bits):
                    return g + 1 - forward, g + forward
    return None


def _is_rounded_pair(vector: Float64Array, j: int, count: int, bits: int) -> bool:
    turn = fmpq(j, count)
    with ctx.workprec(_BITS):
        return _is_rounded(float(vector[0]), turn, bits) and _is_rounded(float(vector[1]), turn - fmpq(1, 4), bits)


def _enclosed(count: int, points: int) -> tuple[Enclosure, Enclosure]:
    """Enclose cosines and sines of 2 pi j / N for j below `points`, from multiples of one stride and remainders."""
    stride = math.isqrt(max(points - 1, 0)) + 1
    rows = -(-points // stride)
    with ctx.workprec(_BITS):
        large = [arb.sin_cos_pi_fmpq(fmpq(2 * stride * row, count)) for row in range(rows)]
        small = [arb.sin_cos_pi_fmpq(fmpq(2 * rest, count)) for rest in range(stride)]
    sine, cosine = (_column(large, part).reshape(rows, 1) for part in (0, 1))
    sine_rest, cosine_rest = (_column(small, part).reshape(1, stride) for part in (0, 1))
    x, y = cosine * cosine_rest - sine * sine_rest, sine * cosine_rest + cosine * sine_rest
    return x.reshape(rows * stride)[:points], y.reshape(rows * stride)[:points]


def _column(balls: list[tuple[arb, arb]], part: int) -> Enclosure:
    return rounded_outwards(arb_mat(len(balls), 1, [pair[part] for pair in balls]))


def _wins(own: Iterable[float], other: Iterable[float]) -> bool:
    """Tell whether <own, own - other> > 0, in rationals."""
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(own, other, strict=True)]
    return sum(a * (a - b) for a, b in pairs) > 0


def _is_rounded(value: float, turn: fmpq, bits: int) -> bool:
    exact = _cosine(turn)
    if isinstance(exact, fmpq):
        return exact == fmpq(*float(value).as_integer_ratio())
    exponent = math.frexp(float(abs(exact).mid()))[1]
    unit = fmpq(2) ** (bits - exponent)
    scaled = fmpq(*float(value).as_integer_ratio()) * unit
    within = abs(arb(scaled) - exact * unit) < 0.5
    in_binade = bool(abs(exact) * fmpq(2) ** (1 - exponent) >= 1) and bool(abs(exact) * fmpq(2) ** (-exponent) <= 1)
    return scaled.q == 1 and within and in_binade


def _cosine(turn: fmpq) -> fmpq | arb:
    """Return cos(2 pi turn), exactly where it is rational."""
    rational = _RATIONAL.get(int(turn.q))
    return arb.cos_pi_fmpq(2 * turn) if rational is None else rational


def _separation(distance: arb) -> arb:
    """Return how far apart vectors of the circle must be if each is moved by at most the distance."""
    return distance + (5 * distance * distance + 4 * distance).sqrt()


def _significand(bits: int) -> int:
    if not 2 <= bits <= 60:
        raise InputError("bits", f"= {bits}", "2 .. 60")
    return bits


def _checked(vectors: Float64Array) -> Float64Array:
    array = as_float64(vectors, "vectors")
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or not np.isfinite(array).all():
        raise InputError("vectors", f"has shape {array.shape}", "finite numbers [N, 2] with N >= 1")
    return array
