"""The judge of unembeddings: every certificate is one of the rows given, whatever they claim to be."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verify.theorems.unembeddings.coherence
from constructions.errors import InputError
from constructions.unembeddings.axes import simplex
from constructions.unembeddings.johnson_lindenstrauss import random_signs, sign_constant
from constructions.unembeddings.unembedding import best
from constructions.unembeddings.unembedding_families import families
from verify.theorems.unembeddings.coherence import certify_margins
from verify.theorems.unembeddings.margins import gram_margins
from verify.verdict import Verdict


@given(st.integers(2, 200), st.integers(2, 32), st.booleans())
def test_every_family_is_certified_by_every_route(count, d_model, cheap):
    for family in families(count, d_model)[:4]:
        built = family.build()
        with pytest.MonkeyPatch.context() as patch:
            if cheap:
                patch.setattr(verify.theorems.unembeddings.coherence, "_SMALL", 0)
            found = certify_margins(built.vectors, built.encoders)
        exact = gram_margins(built.vectors, built.encoders)
        assert found.least <= exact.least and exact.largest <= found.largest
        assert found.verdict(built.kappa) is Verdict.PROVED
        assert cheap or found == exact


@pytest.mark.parametrize(
    ("count", "d_model", "method"),
    [(50_257, 64, "Walsh"), (16_000, 128, "Walsh"), (10_000, 512, "agreements"), (3000, 32, "all inner products")],
)
def test_the_best_families_are_certified_by_the_cheapest_certificate(count, d_model, method):
    built = best(count, d_model) if d_model > 32 else families(count, d_model)[-1].build()
    found = certify_margins(built.vectors)
    assert method in found.method and found.verdict(built.kappa) is Verdict.PROVED


@pytest.mark.parametrize("cheap", [False, True])
def test_random_signs_are_certified_below_their_constant(cheap, monkeypatch):
    if cheap:
        monkeypatch.setattr(verify.theorems.unembeddings.coherence, "_SMALL", 0)
    found = certify_margins(random_signs(300, 128))
    assert found.coherence_squared is not None and 0 < found.coherence_squared < sign_constant(300, 128) ** 2
    assert found.kappa is not None and found.kappa > 1


def test_random_vectors_are_certified_by_all_inner_products():
    found = certify_margins(np.random.default_rng(0).integers(-127, 128, (100, 256), dtype=np.int8))
    assert found.attained and found.coherence_squared is not None and 0.01 < found.coherence_squared < 0.25


def test_equal_encoders_are_no_encoders_of_their_own():
    vectors = best(100, 16).vectors
    assert certify_margins(vectors, vectors.copy()) == certify_margins(vectors)


def test_the_simplex_is_certified_with_its_encoders_only():
    found = simplex(9, 8)
    assert certify_margins(found.vectors, found.encoders).kappa == 1
    assert certify_margins(found.vectors).verdict(Fraction(10**6)) is Verdict.REFUTED


@pytest.mark.parametrize("vectors", [np.eye(3), np.ones((1, 4), dtype=int), np.ones((4, 0), dtype=int)])
@pytest.mark.parametrize("small", [0, 2**31])
def test_what_is_no_matrix_of_integers_is_refused(vectors, small, monkeypatch):
    monkeypatch.setattr(verify.theorems.unembeddings.coherence, "_SMALL", small)
    with pytest.raises(InputError, match="vectors are"):
        certify_margins(vectors)


@pytest.mark.slow
def test_a_kerdock_unembedding_of_50257_tokens_is_certified():
    built = best(50_257, 1024)
    found = certify_margins(built.vectors)
    assert found.attained and found.kappa == Fraction(33, 31) and found.coherence_squared == Fraction(1, 1024)
    spoiled = built.vectors.copy()
    spoiled[40_000, 17] *= -1
    assert certify_margins(spoiled).verdict(Fraction(33, 31)) is not Verdict.PROVED
