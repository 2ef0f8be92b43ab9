"""The formula for bigrams against brute force over all sets, and the lift matroid against integer matrices."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from constructions.attention.capacity import bigram_rank as module
from constructions.attention.capacity.bigram_rank import bigram_rank, input_rank, lift_rank, span_bound
from constructions.attention.capacity.generic_rank import Relations, generic_rank
from constructions.attention.capacity.sub_alphabet import dimensions
from constructions.errors import HypothesisError, InputError
from constructions.tasks.arrays import all_contexts
from tests.constructions.exact_features import context_sets, span_of_differences, span_of_inputs, subsets

sizes = st.tuples(st.integers(1, 5), st.integers(1, 5)).map(lambda pair: (max(pair), min(pair)))


def by_brute_force(contexts, d_model, d_head, n_heads, *, with_skip):
    """The minimum of the formula over all sets, with spans counted as ranks of integer matrices."""
    values = []
    for rows in subsets(len(contexts)):
        chosen = contexts[rows]
        per_head = min(d_head, span_of_differences(chosen))
        if with_skip:
            inside = min(d_model, len(np.unique(chosen[:, 1]))) + n_heads * per_head
        elif n_heads == 0 or len(rows) == 0:
            inside = 0
        else:
            inside = min(n_heads * d_head, (n_heads - 1) * per_head + min(d_model, span_of_inputs(chosen)))
        values.append((len(contexts) - len(rows) + inside, len(rows)))
    return min(values)


@given(context_sets(lengths=(2, 2), largest=7), sizes, st.integers(0, 3), st.booleans())
def test_the_rank_is_the_minimum_over_all_sets_and_the_smallest_set_attains_it(contexts, widths, n_heads, with_skip):
    d_model, d_head = widths
    found = bigram_rank(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=with_skip)
    rank, fewest = by_brute_force(contexts, d_model, d_head, n_heads, with_skip=with_skip)
    assert found.rank == rank and len(found.rows) == fewest


@pytest.mark.parametrize("with_skip", [True, False])
@pytest.mark.parametrize(
    "contexts",
    [
        [[n, n] for n in range(7)],
        [[n, 0] for n in range(7)],
        [[n, c] for n in range(2) for c in range(2, 6)],
        [[0, 0], [1, 1], [2, 2], [3, 3], [4, 5], [5, 4], [0, 4]],
        [[0, 1], [1, 0], [0, 2], [2, 0], [0, 3], [3, 0], [0, 0]],
    ],
)
def test_adversarial_sets_have_the_minimum_over_all_sets(contexts, with_skip):
    contexts = np.array(contexts)
    for d_model, d_head, n_heads in ((1, 1, 2), (2, 2, 2), (3, 2, 2), (3, 3, 1), (3, 3, 2), (4, 1, 3), (6, 6, 1)):
        found = bigram_rank(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=with_skip)
        rank, fewest = by_brute_force(contexts, d_model, d_head, n_heads, with_skip=with_skip)
        assert (found.rank, len(found.rows)) == (rank, fewest)


def test_loops_alone_have_one_dimension_for_each_head_but_the_first():
    loops = np.array([[n, n] for n in range(9)])
    assert bigram_rank(loops, d_model=3, d_head=3, n_heads=3, with_skip=False).rank == 2 * 1 + 3
    assert bigram_rank(loops[:4], d_model=2, d_head=2, n_heads=2, with_skip=False).rank == 1 + 2
    assert bigram_rank(loops, d_model=3, d_head=3, n_heads=3).rank == 3 + 3 * 1


@given(context_sets(lengths=(2, 2), largest=14), sizes, st.integers(0, 4), st.booleans())
def test_the_rank_is_the_generic_rank_at_another_point(contexts, widths, n_heads, with_skip):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
    assert bigram_rank(contexts, **options).rank == generic_rank(contexts, **options, seed=17)


@given(context_sets(lengths=(2, 2), largest=14))
@example(np.array([[0, 1], [1, 0]]))  # balanced by no potential: both arcs go up
@example(np.array([[0, 1], [2, 1], [2, 3], [0, 3]]))
@example(np.array([[3, 0], [3, 1], [3, 2], [0, 2], [1, 2]]))
def test_the_lift_matroid_counts_the_differences(contexts):
    assert lift_rank(contexts) == span_of_differences(contexts) == dimensions(contexts).differences
    assert input_rank(contexts) == span_of_inputs(contexts) == dimensions(contexts).inputs


def test_sets_of_nothing_have_no_dimensions():
    nothing = np.zeros((0, 2), dtype=np.int64)
    assert lift_rank(nothing) == input_rank(nothing) == 0
    for with_skip in (True, False):
        assert span_bound(nothing, d_model=3, d_head=2, n_heads=4, with_skip=with_skip) == 0


@pytest.mark.parametrize(
    ("contexts", "expected"),
    [
        ([[0, 0]], 1),
        ([[0, 1]], 1),
        ([[0, 1], [1, 0]], 2),
        ([[0, 1], [1, 2], [2, 0]], 3),
        ([[0, 2], [0, 3], [1, 2], [1, 3]], 3),
        ([[0, 0], [1, 1], [2, 2]], 1),
        ([[0, 1], [1, 2], [0, 2]], 3),
    ],
)
def test_the_lift_matroid_of_known_graphs(contexts, expected):
    assert lift_rank(np.array(contexts)) == expected


def test_long_paths_need_no_recursion():
    path = np.column_stack([np.arange(5000), np.arange(1, 5001)])
    assert lift_rank(path) == lift_rank(path[::-1]) == 5000


def test_one_token_and_one_context_and_no_heads():
    one = np.array([[0, 0]])
    assert bigram_rank(one, d_model=1, d_head=1, n_heads=0).rank == 1
    assert bigram_rank(one, d_model=1, d_head=1, n_heads=0, with_skip=False).rank == 0
    assert bigram_rank(one, d_model=1, d_head=1, n_heads=1, with_skip=False).rank == 1


def test_an_unlucky_point_is_drawn_again(monkeypatch):
    seeds = []
    honest = module.relations

    def unlucky_at_first(contexts, *, seed, **options):
        seeds.append(seed)
        found = honest(contexts, seed=seed, **options)
        return Relations(rank=found.rank - 1, rows=found.rows) if len(seeds) == 1 else found

    monkeypatch.setattr(module, "relations", unlucky_at_first)
    assert bigram_rank(all_contexts(3, 2), d_model=3, d_head=3, n_heads=1, seed=5).rank == 6
    assert seeds == [5, 6]


def test_contexts_of_another_length_are_refused():
    for contexts in (np.array([[0]]), np.array([[0, 1, 2]])):
        with pytest.raises(HypothesisError, match="Theorem S2"):
            bigram_rank(contexts, d_model=2, d_head=1, n_heads=1)
        with pytest.raises(HypothesisError, match="Theorem S2"):
            lift_rank(contexts)
    with pytest.raises(InputError, match="d_head = 3"):
        bigram_rank(np.array([[0, 1]]), d_model=2, d_head=3, n_heads=1)
