"""Bounds of ranks from above are those of the prover, and no features have a larger rank."""

import numpy as np
from flint import ctx, fmpz
from hypothesis import given
from hypothesis import strategies as st

from constructions.model.shapes import dana_network
from constructions.tasks.arrays import array_task
from tests.layers import random_layer, random_layer_task
from tests.memories import changed, memory, random_task
from tests.verify.kernel.test_task import read
from tests.verify.kernel.test_walk import kernel_model
from verify.kernel import rank_bounds
from verify.kernel.features import columns, features
from verify.kernel.independence import has_rank
from verify.kernel.rank_bounds import PRIME, upper_for_all_weights, upper_for_these_weights
from verify.ranks.linear_relations import rank_upper_bound_for_all_weights
from verify.ranks.rank_of_weights import rank_upper_bound_of_weights


@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(1, 3), st.booleans(), st.booleans())
def test_the_bounds_from_above_are_those_of_the_prover(
    seed: int, n_heads: int, d_head: int, with_skip: bool, coarse: bool
) -> None:
    task = random_task(target="labels", facts=5, tail=1, n_ctx=1 + seed % 3, vocabulary=6, seed=seed)
    network = memory(task, n_heads=n_heads, d_head=d_head, seed=seed)
    if coarse:
        network = changed(network, **{name: np.rint(0.6 * getattr(network, name)) for name in ("W_E", "W_pos", "W_V")})
    model, own = kernel_model(network), read(task)
    width = columns(model, with_skip=with_skip)
    sizes = {"d_model": network.d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
    every = min(task.n_contexts, width, upper_for_all_weights(model, own, with_skip=with_skip))
    assert every == rank_upper_bound_for_all_weights(task.contexts, **sizes).rank
    these = upper_for_these_weights(model, own, with_skip=with_skip)
    assert these == rank_upper_bound_of_weights(network, task, with_skip=with_skip)
    with ctx.workprec(256):
        assert not has_rank(features(model, own, 256, with_skip=with_skip), min(every, these) + 1, 256)


@given(st.integers(0, 10**6), st.booleans())
def test_the_bounds_for_vectors_are_those_of_the_prover(seed: int, shared: bool) -> None:
    task, layer = random_layer_task(examples=7, shared=shared, seed=seed), random_layer(seed=seed)
    own = rank_upper_bound_of_weights(layer, task, with_skip=False)
    model, plain = kernel_model(layer), read(task)
    assert upper_for_these_weights(model, plain, with_skip=False) == own
    assert upper_for_all_weights(model, plain, with_skip=False) == own
    assert not has_rank(features(model, plain, 256, with_skip=False), own + 1, 256)


def test_the_modulus_is_a_prime() -> None:
    assert fmpz(PRIME).is_prime()


def test_relations_of_very_many_tokens_are_not_looked_for(monkeypatch) -> None:
    task = random_task(target="labels", facts=30, tail=0, n_ctx=3, vocabulary=4, seed=0)
    wide, narrow = np.ones((1, 64, 64)), np.ones((1, 64, 1))
    network = dana_network(
        W_E=np.ones((4, 64)),
        W_pos=np.ones((3, 64)),
        W_Q=narrow,
        W_K=narrow,
        W_V=wide,
        W_O=wide,
        W_U=np.ones((64, 4)),
    )
    model, own = kernel_model(network), read(task)
    exact = upper_for_all_weights(model, own, with_skip=False)
    monkeypatch.setattr(rank_bounds, "_LARGEST_FORMAL", 8)
    assert exact < upper_for_all_weights(model, own, with_skip=False)


def bounded(
    contexts: list[tuple[int, ...]], W_E: np.ndarray, W_pos: np.ndarray, *, with_skip: bool, heads: int = 1
) -> list[int]:
    """What bounds the rank for all weights, and for these embeddings with heads whose values are the rows."""
    width, narrow = W_E.shape[1], np.ones((heads, W_E.shape[1], 1))
    values, W_U = np.stack([np.eye(width)] * heads), np.ones((width, len(W_E)))
    network = dana_network(W_E=W_E, W_pos=W_pos, W_Q=narrow, W_K=narrow, W_V=values, W_O=values, W_U=W_U)
    tokens = np.array(contexts)
    labels = np.zeros(len(tokens), dtype=int)
    own = read(array_task(tokens, next_tokens=labels, vocabulary=len(W_E), target="labels"))
    model = kernel_model(network)
    return [of(model, own, with_skip=with_skip) for of in (upper_for_all_weights, upper_for_these_weights)]


def test_bounds_of_small_vocabularies_are_those_that_are_counted_by_hand() -> None:
    wide, places = np.eye(4, 64), np.eye(3, 64, k=8)
    # Four contexts that end alike: four functions of their first token, one of which is constant.
    assert bounded([(n, 0) for n in range(4)], wide, places[:2], with_skip=True)[0] == 4
    # Nine contexts that end alike: of 3 + 3 - 1 functions each of two heads adds all but the constant.
    assert bounded([(*pair, 0) for pair in np.ndindex(3, 3)], wide, places, with_skip=True, heads=2)[0] == 1 + 2 * 4
    # Differences of three tokens, 2, and of three positions, 2, beside three last tokens.
    assert bounded(list(np.ndindex(3, 3, 3)), wide[:3], places, with_skip=True)[0] == 7
    # The rows are sums of a token (n, 1) and a position (s, 1), which differ by multiples of (1, 0).
    tokens, positions = (np.array([[float(n), 1.0] for n in range(count)]) for count in (3, 2))
    assert bounded(list(np.ndindex(3, 3)), tokens, positions, with_skip=False)[1] == 2
    # Two heads on sums of three tokens and two positions, 4, of which one adds differences, 2 and 1.
    assert bounded(list(np.ndindex(3, 3)), wide[:3], places[:2], with_skip=False, heads=2)[0] == 7
