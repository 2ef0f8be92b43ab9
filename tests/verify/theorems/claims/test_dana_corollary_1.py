"""The audit of Corollary 1 certifies what it says, and nothing that is not so."""

import re
from dataclasses import replace

import numpy as np
import pytest

from constructions.encoders.lookup_table import lookup_front_end, lookup_table
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.memories.bigrams.one_head import one_head_memory
from constructions.model.shapes import dana_network, dana_tensors
from verify.provers.memorization import certify_memorization
from verify.theorems.claims import dana_corollary_1 as audit
from verify.theorems.claims.dana_corollary_1 import CLAIM
from verify.verdict import Verdict


def spoiled(network, name):
    tensor = dana_tensors(network)[name].copy()
    tensor.flat[0] += 1e3
    return dana_network(**{**dana_tensors(network), name: tensor})


def test_spoiled_tables_are_not_confirmed(monkeypatch, changed):
    changed(audit, "lookup_table", lambda found: spoiled(found, "W_O"))
    assert audit._table(8).verdict is not Verdict.PROVED
    monkeypatch.setattr(audit, "lookup_table", lambda task: lookup_table(task, total=-0.05))
    badly_conditioned = audit._table(8)
    assert badly_conditioned.certified.startswith("margin >= 36")
    assert badly_conditioned.verdict is not Verdict.PROVED


def test_dependent_tables_are_not_confirmed(monkeypatch):
    monkeypatch.setattr(audit, "lookup_front_end", lambda d_vocab, *, gap: lookup_front_end(d_vocab, gap=0))
    assert audit._exact_tables(range(2, 4)).verdict is not Verdict.PROVED


def test_a_spoiled_head_is_not_confirmed(changed):
    changed(audit, "one_head_memory", lambda found: spoiled(found, "W_U"))
    assert audit._one_head(5, draws=2).verdict is not Verdict.PROVED
    assert audit._one_head_every_labelling(2).verdict is not Verdict.PROVED


def test_one_spoiled_head_among_many_is_enough(monkeypatch):
    calls = []

    def last_one_spoiled(task):
        calls.append(task)
        network = one_head_memory(task)
        return spoiled(network, "W_U") if len(calls) == 3 else network

    monkeypatch.setattr(audit, "one_head_memory", last_one_spoiled)
    assert audit._one_head(5, draws=3).verdict is not Verdict.PROVED


def test_another_relation_or_none_is_not_confirmed(monkeypatch):
    monkeypatch.setattr(audit, "forbidding_multipliers", lambda contexts, labels: None)
    assert audit._xor().verdict is not Verdict.PROVED
    assert audit._labellings(3).verdict is not Verdict.PROVED
    monkeypatch.setattr(audit, "forbidding_multipliers", lambda contexts, labels: np.eye(4, 2, dtype=np.int64))
    assert audit._xor().verdict is not Verdict.PROVED


@pytest.mark.parametrize("change", [lambda found: 1, lambda found: found + 1])
def test_a_count_of_heads_that_is_empty_or_too_large_is_not_confirmed(spoil, change):
    honest = audit.HEADS_FOR_EVERY_LABELLING.judge
    spoil(audit.HEADS_FOR_EVERY_LABELLING, lambda **sizes: change(honest(**sizes)))
    pieces = (audit.too_few_heads(12), audit._no_more_than_suffice())
    assert any(piece.verdict is not Verdict.PROVED for piece in pieces)


def test_another_count_of_parameters_is_not_confirmed(monkeypatch):
    assert audit._all_contexts(2, 2).verdict is Verdict.PROVED
    formulas = dict(audit.CLAIM.formulas)
    formulas["parameters"] = formulas["parameters"].replace("4", "3")
    wrong = replace(audit.CLAIM, printed=" ".join(f"[[{name}: {text}]]" for name, text in formulas.items()), truth="so")
    monkeypatch.setattr(audit, "CLAIM", wrong)
    assert audit._all_contexts(2, 2).verdict is Verdict.REFUTED


@pytest.mark.parametrize("n_ctx", [4, 8, 12])
def test_the_widths_for_which_theorem_1_asks_for_one_head_are_ones_that_the_paper_has(n_ctx):
    found = [int(number) for number in re.findall(r"d = d_h = (\d+)", audit.too_few_heads(n_ctx).promised)]
    assert [2 * width for width in found] == [2 ** (n_ctx - 1)]  # H d_h + d contexts with H = 1, and d_h <= d


def test_a_wrong_singular_relation_is_refuted(monkeypatch):
    monkeypatch.setattr(audit, "lookup_front_end", lambda n, *, gap, position: lookup_front_end(n, gap=gap))
    assert audit._singular_table().verdict is Verdict.REFUTED


def test_more_heads_than_are_promised_are_not_confirmed(monkeypatch):
    bigrams = audit.all_contexts(2, 2)
    assert audit._guaranteed("bigrams", bigrams).verdict is Verdict.PROVED
    monkeypatch.setattr(
        audit, "build_memory", lambda task, **sizes: build_memory(task, **{**sizes, "n_heads": sizes["n_heads"] + 1})
    )
    assert audit._guaranteed("bigrams", bigrams).verdict is not Verdict.PROVED
    assert audit._all_contexts(2, 2).verdict is not Verdict.PROVED


def test_a_number_that_is_not_that_of_the_theorem_is_not_confirmed(monkeypatch):
    monkeypatch.setattr(audit, "_margin", lambda network, task, *, sizes: 1.0)
    monkeypatch.setattr(audit, "build_memory", lambda task, **sizes: build_memory(task, **{**sizes, "n_heads": 2}))
    assert audit._guaranteed("bigrams", audit.all_contexts(2, 2)).verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "guaranteed_number", lambda contexts, **sizes: len(contexts))
    assert audit._guaranteed("bigrams", audit.all_contexts(2, 2)).verdict is not Verdict.PROVED


def test_tables_and_heads_of_other_sizes_are_not_confirmed(changed):
    def with_a_silent_head(network):
        tensors = dana_tensors(network)
        heads = ("W_Q", "W_K", "W_V", "W_O")
        return dana_network(**{n: np.concatenate([t, 0 * t[:1]]) if n in heads else t for n, t in tensors.items()})

    changed(audit, "lookup_table", with_a_silent_head)
    assert audit._table(8).verdict is not Verdict.PROVED
    changed(audit, "one_head_memory", with_a_silent_head)
    assert audit._one_head(5, draws=1).verdict is not Verdict.PROVED


def test_a_table_without_heads_or_without_attention_is_no_singular_one(monkeypatch):
    def without_heads(d_vocab, *, gap, position):
        return replace(lookup_front_end(d_vocab, gap=gap, position=position), W_Q=(), W_K=(), W_V=())

    monkeypatch.setattr(audit, "lookup_front_end", without_heads)
    assert audit._singular_table().verdict is Verdict.REFUTED
    monkeypatch.setattr(
        audit, "lookup_front_end", lambda d_vocab, *, gap, position: lookup_front_end(2, gap=2, position=position)
    )
    assert audit._singular_table().verdict is Verdict.REFUTED


@pytest.mark.parametrize("tokens", [1, 3, 8])
def test_the_look_up_table_holds_as_many_bigrams_as_the_heads_have_columns(tokens):
    built = CLAIM.construct(d_vocab=tokens)
    assert built.model.n_heads * built.model.d_head == built.task.n_contexts == tokens**2
    assert certify_memorization(built.model, built.task).certificate.verdict is Verdict.PROVED
