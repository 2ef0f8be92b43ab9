"""Queries plus mean tokens: no sum is rounded."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.theorems.saturated_layers.general_position import certify_shifted, shifted_queries
from verify.verdict import Verdict


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3)),
    st.booleans(),
    st.integers(0, 1000),
    st.integers(0, 10**6),
)
def test_the_shifted_queries_are_exact_up_to_one_factor(shape, shared, range_of_exponents, seed):
    examples, tokens, width = shape
    rng = np.random.default_rng(seed)

    def numbers(*size):
        exponents = rng.integers(-range_of_exponents, range_of_exponents + 1, size)
        return np.ldexp(rng.standard_normal(size), exponents)

    contexts, queries = numbers(1 if shared else examples, tokens, width), numbers(examples, width)
    found = [int(entry) for entry in shifted_queries(contexts, queries).entries()]
    exact = [
        tokens * Fraction(queries[t, j]) + sum(map(Fraction, contexts[0 if shared else t, :, j]))
        for t in range(examples)
        for j in range(width)
    ]
    factors = {n / x for n, x in zip(found, exact, strict=True) if x}
    assert len(factors) == 1 and min(factors) > 0
    assert all(n == 0 for n, x in zip(found, exact, strict=True) if x == 0)


def test_rounding_the_mean_would_hide_a_relation():
    # 1 + 2^-60 is lost to float64, and with it the difference of two rows.
    contexts = np.array([[[1.0, 0.0], [2.0**-60, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    assert certify_shifted(contexts, np.zeros((2, 2)), 2).verdict is Verdict.PROVED
    contexts[0, 1, 0] = 0.0
    assert certify_shifted(contexts, np.zeros((2, 2)), 2).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("contexts", "queries"),
    [((2, 2, 3), (3, 3)), ((1, 2, 3), (2, 2)), ((2, 3), (2, 3)), ((1, 0, 3), (2, 3))],
)
def test_arrays_that_do_not_fit_are_refused(contexts, queries):
    with pytest.raises(InputError, match="do not fit"):
        shifted_queries(np.ones(contexts), np.ones(queries))


def test_an_infinity_is_refused():
    with pytest.raises(InputError, match="not finite"):
        shifted_queries(np.full((1, 1, 1), np.inf), np.ones((1, 1)))


def test_integers_that_float64_would_round_are_refused():
    with pytest.raises(InputError, match="queries has the entry 9007199254740993"):
        shifted_queries(np.ones((1, 1, 1)), np.array([[2**53 + 1]]))
    with pytest.raises(InputError, match="contexts has the entry 9007199254740993"):
        shifted_queries(np.array([[[2**53 + 1]]]), np.ones((1, 1)))
