"""Distributions that vectors of low coherence read."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.named.low_coherence_unembedding import (
    gaussian_memory,
    johnson_lindenstrauss_memory,
    random_distributions,
)
from verify.provers.memorization import certify_memorization

BUILDERS = (johnson_lindenstrauss_memory, gaussian_memory)


@given(st.integers(2, 9), st.integers(1, 5), st.integers(2, 50), st.integers(0, 5))
def test_drawn_distributions_add_up_to_one_and_leave_a_share(d_vocab, count, noise, seed):
    for row in random_distributions(d_vocab=d_vocab, n_distributions=count, noise=noise, seed=seed):
        assert sum(row) == 1 and min(row) > 0 and max(row) >= 1 - Fraction(1, noise)


@pytest.mark.parametrize("build", BUILDERS)
@given(weights=st.lists(st.lists(st.integers(1, 1000), min_size=6, max_size=6), min_size=1, max_size=5))
def test_the_bound_that_is_asked_holds_for_any_distributions(build, weights):
    rows = [[Fraction(weight, sum(row)) for weight in row] for row in weights]
    made = build(rows, d_model=16)
    _, upper = certify_memorization(made.model, made.task, made.criterion).answers.mean_loss()
    assert upper <= made.criterion.bound


@pytest.mark.parametrize("build", BUILDERS)
def test_rows_stay_in_their_order(build):
    rows = [[Fraction(1, 10), Fraction(8, 10), Fraction(1, 10)], [Fraction(6, 10), Fraction(2, 10), Fraction(2, 10)]]
    made = build(rows, d_model=32)
    assert (
        made.task.distributions is not None
        and (made.task.distributions == np.array([[0.1, 0.8, 0.1], [0.6, 0.2, 0.2]])).all()
    )
    assert made.task.vocabulary == ("p1", "p2") and made.encoder.tokens.tolist() == [1, 0]


@pytest.mark.parametrize("build", BUILDERS)
def test_what_the_theorem_does_not_speak_of_is_refused_by_its_hypothesis(build):
    fine = random_distributions(d_vocab=200, n_distributions=2, noise=50, seed=0)
    with pytest.raises(HypothesisError, match=r"a coherence of at most 0\.1"):
        build(fine, d_model=64, coherence=Fraction(1, 10))
    with pytest.raises(HypothesisError, match="every token leads"):
        build(fine, d_model=3)
    with pytest.raises(HypothesisError, match=r"full support.*row 1 gives token 1 the probability 0"):
        build([[Fraction(1), Fraction(0)]], d_model=8)
    with pytest.raises(InputError, match="at least two"):
        build([[Fraction(1)]], d_model=8)
    with pytest.raises(InputError):
        build(fine, d_model=64, coherence=Fraction(3, 2))
