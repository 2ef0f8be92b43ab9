"""The audit certifies the networks of Zhang et al., and nothing that misses a value."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.errors import HypothesisError, InputError
from constructions.rational.interpolating_network import exact, interpolating_network
from constructions.tasks.random_facts import random_contexts
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claims import zhang_2017_theorem as audit
from verify.theorems.claims.zhang_2017_theorem import CLAIM
from verify.verdict import Verdict


def network_and_values(offset: bool):
    points, values = audit.drawn(count=9, width=2, outputs=1)
    return interpolating_network(points, values, offset=offset), points, values


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("tensor", ["W_in", "b_in", "W_out"])
def test_a_network_with_one_entry_changed_is_refuted(offset, tensor):
    model, points, values = network_and_values(offset)
    assert audit._represents(model, points, values, offset=offset).verdict is Verdict.PROVED
    block = model.blocks[0]
    changed = getattr(block, tensor).copy()
    changed.flat[0] += 1
    spoiled = replace(model, blocks=(replace(block, **{tensor: changed}),))
    assert audit._represents(spoiled, points, values, offset=offset).verdict is Verdict.REFUTED


def test_values_at_other_points_are_not_those_of_the_statement():
    model, points, values = network_and_values(False)
    moved = points + 1
    assert audit._represents(model, moved, values, offset=False).verdict is Verdict.REFUTED


def test_neurons_that_read_in_several_directions_are_not_counted_as_one():
    block = network_and_values(False)[0].blocks[0]
    W_in = block.W_in.copy()
    W_in[:, 0] = -W_in[:, 0]
    assert audit.chosen_numbers(replace(block, W_in=W_in)) is None


def test_more_weights_than_printed_are_refuted():
    model, points, values = network_and_values(False)
    block = model.blocks[0]
    wider = replace(
        block,
        W_in=np.hstack([block.W_in, block.W_in[:, :1]]),
        b_in=np.concatenate([block.b_in, block.b_in[:1]]),
        W_out=np.vstack([block.W_out, exact([[0]])]),
    )
    spoiled = replace(model, blocks=(wider,))
    assert (exact_network_logits(spoiled, np.arange(9)[:, None])) == exact_network_logits(model, np.arange(9)[:, None])
    assert audit._represents(spoiled, points, values, offset=False).verdict is Verdict.REFUTED


def test_contexts_that_are_not_memorized_are_not_confirmed(monkeypatch):
    made = CLAIM.construct()
    block = made.model.blocks[1]
    spoiled = replace(
        made, model=replace(made.model, blocks=(made.model.blocks[0], replace(block, W_out=-block.W_out)))
    )
    monkeypatch.setattr(type(CLAIM), "construct", lambda _: spoiled)
    assert audit._contexts().verdict is Verdict.UNDECIDED


def test_contexts_that_are_drawn_differ_and_are_no_more_than_there_are():
    found = random_contexts(d_vocab=3, n_ctx=2, facts=9, seed=1)
    assert len(np.unique(found, axis=0)) == 9
    with pytest.raises(InputError, match="facts = 10, of 9 contexts"):
        random_contexts(d_vocab=3, n_ctx=2, facts=10, seed=1)
    with pytest.raises(HypothesisError, match="1 <= T <= N"):
        CLAIM.construct(d_vocab=3, n_ctx=2, facts=10)
