"""Rank the families of unembeddings with proved margins that fit N tokens into d dimensions.

Page: docs/claims/unembeddings.md
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from constructions.errors import CapacityError, require_at_least
from constructions.unembeddings.axes import basis, cross_polytope, simplex
from constructions.unembeddings.coherence import Unembedding
from constructions.unembeddings.delsarte_goethals import delsarte_goethals_forms
from constructions.unembeddings.finite_field import LARGEST, prime_power
from constructions.unembeddings.gold import gold_forms, gold_rank
from constructions.unembeddings.quadratic_forms import Forms, margins, scales, vectors_of_forms
from constructions.unembeddings.reed_solomon import reed_solomon


@dataclass(frozen=True, eq=False)
class Family:
    r"""A family that fits the tokens, before it is built.

    Args:
        name: As `Unembedding.family`.
        kappa: The $\kappa$ that it promises.
        coordinates: How many of the d coordinates it uses.
        build: Builds the vectors, $N d$ bytes.
    """

    name: str
    kappa: Fraction
    coordinates: int
    build: Callable[[], Unembedding]


def families(count: int, d_model: int) -> list[Family]:
    r"""Return every family of the page that fits N tokens into d dimensions, least $\kappa$ first (ties in page order).

    A family of vectors with fewer coordinates is padded with zeros. The quadratic forms are tried in every power of two
    up to d, graphs of polynomials over every field that fits.

    Args:
        count: N, at least 2.
        d_model: d.

    Returns:
        The families, the best first; none if N is too large for all of them.

    Raises:
        InputError: N < 2 or d < 1.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 2, where any such vectors serve.

    Example:
        >>> [(family.name, str(family.kappa)) for family in families(1000, 512)[:2]]
        [('Reed-Solomon, q = 32, n = 16, k = 1', '16/15'), ('Reed-Solomon, q = 37, n = 13, k = 1', '13/12')]
    """
    require_at_least(2, count=count)
    require_at_least(1, d_model=d_model)
    candidates = [*_along_axes(count, d_model), *_of_forms(count, d_model), *_of_polynomials(count, d_model)]
    return sorted(candidates, key=lambda family: family.kappa)


def best_family(count: int, d_model: int) -> Family:
    r"""Return the first of `families`: the least $\kappa$.

    Args:
        count: N, at least 2.
        d_model: d.

    Returns:
        The family.

    Raises:
        CapacityError: No family holds N tokens in d dimensions.
        InputError: N < 2 or d < 1.

    Example:
        >>> best_family(50_257, 1024).name, str(best_family(50_257, 1024).kappa)
        ('Kerdock, D = 1024', '33/31')
    """
    fitting = families(count, d_model)
    if not fitting:
        raise CapacityError(
            "an unembedding with a proved coherence", f"more dimensions for N = {count} tokens", f"d = {d_model}"
        )
    return fitting[0]


def _along_axes(count: int, d_model: int) -> Iterator[Family]:
    if count <= d_model:
        yield Family("orthonormal basis", Fraction(1), count, partial(basis, count, d_model))
    if count <= d_model + 1:
        yield Family("simplex", Fraction(1), count - 1, partial(simplex, count, d_model))
    if count <= 2 * d_model:
        yield Family("cross-polytope", Fraction(2), min(count, d_model), partial(cross_polytope, count, d_model))


def _of_forms(count: int, d_model: int) -> Iterator[Family]:
    for m in range(2, d_model.bit_length()):
        yield from _with_forms("basis + Hadamard", m, 0, 1, _zero_form, count, d_model)
        if m % 2 == 0:
            for r in range(m // 2):
                name = "Kerdock" if r == 0 else f"Delsarte-Goethals, r = {r}"
                forms = partial(delsarte_goethals_forms, r=r)
                yield from _with_forms(name, m, 2 ** (m // 2 + r), 2 ** ((m - 1) * (r + 1)), forms, count, d_model)
        for r in range(1, m // 2 + 1):
            if m >= 3 and gold_rank(m, r) >= 2:
                name = "Gold" if r == 1 else f"Gold, r = {r}"
                product = 2 ** (m - gold_rank(m, r) // 2)
                yield from _with_forms(name, m, product, 2 ** (m * r), partial(gold_forms, r=r), count, d_model)


def _with_forms(
    name: str, m: int, product: int, forms: int, make: Callable[[int], Forms], count: int, d_model: int
) -> Iterator[Family]:
    """Yield the family with these forms on m bits if it fits the tokens, with axis vectors for those beyond the
    forms.
    """
    dimension = 2**m
    of_forms = min(count, dimension * forms)
    axes = count - of_forms
    if axes > d_model or (axes and dimension >= 2**14):
        return
    least, largest = margins(dimension, product, *scales(dimension, product, crossed=axes > 0), crossed=axes > 0)
    name = f"{name}, D = {dimension}"

    def build() -> Unembedding:
        return vectors_of_forms(
            name, make(m), dimension=dimension, product=product, count=count, d_model=d_model, of_forms=of_forms
        )

    yield Family(name, Fraction(largest, least), max(dimension, axes), build)


def _zero_form(m: int) -> Forms:
    yield np.zeros(2**m, dtype=np.int64)


def _of_polynomials(count: int, d_model: int) -> Iterator[Family]:
    for size in range(2, min(d_model // 2, LARGEST) + 1):
        points = min(size + 1, d_model // size)
        degree = next(k for k in range(count.bit_length() + 1) if size ** (k + 1) >= count)
        if degree < points and prime_power(size):
            build = partial(reed_solomon, size, points, degree, count=count, d_model=d_model)
            name = f"Reed-Solomon, q = {size}, n = {points}, k = {degree}"
            yield Family(name, Fraction(points, points - degree), points * size, build)
