"""The least number of errors of H heads on parity, against integer programs and certificates; the floors."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.memories.heads.counting_heads import bit_contexts
from verify.ranks.linear_relations import indicator_vectors
from verify.theorems.capacity.divergence_floor import relation_divergence_floor
from verify.theorems.capacity.parity import parity_errors, parity_floor

BIG = 2000.0


def least_errors(bits, n_heads):
    """An integer program: the fewest contexts on which a polynomial of degree H has not the sign of parity."""
    contexts = bit_contexts(bits)
    columns = np.array(indicator_vectors(contexts.tolist(), n_heads=n_heads), dtype=float)
    signs = 1.0 - 2.0 * (contexts.sum(axis=1) % 2)
    size, width = columns.shape
    rows = np.hstack([columns * signs[:, None], BIG * np.eye(size)])
    found = scipy.optimize.milp(
        np.append(np.zeros(width), np.ones(size)),
        constraints=scipy.optimize.LinearConstraint(rows, lb=1),
        bounds=(np.append(np.full(width, -BIG), np.zeros(size)), np.append(np.full(width, BIG), np.ones(size))),
        integrality=np.append(np.zeros(width), np.ones(size)),
    )  # fmt: skip
    return round(found.fun)


@pytest.mark.parametrize(("bits", "n_heads"), [(n, h) for n in (1, 2, 3, 4) for h in range(n + 1)])
def test_integer_programs_find_the_same_number(bits, n_heads):
    assert least_errors(bits, n_heads) == parity_errors(bits, n_heads)


@given(st.integers(1, 40), st.integers(0, 45))
def test_errors_fall_with_each_head_and_are_at_most_half(bits, n_heads):
    errors = parity_errors(bits, n_heads)
    assert (errors == 0) == (n_heads >= bits) and parity_errors(bits, 0) == 2 ** (bits - 1)
    assert errors > parity_errors(bits, n_heads + 1) or errors == 0
    assert 2 * errors <= parity_errors(bits + 1, n_heads)  # two halves of the cube


def test_the_shares_of_twelve_bits():
    shares = [round(1 - parity_errors(12, n_heads) / 2**12, 4) for n_heads in range(13)]
    assert shares == [0.5, 0.6128, 0.7256, 0.8062, 0.8867, 0.927, 0.9673, 0.9807, 0.9941, 0.9968, 0.9995, 0.9998, 1]


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_one_head_too_few_has_the_floor_of_the_relation(bits):
    contexts = bit_contexts(bits)
    odd = contexts.sum(axis=1) % 2
    distributions = np.where(odd[:, None] == [0, 1], 99, 1)
    floor = relation_divergence_floor(contexts, distributions, n_heads=bits - 1)
    assert floor.relation == tuple((1 - 2 * odd).tolist())
    assert floor.lower == pytest.approx(parity_floor(bits, bits - 1, Fraction(99, 100)), rel=1e-9)
    assert relation_divergence_floor(contexts, distributions, n_heads=bits).relation == ()


def test_more_heads_too_few_have_a_larger_floor_than_one_relation_shows():
    contexts = bit_contexts(4)
    distributions = np.where((contexts.sum(axis=1) % 2)[:, None] == [0, 1], 99, 1)
    one = relation_divergence_floor(contexts, distributions, n_heads=1).lower
    assert one < parity_floor(4, 1, Fraction(99, 100))


@given(st.integers(1, 9), st.integers(0, 9), st.fractions(0, 1, max_denominator=50))
def test_the_floor_is_the_formula_rounded_down(bits, n_heads, p):
    entropy = sum(-float(q) * math.log(q) for q in (p, 1 - p) if q)
    exact = 2.0 ** (1 - bits) * parity_errors(bits, n_heads) * (math.log(2) - entropy)
    assert max(0.0, exact) == pytest.approx(parity_floor(bits, n_heads, p), rel=1e-9, abs=1e-13)
    assert parity_floor(bits, n_heads, p) == parity_floor(bits, n_heads, 1 - p) <= math.log(2)


def test_numbers_out_of_range_are_refused():
    for bits, n_heads, p in ((0, 1, 0), (2, -1, 0), (2, 1, Fraction(3, 2)), (2, 1, -1)):
        with pytest.raises(InputError):
            parity_floor(bits, n_heads, Fraction(p))
