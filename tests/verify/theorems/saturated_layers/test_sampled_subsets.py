"""What random subsets are allowed to say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from constructions.errors import InputError
from verify.theorems.saturated_layers.sampled_subsets import sample_subsets, share_bounds
from verify.verdict import Verdict


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_the_bounds_are_where_the_tails_have_the_rest_of_the_confidence(counts, confidence):
    seen, draws = counts
    lower, upper = share_bounds(seen, draws, confidence)
    assert 0 <= lower <= upper <= 1
    if seen < draws:
        assert binom.cdf(seen, draws, upper) == pytest.approx(1 - confidence, rel=1e-6)
    if seen:
        assert binom.sf(seen - 1, draws, lower) == pytest.approx(1 - confidence, rel=1e-6)


@given(st.integers(1, 10**6))
def test_the_rule_of_three_is_never_exceeded(draws):
    assert share_bounds(0, draws, 0.95)[1] <= 3 / draws


def test_no_number_of_good_subsets_proves_anything():
    found = sample_subsets(np.eye(6), 2, samples=2000)
    assert found.dependent == 0 and found.verdict is Verdict.UNDECIDED


def test_the_bounds_hold_for_the_true_share_for_nearly_all_seeds():
    vectors = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 2, 3]])
    true = 1 / 10  # rows 0, 1, 2 among the ten triples
    found = [sample_subsets(vectors, 3, samples=60, seed=seed) for seed in range(60)]
    assert sum(s.share_upper >= true for s in found) >= 50
    assert sum(s.share_lower <= true for s in found) >= 50
    assert all(s.relation is None or s.relation.rows == (0, 1, 2) for s in found)


def test_a_dependent_subset_refutes():
    found = sample_subsets(np.ones((4, 3)), 2, samples=5)
    assert found.verdict is Verdict.REFUTED and found.dependent == 5 and found.share_upper == 1.0


@pytest.mark.parametrize("arguments", [{"size": 0}, {"size": 4}, {"samples": 0}, {"confidence": 1.0}])
def test_arguments_out_of_range_are_refused(arguments):
    with pytest.raises(InputError):
        sample_subsets(np.eye(3), **{"size": 2, **arguments})
