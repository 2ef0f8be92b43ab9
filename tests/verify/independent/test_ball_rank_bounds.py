"""The second checker's own bounds of ranks: against exact ranks, and against those of the prover."""

import numpy as np
from flint import arb, arb_mat, ctx, fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from tests.layers import random_layer, random_layer_task, write_layer
from tests.memories import changed, memory, random_task
from verify.capacity.linear_relations import rank_upper_bound_for_all_weights
from verify.capacity.rank_of_weights import rank_upper_bound_of_weights
from verify.independent.ball_rank_bounds import has_rank, upper_for_all_weights, upper_for_these_weights
from verify.independent.plain.plain_model import PlainModel
from verify.independent.plain.plain_task import PlainTask, PlainVectorTask


@given(st.lists(st.lists(st.integers(-2, 2), min_size=4, max_size=4), min_size=1, max_size=6))
def test_a_rank_is_proved_exactly_where_it_is_reached(rows):
    rank = fmpz_mat(rows).rank()
    proved = [has_rank(arb_mat(rows), claimed) for claimed in range(6)]
    assert proved == [claimed <= rank for claimed in range(6)]


def test_balls_that_hold_a_matrix_of_smaller_rank_prove_no_more_than_that():
    wide = arb_mat([[1, 0], [0, arb(0.5, 0.5)]])
    assert has_rank(wide, 1) and not has_rank(wide, 2)
    unknown = arb_mat([[arb("nan"), 1], [1, 1]])
    assert not has_rank(unknown, 2)
    with ctx.workprec(64):
        tiny = arb_mat([[arb((1, -4000)), 0], [0, 1]])
        assert has_rank(tiny, 2)


@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(1, 3), st.booleans(), st.booleans())
def test_the_bounds_from_above_are_those_of_the_prover(tmp_path_factory, seed, n_heads, d_head, with_skip, coarse):
    folder = tmp_path_factory.mktemp("small")
    task = random_task(target="labels", facts=5, tail=1, n_ctx=1 + seed % 3, vocabulary=6, seed=seed)
    network = memory(task, n_heads=n_heads, d_head=d_head, seed=seed)
    if coarse:
        network = changed(network, **{name: np.rint(0.6 * getattr(network, name)) for name in ("W_E", "W_pos", "W_V")})
    network.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    model, plain = PlainModel.read(folder / "model.safetensors"), PlainTask.read(folder / "task.safetensors")
    sizes = {"d_model": network.d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
    ceiling = rank_upper_bound_for_all_weights(task.contexts, **sizes).rank
    own = upper_for_all_weights(model, plain, with_skip=with_skip)
    columns = n_heads * d_head + with_skip * network.d_model
    assert min(own, task.n_contexts, columns) == ceiling
    assert upper_for_these_weights(model, plain, with_skip=with_skip) == rank_upper_bound_of_weights(
        network, task, with_skip=with_skip
    )


def test_the_bounds_for_vectors_are_those_of_the_prover(tmp_path):
    for shared in (True, False):
        task, layer = random_layer_task(examples=7, shared=shared), random_layer()
        write_layer(tmp_path, layer, task, rank=False)
        model = PlainModel.read(tmp_path / "model.safetensors")
        plain = PlainVectorTask.read(tmp_path / "task.safetensors")
        own = rank_upper_bound_of_weights(layer, task, with_skip=False)
        assert upper_for_these_weights(model, plain, with_skip=False) == own
        assert upper_for_all_weights(model, plain, with_skip=False) == own
