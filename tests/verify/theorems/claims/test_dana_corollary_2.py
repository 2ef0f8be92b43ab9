"""The audit of Corollary 2 certifies what it says, and nothing that is not so."""

from dataclasses import replace

import numpy as np

from constructions.heads_of_theorem_1.memory import build_memory
from constructions.model.construction import Construction
from constructions.model.shapes import dana_network, dana_tensors
from constructions.tasks.arrays import all_contexts
from verify.provers.memorization import certify_memorization
from verify.theorems.claims import claim
from verify.theorems.claims import dana_corollary_2 as audit
from verify.theorems.claims.dana_corollary_2 import CLAIM, best_on_xor
from verify.verdict import Verdict


def stated_otherwise(monkeypatch, before, after):
    """The audit, with another formula in the claim."""
    marked = {"printed": "printed", "truth": "best", "mean": "mean", "promised": "promised", "guess": "guess"}
    formulas = dict(best_claim().formulas)
    text = " ".join(f"[[{name}: {formula}]]" for name, formula in formulas.items())
    assert before in text and set(formulas) == set(marked.values())
    monkeypatch.setattr(audit, "CLAIM", replace(best_claim(), printed=text.replace(before, after), truth="as printed"))
    return audit


def best_claim():
    return claim("dana.corollary-2")


def test_another_relation_or_a_promise_that_is_kept_is_not_confirmed(monkeypatch):
    task = best_on_xor().task
    assert audit._bounded(task).verdict is Verdict.PROVED
    assert stated_otherwise(monkeypatch, "best: 3/4", "best: 7/8")._bounded(task).verdict is Verdict.REFUTED
    assert stated_otherwise(monkeypatch, "H d_h + d", "H d_h")._bounded(task).verdict is Verdict.REFUTED
    monkeypatch.undo()
    monkeypatch.setattr(audit, "forbidding_multipliers", lambda contexts, labels: np.eye(4, 2, dtype=np.int64))
    assert audit._bounded(task).verdict is not Verdict.PROVED


def test_weights_that_hold_fewer_are_refuted():
    built = best_on_xor()
    silent = dana_network(**{**dana_tensors(built.model), "W_O": np.zeros((1, 1, 2))})
    assert audit._attained(Construction(built.task, silent, "")).verdict is Verdict.REFUTED


def test_a_wrong_formula_is_refuted(monkeypatch):
    stated_otherwise(monkeypatch, "(1 - 1/N) m", "m")
    assert audit._mean("bigrams", all_contexts(2, 2), 2, 2, 1, 1).verdict is Verdict.REFUTED


def test_weights_that_forget_the_solved_contexts_are_refuted(changed):
    changed(
        audit,
        "build_memory",
        lambda built: type(
            "Built", (), {"model": dana_network(**{**dana_tensors(built.model), "W_O": 0 * built.model.W_O})}
        ),
    )
    assert audit._mean("bigrams", all_contexts(2, 2), 2, 2, 1, 1).verdict is Verdict.REFUTED


def test_predictions_that_are_not_certain_decide_nothing(monkeypatch):
    monkeypatch.setattr(audit, "_predictions", lambda *args, **sizes: None)
    assert audit._mean("bigrams", all_contexts(2, 2), 2, 2, 1, 1).verdict is not Verdict.PROVED


def test_weights_of_other_sizes_decide_nothing(monkeypatch):
    built = best_on_xor()
    tensors = dana_tensors(built.model)
    doubled = {name: np.concatenate([tensors[name], 0 * tensors[name]]) for name in ("W_Q", "W_K", "W_V", "W_O")}
    two_heads = dana_network(**{**tensors, **doubled})
    assert audit._attained(built).verdict is Verdict.PROVED
    assert audit._attained(Construction(built.task, two_heads, "")).verdict is not Verdict.PROVED
    monkeypatch.setattr(audit, "build_memory", lambda task, **sizes: build_memory(task, **{**sizes, "n_heads": 4}))
    assert audit._mean("bigrams", all_contexts(2, 2), 2, 2, 1, 1).verdict is not Verdict.PROVED


def test_the_default_holds_as_many_as_the_paper_counts():
    built = CLAIM.construct()
    assert (built.task.n_contexts, built.task.n_all) == (12, 16)
    assert built.summary.endswith("accuracy 13/16 on average over the labels of the others")


def test_three_of_four_contexts_of_xor_are_memorized():
    built = best_on_xor()
    found = certify_memorization(built.model, built.task)
    assert sorted(margin > 0 for margin in found.answers.margin_lower.tolist()) == [False, True, True, True]
