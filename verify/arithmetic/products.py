r"""Products of matrices of floats, where they are computed, and what outweighs their rounding errors.

Page: docs/rigour/arithmetic.md, Lemma A7.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from constructions.errors import InputError
from verify.arithmetic import blas
from verify.arithmetic.given_numbers import as_float64
from verify.arithmetic.rounding import TINY, Floats, outweighing, quiet

_ROWS = 2048  # rows whose partial products are added at a time
_LARGE = (1100, 1000, 900)  # a product for which a device would take its fastest way
_TERMS = 100  # of the products that are probed


class Multiplier(Protocol):
    """Something else than NumPy that multiplies matrices of floats, such as a GPU.

    Attributes:
        name: What certificates call it.
        least: It is asked for products of at least so many multiplications; NumPy computes the others.
        side: Rows of the blocks that it is given at a time, large enough to be worth their way.
    """

    @property
    def name(self) -> str: ...
    @property
    def least(self) -> int: ...
    @property
    def side(self) -> int: ...

    def __call__(self, a: Floats, b: Floats, terms: int | None = None, /) -> Floats:
        """`a @ b`, each entry an inner product as Lemma A7 (a) has it; blocks of `terms` terms one after the other."""
        ...


_CHOSEN: ContextVar[Multiplier | None] = ContextVar("multiplier", default=None)


@contextmanager
def multiplying(multiplier: Multiplier) -> Iterator[None]:
    r"""Let something else than NumPy compute the large products of matrices within the block, in this thread.

    Why it is rigorous: the radii of all products allow any order of summation, and fused multiply-add (Lemma A7). What
    multiplies otherwise is refused here where the probes of the BLAS show it; they prove nothing.

    Raises:
        BlasError: Its products fail a probe.

    Page: docs/rigour/arithmetic.md
    """
    _probe(multiplier)
    token = _CHOSEN.set(multiplier)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


@functools.cache
def _probe(multiplier: Multiplier) -> None:
    name = f"matrix product on {multiplier.name}"
    blas.probe(multiplier, name=name, large=_LARGE)
    blas.probe(lambda a, b: multiplier(a, b, _TERMS), name=f"{name}, in blocks of terms,")


def multiplier() -> Multiplier | None:
    """What computes the large products here; none: NumPy."""
    return _CHOSEN.get()


def multiply(a: Floats, b: Floats, terms: int | None = None) -> Floats:
    r"""The product of matrices as the probed BLAS computes it, or the multiplier of the enclosing block.

    Args:
        a: [..., m, n]
        b: [..., n, p]
        terms: Inner products of so many terms are added one after the other, so that a term goes through fewer
            roundings; by default they are not cut.

    Returns:
        Floats [..., m, p], within Lemma A7 (a) of the product of any finite entries.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> multiply(np.ones((1, 3)), np.ones((3, 1)), 2)
        array([[3.]])
    """
    inner = a.shape[-1]
    chosen = _CHOSEN.get()
    if chosen is not None and a.ndim == b.ndim == 2 and len(a) * inner * b.shape[1] >= chosen.least:
        return chosen(a, b, terms)
    first = inner if terms is None else min(terms, inner)
    y = np.matmul(a[..., :first], b[..., :first, :])
    for start in range(first, inner, first or 1):
        part = slice(start, start + first)
        for row in range(0, a.shape[-2], _ROWS):
            rows = slice(row, row + _ROWS)
            y[..., rows, :] += np.matmul(a[..., rows, part], b[..., part, :])
    return y


@quiet
def upper_product(a: ArrayLike, b: ArrayLike) -> Floats:
    r"""Floats above the entries of $|A||B|$, the matrix product of absolute values, plain or batched.

    Why it is rigorous: the product of the probed BLAS, raised above its rounding errors and underflows (Lemma A7).

    Args:
        a: [..., m, n]
        b: [..., n, p]

    Returns:
        Floats [..., m, p]; infinity where an entry is not finite.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> bool(upper_product([[1.0, -2.0]], [[3.0], [4.0]])[0, 0] >= 11.0)
        True
    """
    x, y = as_float64(a, "a"), as_float64(b, "b")
    n = inner_dimension(x.shape, y.shape)
    blas.require_ieee()
    blas.probe()
    r = raised_product(multiply(np.abs(x), np.abs(y)), n)
    return np.where(r >= 0.0, r, np.inf)


def inner_dimension(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    if len(a) >= 2 and len(b) >= 2 and a[-1] == b[-2]:
        batches = zip(a[-3::-1], b[-3::-1], strict=False)
        if all(n == m or 1 in (n, m) for n, m in batches):
            return a[-1]
    raise InputError(f"a and b have shapes {a} and {b}, expected [..., m, n] and [..., n, p]")


def raised_product(r: Floats, n: int) -> Floats:
    """Lemma A7: above any sum of two products with inner dimension n that was computed as r."""
    r *= outweighing(n)
    r += n * 2.0**-1018
    return r


def product_of_norms(a: Floats, b: Floats, factor: float = 1.0) -> Floats:
    """Lemma A7: factor |a| |b| <= factor (norms of the rows of a) (norms of the columns of b), up to rounding."""
    rows = np.sqrt(np.einsum("...mn,...mn->...m", a, a) + a.shape[-1] * TINY)
    columns = np.sqrt(np.einsum("...np,...np->...p", b, b) + b.shape[-2] * TINY)
    columns *= factor
    return rows[..., :, None] * columns[..., None, :]
