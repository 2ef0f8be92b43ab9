"""Encoders and unembeddings with given integer logits, and distributions with a gap."""

import numpy as np
import pytest
from flint import fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.exact_factors import exact_factors, gap_distributions
from constructions.errors import HypothesisError, InputError


@given(st.integers(1, 12))
def test_the_factors_take_one_number_from_each_row(tokens):
    D, W_U = exact_factors(tokens)
    assert (D.nrows(), D.ncols(), W_U.nrows(), W_U.ncols()) == (tokens, tokens - 1, tokens - 1, tokens)
    row = fmpz_mat(1, tokens, list(range(5, 5 + tokens)))
    assert (row * D * W_U).entries() == [j - (tokens - 1) for j in range(tokens)]


@given(st.integers(2, 9), st.data())
def test_the_distributions_of_the_gap_have_centred_logarithms_of_rank_d_plus_one(tokens, data):
    rank = data.draw(st.integers(0, tokens - 2))
    logarithms = np.log(gap_distributions(tokens, rank))
    assert np.linalg.matrix_rank(logarithms - logarithms.mean(axis=1, keepdims=True)) == rank + 1


@pytest.mark.parametrize(("tokens", "rank"), [(3, 2), (1, 0), (4, -1), (2, 1)])
def test_there_is_no_gap_where_the_rank_is_enough(tokens, rank):
    with pytest.raises(HypothesisError, match="d < N - 1"):
        gap_distributions(tokens, rank)


def test_no_tokens_are_refused():
    with pytest.raises(InputError, match="d_vocab = 0"):
        exact_factors(0)
