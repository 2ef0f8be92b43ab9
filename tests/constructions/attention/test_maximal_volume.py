"""Swaps end at a large volume, with small coefficients, exactly."""

from itertools import combinations

import numpy as np
import pytest
from flint import fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.maximal_volume import maximal_volume
from constructions.errors import HypothesisError, InputError


@given(st.integers(1, 4), st.integers(0, 5), st.integers(0, 2**32))
def test_all_coefficients_are_small_and_few_sets_have_a_larger_volume(width, more, seed):
    G = np.random.default_rng(seed).integers(-9, 10, (width + more, width)).astype(float)
    start = next((rows for rows in combinations(range(len(G)), width) if abs(np.linalg.det(G[list(rows)])) > 0.5), None)
    if start is None:
        return
    chosen = maximal_volume(G, np.array(start), excess=0.01)
    rows = fmpq_mat(len(G), width, [int(entry) for entry in G.ravel()])
    kept = fmpq_mat(width, width, [int(entry) for entry in G[chosen].ravel()])
    assert kept.det() != 0
    exact = (rows * kept.inv()).entries()
    assert max(abs(float(entry.p) / float(entry.q)) for entry in exact) <= 1.01 + 1e-9
    assert abs(np.linalg.det(G[chosen])) > abs(np.linalg.det(G[list(start)])) * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_many_swaps_end_with_small_coefficients(seed):
    G = np.random.default_rng(seed).standard_normal((200, 12))
    chosen = maximal_volume(G, np.arange(12), excess=0.001)
    assert len(set(chosen.tolist())) == 12 and sorted(chosen.tolist()) != list(range(12))
    assert np.abs(np.linalg.solve(G[chosen].T, G.T)).max() <= 1.001 + 1e-9


def test_the_likeliest_contexts_can_be_worse_without_bound():
    G = np.array([[1.0, 0.0], [1.0, 1e-6], [0.0, 1.0]])
    z = np.linalg.solve(G[:2].T, G.T).T
    assert np.abs(z).max() > 1e5
    kept = maximal_volume(G, np.array([0, 1]))
    assert np.abs(np.linalg.solve(G[kept].T, G.T).T).max() <= 1.05


def test_what_is_dependent_or_does_not_fit_is_refused():
    with pytest.raises(HypothesisError, match="independent"):
        maximal_volume(np.ones((3, 2)), np.array([0, 1]))
    with pytest.raises(InputError, match="kept"):
        maximal_volume(np.eye(3), np.array([0, 1]))
    with pytest.raises(InputError, match="excess"):
        maximal_volume(np.eye(2), np.array([0, 1]), excess=0.0)
