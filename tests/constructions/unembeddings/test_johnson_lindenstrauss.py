"""Random vectors and the constants promised of them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.unembeddings.johnson_lindenstrauss import (
    gaussian_unembedding,
    johnson_lindenstrauss_unembedding,
    paper_constant,
    paper_kappa,
    random_signs,
    sign_constant,
)
from verify.theorems.unembeddings.coherence import certify_margins


@given(st.integers(2, 10**9), st.integers(1, 10**5))
def test_the_constants_are_upper_bounds_and_tight(count, d_model):
    for constant, square in [
        (paper_constant(count, d_model), 32 * math.log(count + 1) / d_model),
        (sign_constant(count, d_model), 4 * math.log(count) / d_model),
    ]:
        assert isinstance(constant, Fraction)
        assert float(constant) == pytest.approx(math.sqrt(square), rel=1e-14)


def test_the_paper_says_nothing_below_1386_dimensions_for_50257_tokens():
    assert paper_kappa(50_257, 1385) is None
    kappa = paper_kappa(50_257, 1386)
    assert kappa is not None and kappa > 1000


def test_with_869_tokens_the_paper_first_beats_the_simplex():
    kappa = paper_kappa(869, 867)
    assert kappa is not None and round(float(kappa)) == 5478
    assert all(paper_kappa(count, count - 2) is None for count in range(3, 869))


def test_random_signs_keep_their_constant():
    vectors = random_signs(300, 128).astype(np.int64)
    products = vectors @ vectors.T - 128 * np.eye(300, dtype=np.int64)
    assert np.abs(products).max() < 128 * sign_constant(300, 128)
    assert np.array_equal(np.abs(vectors), np.ones_like(vectors))


BUILDERS = (johnson_lindenstrauss_unembedding, gaussian_unembedding)


@pytest.mark.parametrize("build", BUILDERS)
@given(count=st.integers(2, 12), d_model=st.integers(1, 24), seed=st.integers(0, 99))
def test_leads_and_coherence_are_those_of_the_integers(build, count, d_model, seed):
    try:
        drawn = build(count, d_model, seed=seed)
    except HypothesisError:
        assert d_model < 12
        return
    rows = [[int(x) for x in row] for row in drawn.vectors]
    products = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in rows] for u in rows]
    leads = [products[g][g] - products[g][j] for g in range(count) for j in range(count) if g != j]
    assert (min(leads), max(leads)) == (drawn.least, drawn.largest) and drawn.least > 0
    cosines = [Fraction(products[i][j] ** 2, products[i][i] * products[j][j]) for i in range(count) for j in range(i)]
    assert max(cosines) <= drawn.coherence**2 <= max(cosines) * (1 + Fraction(1, 2**38))
    if build is johnson_lindenstrauss_unembedding:
        assert drawn.coherence**2 == max(cosines)


@pytest.mark.parametrize("build", BUILDERS)
def test_a_coherence_that_is_asked_for_is_kept_or_refused(build):
    loose = build(60, 64)
    asked = float(loose.coherence) * 0.95
    closer = build(60, 64, coherence=asked)
    assert closer.coherence <= asked and not np.array_equal(closer.vectors, loose.vectors)
    with pytest.raises(
        HypothesisError,
        match=r"coherence of at most 0\.05, but of 16 draws the least coherence is [.0-9]+; a larger d_model",
    ):
        build(60, 64, coherence=0.05)
    with pytest.raises(HypothesisError, match="every token leads"):
        build(5, 1)
    for coherence in (0, 1, -0.5, float("nan")):
        with pytest.raises(InputError, match="coherence"):
            build(5, 8, coherence=coherence)
    for sizes, message in (((1, 5), "count = 1, expected at least 2"), ((5, 0), "d_model = 0, expected at least 1")):
        with pytest.raises(InputError, match=message):
            build(*sizes)
    with pytest.raises(InputError, match="seed = -1, expected at least 0"):
        build(5, 8, seed=-1)


@pytest.mark.parametrize("build", BUILDERS)
def test_no_coherence_is_above_one(build):
    assert build(2, 1).coherence == 1  # opposite vectors


@pytest.mark.parametrize("build", BUILDERS)
def test_the_leads_of_many_tokens_are_those_of_the_judge(build):
    drawn = build(5000, 48)
    judged = certify_margins(drawn.vectors)
    assert (judged.least, judged.largest, judged.attained) == (drawn.least, drawn.largest, True)
    assert drawn.coherence < 1


def test_seeds_decide_the_vectors():
    assert np.array_equal(random_signs(5, 40, seed=1), random_signs(5, 40, seed=1))
    assert not np.array_equal(random_signs(5, 40, seed=1), random_signs(5, 40, seed=2))


@pytest.mark.parametrize("constant", [paper_constant, sign_constant])
@pytest.mark.parametrize(("count", "d_model"), [(1, 5), (5, 0)])
def test_sizes_without_a_constant_are_refused(constant, count, d_model):
    with pytest.raises(InputError, match="expected at least"):
        constant(count, d_model)
