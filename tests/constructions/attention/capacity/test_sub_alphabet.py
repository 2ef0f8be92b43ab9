"""Upper bounds of the rank: true for all weights, counted right, and proved again only if they are right."""

from collections import Counter
from dataclasses import astuple, replace

import numpy as np
import pytest
from flint import fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity import sub_alphabet
from constructions.attention.capacity.closed_forms import long_contexts_rank
from constructions.attention.capacity.generic_rank import generic_rank, generic_ranks
from constructions.attention.capacity.sub_alphabet import Dimensions, dimensions, peel, upper_bound, verify_upper_bound
from constructions.errors import InputError
from constructions.tasks.arrays import all_contexts
from tests.constructions.exact_features import (
    XOR,
    context_sets,
    exact_features,
    exact_rank,
    span_of_differences,
    span_of_inputs,
    subsets,
)

sizes = st.tuples(st.integers(1, 5), st.integers(1, 5)).map(lambda pair: (max(pair), min(pair)))


def indicator_rank(contexts):
    """Rank of the indicators of the pairs (s, t_s), over the rationals."""
    pairs = sorted({(s, int(n)) for row in contexts for s, n in enumerate(row)})
    return fmpz_mat([[int(row[s] == n) for s, n in pairs] for row in contexts]).rank()


def variations(contexts, *, exact=True):
    """The sum of kappa over the last tokens, with components found by merging sets."""
    total = 0
    for last in set(contexts[:, -1].tolist()):
        members = contexts[contexts[:, -1] == last]
        pairs = {(s, int(row[s])) for row in members for s in range(contexts.shape[1] - 1)}
        parts = [({s}, {n}, {(s, n)}) for s, n in pairs]
        merged = True
        while merged:
            merged = False
            for i, (positions, tokens, _) in enumerate(parts):
                for j in range(i):
                    if parts[j][0] & positions or parts[j][1] & tokens:
                        parts[j] = tuple(a | b for a, b in zip(parts[j], parts.pop(i), strict=True))
                        merged = True
                        break
                if merged:
                    break
        free = sum(min(len(p) + len(t) - 2, len(m) - len(p)) for p, t, m in parts)
        total += min(len(members) - 1, free, indicator_rank(members) - 1 if exact else free)
    return total


@given(context_sets(lengths=(1, 5), largest=10))
def test_dimensions_are_those_of_the_integer_matrices(contexts):
    expected = Dimensions(
        contexts=len(contexts),
        last_tokens=len({row[-1] for row in contexts.tolist()}),
        inputs=span_of_inputs(contexts),
        differences=span_of_differences(contexts),
        variations=variations(contexts),
    )
    assert dimensions(contexts) == expected
    assert dimensions(contexts, exact=False) == replace(expected, variations=variations(contexts, exact=False))


def test_dimensions_of_known_sets():
    assert astuple(dimensions(np.zeros((0, 3), dtype=int))) == (0, 0, 0, 0, 0)
    assert astuple(dimensions(np.array([[4]]))) == (1, 1, 1, 0, 0)
    # Loops: one direction p_1 - p_2 for all of them.
    assert astuple(dimensions(np.array([[n, n] for n in range(5)]))) == (5, 5, 6, 1, 0)
    # A subject, then a relation: no token in two places, so that positions add no direction.
    assert astuple(dimensions(np.array([[s, r] for s in range(4) for r in (7, 8)]))) == (8, 2, 6, 5, 6)
    # All contexts with one last token: for N = 3, S = 3 two dimensions fewer than |U_c| - 1, one fewer than l.
    of_one_class = all_contexts(3, 3)[::3]
    assert astuple(dimensions(of_one_class)) == (9, 1, 5, 4, 3)


@given(context_sets(lengths=(1, 4), largest=6), sizes, st.integers(0, 2), st.booleans(), st.integers(0, 2**31))
def test_no_exact_weights_exceed_the_bound_of_any_set(contexts, widths, n_heads, with_skip, seed):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
    rng = np.random.default_rng(seed)
    ranks = [exact_rank(exact_features(contexts, rng, **options, spread=spread)) for spread in (1, 30)]
    bounds = [upper_bound(contexts, rows, **options).rank for rows in subsets(len(contexts))]
    assert max(ranks) <= min(bounds)


@given(context_sets(lengths=(2, 4), largest=9, one_class=True), st.integers(0, 2**31))
def test_attention_of_one_last_token_varies_in_no_more_dimensions_than_counted(contexts, seed):
    rng = np.random.default_rng(seed)
    options = {"d_model": 9, "d_head": 9, "n_heads": 1, "with_skip": True}
    rank = exact_rank(exact_features(contexts, rng, **options, spread=30))
    assert rank <= 1 + dimensions(contexts).variations


@given(context_sets(lengths=(1, 4), largest=8), sizes, st.integers(0, 3), st.booleans())
def test_peeling_gives_one_of_the_bounds_over_all_sets_and_never_less_than_the_generic_rank(
    contexts, widths, n_heads, with_skip
):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
    bound = peel(contexts).upper_bound(**options)
    smallest = min(upper_bound(contexts, rows, **options).rank for rows in subsets(len(contexts)))
    assert generic_ranks(contexts, **options)[-1] <= smallest <= bound.rank <= len(contexts)
    assert bound.rank <= peel(contexts).rank_bound(**options)
    assert verify_upper_bound(contexts, bound)


def test_correlated_tokens_vary_in_fewer_dimensions():
    # Beside the last token two tokens that say the same, and one of their own: the XOR of two facts.
    contexts = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    assert dimensions(contexts, exact=False).variations == 3
    assert dimensions(contexts).variations == 2
    assert generic_ranks(contexts, d_model=9, d_head=9, n_heads=1)[-1] == 3


def test_wide_heads_without_enough_skip_dimensions_are_not_bounded_by_mixing_two_bounds():
    # Two last tokens, one context each, d = 1: the skip connection gives one dimension, one head the other. The sum
    # min(d, j) + H min(d_h, l, kappa) = 1 would be wrong.
    contexts = np.array([[0, 1], [1, 0]])
    assert generic_ranks(contexts, d_model=1, d_head=1, n_heads=1).tolist() == [1, 2]
    assert peel(contexts).rank_bound(d_model=1, d_head=1, n_heads=1) == 2


def test_tokens_that_are_last_in_no_context_do_not_count():
    # N = 3 and one last token: kappa is that of its contexts, 1, and 1 + H kappa = 2 is reached.
    pair = np.array([[0, 0], [1, 0]])
    assert astuple(dimensions(pair)) == (2, 1, 3, 2, 1)
    sizes = dict(d_model=2, d_head=1, n_heads=1)
    assert dimensions(pair).rank_bound(**sizes, name="U2") == generic_rank(pair, **sizes) == 2


def test_peeling_removes_the_rarest_token_first_and_keeps_the_rest_in_order():
    contexts = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [3, 1], [3, 3]])
    peeling = peel(contexts)
    assert peeling.lifetime.tolist() == [3, 2, 2, 2, 0, 1, 1]
    left = [dimensions(contexts[peeling.lifetime >= step], exact=False) for step in range(4)]
    assert [list(astuple(part)) for part in left] == peeling.table.tolist()


@given(context_sets(lengths=(1, 5), largest=12), st.integers(1, 5))
def test_every_step_of_the_peeling_counts_what_is_counted_of_its_contexts_alone(contexts, most_steps):
    # The rarest of the tokens that are left goes, of equally rare ones the last; found by counting afresh each time.
    at_a_time = -(-len(np.unique(contexts)) // most_steps)
    expected, alive, step = np.zeros(len(contexts), dtype=int), set(range(len(contexts))), 0
    while alive:
        for _ in range(at_a_time):
            counts = Counter(token for row in alive for token in set(contexts[row].tolist()))
            rarest = min(counts, key=lambda token: (counts[token], -token), default=None)
            gone = {row for row in alive if rarest in contexts[row]}
            expected[sorted(gone)] = step
            alive -= gone
        step += 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sub_alphabet, "_MOST_STEPS", most_steps)
        peeling = peel(contexts)
    assert peeling.lifetime.tolist() == expected.tolist()
    for step, row in enumerate(peeling.table.tolist()):
        left = contexts[peeling.lifetime >= step]
        assert row == list(astuple(dimensions(left, exact=False)))
        assert row[2:4] == [span_of_inputs(left), span_of_differences(left)]
        assert row[4] == variations(left, exact=False)


@given(context_sets(lengths=(1, 4), largest=12), sizes, st.integers(0, 6), st.booleans())
def test_the_bounds_of_all_numbers_of_heads_are_those_of_each(contexts, widths, n_heads, with_skip):
    options = {"d_model": widths[0], "d_head": widths[1], "with_skip": with_skip}
    peeling = peel(contexts)
    each = [peeling.rank_bound(n_heads=heads, **options) for heads in range(n_heads + 1)]
    assert peeling.rank_bounds(n_heads=n_heads, **options).tolist() == each


def test_indicators_that_are_too_many_to_eliminate_are_counted_where_keys_tell_them_apart():
    rows = np.column_stack([np.arange(3000), np.arange(3000) % 7, np.arange(3000) % 11, np.zeros(3000, dtype=int)])
    assert sub_alphabet._indicator_rank(rows, enough=3000) == 3000
    pairs = rows[:, 1:3] + [0, 7]  # 77 pairs of 7 and 11 tokens: one component
    assert sub_alphabet._indicator_rank(np.unique(pairs, axis=0), enough=77) == 17


def test_tokens_that_went_with_others_take_no_step():
    peeling = peel(np.array([[0, 0], [1, 2]]))
    assert (peeling.table[:, 0].tolist(), peeling.lifetime.tolist()) == ([2, 1], [1, 0])


def test_large_vocabularies_are_peeled_several_tokens_at_a_time():
    contexts = np.array([[n, (7 * n) % 300] for n in range(300)])
    peeling = peel(contexts)
    assert len(peeling.table) <= 150
    sizes_left = [int((peeling.lifetime >= step).sum()) for step in range(len(peeling.table))]
    assert sizes_left == peeling.table[:, 0].tolist()


@given(context_sets(lengths=(1, 4), largest=12), sizes, st.booleans())
def test_the_fewest_heads_left_open_are_where_the_bounds_first_reach_full_rank(contexts, widths, with_skip):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "with_skip": with_skip}
    peeling = peel(contexts)
    bounds = peeling.rank_bounds(**options, n_heads=len(contexts) + 2)
    assert (np.diff(bounds) >= 0).all()
    full = np.flatnonzero(bounds == len(contexts))
    assert peeling.fewest_heads(**options) == (int(full[0]) if len(full) else None)
    assert len(full) > 0 or contexts.shape[1] == 1


@pytest.fixture
def forged_from():
    contexts = np.concatenate([XOR, [[0, 0, 1], [1, 1, 1], [2, 0, 1]]])
    bound = upper_bound(contexts, np.arange(4), d_model=4, d_head=4, n_heads=1)
    assert bound.rank == 6 and verify_upper_bound(contexts, bound)
    return contexts, bound


@pytest.mark.parametrize(
    "change",
    [
        {"rank": 5},
        {"rank": 7},
        {"rows": np.arange(3)},
        {"rows": np.arange(5)},
        {"rows": np.array([0, 1, 2, 2])},
        {"rows": np.array([0, 1, 2, 2, 3])},
        {"rows": np.array([0, 1, 2, 3, 3])},
        {"rows": np.array([3, 2, 1, 0])},
        {"rows": np.array([-4, -3, -2, -1])},
        {"rows": np.array([0, 1, 2, 99])},
        {"rows": np.arange(4.0)},
        {"rows": np.arange(4)[:, None]},
        {"n_heads": 2},
        {"d_head": 1},
        {"d_model": 3, "d_head": 1},
        {"dimensions": Dimensions(4, 1, 4, 3, 1), "rank": 5},
    ],
)
def test_forged_witnesses_are_rejected(forged_from, change):
    contexts, bound = forged_from
    assert not verify_upper_bound(contexts, replace(bound, **change))


def test_a_witness_for_other_contexts_is_rejected(forged_from):
    contexts, bound = forged_from
    contexts = contexts.copy()
    contexts[0, 0] = 5
    assert not verify_upper_bound(contexts, bound)


def test_impossible_sizes_are_refused():
    with pytest.raises(InputError, match="d_head = 3"):
        dimensions(XOR).rank_bound(d_model=2, d_head=3, n_heads=1)
    with pytest.raises(InputError, match="n_heads = -1"):
        peel(XOR).rank_bound(d_model=2, d_head=2, n_heads=-1)
    with pytest.raises(InputError, match="distinct"):
        peel(np.array([[1], [1]]))


@given(context_sets(lengths=(1, 4), largest=10), sizes, st.integers(0, 3))
def test_the_least_bound_is_the_smallest_of_the_named_ones(contexts, widths, n_heads):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    counted = dimensions(contexts)
    named = [counted.rank_bound(**options, name=name) for name in ("U1", "U2")]
    assert counted.rank_bound(**options) == min(named)
    if n_heads:
        alone = [counted.rank_bound(**options, with_skip=False, name=name) for name in ("U1", "U2", "U1'")]
        assert counted.rank_bound(**options, with_skip=False) == min(*alone, n_heads * d_head)
        assert counted.rank_bound(**options, with_skip=False, name="columns") == min(len(contexts), n_heads * d_head)


def test_the_name_of_no_bound_is_refused():
    counted = dimensions(np.array([[0, 1]]))
    for name in ("U3", "U1'"):
        with pytest.raises(InputError, match="name = "):
            counted.rank_bound(d_model=1, d_head=1, n_heads=1, name=name)


def test_a_bound_of_another_name_is_rejected():
    xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
    bound = peel(xor).upper_bound(d_model=4, d_head=4, n_heads=1, name="U2")
    assert bound.rank == 3 and verify_upper_bound(xor, bound)
    assert not verify_upper_bound(xor, replace(bound, name="U1"))


def test_many_components_are_counted():
    loops = np.array([[n, n] for n in range(2000)])
    assert dimensions(loops).differences == 1
    edges = np.array([[2 * n, 2 * n + 1] for n in range(1000)])
    assert dimensions(edges).differences == 1000


@pytest.mark.parametrize("size", [2**61, 2**62, 2**63 - 1, 2**64])
def test_products_of_sizes_do_not_wrap_around(size):
    xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
    for with_skip in (True, False):
        for sizes in ((4, 4, size), (size, size, size), (size, 1, 3), (size, size, 3)):
            d_model, d_head, n_heads = sizes
            options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
            assert upper_bound(xor, np.arange(4), **options).rank == (4 if sizes != (size, 1, 3) or with_skip else 3)
    wide = {"d_model": size, "d_head": size, "n_heads": 1}
    assert upper_bound(xor, np.arange(4), **wide).rank == upper_bound(xor, np.arange(4), **wide, with_skip=False).rank
    assert upper_bound(xor, np.arange(4), **wide).rank == 3
    assert long_contexts_rank(xor, d_model=2, d_head=2, n_heads=size) == 4
