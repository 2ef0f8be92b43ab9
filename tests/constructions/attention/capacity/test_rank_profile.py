"""The profile of ranks over widths and numbers of heads: against generic ranks, exact bounds, and real weights."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.generic_rank import generic_rank
from constructions.attention.capacity.rank_profile import RankCell, rank_profile
from constructions.errors import InputError
from verify.ranks.linear_relations import rank_upper_bound_for_all_weights

XOR = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3))
def test_every_cell_lies_between_what_weights_reach_and_what_no_weights_exceed(seed, d_model, n_ctx):
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, 3, (9, n_ctx)), axis=0)
    profile = rank_profile(contexts, d_model=d_model, n_heads=3, seed=seed)
    assert len(profile.cells) == 2 * 4 * len({1, *(w for w in (2, 4) if w <= d_model), d_model})
    for cell in profile.cells:
        sizes = {"d_model": d_model, "d_head": cell.d_head, "n_heads": cell.n_heads, "with_skip": cell.with_skip}
        assert generic_rank(contexts, **sizes, seed=seed + 1) <= cell.upper  # another random point
        assert cell.lower <= rank_upper_bound_for_all_weights(contexts, **sizes).rank
        assert cell.lower <= cell.upper <= cell.printed
        assert cell.printed == min(len(contexts), cell.n_heads * cell.d_head + cell.with_skip * d_model)


def test_the_cells_in_which_the_printed_count_fails_are_those_of_xor():
    profile = rank_profile(XOR, d_model=4, n_heads=2)
    failing = {(cell.d_head, cell.n_heads, cell.with_skip) for cell in profile.cells if cell.printed_fails}
    assert failing == {(4, 1, False), *((width, heads, True) for width, heads in product((1, 2, 4), (0, 1)))} | {
        (1, 2, True)
    }
    assert all(cell.words == str(cell.lower) for cell in profile.cells)


def test_without_elimination_the_bounds_are_wider_and_still_true():
    rng = np.random.default_rng(0)
    contexts = np.unique(rng.integers(0, 4, (12, 3)), axis=0)
    narrow = rank_profile(contexts, d_model=4, n_heads=3)
    wide = rank_profile(contexts, d_model=4, n_heads=3, eliminate=False)
    for a, b in zip(wide.cells, narrow.cells, strict=True):
        assert a.lower <= b.lower <= b.upper <= a.upper
    assert any(a.lower < b.lower for a, b in zip(wide.cells, narrow.cells, strict=True))


def test_two_bounds_that_differ_are_both_shown():
    gap = np.array([[int(n) for n in word] for word in ("0001", "0011", "0111", "1010", "1100", "1110")])
    [cell] = [c for c in rank_profile(gap, d_model=4, d_heads=[4], n_heads=1).cells if c.n_heads and c.with_skip]
    assert (cell.lower, cell.upper, cell.words, cell.printed_fails) == (5, 6, "5-6", False)
    assert not RankCell(1, 1, True, 3, 4, 4, "").printed_fails


@pytest.mark.parametrize(
    ("d_heads", "n_heads", "name"), [([], 1, "d_heads"), ([5], 1, "d_head"), ([0], 1, "d_head"), ([1], -1, "n_heads")]
)
def test_sizes_that_make_no_profile_are_refused(d_heads, n_heads, name):
    with pytest.raises(InputError, match=f"^{name} "):
        rank_profile(XOR, d_model=4, d_heads=d_heads, n_heads=n_heads)
