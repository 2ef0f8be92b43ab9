"""Encoders for distributions of low entropy: the strengths in closed form, and the paper's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.low_entropy_encoder import lookup_encoder, missing_mass, printed_strength, strength
from constructions.errors import HypothesisError, InputError
from constructions.unembeddings.axes import simplex


@given(
    missing=st.floats(1e-30, 1.0),
    least=st.floats(1e-3, 1e3),
    kappa=st.floats(1.0, 10.0),
    d_vocab=st.integers(2, 10**6),
)
def test_the_strength_minimizes_the_bound(missing: float, least: float, kappa: float, d_vocab: int) -> None:
    def bound(x: float) -> float:
        return math.log1p((d_vocab - 1) * math.exp(-x)) + kappa * missing * x

    x = least * float(strength(missing, least=least, kappa=kappa, d_vocab=d_vocab))
    assert x >= 0
    best = bound(x)
    for other in (0.0, 0.9 * x, 1.1 * x, x + 0.1, max(0.0, x - 0.1)):
        assert best <= bound(other) * (1 + 1e-12)


def test_a_distribution_without_information_has_the_strength_zero_and_a_certain_one_a_large_one() -> None:
    found = strength([1.0, 0.75, 0.0], least=2.0, kappa=1.0, d_vocab=4)
    assert found[:2].tolist() == [0.0, 0.0]
    assert 300 < found[2] < 400


def test_arguments_out_of_range_are_refused_by_name() -> None:
    for name, given_ in (("missing", {"missing": 1.1}), ("least", {"least": 0.0}), ("kappa", {"kappa": 0.9})):
        with pytest.raises(InputError, match=name):
            strength(**{"missing": 0.1, "least": 1.0, "kappa": 1.0, "d_vocab": 3, **given_})
    with pytest.raises(InputError, match="missing holds nan"):
        strength(math.nan, least=1.0, kappa=1.0, d_vocab=3)
    with pytest.raises(InputError, match="d_vocab = 1"):
        strength(0.1, least=1.0, kappa=1.0, d_vocab=1)


@given(scale=st.floats(1e-6, 1e6).filter(lambda scale: abs(scale - 1) > 1e-6))
def test_rows_that_are_no_distributions_are_refused_with_their_sum(scale: float) -> None:
    distributions = np.array([[0.8, 0.1, 0.1], [0.25, 0.5, 0.25]])
    assert lookup_encoder(simplex(3, 2), distributions).tokens.tolist() == [0, 1]
    distributions[1] *= scale
    with pytest.raises(InputError, match="distributions: row 1 sums to"):
        lookup_encoder(simplex(3, 2), distributions)


@given(entropy=st.floats(1e-12, math.log(4)), leads=st.lists(st.floats(0.1, 10.0), min_size=3, max_size=3))
def test_the_paper_s_strength_solves_its_equation(entropy: float, leads: list[float]) -> None:
    found = float(printed_strength(np.array([[leads[0], 0.0, *leads[1:]]]), np.array([entropy]))[0])
    value = math.log1p(sum(math.exp(-found * lead) for lead in leads))
    assert value == pytest.approx(entropy, rel=1e-9)


def test_equation_6_needs_positive_leads_and_a_positive_entropy() -> None:
    with pytest.raises(HypothesisError, match="leads"):
        printed_strength(np.array([[0.0, 1.0, 0.0]]), np.array([0.5]))
    with pytest.raises(HypothesisError, match="leads"):
        printed_strength(np.array([[0.0, 1.0, -1.0]]), np.array([0.5]))
    with pytest.raises(HypothesisError, match="entropies"):
        printed_strength(np.array([[0.0, 1.0, 1.0]]), np.array([0.0]))


def test_small_masses_are_not_lost() -> None:
    assert missing_mass(np.array([[1e-30, 1.0], [1.0, 1e-30]]), np.array([1, 1])).tolist() == [1e-30, 1.0]
