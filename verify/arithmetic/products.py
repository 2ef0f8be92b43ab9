r"""Products of matrices of floats, where they are computed, and what outweighs their rounding errors.

Page: docs/rigour/arithmetic.md, Lemma A7.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from constructions.errors import InputError
from constructions.products import Multiplier, multiplied_by
from verify.arithmetic import blas
from verify.arithmetic.rounding import TINY, Floats, outweighing

_LARGE = (1100, 1000, 900)  # a product for which a device would take its fastest way
_TERMS = 100  # of the products that are probed


@contextmanager
def multiplying(multiplier: Multiplier) -> Iterator[None]:
    r"""Let something else than NumPy compute the large products of matrices within the block, in this thread.

    Why it is rigorous: the radii of all products allow any order of summation, and fused multiply-add (Lemma A7). What
    multiplies otherwise is refused here where the probes of the BLAS show it; they prove nothing.

    Raises:
        BlasError: Its products fail a probe.
    """
    _probe(multiplier)
    with multiplied_by(multiplier):
        yield


@functools.cache
def _probe(multiplier: Multiplier) -> None:
    name = f"matrix product on {multiplier.name}"
    blas.probe(multiplier, name=name, large=_LARGE)
    blas.probe(lambda a, b: multiplier(a, b, _TERMS), name=f"{name}, in blocks of terms,")


def inner_dimension(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    if len(a) >= 2 and len(b) >= 2 and a[-1] == b[-2]:
        batches = zip(a[-3::-1], b[-3::-1], strict=False)
        if all(n == m or 1 in (n, m) for n, m in batches):
            return a[-1]
    raise InputError("a and b", f"have shapes {a} and {b}", "[..., m, n] and [..., n, p]")


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
