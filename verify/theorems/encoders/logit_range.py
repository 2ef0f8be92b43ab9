"""Enclose how fast logits approach a distribution, how far their range must grow, and the cost of a bounded range, in
balls.

Page: docs/claims/logit_range.md
"""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from flint import arb, ctx, fmpq

from constructions.errors import InputError
from verify.verdict import Verdict

Number: TypeAlias = arb | fmpq | Fraction | int
Rows: TypeAlias = Sequence[Sequence[Number]]
Distributions: TypeAlias = Sequence[Sequence[Fraction]]

BITS = 512


def log_ratios(logits: Sequence[Number], distribution: Sequence[Fraction]) -> list[arb]:
    r"""Return the numbers $\log(\pi_j / \mathrm{softmax}(f)_j)$ for the tokens with $\pi_j > 0$, in nats.

    Args:
        logits: f, `[N]`.
        distribution: $\pi$, `[N]`; divided by its sum.

    Returns:
        A ball for each token of the support.

    Example:
        >>> [float(x) for x in log_ratios([0, 0], [Fraction(1, 2), Fraction(1, 2)])]
        [0.0, 0.0]
    """
    shares = _shares(distribution)
    with ctx.workprec(BITS):
        balls = _balls(logits, len(distribution))
        top = _log_sum_exp(balls)
        return [arb(p).log() + top - f for f, p in zip(balls, shares, strict=True) if p > 0]


def judge_approximation(
    logits: Rows, distributions: Distributions, *, delta: Fraction, constant: Fraction | arb, exponent: int
) -> Verdict:
    r"""Judge (16): $c \delta^\alpha \le |\log(\pi_j / \mathrm{softmax}(f)_j)| \le \delta$ on the support of every
    distribution.

    Args:
        logits: `[T, N]`.
        distributions: `[T, N]`.
        delta: $\delta > 0$.
        constant: $c > 0$.
        exponent: $\alpha \ge 1$.

    Returns:
        PROVED if balls decide that all hold, REFUTED if one is proved not to.

    Raises:
        InputError: A constant, exponent or $\delta$ out of range, or other numbers of contexts.

    Source: Dana, Pydi, Chevaleyre (2024), equation (16).

    Example:
        >>> half = Fraction(1, 2)
        >>> judge_approximation([[0, half]], [[half, half]], delta=half, constant=Fraction(1, 4), exponent=1).value
        'PROVED'
    """
    if not (delta > 0 and constant > 0 and exponent >= 1) or len(logits) != len(distributions) or not distributions:
        raise InputError(
            "delta",
            f"= {delta}, c = {constant}, alpha = {exponent}, {len(logits)} rows of logits for {len(distributions)} "
            "distributions",
            "delta, c > 0, alpha >= 1 and as many rows",
        )
    verdicts = []
    with ctx.workprec(BITS):
        above, below = ball(delta), ball(constant) * ball(delta**exponent)
        for row, distribution in zip(logits, distributions, strict=True):
            for ratio in map(abs, log_ratios(row, distribution)):
                if below <= ratio and ratio <= above:
                    verdicts.append(Verdict.PROVED)
                else:
                    verdicts.append(Verdict.REFUTED if ratio < below or ratio > above else Verdict.UNDECIDED)
    return Verdict.all_of(verdicts)


def logit_range(logits: Rows) -> arb:
    """Return the largest difference of two logits of one row, over all rows, in nats.

    Args:
        logits: `[T, N]`.

    Returns:
        A ball around it.

    Example:
        >>> float(logit_range([[1, 3], [5, 0]]))
        5.0
    """
    largest = arb(0)
    with ctx.workprec(BITS):
        for row in logits:
            balls = _balls(row, len(row))
            top, bottom = balls[0], balls[0]
            for entry in balls[1:]:
                top, bottom = top.max(entry), bottom.min(entry)
            largest = largest.max(top - bottom)
    return largest


def largest_range(least: Number) -> arb:
    r"""Bound the range of logits whose softmax is at least the given probability at every token.

    A difference of logits is one of logarithms of probabilities, of which the larger is at most 1.

    Args:
        least: The probability.

    Returns:
        $-\log$ of it, in a ball.

    Raises:
        InputError: It is not proved to be positive.

    Example:
        >>> largest_range(Fraction(1, 2)) > 0.6931
        True
    """
    with ctx.workprec(BITS):
        if not ball(least) > 0:
            raise InputError("least", f"is {least}", "a positive probability")
        return -ball(least).log()


def scaling_constants(logits: Rows) -> tuple[arb, arb]:
    r"""Return the numbers g and R that make $(1 + \delta / (2R)) f$ an approximating sequence with $\alpha = 1$ and $c
    = g / (4R)$.

    $g = \min_{t,j} |f_{tj} - \mathbb{E}_{q_t} f_t|$ with $q_t = \mathrm{softmax}(f_t)$, and R is the range. If $g > 0$,
    (16) holds for all $\delta \le \min(1, 8g/R)$.

    Args:
        logits: f, `[T, N]`.

    Returns:
        Balls around g and R.

    Source: Dana, Pydi, Chevaleyre (2024), Definition 2.

    Example:
        >>> [float(x) for x in scaling_constants([[0, 0]])]
        [0.0, 0.0]
    """
    least = None
    with ctx.workprec(BITS):
        for row in logits:
            balls = _balls(row, len(row))
            top = _log_sum_exp(balls)
            mean = sum(((f - top).exp() * f for f in balls), arb(0))
            for entry in balls:
                distance = abs(entry - mean)
                least = distance if least is None else least.min(distance)
    if least is None:
        raise InputError("logits", "has no rows", "at least one")
    return least, logit_range(logits)


def mean_divergence(logits: Rows, distributions: Distributions, prior: Sequence[Fraction | int]) -> arb:
    r"""Return the mean of $\mathrm{KL}(\pi_t \| \mathrm{softmax}(f_t))$ over contexts, in nats; distributions may have
    zeros.

    Args:
        logits: f, `[T, N]`.
        distributions: $\pi$, `[T, N]`; each divided by its sum.
        prior: Weight of each context; divided by their sum.

    Returns:
        A ball around it.

    Example:
        >>> mean_divergence([[0, 0]], [[Fraction(1), Fraction(0)]], [1]).overlaps(arb(2).log())
        True
    """
    mean = arb(0)
    with ctx.workprec(BITS):
        for row, distribution, weight in zip(logits, distributions, _shares(prior), strict=True):
            support = [p for p in _shares(distribution) if p > 0]
            mean += weight * sum((p * x for p, x in zip(support, log_ratios(row, distribution), strict=True)), arb(0))
    return mean


def admissible_range_floor(first: Sequence[Fraction], second: Sequence[Fraction], delta: Fraction) -> arb:
    r"""Return the least range that rank-one logits within $\delta$ of two distributions can have:
    $(r - 2 \delta)(s - 2 \delta) / (2 \delta)$.

    The first distribution is $(p, 1-p, 0)$ with $p > 1/2$, the second one $(a, a, b)$ with $a > b > 0$;
    $r = \log(p / (1-p))$ and $s = \log(a / b)$. Only the right half of (16) is used, on the supports.

    Why it is rigorous: the proof on the page, for every encoder of one dimension; balls.

    Args:
        first: $(p, 1-p, 0)$.
        second: $(a, a, b)$.
        delta: $\delta > 0$.

    Returns:
        A ball around the bound, for the logits after the first context; 0 where $2 \delta$ is not below r and s.

    Raises:
        InputError: Distributions of another form.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Lemma 4.

    Example:
        >>> first, second = [Fraction(3), Fraction(1), Fraction(0)], [Fraction(2), Fraction(2), Fraction(1)]
        >>> round(float(admissible_range_floor(first, second, Fraction(1, 100))), 2)
        36.3
    """
    r, s = _odds(first, second)
    with ctx.workprec(BITS):
        room_r, room_s = r - 2 * ball(delta), s - 2 * ball(delta)
        if not (room_r > 0 and room_s > 0 and delta > 0):
            return arb(0)
        return room_r * room_s / (2 * ball(delta))


def divergence_floor_at_range(
    first: Sequence[Fraction], second: Sequence[Fraction], shares: Sequence[Fraction | int], largest: Fraction
) -> arb:
    r"""Return a lower bound of the divergence of every rank-one encoder whose logits have a range of at most R, in
    nats.

    For the distributions of `admissible_range_floor`. With the differences $x = f_{11} - f_{12}$ and
    $y = f_{21} - f_{23}$, rank one gives $|f_{21} - f_{22}| \ge |x y| / R$, so for any $x_0 \le r$ and $y_0 \le s$ the
    divergence is at least the smallest of

    $$ \rho_1 \, \mathrm{kl}(p, x_0), \quad \rho_2 (a + b) \, \mathrm{kl}\bigl(\tfrac{a}{a+b}, y_0\bigr), \quad
       \rho_2 \, 2a \log \cosh \frac{x_0 y_0}{2R} , $$

    where $\mathrm{kl}(p, x)$ is the divergence of $(p, 1-p)$ from the distribution with the log-odds x.

    Why it is rigorous: the proof on the page; $x_0$ and $y_0$ come from a search in floating point and need no proof,
    the three numbers are balls, and their lower ends are compared.

    Args:
        first: $(p, 1-p, 0)$.
        second: $(a, a, b)$.
        shares: Probabilities $\rho_1, \rho_2$ of all contexts with the first distribution, and of all with the second.
        largest: R > 0.

    Returns:
        A ball, all of which is a lower bound.

    Raises:
        InputError: Distributions of another form, or R not positive.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 3.

    Example:
        >>> first, second = [Fraction(3), Fraction(1), Fraction(0)], [Fraction(2), Fraction(2), Fraction(1)]
        >>> round(float(1000**2 * divergence_floor_at_range(first, second, [1, 1], Fraction(1000))), 4)
        0.0288
    """
    if largest <= 0:
        raise InputError("largest", f"= {largest}", "a positive range")
    r, s = _odds(first, second)
    p = _shares(first)[0]
    a, _, b = _shares(second)
    rho = _shares(shares)

    def bounds(x: arb, y: arb) -> tuple[arb, arb, arb]:
        return (
            rho[0] * _binary(p, x),
            rho[1] * (a + b) * _binary(a / (a + b), y),
            rho[1] * 2 * a * (x * y / (2 * ball(largest))).cosh().log(),
        )

    with ctx.workprec(BITS):
        low, high = 0.0, 1.0  # the share of the way from (r, s) to (0, 0)
        for _ in range(50):
            middle = (low + high) / 2
            x, y = (arb(float(end) * (1 - middle)) for end in (r, s))
            near, also_near, far = bounds(x, y)
            low, high = (middle, high) if float(near.min(also_near)) < float(far) else (low, middle)
        x, y = (arb(float(end) * (1 - high)) for end in (r, s))
        if not (x <= r and y <= s and x > 0 and y > 0):
            return arb(0)
        return _least(bounds(x, y)).max(arb(0))


def best_trade_off(
    first: Sequence[Fraction],
    second: Sequence[Fraction],
    shares: Sequence[Fraction | int],
    price: Fraction,
    *,
    steps: int = 200,
) -> arb:
    r"""Return a lower bound of $\min_R \{ K(R) + a R \}$ over all R > 0, K(R) being the least divergence at range R.

    K does not increase with R. So on $[R_i, R_{i+1}]$ the sum is at least $K(R_{i+1}) + a R_i$, below the first $R_0$
    at least $K(R_0)$, and above the last one $a R_n$.

    Args:
        first: As for `divergence_floor_at_range`.
        second: Likewise.
        shares: Likewise.
        price: $a > 0$, nats for each nat of range.
        steps: How many intervals to split the range into.

    Returns:
        A ball, all of which is a lower bound.

    Raises:
        InputError: A price that is not positive.

    Example:
        >>> first, second = [Fraction(3), Fraction(1), Fraction(0)], [Fraction(2), Fraction(2), Fraction(1)]
        >>> bool(best_trade_off(first, second, [1, 1], Fraction(1, 10**6)) > 5e-5)
        True
    """
    if price <= 0:
        raise InputError("price", f"= {price}", "a positive number")
    r, s = _odds(first, second)
    best = (float(r) * float(s) / math.sqrt(20) / float(price) ** 0.5) ** (2 / 3)  # near the minimum
    ends = [Fraction(best * 2.0 ** (8 * i / steps - 4)) for i in range(steps + 1)]
    with ctx.workprec(BITS):
        floors = [divergence_floor_at_range(first, second, shares, end) for end in ends]
        pieces = [floors[0], ball(price * ends[-1])]
        pieces += [floor + ball(price * start) for start, floor in zip(ends, floors[1:], strict=False)]
        return _least(pieces)


def ball(value: Number) -> arb:
    """Return a ball around an exact number, in the working precision; a ball is returned unchanged.

    Example:
        >>> float(ball(Fraction(1, 2)))
        0.5
    """
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return value if isinstance(value, arb) else arb(value)


def _binary(p: fmpq, odds: arb) -> arb:
    """Return the divergence of (p, 1 - p) from the distribution with the log-odds."""
    q = 1 - p
    return arb(p) * arb(p).log() + arb(q) * arb(q).log() - p * odds + odds.exp().log1p()


def _odds(first: Sequence[Fraction], second: Sequence[Fraction]) -> tuple[arb, arb]:
    if not (len(first) == len(second) == 3 and first[0] > first[1] > 0 == first[2]):
        raise InputError("first", f"is {tuple(map(str, first))}", "(p, q, 0) with p > q > 0")
    if not second[0] == second[1] > second[2] > 0:
        raise InputError("second", f"is {tuple(map(str, second))}", "(a, a, b) with a > b > 0")
    with ctx.workprec(BITS):
        return ball(first[0] / first[1]).log(), ball(second[0] / second[2]).log()


def _least(balls: Sequence[arb]) -> arb:
    return functools.reduce(arb.min, (arb(one.lower()) for one in balls))


def _shares(weights: Sequence[Fraction | int]) -> list[fmpq]:
    exact = [fmpq(Fraction(weight).numerator, Fraction(weight).denominator) for weight in weights]
    if not exact or min(exact) < 0 or not any(exact):
        raise InputError("weights", f"are {list(map(str, weights))[:8]}", "numbers >= 0, not all of them 0")
    whole = sum(exact, fmpq(0))
    return [weight / whole for weight in exact]


def _balls(row: Sequence[Number], length: int) -> list[arb]:
    if len(row) != length or not length:
        raise InputError("a row", f"has {len(row)} logits", f"{length}, at least 1")
    return [ball(entry) for entry in row]


def _log_sum_exp(balls: list[arb]) -> arb:
    top = max(balls, key=lambda entry: float(entry.mid()))
    return top + sum(((entry - top).exp() for entry in balls), arb(0)).log()
