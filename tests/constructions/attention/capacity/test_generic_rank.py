"""The generic rank against closed forms that are proved, against brute force, and against exact real weights."""

import numpy as np
import pytest
from flint import nmod_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity import generic_rank as module
from constructions.attention.capacity.generic_rank import (
    PRIME,
    dependent_contexts,
    generic_rank,
    generic_ranks,
    generic_ranks_of_both,
    relations,
)
from constructions.attention.capacity.sub_alphabet import peel
from constructions.errors import InputError, ResourceError
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


def test_four_contexts_of_the_xor_have_rank_three_with_one_head_of_any_width():
    for d_model in (4, 7, 30):
        ranks = generic_ranks(XOR, d_model=d_model, d_head=d_model, n_heads=2)
        assert ranks.tolist() == [1, 3, 4]


def test_loops_reach_five_of_nine_with_three_heads_of_width_three():
    loops = np.array([[n, n] for n in range(9)])
    assert generic_rank(loops, d_model=3, d_head=3, n_heads=3, with_skip=False) == 5
    assert generic_rank(loops, d_model=3, d_head=3, n_heads=3) == 6
    assert generic_rank(loops[:4], d_model=2, d_head=2, n_heads=2, with_skip=False) == 3


def test_subjects_with_relations_have_one_dimension_less_than_tokens():
    # No token occurs in both places, so that x_1 - x_2 spans a + b - 1 dimensions, not a + b.
    facts = np.array([[subject, relation] for subject in range(4) for relation in (7, 8, 9)])
    ranks = generic_ranks(facts, d_model=20, d_head=20, n_heads=2)
    assert ranks.tolist() == [3, 3 + (4 + 3 - 1), 12]


def test_heads_add_nothing_to_contexts_of_one_token():
    contexts = np.arange(6)[:, None]
    assert generic_ranks(contexts, d_model=4, d_head=2, n_heads=3).tolist() == [4, 4, 4, 4]
    assert generic_ranks(contexts, d_model=4, d_head=2, n_heads=3, with_skip=False).tolist() == [0, 2, 4, 4]


@pytest.mark.parametrize(("d_vocab", "n_ctx"), [(1, 1), (1, 3), (2, 2), (2, 4), (3, 2), (3, 3), (4, 2), (5, 2)])
def test_all_contexts_have_the_rank_of_the_closed_form(d_vocab, n_ctx):
    contexts = all_contexts(d_vocab, n_ctx)
    for d_model in (1, 2, 3, d_vocab + n_ctx + 2):
        for d_head in {1, min(2, d_model), min(d_model, d_vocab)}:
            ranks = generic_ranks(contexts, d_model=d_model, d_head=d_head, n_heads=5)
            per_head = min(d_head, d_vocab + n_ctx - 2)
            expected = [min(len(contexts), min(d_model, d_vocab) + n_heads * per_head) for n_heads in range(6)]
            assert ranks.tolist() == (expected if n_ctx > 1 else [min(d_model, d_vocab)] * 6)


@pytest.mark.parametrize("d_vocab", [2, 3, 4, 5])
def test_heads_alone_on_all_bigrams_have_the_rank_of_the_closed_form(d_vocab):
    contexts = all_contexts(d_vocab, 2)
    for d_model in range(1, d_vocab + 3):
        ranks = generic_ranks(contexts, d_model=d_model, d_head=d_model, n_heads=4, with_skip=False)
        expected = [
            min(len(contexts), (n_heads - 1) * min(d_model, d_vocab) + min(d_model, d_vocab + 1))
            for n_heads in range(1, 5)
        ]
        assert ranks.tolist() == [0, *expected]


@given(context_sets(lengths=(2, 2), largest=6), sizes, st.integers(0, 3))
def test_bigrams_have_the_rank_of_the_minimum_over_all_sets(contexts, widths, n_heads):
    d_model, d_head = widths
    expected = min(
        len(contexts)
        - len(rows)
        + min(d_model, len(np.unique(contexts[rows, -1])))
        + n_heads * min(d_head, span_of_differences(contexts[rows]))
        for rows in subsets(len(contexts))
    )
    assert generic_rank(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads) == expected


@given(context_sets(lengths=(2, 2), largest=6), st.integers(1, 5), st.integers(1, 3))
def test_heads_alone_on_bigrams_have_the_rank_of_the_minimum_over_all_sets(contexts, d_model, n_heads):
    expected = min(
        len(contexts)
        - len(rows)
        + (n_heads - 1) * min(d_model, span_of_differences(contexts[rows]))
        + min(d_model, span_of_inputs(contexts[rows]))
        for rows in subsets(len(contexts))
    )
    assert generic_rank(contexts, d_model=d_model, d_head=d_model, n_heads=n_heads, with_skip=False) == expected


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(1, 3), st.integers(0, 4), st.integers(0, 2**31))
def test_long_contexts_reach_full_rank_when_no_last_token_is_too_frequent(multiplicities, d_head, n_heads, seed):
    multiplicities.sort(reverse=True)
    d_model, n_ctx, rng = d_head + 1, d_head + 2, np.random.default_rng(seed)
    contexts = np.concatenate(
        [
            np.column_stack([all_contexts(3, n_ctx - 1)[rng.choice(3 ** (n_ctx - 1), m, replace=False)], np.full(m, c)])
            for c, m in enumerate(multiplicities)
        ]
    )
    fits = all(
        sum(multiplicities[:j]) <= min(d_model, j) + n_heads * min(d_head, j) for j in range(1, len(multiplicities) + 1)
    )
    if fits:
        assert generic_rank(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads) == len(contexts)


@given(context_sets(), sizes, st.integers(0, 3))
def test_each_head_adds_at_least_one_until_the_rank_is_full(contexts, widths, n_heads):
    d_model, d_head = widths
    ranks = generic_ranks(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads)
    start = min(d_model, len(np.unique(contexts[:, -1])))
    assert ranks[0] == start
    assert (np.diff(ranks) >= np.minimum(1, len(contexts) - ranks[:-1])).all()
    alone = generic_ranks(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=False)
    assert (alone >= np.minimum(len(contexts), np.arange(n_heads + 1))).all()
    assert (alone <= ranks).all()


@given(context_sets(largest=12), st.integers(0, 4))
def test_width_one_has_exactly_one_dimension_per_head(contexts, n_heads):
    ranks = generic_ranks(contexts, d_model=1, d_head=1, n_heads=n_heads)
    assert ranks.tolist() == [min(len(contexts), 1 + heads) for heads in range(n_heads + 1)]


@given(context_sets(largest=6), sizes, st.integers(0, 2), st.booleans(), st.integers(0, 2**31))
def test_no_exact_weights_exceed_the_generic_rank_and_some_reach_it(contexts, widths, n_heads, with_skip, seed):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
    generic = generic_rank(contexts, **options, seed=seed)
    rng = np.random.default_rng(seed)
    ranks = []
    # Small embeddings are often degenerate and stay below; of large ones most are in general position.
    for spread in (1, 60, 60, 60):
        ranks.append(exact_rank(exact_features(contexts, rng, **options, spread=spread)))
        assert ranks[-1] <= generic
    if d_model > 1 and contexts.shape[1] < 4:
        assert max(ranks) == generic


@given(context_sets(largest=12), sizes, st.integers(0, 2**31), st.booleans())
def test_the_ranks_depend_neither_on_the_seed_nor_on_the_names_of_the_tokens(contexts, widths, seed, with_skip):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "n_heads": 3, "with_skip": with_skip}
    renamed = np.random.default_rng(seed).permutation(1000)[contexts]
    assert (generic_ranks(contexts, **options) == generic_ranks(renamed, **options, seed=seed)).all()


@given(context_sets(largest=12), sizes, st.booleans())
def test_one_elimination_gives_the_ranks_of_all_numbers_of_heads(contexts, widths, with_skip):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "with_skip": with_skip}
    ranks = generic_ranks(contexts, **options, n_heads=4)
    assert ranks.tolist() == [generic_rank(contexts, **options, n_heads=n_heads, seed=5) for n_heads in range(5)]


@given(st.integers(1, 6), st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(0, 2), st.integers(0, 2**32))
def test_one_elimination_gives_the_ranks_with_and_without_the_first_columns(rows, widths, rank, seed):
    # Of a small rank and with small entries, so that columns depend on each other in every way.
    rng = np.random.default_rng(seed)
    entries = rng.integers(0, 2, (rows, rank)) @ rng.integers(0, 3, (rank, sum(widths)))

    def rank_of(block):
        return nmod_mat(*block.shape, block.ravel().tolist(), PRIME).rank()

    both, alone = module._ranks_of_both(nmod_mat(*entries.shape, entries.ravel().tolist(), PRIME), np.array(widths))
    ends = np.cumsum(widths).tolist()
    assert both.tolist() == [rank_of(entries[:, :end]) for end in ends]
    assert alone.tolist() == [rank_of(entries[:, widths[0] : end]) for end in ends]


@given(context_sets(largest=12), sizes, st.integers(0, 4))
def test_the_ranks_beside_the_skip_connection_and_alone_are_those_of_two_eliminations(contexts, widths, n_heads):
    sizes = {"d_model": widths[0], "d_head": widths[1], "n_heads": n_heads}
    two = [generic_ranks(contexts, **sizes, with_skip=with_skip).tolist() for with_skip in (True, False)]
    assert [each.tolist() for each in generic_ranks_of_both(contexts, **sizes)] == two
    beside, alone = (peel(contexts).rank_bounds(**sizes, with_skip=each) for each in (True, False))
    limited = generic_ranks_of_both(contexts, **sizes, limits=beside, limits_alone=alone)
    assert [each.tolist() for each in limited] == two


@given(context_sets(), sizes, st.booleans())
def test_narrower_heads_within_upper_limits_lose_nothing(contexts, widths, with_skip):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "with_skip": with_skip, "n_heads": 4}
    limits = peel(contexts).rank_bounds(**options)
    assert (generic_ranks(contexts, **options, limits=limits) == generic_ranks(contexts, **options)).all()


@given(context_sets(largest=12), sizes, st.integers(0, 3), st.booleans())
def test_contexts_outside_every_relation_add_one_each(contexts, widths, n_heads, with_skip):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
    rank = generic_rank(contexts, **options)
    rows = dependent_contexts(contexts, **options)
    assert (len(rows) == 0) == (rank == len(contexts))
    if len(rows):
        assert len(contexts) - len(rows) + generic_rank(contexts[rows], **options) == rank
        for row in rows if len(contexts) > 1 else ():
            others = np.delete(contexts, row, axis=0)
            assert generic_rank(others, **options) == rank


def test_sums_that_vanish_are_drawn_again():
    draws = iter(
        [
            np.array([[1, PRIME - 1], [1, 1]], dtype=np.uint64),
            np.array([[3, 4], [5, 6]], dtype=np.uint64),
        ]
    )
    attention = module._attention(lambda: next(draws))
    assert (attention.sum(axis=1) % PRIME).tolist() == [1, 1]
    assert (attention[0, 0] * 7 % PRIME, attention[1, 1] * 11 % PRIME) == (3, 6)


def test_products_are_exact_for_the_largest_residues():
    left = np.full((2, 3000), PRIME - 1, dtype=np.uint64)
    right = np.full((3000, 2), PRIME - 2, dtype=np.uint64)
    expected = 3000 * (PRIME - 1) * (PRIME - 2) % PRIME
    assert module._product(left, right).tolist() == [[expected] * 2] * 2


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        (np.zeros((0, 2), dtype=int), "shape"),
        (np.zeros((2, 0), dtype=int), "shape"),
        (np.zeros(3, dtype=int), "shape"),
        (np.zeros((2, 2)), "float64"),
        (np.array([[0, -1]]), "-1"),
        (np.array([[0, 1], [0, 1]]), "distinct"),
    ],
)
def test_contexts_that_are_none_are_refused(contexts, message):
    with pytest.raises(InputError, match=message):
        generic_rank(contexts, d_model=2, d_head=1, n_heads=1)


@pytest.mark.parametrize("widths", [(0, 1, 1), (2, 3, 1), (2, 0, 1), (2, 1, -1)])
def test_sizes_of_no_model_are_refused(widths):
    d_model, d_head, n_heads = widths
    for function in (generic_rank, dependent_contexts):
        with pytest.raises(InputError, match="expected"):
            function(XOR, d_model=d_model, d_head=d_head, n_heads=n_heads)


def test_a_matrix_that_would_not_fit_into_memory_is_refused_before_it_is_built():
    for n_heads in (2**24, 10**15):
        with pytest.raises(ResourceError, match="GiB"):
            generic_rank(XOR, d_model=4, d_head=4, n_heads=n_heads)


@given(context_sets(lengths=(1, 4), largest=10), sizes, st.integers(0, 3), st.booleans())
def test_relations_come_with_the_rank_at_their_point(contexts, widths, n_heads, with_skip):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip, "seed": 4}
    found = relations(contexts, **options)
    assert found.rank == generic_rank(contexts, **options)
    assert (len(found.rows) == 0) == (found.rank == len(contexts))
    assert found.rows.tolist() == dependent_contexts(contexts, **options).tolist()


@pytest.mark.parametrize("largest", [128, pytest.param(1024, marks=pytest.mark.slow)])
def test_heads_wider_than_the_vocabulary_have_the_rank_of_theorem_w(largest):
    """All shapes with so many contexts: smaller widths are in Theorem S5, larger ones add nothing."""
    for tokens, n_ctx in ((n, s) for n in range(2, 11) for s in range(3, 11) if n**s <= largest):
        count = tokens**n_ctx
        for width in range(tokens + 1, tokens + n_ctx - 1):
            n_heads = -(-(count - tokens) // width)
            ranks = generic_ranks(all_contexts(tokens, n_ctx), d_model=width, d_head=width, n_heads=n_heads)
            assert ranks.tolist() == [min(count, tokens + h * width) for h in range(n_heads + 1)]
