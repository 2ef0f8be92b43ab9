"""A head of rank one that maps distinct sequences to distinct outputs."""

from math import comb

import pytest

from constructions.errors import InputError
from constructions.rational.rank_one_head import rank_one_head


def test_sizes_out_of_range_are_refused():
    for tokens, n_ctx in ((3, 4), (2, 0)):
        with pytest.raises(InputError, match="expected 1 <= n <= V"):
            rank_one_head(d_vocab=tokens, n_ctx=n_ctx)


def test_each_last_token_comes_with_each_set_of_others_once():
    sequences = rank_one_head(d_vocab=5, n_ctx=3)[1].tolist()
    assert len({(row[-1], frozenset(row)) for row in sequences}) == len(sequences) == 5 * comb(4, 2)
