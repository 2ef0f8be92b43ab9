"""The block condition against its definition, and the orders that are found."""

import numpy as np
import pytest
from flint import fmpq_mat, fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, InputError
from constructions.saturated_layers.query_blocks import block_violation, query_blocks
from verify.theorems.saturated_layers import block_certificate as module
from verify.theorems.saturated_layers.block_certificate import certify_blocks, consecutive_blocks, find_blocks
from verify.verdict import Verdict


def rank(rows):
    return fmpq_mat(fmpz_mat(*rows.shape, [int(x) for x in rows.ravel()])).rank()


def holds(queries, blocks):
    """The condition by its definition."""
    for h, block in enumerate(blocks):
        if rank(queries[list(block)]) < len(block):
            return False
        for t in (t for earlier in blocks[:h] for t in earlier):
            if rank(queries[[*block, t]]) == len(block):
                return False
    return True


queries_and_sizes = st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(2, 4)).flatmap(
    lambda s: st.tuples(
        st.lists(st.integers(-1, 1), min_size=s[0] * s[1], max_size=s[0] * s[1]).map(
            lambda entries: np.array(entries).reshape(s[0], s[1])
        ),
        st.just(s[2]),
    )
)


@given(queries_and_sizes)
def test_the_certificate_is_the_definition(given_queries):
    queries, size = given_queries
    blocks = consecutive_blocks(len(queries), size)
    found = certify_blocks(queries, blocks)
    assert found.verdict is (Verdict.PROVED if holds(queries, blocks) else Verdict.REFUTED)
    assert found.relation is None or found.relation.holds_for(queries)


@given(queries_and_sizes)
def test_builder_and_judge_agree(given_queries):
    queries, size = given_queries
    blocks = query_blocks(len(queries), len(queries), size)
    violated = block_violation(queries.astype(np.float64), blocks) is not None
    assert (certify_blocks(queries, [list(block) for block in blocks]).verdict is Verdict.REFUTED) == violated


@given(queries_and_sizes)
def test_an_order_that_is_found_satisfies_the_condition(given_queries):
    queries, size = given_queries
    found = find_blocks(queries, n_heads=len(queries), size=size)
    if found.verdict is Verdict.PROVED:
        assert holds(queries, found.blocks)
        assert all(len(block) <= size - (h > 0) for h, block in enumerate(found.blocks))
    if found.any_order:
        assert found.relation is not None and len(found.relation.rows) <= 2


def test_one_query_at_a_time_is_always_possible_without_parallels():
    queries = np.column_stack([np.ones(8), np.arange(8)])
    assert find_blocks(queries, n_heads=8, size=2).verdict is Verdict.PROVED


def test_planes_with_three_queries_need_another_order():
    rng = np.random.default_rng(18)
    pairs = rng.integers(-9, 10, (5, 2, 6))
    queries = np.concatenate([pairs.sum(axis=1), pairs.reshape(-1, 6)])
    assert certify_blocks(queries, consecutive_blocks(15, 4)).verdict is Verdict.REFUTED
    found = find_blocks(queries, n_heads=6, size=4)
    assert found.verdict is Verdict.PROVED and holds(queries, found.blocks)


def test_parallel_queries_have_no_order():
    found = find_blocks([[1, 0, 0], [0, 1, 0], [0, 0, 1], [2, 0, 0]], n_heads=2, size=3)
    assert found.verdict is Verdict.REFUTED and found.any_order


def test_queries_that_fill_a_plane_stay_undecided():
    found = find_blocks([[1, 0], [0, 1], [1, 1], [1, 2], [1, 3]], n_heads=2, size=3)
    assert found.verdict is Verdict.UNDECIDED and found.relation is not None and not found.any_order


def test_too_few_heads_are_told_how_many_are_enough():
    with pytest.raises(CapacityError) as caught:
        find_blocks(np.eye(5), n_heads=1, size=3)
    assert caught.value.fewest_heads == 2


@pytest.mark.parametrize("blocks", [[(0, 1)], [(0, 1), (1, 2)], [(0, 1, 2, 3)], []])
def test_blocks_that_are_no_partition_are_refused(blocks):
    with pytest.raises(InputError, match="each of the 3 queries once"):
        certify_blocks(np.eye(3), blocks)


@pytest.mark.parametrize("prime", [2, 3])
@given(queries_and_sizes)
def test_a_tiny_prime_changes_no_verdict(prime, given_queries):
    queries, size = given_queries
    blocks = consecutive_blocks(len(queries), size)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_PRIME", prime)
        found = certify_blocks(queries, blocks)
    assert found.verdict is (Verdict.PROVED if holds(queries, blocks) else Verdict.REFUTED)


def test_a_block_that_is_dependent_modulo_the_prime_alone_proves_nothing_about_earlier_queries(monkeypatch):
    monkeypatch.setattr(module, "_PRIME", 2)
    found = certify_blocks([[1, 0], [1, 1], [1, -1]], [(0,), (1, 2)])
    assert found.verdict is Verdict.REFUTED and found.relation is not None and found.relation.rows == (0, 1, 2)
