"""All sequences of a size, each once; sizes out of range."""

from math import comb

import pytest

from constructions.claims.kajitsuka_sato_2024_separation import rank_one_head
from constructions.errors import InputError


def test_sizes_out_of_range_are_refused():
    for tokens, length in ((3, 4), (2, 0)):
        with pytest.raises(InputError, match="expected 1 <= n <= V"):
            rank_one_head(tokens=tokens, length=length)


def test_each_last_token_comes_with_each_set_of_others_once():
    sequences = rank_one_head(tokens=5, length=3)[1].tolist()
    assert len({(row[-1], frozenset(row)) for row in sequences}) == len(sequences) == 5 * comb(4, 2)
