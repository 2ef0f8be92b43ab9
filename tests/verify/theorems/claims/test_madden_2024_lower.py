"""Exact distributions are certified, and none that are missed; sums that know no order are told."""

from dataclasses import replace

import numpy as np
import pytest
from flint import arb, arb_mat, fmpq

from constructions.errors import HypothesisError, InputError
from constructions.rational.interpolating_network import exact
from constructions.rational.positional_attention import exact_distributions_model
from constructions.tasks.random_facts import random_contexts
from verify.theorems.claims import madden_2024_lower as audit
from verify.theorems.claims.madden_2024_lower import CLAIM
from verify.verdict import Verdict


def instance():
    contexts = random_contexts(d_vocab=3, n_ctx=3, facts=9, seed=1)
    log_odds = audit.drawn_log_odds(d_vocab=3, facts=9)
    return exact_distributions_model(contexts, log_odds, 3), contexts, log_odds


@pytest.mark.parametrize("tensor", ["b_in", "W_out", "b_out"])
def test_a_model_with_one_entry_changed_is_refuted(tensor):
    model, contexts, log_odds = instance()
    assert audit._reached(model, contexts, log_odds).verdict is Verdict.PROVED
    changed = getattr(model.blocks[1], tensor).copy()
    changed.flat[-1] += 1
    spoiled = replace(model, blocks=(model.blocks[0], replace(model.blocks[1], **{tensor: changed})))
    assert audit._reached(spoiled, contexts, log_odds).verdict is Verdict.REFUTED


def test_a_neuron_more_is_a_number_more_and_refuted():
    model, contexts, log_odds = instance()
    block = model.blocks[1]
    wider = replace(
        block,
        W_in=np.hstack([block.W_in, exact([[1]])]),
        b_in=np.concatenate([block.b_in, exact([0])]),
        W_out=np.vstack([block.W_out, exact([[0, 0]])]),
    )
    assert (
        audit._reached(replace(model, blocks=(model.blocks[0], wider)), contexts, log_odds).verdict is Verdict.REFUTED
    )


def test_distributions_of_other_contexts_are_not_those():
    model, contexts, log_odds = instance()
    assert audit._reached(model, contexts[::-1].copy(), log_odds).verdict is Verdict.REFUTED


def test_dependent_neurons_give_no_rank(monkeypatch):
    monkeypatch.setattr(audit, "analytic_neurons", lambda count: arb_mat([[arb(1)] * count] * count))
    assert audit._analytic(3).verdict is not Verdict.PROVED


def test_weights_that_miss_the_distributions_are_not_confirmed(monkeypatch):
    made = CLAIM.construct(facts=16)
    block = made.model.blocks[1]
    louder = replace(made.model, blocks=(made.model.blocks[0], replace(block, b_out=block.b_out + 1e-3)))
    monkeypatch.setattr(type(CLAIM), "construct", lambda _: replace(made, model=louder))
    assert audit._rounded().verdict is Verdict.UNDECIDED


def test_contexts_that_repeat_and_distributions_that_are_too_many_are_refused():
    with pytest.raises(InputError, match="some occur more than once"):
        exact_distributions_model(np.array([[0, 1], [0, 1]]), [[fmpq(1)], [fmpq(2)]], 2)
    with pytest.raises(HypothesisError, match="1 <= T <= N"):
        CLAIM.construct(d_vocab=2, n_ctx=2, facts=5)
