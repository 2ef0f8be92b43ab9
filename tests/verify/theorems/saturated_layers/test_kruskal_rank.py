"""The Kruskal rank against enumeration, and no proof where a prime or a coherence could mislead."""

from itertools import combinations

import numpy as np
import pytest
from flint import fmpq_mat, fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.linear_algebra.exact_rows import Relation
from verify.theorems.saturated_layers import kruskal_rank as module
from verify.theorems.saturated_layers.kruskal_rank import (
    certify_subsets,
    coherence_bound,
    eliminate,
    kruskal_rank,
    parallel_pair,
)
from verify.verdict import Verdict


def rank(rows):
    return fmpq_mat(fmpz_mat(*rows.shape, [int(x) for x in rows.ravel()])).rank()


def enumerated(vectors):
    """The Kruskal rank by its definition."""
    for size in range(1, len(vectors) + 1):
        if any(rank(vectors[list(rows)]) < size for rows in combinations(range(len(vectors)), size)):
            return size - 1
    return len(vectors)


matrices = st.tuples(st.integers(1, 7), st.integers(1, 4)).flatmap(
    lambda shape: st.lists(st.integers(-2, 2), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]).map(
        lambda entries: np.array(entries).reshape(shape)
    )
)


@given(matrices)
def test_both_bounds_are_the_kruskal_rank_of_small_matrices(vectors):
    found = kruskal_rank(vectors)
    assert found.lower == found.upper == enumerated(vectors)
    assert found.relation is None or found.relation.holds_for(vectors)
    assert (found.relation is None) == (found.upper == len(vectors))


@given(matrices, st.integers(0, 3))
def test_the_coherence_bound_is_below_the_kruskal_rank(vectors, seed):
    assert coherence_bound(vectors) <= enumerated(vectors)
    if seed == 0:
        assert coherence_bound(np.eye(4)) == 4


def test_the_coherence_bound_is_attained_by_a_mercedes_star():
    angles = 2 * np.pi * np.arange(3) / 3
    assert coherence_bound(np.column_stack([np.cos(angles), np.sin(angles)])) == 2


@pytest.mark.parametrize("prefixes", [0, 20_000])
def test_a_search_is_only_done_where_it_is_allowed(prefixes):
    vectors = np.vander(np.arange(1, 13), 4)
    found = certify_subsets(vectors, 4, most_prefixes=prefixes)
    assert found.verdict is (Verdict.PROVED if prefixes else Verdict.UNDECIDED)


@given(st.integers(0, 10**6), st.integers(3, 5))
def test_a_planted_relation_is_found(seed, size):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-50, 51, (12, 7))
    chosen = np.sort(rng.choice(12, size, replace=False))
    vectors[chosen[-1]] = vectors[chosen[:-1]].sum(axis=0)
    found = certify_subsets(vectors, size)
    assert found.verdict is Verdict.REFUTED
    assert found.relation is not None and found.relation.holds_for(vectors)


def test_all_independent_vectors_are_proved_without_a_search():
    vectors = np.random.default_rng(0).standard_normal((30, 40))
    assert certify_subsets(vectors, 17, most_prefixes=0).verdict is Verdict.PROVED


def test_a_tiny_prime_refutes_nothing_that_is_true(monkeypatch):
    monkeypatch.setattr(module, "PRIMES", (5, 7, 11))
    vectors = np.vander(np.arange(1, 9), 3)
    assert certify_subsets(vectors, 3).verdict in (Verdict.PROVED, Verdict.UNDECIDED)
    vectors[-1] = vectors[0] + vectors[1]
    assert certify_subsets(vectors, 3).verdict in (Verdict.REFUTED, Verdict.UNDECIDED)


def test_zero_vectors_and_parallel_ones_are_found():
    assert parallel_pair(np.array([[1, 2], [0, 0]])) == Relation((1,), (1,))
    assert parallel_pair(np.array([[1.0, 2.0], [3.0, 1.0], [-1e-300, -2e-300]])) is not None
    assert parallel_pair(np.array([[1.0, 2.0], [3.0, 1.0], [1e-300, 3e-300]])) is None
    assert parallel_pair(np.zeros((1, 0))) == Relation((0,), (1,))


def test_elimination_keeps_what_is_independent_of_the_row():
    assert eliminate(np.array([[0, 3], [1, 1]]), 0, 7).tolist() == [[0], [3]]


@pytest.mark.parametrize("size", [0, 4])
def test_sizes_out_of_range_are_refused(size):
    with pytest.raises(InputError, match=f"size = {size}"):
        certify_subsets(np.eye(3), size)


def test_a_search_of_a_real_size_decides():
    vectors = np.random.default_rng(1).standard_normal((40, 4))
    assert certify_subsets(vectors, 4).method == "all 91390 subsets"


@pytest.mark.parametrize("rows", list(combinations(range(8), 4)))
def test_a_relation_is_found_wherever_it_is(rows):
    vectors = np.random.default_rng(3).integers(-99, 100, (8, 6))
    vectors[rows[-1]] = vectors[list(rows[:-1])].sum(axis=0)
    found = certify_subsets(vectors, 4)
    assert found.relation is not None and found.relation.rows == rows
    assert certify_subsets(vectors, 3).verdict is Verdict.PROVED
