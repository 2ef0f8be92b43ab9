"""The list of all contexts and its windows, for every small size, and the formula that they prove."""

import numpy as np
import pytest

from constructions.attention.capacity.generic_rank import generic_rank
from constructions.attention.capacity.windows import all_contexts_heads, all_contexts_rank, all_contexts_windows
from constructions.errors import HypothesisError, InputError
from constructions.tasks.arrays import all_contexts
from tests.constructions.attention.capacity.test_partition import holds

SIZES = [
    (d_vocab, n_ctx, d_model, d_head)
    for d_vocab in range(1, 7)
    for n_ctx in range(2, 5)
    if d_vocab**n_ctx <= 130
    for d_model in range(1, d_vocab + 2)
    for d_head in range(1, min(d_model, d_vocab) + 1)
]


@pytest.mark.parametrize(("d_vocab", "n_ctx"), sorted({size[:2] for size in SIZES}))
def test_the_windows_hold_every_context_once(d_vocab, n_ctx):
    for d_model, d_head in (size[2:] for size in SIZES if size[:2] == (d_vocab, n_ctx)):
        n_heads = -(-(d_vocab**n_ctx) // d_head)
        contexts, found = all_contexts_windows(d_vocab, n_ctx, d_model=d_model, d_head=d_head, n_heads=n_heads)
        assert sorted(map(tuple, contexts)) == sorted(map(tuple, all_contexts(d_vocab, n_ctx)))
        assert found.size == len(contexts) and len(found.windows) == n_heads
        assert holds(contexts, found, d_model, d_head)


@pytest.mark.parametrize(("d_vocab", "n_ctx", "d_model", "d_head"), SIZES)
def test_the_number_of_heads_is_the_fewest(d_vocab, n_ctx, d_model, d_head):
    sizes = {"d_model": d_model, "d_head": d_head}
    n_heads = all_contexts_heads(d_vocab, n_ctx, **sizes)
    assert all_contexts_rank(d_vocab, n_ctx, **sizes, n_heads=n_heads) == d_vocab**n_ctx
    assert n_heads == 1 or all_contexts_rank(d_vocab, n_ctx, **sizes, n_heads=n_heads - 1) < d_vocab**n_ctx


@pytest.mark.parametrize(("d_vocab", "n_ctx", "d_model", "d_head"), [(3, 1, 2, 2), (2, 3, 3, 3)])
def test_the_fewest_heads_are_known_for_long_contexts_and_narrow_heads_alone(d_vocab, n_ctx, d_model, d_head):
    with pytest.raises(HypothesisError, match="S >= 2 and d_h <= N"):
        all_contexts_heads(d_vocab, n_ctx, d_model=d_model, d_head=d_head)


def test_with_fewer_heads_the_list_stops():
    contexts, found = all_contexts_windows(4, 3, d_model=3, d_head=2, n_heads=5)
    assert len(contexts) == found.size == 13 and holds(contexts, found, 3, 2)
    assert [len(window.rows) for window in found.windows] == [2] * 5
    contexts, found = all_contexts_windows(3, 2, d_model=2, d_head=1, n_heads=0)
    assert contexts.tolist() == [[0, 0], [1, 1]] and found.skip == (0, 1)


def test_a_window_across_two_blocks_with_a_loop_has_one_cycle():
    # Without the limit d_h <= d the tails 2, 3, 4 of one block and 1 of the next would have two.
    contexts, found = all_contexts_windows(4, 2, d_model=3, d_head=3, n_heads=5)
    spanning = [window for window in found.windows if window.rows[0] // 4 != window.rows[-1] // 4]
    assert spanning and holds(contexts, found, 3, 3)
    loops = [window for window in found.windows if any(len(set(contexts[row])) == 1 for row in window.rows)]
    assert len(loops) == 1


@pytest.mark.parametrize("d_vocab", [1, 2, 3, 4])
@pytest.mark.parametrize("with_skip", [True, False])
def test_the_rank_of_all_bigrams_is_the_generic_rank_for_all_widths(d_vocab, with_skip):
    contexts = all_contexts(d_vocab, 2)
    for d_model in range(1, d_vocab + 3):
        for d_head in range(1, d_model + 1):
            for n_heads in range(6):
                options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
                assert all_contexts_rank(d_vocab, 2, **options) == generic_rank(contexts, **options)


@pytest.mark.parametrize(("d_vocab", "n_ctx"), [(1, 3), (2, 3), (3, 3), (2, 5)])
def test_the_rank_of_all_contexts_is_the_generic_rank(d_vocab, n_ctx):
    contexts = all_contexts(d_vocab, n_ctx)
    for d_model in range(1, d_vocab + 3):
        for d_head in range(1, min(d_model, d_vocab) + 1):
            for n_heads in (0, 1, 2, 5):
                options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
                assert all_contexts_rank(d_vocab, n_ctx, **options) == generic_rank(contexts, **options)


def test_what_is_not_proved_is_refused():
    with pytest.raises(HypothesisError, match="d_h <= N or S = 2, but d_h = 3, N = 2, S = 3"):
        all_contexts_rank(2, 3, d_model=4, d_head=3, n_heads=1)
    assert all_contexts_rank(2, 2, d_model=4, d_head=3, n_heads=1) == 4
    with pytest.raises(HypothesisError, match="S = 2, but S = 3"):
        all_contexts_rank(2, 3, d_model=2, d_head=2, n_heads=1, with_skip=False)
    with pytest.raises(HypothesisError, match="S >= 2, but S = 1"):
        all_contexts_rank(2, 1, d_model=2, d_head=2, n_heads=1)
    with pytest.raises(HypothesisError, match="d_h <= N, but d_h = 3, N = 2"):
        all_contexts_windows(2, 2, d_model=3, d_head=3, n_heads=1)
    with pytest.raises(InputError, match="d_vocab = 0"):
        all_contexts_rank(0, 2, d_model=2, d_head=2, n_heads=1)
    with pytest.raises(InputError, match="d_head = 3"):
        all_contexts_windows(4, 2, d_model=2, d_head=3, n_heads=1)
    assert isinstance(all_contexts_windows(2, 2, d_model=1, d_head=1, n_heads=1)[0], np.ndarray)
