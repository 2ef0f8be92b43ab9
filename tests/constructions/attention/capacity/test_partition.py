"""Partitions of contexts over heads: always valid, never more than the generic rank, largest where it is a flow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.closed_forms import long_contexts_rank
from constructions.attention.capacity.generic_rank import generic_rank
from constructions.attention.capacity.partition import distribute, partition
from constructions.errors import HypothesisError, InputError
from constructions.tasks.arrays import all_contexts
from tests.constructions.exact_features import context_sets
from verify.theorems.capacity.independent_windows import partition_holds

sizes = st.tuples(st.integers(1, 5), st.integers(1, 5)).map(lambda pair: (max(pair), min(pair)))


def holds(contexts, found, d_model, d_head):
    windows = [(window.rows, window.positions) for window in found.windows]
    return partition_holds(contexts, skip=found.skip, windows=windows, d_model=d_model, d_head=d_head)


@given(context_sets(lengths=(2, 4), largest=14), sizes, st.integers(0, 4), st.integers(0, 9))
def test_a_partition_is_valid_and_no_larger_than_the_generic_rank(contexts, widths, n_heads, seed):
    d_model, d_head = widths
    found = partition(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads, seed=seed)
    assert len(found.windows) == min(n_heads, len(contexts))
    assert holds(contexts, found, d_model, d_head)
    assert found.size <= generic_rank(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads)


@given(context_sets(lengths=(3, 5), largest=14), st.integers(1, 2), st.integers(0, 2), st.integers(0, 4))
def test_contexts_longer_than_the_heads_are_wide_are_placed_by_a_maximum_flow(contexts, d_head, more, n_heads):
    widths = {"d_model": d_head + more, "d_head": d_head, "n_heads": n_heads}
    assert partition(contexts, **widths).size == long_contexts_rank(contexts, **widths)


@pytest.mark.parametrize(
    ("d_vocab", "n_ctx", "d_model", "d_head"), [(3, 2, 3, 3), (5, 2, 5, 3), (6, 2, 4, 4), (4, 3, 4, 4), (3, 4, 3, 2)]
)
def test_all_contexts_are_found_to_fit(d_vocab, n_ctx, d_model, d_head):
    contexts = all_contexts(d_vocab, n_ctx)
    n_heads = -(-(len(contexts) - d_model) // d_head)
    found = partition(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads)
    assert found.size == len(contexts) and holds(contexts, found, d_model, d_head)


def test_exchanges_place_what_the_first_placement_leaves():
    # The flow puts the loops (1, 1) and (0, 0), which have one difference, into the head.
    contexts = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    found = partition(contexts, d_model=2, d_head=2, n_heads=1)
    assert found.size == 4 and holds(contexts, found, 2, 2)
    # And here a context has to move from the skip connection to the head before another finds a place.
    contexts = np.array([[1, 1], [0, 0], [1, 0], [0, 1]])
    found = partition(contexts, d_model=3, d_head=3, n_heads=1)
    assert found.size == 4 and holds(contexts, found, 3, 3)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=16), st.lists(st.integers(0, 4), max_size=5))
def test_the_greedy_placement_is_a_maximum_flow(last_tokens, capacities):
    sets = distribute(last_tokens, capacities)
    rows = [row for members in sets for row in members]
    assert len(set(rows)) == len(rows)
    for members, capacity in zip(sets, capacities, strict=True):
        assert len({last_tokens[row] for row in members}) == len(members) <= capacity
    counts = sorted((last_tokens.count(token) for token in set(last_tokens)), reverse=True)
    cuts = [sum(min(k, j) for k in capacities) + sum(counts[j:]) for j in range(len(counts) + 1)]
    assert len(rows) == min(cuts)


def test_contexts_of_one_token_and_sizes_of_no_model_are_refused():
    with pytest.raises(HypothesisError, match="S >= 2"):
        partition(np.array([[0], [1]]), d_model=1, d_head=1, n_heads=1)
    with pytest.raises(InputError, match="d_head = 2"):
        partition(np.array([[0, 1]]), d_model=1, d_head=2, n_heads=1)


def test_heads_beyond_the_number_of_contexts_cost_nothing():
    contexts = np.array([[a, b, c] for a in range(2) for b in range(2) for c in range(2)])
    assert partition(contexts, d_model=2, d_head=1, n_heads=2**61).size == len(contexts)
