r"""The divergence of labels on a circle and on a parabola in balls, and its bounds on both sides.

Page: docs/claims/lookup_in_two_dimensions.md
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx, fmpq

from constructions.errors import InputError, require_at_least
from verify.verdict import Verdict

_BITS = 96
_MOST_BITS = 2**15  # of working precision; beyond it nothing is decided


@dataclass(frozen=True, eq=False)
class Rate:
    """A divergence and its bounds in nats, and whether the bounds were proved.

    Args:
        count: Number of tokens, N.
        divergence: Ball around the divergence from a point mass; the same for every label on a circle, and the largest
            one on a parabola.
        lower: Ball around the lower bound.
        upper: Ball around the upper bound.
        verdict: PROVED if the divergence lies between the bounds, REFUTED if it is proved not to.
    """

    count: int
    divergence: arb
    lower: arb
    upper: arb
    verdict: Verdict


def circle_rate(count: int, strength: float | Fraction) -> Rate:
    r"""Enclose $\mathrm{KL} = \log \sum_k e^{-\lambda (1 - \cos(2 \pi k / N))}$ and judge $\log(1 + 2x) \le \mathrm{KL} \le 2x/(1-x)$.

    Here $x = e^{-\lambda m}$ and $m = 1 - \cos(2 \pi / N)$. For N = 2 both bounds are $\log(1 + x)$, for N = 1 they are 0.

    Why it is rigorous: balls, with as many bits as $\lambda m$ asks for. The lower bound is judged by the terms beside
    $1 + 2x$: the rest of the sum is not negative if its ball is not. For N = 3 there is no rest, and for $N \le 2$ both
    bounds are the sum itself.

    Args:
        count: N, at least 1.
        strength: $\lambda > 0$, taken exactly.

    Returns:
        The enclosures and the verdict.

    Raises:
        InputError: N below 1, or a strength that is not positive.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> circle_rate(200, 57401.5).verdict.value, bool(circle_rate(200, 57401.5).upper < 1e-12)
        ('PROVED', True)
    """  # noqa: E501
    exact = _positive(strength)
    require_at_least(1, count=count)
    decay = 0.0 if count == 1 else float(strength) * 2 * math.sin(math.pi / count) ** 2
    with ctx.workprec(_bits(decay)):
        factor = 2 * arb(exact)
        powers = [(-factor * arb.sin_pi_fmpq(fmpq(k, count)) ** 2).exp() for k in range(1, count // 2 + 1)]
        if count <= 2:
            divergence = sum(powers, arb(0)).log1p()
            return Rate(count, divergence, divergence, divergence, Verdict.PROVED)
        rest = 2 * sum(powers[1:], arb(0))
        if count % 2 == 0:
            rest -= powers[-1]  # the opposite vector is met once
        x = powers[0]
        upper = 2 * x / (1 - x)
        divergence = (2 * x + rest).log1p()
        return Rate(count, divergence, (2 * x).log1p(), upper, _between(rest >= 0, divergence, upper))


def parabola_rate(count: int, strength: float | Fraction) -> Rate:
    r"""Enclose the largest divergence on the parabola and judge $\log(1 + e^{-\lambda}) \le \mathrm{KL} \le 2 e^{-\lambda} / (1 - e^{-3 \lambda})$.

    Token g leads token j by $\lambda (g - j)^2$, so a label in the middle has the most neighbours:
    $\mathrm{KL} = \log \sum_j e^{-\lambda (g - j)^2}$ with $g = \lfloor N / 2 \rfloor$.

    Why it is rigorous: balls; terms of distance 64 and more are bounded by the geometric series.

    Args:
        count: N, at least 2.
        strength: $\lambda > 0$, taken exactly.

    Returns:
        The enclosures and the verdict.

    Raises:
        InputError: N below 2, or a strength that is not positive.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 3, in integers.

    Example:
        >>> parabola_rate(50257, 32).verdict.value
        'PROVED'
    """  # noqa: E501
    exact = _positive(strength)
    require_at_least(2, count=count)
    middle, nearest = count // 2, 64
    with ctx.workprec(_bits(4 * float(strength))):
        factor, x = arb(exact), (-arb(exact)).exp()
        sides = (middle, count - 1 - middle)
        terms = [(-factor * k * k).exp() for side in sides for k in range(1, min(side, nearest) + 1)]
        beyond = (-factor * nearest**2).exp() * x / (1 - x) if max(sides) > nearest else arb(0)
        rest = sum(terms[1:], arb(0))
        far = 2 * beyond * arb(0.5, 0.5)
        divergence = (terms[0] + rest + far).log1p()
        upper = 2 * x / (1 - x**3)
        return Rate(count, divergence, terms[0].log1p(), upper, _between(rest >= 0, divergence, upper))


def _between(above: bool, divergence: arb, upper: arb) -> Verdict:
    if above and divergence < upper:
        return Verdict.PROVED
    return Verdict.REFUTED if divergence > upper else Verdict.UNDECIDED


def _positive(strength: float | Fraction) -> fmpq:
    if not 0 < strength < math.inf:
        raise InputError("strength", f"= {strength}", "a positive number")
    exact = Fraction(strength)
    return fmpq(exact.numerator, exact.denominator)


def _bits(decay: float) -> int:
    """Return enough bits for a relative difference of x = exp(-decay) to separate two balls."""
    return int(min(_BITS + 3 * decay, _MOST_BITS))
