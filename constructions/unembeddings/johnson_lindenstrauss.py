"""Random unembeddings in the manner of Johnson and Lindenstrauss, and what is promised of them.

Page: docs/claims/unembeddings.md
"""

from fractions import Fraction

import numpy as np
from flint import arb, ctx

from constructions.errors import InputError
from constructions.unembeddings.coherence import Int8Array, kappa_of_coherence

_BITS = 128


def paper_constant(count: int, d_model: int) -> Fraction:
    r"""$C = \sqrt{32 \log(N + 1) / d}$, with $\max_{ij} \lvert (W W^\top - I)_{ij} \rvert \le C$ for some W, for C < 1.

    Args:
        count: N, at least 2.
        d_model: d.

    Returns:
        C, rounded up to a rational number.

    Raises:
        InputError: N < 2 or d < 1.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 2.

    Example:
        >>> round(float(paper_constant(50_257, 4096)), 4)
        0.2908
    """
    return _root_of_logarithm(32, count + 1, count, d_model)


def paper_kappa(count: int, d_model: int) -> Fraction | None:
    r"""$\kappa = (1 + 2C) / (1 - 2C)$ of the constant of the paper, or `None` where it is vacuous: $C \ge 1/2$.

    The norms are only near 1 there, so the leads lie between $1 - 2C$ and $1 + 2C$.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 2.

    Example:
        >>> paper_kappa(50_257, 1024) is None, round(float(paper_kappa(50_257, 4096)), 3)
        (True, 3.78)
    """
    return kappa_of_coherence(2 * paper_constant(count, d_model))


def sign_constant(count: int, d_model: int) -> Fraction:
    r"""$\sqrt{4 \log N / d}$: some N rows of signs, divided by $\sqrt d$, have a coherence below it.

    Args:
        count: N, at least 2.
        d_model: d.

    Returns:
        The constant, rounded up to a rational number; useful below 1.

    Raises:
        InputError: N < 2 or d < 1.

    Source: Hoeffding (1963), with a union over pairs.

    Example:
        >>> round(float(sign_constant(50_257, 1024)), 4)
        0.2056
    """
    return _root_of_logarithm(4, count, count, d_model)


def random_signs(count: int, d_model: int, *, seed: int = 0) -> Int8Array:
    r"""Rows of independent signs (Rademacher), `[N, d]`; their inner products are integers.

    Args:
        count: N.
        d_model: d.
        seed: Of the generator.

    Returns:
        Entries -1 and 1, each with probability 1/2.

    Example:
        >>> np.unique(random_signs(3, 5)).tolist()
        [-1, 1]
    """
    bits = np.random.default_rng(seed).integers(0, 2, (count, d_model), dtype=np.int8)
    return (2 * bits - 1).astype(np.int8)


def _root_of_logarithm(factor: int, argument: int, count: int, d_model: int) -> Fraction:
    """sqrt(factor log(argument) / d), rounded up."""
    if count < 2 or d_model < 1:
        raise InputError("N", f"= {count}, d = {d_model}", "N >= 2 tokens and d >= 1")
    with ctx.workprec(_BITS):
        upper = (factor * arb(argument).log() / d_model).sqrt().upper().fmpq()
    return Fraction(int(upper.p), int(upper.q))
