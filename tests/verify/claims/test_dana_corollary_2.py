"""The audit of Corollary 2 certifies what it says, and nothing that is not so."""

from fractions import Fraction

import numpy as np
import pytest

from constructions.claims.dana_corollary_2 import best_on_xor
from constructions.memories.memory import build_memory
from constructions.models.construction import Construction
from constructions.models.shapes import dana_network, dana_tensors
from constructions.tasks.arrays import all_contexts
from verify.claims import dana_corollary_2 as audit
from verify.claims.audit import audit_claims
from verify.verdict import Verdict


def test_the_recorded_judgement_is_confirmed():
    [found] = audit_claims(["dana.corollary-2"])
    assert found.confirmed
    assert {piece.role for piece in found.evidence} == {"counterexample", "repair"}


@pytest.mark.slow
def test_all_evidence_is_certified():
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=True))


def test_another_relation_or_a_promise_that_is_kept_is_not_confirmed(monkeypatch):
    task = best_on_xor().task
    monkeypatch.setattr(audit, "expected_accuracy", lambda n_tokens, solved: Fraction(3, 4))
    assert audit._bounded(task).verdict is Verdict.UNDECIDED
    monkeypatch.undo()
    monkeypatch.setattr(audit, "forbidding_multipliers", lambda contexts, labels: np.eye(4, 2, dtype=np.int64))
    assert audit._bounded(task).verdict is Verdict.UNDECIDED


def test_weights_that_hold_fewer_are_refuted():
    built = best_on_xor()
    silent = dana_network(**{**dana_tensors(built.model), "W_O": np.zeros((1, 1, 2))})
    assert audit._attained(Construction(built.task, silent, "")).verdict is Verdict.REFUTED


def test_a_wrong_formula_is_refuted(monkeypatch):
    monkeypatch.setattr(audit, "expected_accuracy", lambda n_tokens, solved: solved)
    assert audit._mean("bigrams", all_contexts(2, 2), 2, 2, 1, 1).verdict is Verdict.REFUTED


def test_weights_that_forget_the_solved_contexts_are_refuted(monkeypatch):
    def forgetful(task, **sizes):
        built = build_memory(task, **sizes)
        return type("Built", (), {"model": dana_network(**{**dana_tensors(built.model), "W_O": 0 * built.model.W_O})})

    monkeypatch.setattr(audit, "build_memory", forgetful)
    assert audit._mean("bigrams", all_contexts(2, 2), 2, 2, 1, 1).verdict is Verdict.REFUTED


def test_predictions_that_are_not_certain_decide_nothing(monkeypatch):
    monkeypatch.setattr(audit, "_predictions", lambda *args, **sizes: None)
    assert audit._mean("bigrams", all_contexts(2, 2), 2, 2, 1, 1).verdict is Verdict.UNDECIDED


def test_weights_of_other_sizes_decide_nothing(monkeypatch):
    built = best_on_xor()
    tensors = dana_tensors(built.model)
    doubled = {name: np.concatenate([tensors[name], 0 * tensors[name]]) for name in ("W_Q", "W_K", "W_V", "W_O")}
    two_heads = dana_network(**{**tensors, **doubled})
    assert audit._attained(built).verdict is Verdict.PROVED
    assert audit._attained(Construction(built.task, two_heads, "")).verdict is Verdict.UNDECIDED
    monkeypatch.setattr(audit, "build_memory", lambda task, **sizes: build_memory(task, **{**sizes, "n_heads": 4}))
    assert audit._mean("bigrams", all_contexts(2, 2), 2, 2, 1, 1).verdict is Verdict.UNDECIDED
