"""Margins from all inner products: the exact extremes of any integer matrix."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

import verify.theorems.unembeddings.margins
from constructions.errors import InputError
from verify.theorems.unembeddings.margins import Margins, gram_margins
from verify.verdict import Verdict


def brute_force(vectors, encoders):
    """All leads and all products of different tokens, in Python's integers."""
    w, e = vectors.tolist(), encoders.tolist()
    pairs = [(g, j) for g in range(len(w)) for j in range(len(w)) if g != j]
    product = {
        (g, j): sum(a * b for a, b in zip(e[g], w[j], strict=True)) for g in range(len(w)) for j in range(len(w))
    }
    return [product[g, g] - product[g, j] for g, j in pairs], [product[g, j] for g, j in pairs]


def matrices(entries, dtype):
    shapes = st.tuples(st.integers(2, 9), st.integers(1, 5))
    return shapes.flatmap(lambda shape: numpy_strategies.arrays(dtype, shape, elements=entries))


@pytest.mark.parametrize("block", [1, 2, 3, 2048])
@given(vectors=matrices(st.integers(-128, 127), np.int8))
def test_the_margins_of_any_rows_are_their_extremes(block, vectors):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify.theorems.unembeddings.margins, "_BLOCK", block)
        found = gram_margins(vectors)
    leads, products = brute_force(vectors, vectors)
    assert (found.least, found.largest) == (min(leads), max(leads))
    assert (found.least_product, found.largest_product) == (min(products), max(products))
    assert found.attained and found.rows == len(vectors)
    norms = [sum(a * a for a in row) for row in vectors.tolist()]
    if 0 in norms:
        assert found.coherence_squared is None
        return
    exact = max(
        Fraction(int(vectors[i].astype(int) @ vectors[j].astype(int)) ** 2, norms[i] * norms[j])
        for i in range(len(norms))
        for j in range(i)
    )
    assert found.coherence_squared is not None
    assert exact <= found.coherence_squared <= exact * (1 + Fraction(1, 2**49))
    assert len(set(norms)) > 1 or found.coherence_squared == exact


@pytest.mark.parametrize("block", [2, 2048])
@given(both=matrices(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), np.dtype("i8,i8")))
def test_encoders_of_their_own_are_multiplied_with_the_vectors(block, both):
    vectors, encoders = np.ascontiguousarray(both["f0"]), np.ascontiguousarray(both["f1"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify.theorems.unembeddings.margins, "_BLOCK", block)
        found = gram_margins(vectors, encoders)
    leads, products = brute_force(vectors, encoders)
    assert (found.least, found.largest) == (min(leads), max(leads))
    assert (found.least_product, found.largest_product) == (min(products), max(products))
    assert found.coherence_squared is None


def test_large_entries_are_exact_up_to_the_limit():
    vectors = np.array([[2**25, 1], [2**25, 0]])
    found = gram_margins(vectors)
    assert (found.least, found.largest) == (0, 1)
    with pytest.raises(InputError, match=r"entries reach 67108864 with d = 2, expected inner products below 2\^52"):
        gram_margins(2 * vectors)
    with pytest.raises(InputError, match="entries reach 33554432 with d = 4"):
        gram_margins(np.full((2, 4), 2**25))
    with pytest.raises(InputError, match="entries reach"):
        gram_margins(np.array([[-(2**63), 0], [0, 1]]))


@pytest.mark.parametrize(
    "vectors", [np.eye(3), np.ones((1, 4), dtype=int), np.ones(4, dtype=int), np.ones((4, 0), dtype=int)]
)
def test_what_is_no_matrix_of_integers_with_two_rows_is_refused(vectors):
    with pytest.raises(InputError, match="vectors are"):
        gram_margins(vectors)


def test_encoders_of_another_shape_are_refused():
    with pytest.raises(InputError, match="encoders are"):
        gram_margins(np.eye(3, dtype=int), np.eye(4, dtype=int))


@pytest.mark.parametrize(
    ("least", "largest", "attained", "kappa", "verdict"),
    [
        (3, 4, True, Fraction(4, 3), Verdict.PROVED),
        (3, 4, False, Fraction(4, 3), Verdict.PROVED),
        (3, 4, True, Fraction(5, 4), Verdict.REFUTED),
        (3, 4, False, Fraction(5, 4), Verdict.UNDECIDED),
        (0, 4, True, Fraction(100), Verdict.REFUTED),
        (-1, 4, False, Fraction(100), Verdict.UNDECIDED),
    ],
)
def test_the_verdict_follows_from_the_margins(least, largest, attained, kappa, verdict):
    found = Margins(5, least, largest, 0, 1, None, attained, "by hand")
    assert found.verdict(kappa) is verdict
    assert found.kappa == (Fraction(4, 3) if least > 0 else None)
