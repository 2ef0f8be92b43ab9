"""Bound the errors and the divergence of H heads of any widths on the parity of n bits.

Page: docs/claims/heads_of_any_width.md
"""

from fractions import Fraction
from math import comb

from flint import arb, ctx, fmpq

from constructions.errors import InputError, require_at_least
from verify.linear_algebra.norms import float_above

_BITS = 128


def parity_errors(bits: int, n_heads: int) -> int:
    r"""Return the least number of the contexts $b_1 \dots b_n c$ on which H heads are wrong about the parity of the
    bits.

    $$ E(n, H) = B \bigl( n - 1, \lfloor \tfrac{n - H - 1}2 \rfloor \bigr)
       + B \bigl( n - 1, \lfloor \tfrac{n - H - 2}2 \rfloor \bigr) , \qquad B(m, k) = \sum_{i=0}^k \binom mi , $$

    whatever the widths and the weights; `constructions.memories.heads.counting_heads` has no more.

    Args:
        bits: $n$, at least 1.
        n_heads: $H$, at least 0.

    Returns:
        $E(n, H)$; 0 if $H \ge n$.

    Raises:
        InputError: Numbers below these.

    Example:
        >>> [parity_errors(4, n_heads) for n_heads in range(6)]
        [8, 5, 2, 1, 0, 0]
    """
    require_at_least(1, bits=bits)
    require_at_least(0, n_heads=n_heads)
    return sum(sum(comb(bits - 1, i) for i in range((bits - n_heads - k) // 2 + 1)) for k in (1, 2))


def parity_floor(bits: int, n_heads: int, probability: Fraction) -> float:
    r"""Return a lower bound of the mean divergence of H heads, of any widths, from the distributions of a noisy parity.

    The contexts are the $2^n$ of n bits and one last token, equally likely; after an even number of ones the
    distribution is $(p, 1 - p)$, after an odd one $(1 - p, p)$. The bound is $2^{1 - n} E(n, H) (\log 2 - h(p))$.

    Args:
        bits: $n$, at least 1.
        n_heads: $H$, at least 0.
        probability: $p$, from 0 to 1.

    Returns:
        The bound, nats, rounded down.

    Raises:
        InputError: Numbers out of range.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Theorem 1, for every H.

    Example:
        >>> round(parity_floor(2, 1, Fraction(99, 100)), 6), parity_floor(3, 3, Fraction(99, 100))
        (0.318573, 0.0)
    """
    p = fmpq(probability.numerator, probability.denominator)
    if not 0 <= p <= 1:
        raise InputError("probability", f"= {probability}", "a number from 0 to 1")
    errors = parity_errors(bits, n_heads)
    if errors == 0 or p == fmpq(1, 2):
        return 0.0
    with ctx.workprec(_BITS):
        entropy = sum((-arb(q) * arb(q).log() for q in (p, 1 - p) if q != 0), arb(0))
        return max(0.0, -float_above(-(arb(2).log() - entropy) * errors * arb(2) ** (1 - bits)))
