"""Draw random unembeddings in the manner of Johnson and Lindenstrauss, with their promised coherence.

Page: docs/claims/unembeddings.md
"""

from collections.abc import Callable
from fractions import Fraction
from numbers import Real

import numpy as np
from flint import arb, ctx

from constructions.counted import counted
from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.numeric.arrays import Int8Array
from constructions.unembeddings.coherence import Unembedding, kappa_of_coherence

_BITS = 128
_DRAWS = 16
_GRID = 32  # Gaussian entries are multiples of 1/32, cut off at 127/32, nearly four standard deviations
_BLOCK = 2**24  # inner products at a time
_ROUNDED = Fraction(1, 2**40)  # relative, above what a few operations in float64 round


def paper_constant(count: int, d_model: int) -> Fraction:
    r"""Return $C = \sqrt{32 \log(N + 1) / d}$; for C < 1, some W has $\max_{ij} \lvert (W W^\top - I)_{ij} \rvert \le
    C$.

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
    r"""Return $\kappa = (1 + 2C) / (1 - 2C)$ for the constant of the paper, or `None` where it is vacuous: $C \ge 1/2$.

    The norms are only near 1 there, so the leads lie between $1 - 2C$ and $1 + 2C$.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 2.

    Example:
        >>> paper_kappa(50_257, 1024) is None, round(float(paper_kappa(50_257, 4096)), 3)
        (True, 3.78)
    """
    return kappa_of_coherence(2 * paper_constant(count, d_model))


def sign_constant(count: int, d_model: int) -> Fraction:
    r"""Return $\sqrt{4 \log N / d}$; some N rows of signs, divided by $\sqrt d$, have a coherence below it.

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
    """Draw rows of independent signs (Rademacher), `[N, d]`; their inner products are integers.

    Args:
        count: N.
        d_model: d.
        seed: Seed of the generator.

    Returns:
        Entries -1 and 1, each with probability 1/2.

    Example:
        >>> np.unique(random_signs(3, 5)).tolist()
        [-1, 1]
    """
    bits = np.random.default_rng(seed).integers(0, 2, (count, d_model), dtype=np.int8)
    return (2 * bits - 1).astype(np.int8)


def johnson_lindenstrauss_unembedding(
    count: int, d_model: int, *, coherence: Fraction | float | None = None, seed: int = 0
) -> Unembedding:
    r"""Draw rows of signs for N tokens in d dimensions, and certify their coherence.

    Some rows have a coherence below `sign_constant`; these rows have the one that is returned, exactly: inner products
    of signs are integers. Rows are drawn again until every token leads, and until the coherence is what is asked.

    Args:
        count: N, at least 2.
        d_model: d.
        coherence: The largest that is accepted, above 0; by default any below 1.
        seed: Seed of the first draw; up to 16 are made.

    Returns:
        The vectors with their leads and their coherence.

    Raises:
        InputError: N < 2 or d < 1.
        HypothesisError: No draw has the coherence asked for; names the least that one had.

    Source: Johnson and Lindenstrauss (1984); Achlioptas (2003) for signs; Dana, Pydi, Chevaleyre (2024), Theorem 2.

    Example:
        >>> drawn = johnson_lindenstrauss_unembedding(100, 64)
        >>> drawn.coherence, drawn.least, drawn.largest
        (Fraction(9, 16), 28, 94)
    """
    return _drawn("rows of signs", random_signs, count, d_model, coherence, seed)


def gaussian_unembedding(
    count: int, d_model: int, *, coherence: Fraction | float | None = None, seed: int = 0
) -> Unembedding:
    r"""Draw Gaussian rows for N tokens in d dimensions, on a grid, and certify their coherence.

    Entries are standard normal numbers times 32, rounded to integers and cut off at 127, so that all leads are exact.

    Args:
        count: N, at least 2.
        d_model: d.
        coherence: The largest that is accepted, above 0; by default any for which every token leads.
        seed: Seed of the first draw; up to 16 are made.

    Returns:
        The vectors with their leads, and an upper bound of the coherence of the unit vectors.

    Raises:
        InputError: N < 2 or d < 1.
        HypothesisError: In no draw every token leads with the coherence asked for.

    Source: Johnson and Lindenstrauss (1984); Dana, Pydi, Chevaleyre (2024), Theorem 2.

    Example:
        >>> drawn = gaussian_unembedding(20, 64)
        >>> 0 < drawn.least < drawn.largest, drawn.coherence < 1
        (True, True)
    """
    return _drawn("Gaussian rows", _gaussian_rows, count, d_model, coherence, seed)


def _gaussian_rows(count: int, d_model: int, *, seed: int) -> Int8Array:
    entries = np.random.default_rng(seed).standard_normal((count, d_model))
    return np.clip(np.rint(_GRID * entries), -127, 127).astype(np.int8)


def _drawn(
    name: str,
    draw: Callable[..., Int8Array],
    count: int,
    d_model: int,
    asked: Fraction | float | None,
    seed: int,
) -> Unembedding:
    """Return the first draw in which every token leads and the coherence is at most the requested one."""
    require_at_least(2, count=count)
    require_at_least(1, d_model=d_model)
    require_at_least(0, seed=seed)
    if asked is not None and not (isinstance(asked, Real) and 0 < asked < 1):
        raise InputError("coherence", f"= {asked!r}", "a number between 0 and 1")
    coherences = []
    for attempt in range(_DRAWS):
        vectors = draw(count, d_model, seed=seed + attempt)
        least, largest, coherence = _leads(vectors)
        if least > 0 and (asked is None or coherence <= asked):
            return Unembedding(f"{name}, seed {seed + attempt}", vectors, vectors, least, largest, coherence)
        coherences.append(coherence)
    wanted = "that every token leads" if asked is None else f"a coherence of at most {float(asked):.4g}"
    lowest = f"of {_DRAWS} draws the least coherence is {float(min(coherences)):.4g}; a larger d_model lowers it"
    raise HypothesisError(f"A drawing of {count} {name} in {counted(d_model, 'dimension')}", wanted, lowest)


def _leads(vectors: Int8Array) -> tuple[int, int, Fraction]:
    """Return the least and the largest lead, exactly, and an upper bound of the coherence of the unit vectors.

    Inner products are integers below $127^2 d$, exact in float64 in whatever order they are added.
    """
    rows = vectors.astype(np.float64)
    squares = (rows**2).sum(axis=1)
    lengths = np.sqrt(np.maximum(squares, 1.0))  # a row of zeros leads over nothing
    alike = bool((squares == squares[0]).all() and squares[0] > 0)
    least, largest, coherence = np.inf, -np.inf, Fraction(0)
    step = max(1, _BLOCK // len(rows))
    for start in range(0, len(rows), step):
        rows_here = np.arange(start, min(start + step, len(rows)))
        products = rows[rows_here] @ rows.T
        itself = np.arange(len(rows_here)), rows_here
        products[itself] = -np.inf
        highest = products.max(axis=1)
        products[itself] = np.inf
        lowest = products.min(axis=1)
        least, largest = (
            min(least, (squares[rows_here] - highest).min()),
            max(largest, (squares[rows_here] - lowest).max()),
        )
        if alike:
            closest = max(highest.max(), -lowest.min())
            coherence = max(coherence, Fraction(int(closest), int(squares[0])))
        else:
            products[itself] = 0.0
            cosine = (np.abs(products) / np.multiply.outer(lengths[rows_here], lengths)).max()
            coherence = max(coherence, Fraction(float(cosine)) * (1 + _ROUNDED))
    return int(least), int(largest), min(coherence, Fraction(1))  # the inequality of Cauchy and Schwarz


def _root_of_logarithm(factor: int, argument: int, count: int, d_model: int) -> Fraction:
    """sqrt(factor log(argument) / d), rounded up."""
    require_at_least(2, count=count)
    require_at_least(1, d_model=d_model)
    with ctx.workprec(_BITS):
        upper = (factor * arb(argument).log() / d_model).sqrt().upper().fmpq()
    return Fraction(int(upper.p), int(upper.q))
