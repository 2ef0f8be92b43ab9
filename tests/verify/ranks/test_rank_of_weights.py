"""The rank of features of contexts from both sides, against ranks in many digits and in rationals."""

import mpmath
import numpy as np
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.model.exact_network import as_rationals
from tests.layers import random_layer, random_layer_task
from tests.memories import changed, memory, random_task, truth
from verify.forward.heads import enclose_features, enclose_mixed_inputs
from verify.ranks.rank_of_weights import rank_of_weights, rank_upper_bound_of_weights


def _numerical_rank(rows: list) -> int:
    with mpmath.workprec(600):
        values = mpmath.svd_r(mpmath.matrix(rows), compute_uv=False)
        return sum(1 for value in values if value > mpmath.mpf(2) ** -120 * max(values))


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3), st.integers(1, 8), st.booleans(), st.booleans())
def test_the_rank_in_many_digits_lies_between_the_bounds(seed, n_heads, d_head, facts, with_skip, coarse):
    task = random_task(target="labels", facts=facts, tail=0, n_ctx=2, vocabulary=3, seed=seed)
    network = memory(task, n_heads=n_heads, d_head=d_head, seed=seed)
    if coarse:  # rows that coincide, and values of a small rank
        network = changed(network, **{name: np.rint(0.7 * getattr(network, name)) for name in ("W_E", "W_pos", "W_V")})
    found = rank_of_weights(network, task, enclose_features(network, task.contexts), with_skip=with_skip)
    known = truth(network, task, bits=600)
    rows = [[*(last if with_skip else []), *row] for last, row in zip(known.last, known.features, strict=True)]
    assert found.lower <= _numerical_rank(rows) <= found.upper <= found.all_weights_upper
    assert found.all_weights_upper <= min(found.rows, found.columns)


def test_uniform_attention_is_rational_and_its_rank_is_between_the_bounds():
    """Heads whose scores are all 0 mix the mean of the rows."""
    task = random_task(target="labels", facts=8, tail=0, n_ctx=3, vocabulary=3)
    network = memory(task, n_heads=1, d_head=4, beta=0.0)
    mean = fmpq_mat(1, 3, [fmpq(1, 3)] * 3)
    rows = []
    for context in task.contexts:
        stream = as_rationals(network.W_E[context]) + as_rationals(network.W_pos)
        rows.append((mean * stream * as_rationals(network.W_V[0])).entries())
    exact = fmpq_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row]).rank()
    found = rank_of_weights(network, task, enclose_features(network, task.contexts), with_skip=False)
    assert found.lower == exact <= found.upper


def test_values_that_lose_a_direction_bound_the_rank_of_these_weights_alone():
    task = random_task(target="labels")
    network = memory(task, n_heads=2, d_head=3)
    values = np.array(network.W_V)
    values[1] = 0.0
    spoiled = changed(network, W_V=values)
    found = rank_of_weights(spoiled, task, enclose_features(spoiled, task.contexts), with_skip=False)
    assert (found.lower, found.upper, found.all_weights_upper) == (3, 3, 6)
    assert rank_upper_bound_of_weights(network, task, with_skip=False) == 6


def test_contexts_of_one_token_read_nothing_but_their_last_token():
    task = random_task(target="labels", facts=3, tail=0, n_ctx=1, vocabulary=4)
    network = memory(task, n_heads=2, d_head=2)
    assert rank_upper_bound_of_weights(network, task, with_skip=True) == 3
    assert rank_upper_bound_of_weights(network, task, with_skip=False) == 3


def test_widened_radii_prove_no_more():
    task = random_task(target="labels", facts=6)
    network = memory(task, n_heads=4)
    features = enclose_features(network, task.contexts)
    assert rank_of_weights(network, task, features, with_skip=False, widened=4.0).lower == 6


def test_the_vectors_of_one_context_bound_the_rank_for_all_weights():
    task, layer = random_layer_task(examples=9, tokens=2, d_model=3), random_layer(n_heads=2, d_model=3)
    found = rank_of_weights(layer, task, enclose_mixed_inputs(layer, task), with_skip=False)
    assert (found.lower, found.upper, found.all_weights_upper) == (3, 3, 3)  # H (n - 1) + 1
