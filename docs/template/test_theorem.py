"""Tests of a theorem about attention: replace the two statements by your own, and run `pytest`."""

import pytest

from byheart.testing import CounterexampleError, assert_holds, contexts, dana_instances
from constructions.attention.capacity.generic_rank import generic_rank
from verify import Bounds
from verify.ranks.linear_relations import rank_upper_bound_for_all_weights


def largest_rank(rows, *, d_model, d_head, n_heads):
    """Return the largest rank of the features of contexts, the skip connection included, over all weights."""
    sizes = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    upper = rank_upper_bound_for_all_weights(rows, **sizes, with_skip=True).rank
    return Bounds(generic_rank(rows, **sizes), upper, "a minor modulo a prime; ranks of integer matrices")


def test_the_rank_of_two_tokens_with_one_last_token():
    def theorem(rows):
        chosen = rows[rows[:, -1] == rows[0, -1]]
        assert largest_rank(chosen, d_model=3, d_head=2, n_heads=2) == min(len(chosen), 5)

    assert_holds(theorem, contexts(d_vocab=6, n_ctx=2), max_examples=200)


def test_as_many_contexts_as_dimensions_can_be_dependent_for_all_weights():
    def guess(instance):
        size = instance.size
        sizes = {"d_model": size.d_model, "d_head": size.d_head, "n_heads": size.n_heads}
        return largest_rank(instance.contexts, **sizes) >= len(instance.contexts)

    with pytest.raises(CounterexampleError, match="guess is false"):
        assert_holds(guess, dana_instances())
