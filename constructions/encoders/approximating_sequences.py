"""Build sequences of encoders that approximate distributions at a polynomial rate, with logits of any growing range.

Page: docs/claims/logit_range.md
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from constructions.errors import InputError, require_at_least

Distribution = tuple[Fraction, ...]
Rows = list[list[arb]]


@dataclass(frozen=True, eq=False)
class ApproximatingSequence:
    r"""Distributions, and an encoder for each $\delta$ whose distributions are meant to satisfy (16):
    $c \delta^\alpha \le |\log| \le \delta$.

    Args:
        distributions: The limit, one distribution per context.
        encoder: Makes $W$ `[N, d]` and $E$ `[T, d]` for a $\delta$, as balls of the working precision.
        constant: $c$.
        exponent: $\alpha$.

    Source: Dana, Pydi, Chevaleyre (2024), Definition 2.
    """

    distributions: tuple[Distribution, ...]
    encoder: Callable[[Fraction], tuple[Rows, Rows]]
    constant: Fraction
    exponent: int

    def logits(self, delta: Fraction) -> Rows:
        r"""Return the logits $E W^\top$ for one $\delta$, `[T, N]`."""
        if not 0 < delta <= Fraction(3, 10):
            raise InputError("delta", f"= {delta}", "a number in (0, 3/10]")
        weights, embeddings = self.encoder(delta)
        return [[sum((a * b for a, b in zip(e, w, strict=True)), arb(0)) for w in weights] for e in embeddings]


def undecided_token() -> ApproximatingSequence:
    r"""Return a sequence for one context with distribution (1/2, 1/2, 0): logits $(\delta/2, -\delta/2,
    -e^{1/\delta})$.

    Returns:
        The sequence, with $c = 1/4$ and $\alpha = 1$; the range is above $e^{1/\delta}$.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Lemma 4.

    Example:
        >>> [round(float(x), 3) for x in undecided_token().logits(Fraction(1, 4))[0]]
        [0.125, -0.125, -54.598]
    """
    half = Fraction(1, 2)

    def encoder(delta: Fraction) -> tuple[Rows, Rows]:
        small = _ball(delta)
        return [[small / 2], [-small / 2], [-(1 / small).exp()]], [[arb(1)]]

    return ApproximatingSequence(((half, half, Fraction(0)),), encoder, Fraction(1, 4), 1)


def certain_token() -> ApproximatingSequence:
    r"""Return a sequence for one context with distribution (1, 0, 0): logits $(0, -\log(1/\delta), -e^{1/\delta})$.

    Returns:
        The sequence, with $c = 1/4$ and $\alpha = 1$; the range is $e^{1/\delta}$.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Lemma 4.

    Example:
        >>> [round(float(x), 3) for x in certain_token().logits(Fraction(1, 4))[0]]
        [0.0, -1.386, -54.598]
    """

    def encoder(delta: Fraction) -> tuple[Rows, Rows]:
        small = _ball(delta)
        return [[arb(0)], [small.log()], [-(1 / small).exp()]], [[arb(1)]]

    return ApproximatingSequence(((Fraction(1), Fraction(0), Fraction(0)),), encoder, Fraction(1, 4), 1)


FIRST: Distribution = (Fraction(3, 4), Fraction(1, 4), Fraction(0))
"""The distribution after the first context of `bound_to_diverge`."""

SECOND: Distribution = (Fraction(2, 5), Fraction(2, 5), Fraction(1, 5))
"""The distribution after the second one."""


def bound_to_diverge() -> ApproximatingSequence:
    r"""Return two contexts in one dimension: (16) can be met, but only with logits of range $c / \delta$ or more.

    With $r = \log 3$, $s = \log 2$ and $\lambda = 4 r s / \delta$: $W = (0, -r - \delta/2, -\lambda)$, $E = (1, (s +
    \delta/3) / \lambda)$.

    Returns:
        The sequence for `FIRST` and `SECOND`, with $c = 2/25$ and $\alpha = 1$.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Lemma 4.

    Example:
        >>> [[round(float(x), 3) for x in row] for row in bound_to_diverge().logits(Fraction(1, 10))]
        [[0.0, -1.149, -30.46], [0.0, -0.027, -0.726]]
    """

    def encoder(delta: Fraction) -> tuple[Rows, Rows]:
        small, r, s = _ball(delta), arb(3).log(), arb(2).log()
        far = 4 * r * s / small
        return [[arb(0)], [-r - small / 2], [-far]], [[arb(1)], [(s + small / 3) / far]]

    return ApproximatingSequence((FIRST, SECOND), encoder, Fraction(2, 25), 1)


def shortest_range(delta: Fraction) -> tuple[Rows, Rows]:
    r"""Return an encoder of one dimension within $\delta$ of two distributions on their supports, whose range is nearly
    minimal.

    $W = (r, 0, r - r s / (2 \delta))$ and $E = (1, 2 \delta / r)$, where the logits after the second context,
    $(2 \delta, 0, 2 \delta - s)$, give it the log ratios $\delta$ and $-\delta$ at its two equal tokens. With
    r and s moved by multiples of $\delta$ for the normalization, the range is $r s / (2 \delta)$ up to
    a factor $1 + O(\delta)$.

    Args:
        delta: $\delta$, at most 1/16.

    Returns:
        W and E, as balls of the working precision.

    Raises:
        InputError: A delta out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 4.

    Example:
        >>> weights, _ = shortest_range(Fraction(1, 100))
        >>> 30 < float(weights[0][0] - weights[2][0]) < 40
        True
    """
    if not 0 < delta <= Fraction(1, 16):
        raise InputError("delta", f"= {delta}", "a number in (0, 1/16]")
    step = _ball(delta) * (1 - _ball(delta))  # a little less than delta pays for the normalizations
    r, s = arb(3).log() - step, arb(2).log() + step
    far = r * s / (2 * step)
    return [[r], [arb(0)], [r - far]], [[arb(1)], [2 * step / r]]


def least_likely(exponent: int) -> ApproximatingSequence:
    r"""Return a sequence for one context with distribution (1, 0), logits $(0, -\alpha \log(1/\delta))$: all
    probabilities are above $\delta^\alpha / 2$.

    Args:
        exponent: $\alpha$, at least 1.

    Returns:
        The sequence, with $c = 1/2$; the range is $\alpha \log(1/\delta)$.

    Raises:
        InputError: An exponent below 1.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Lemma 4.

    Example:
        >>> [round(float(x), 3) for x in least_likely(2).logits(Fraction(1, 4))[0]]
        [0.0, -2.773]
    """
    require_at_least(1, exponent=exponent)

    def encoder(delta: Fraction) -> tuple[Rows, Rows]:
        return [[arb(0)], [exponent * _ball(delta).log()]], [[arb(1)]]

    return ApproximatingSequence(((Fraction(1), Fraction(0)),), encoder, Fraction(1, 2), exponent)


def within_range(largest: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    r"""Return an encoder for `FIRST` and `SECOND` in one dimension whose logits have a range of at most R, close to the
    best one.

    $W = (0, -r, -R)$ and $E = (1, y / R)$, where $e^{-y} = (1 + e^{-r y / R}) / 4$ gives the third token after the
    second context its probability 1/5. In rational numbers.

    Args:
        largest: R, at least 2.

    Returns:
        W and E.

    Raises:
        InputError: R below 2.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 3.

    Example:
        >>> weights, embeddings = within_range(Fraction(10))
        >>> [round(float(w), 3) for w in weights], [round(float(e), 4) for e in embeddings]
        ([0.0, -1.099, -10.0], [1.0, 0.0733])
    """
    if largest < 2:
        raise InputError("largest", f"= {largest}", "at least 2")
    r, wide = arb(3).log(), _ball(largest)
    y = arb(2).log()
    for _ in range(60):
        y = arb((arb(4) / (1 + (-r * y / wide).exp())).log().mid())
    return [Fraction(0), -_fraction(r), -largest], [Fraction(1), _fraction(y) / largest]


def scaled_encoder(
    weights: list[list[Fraction]], embeddings: list[list[Fraction]], *, largest_range: Fraction, delta: Fraction
) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    r"""Return the encoder $(1 + \delta / (2R)) f$ next to an encoder f whose logits have a range of at most R.

    If no logit of f equals the mean of the logits under its own distribution, these are a sequence as in (16), with
    $\alpha = 1$.

    Args:
        weights: W, `[N, d]`.
        embeddings: E, `[T, d]`.
        largest_range: R > 0.
        delta: $\delta > 0$.

    Returns:
        W and the larger E.

    Raises:
        InputError: R or delta not positive.

    Source: Dana, Pydi, Chevaleyre (2024), Definition 2.

    Example:
        >>> one = [[Fraction(1)], [Fraction(0)]]
        >>> scaled_encoder(one, one, largest_range=Fraction(1), delta=Fraction(1, 2))[1]
        [[Fraction(5, 4)], [Fraction(0, 1)]]
    """
    if not (largest_range > 0 and delta > 0):
        raise InputError("largest_range", f"= {largest_range} and delta = {delta}", "positive numbers")
    factor = 1 + delta / (2 * largest_range)
    return weights, [[factor * entry for entry in row] for row in embeddings]


def _ball(value: Fraction) -> arb:
    return arb(value.numerator) / value.denominator


def _fraction(ball: arb) -> Fraction:
    """Return a rational number near the ball, of some sixty bits."""
    return Fraction(round(float(ball) * 2**60), 2**60)
