"""The audit of Lemma 2 certifies what it says, and nothing that is not so."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.generic_rank import generic_rank
from constructions.attention.capacity.partition import Partition
from constructions.attention.capacity.windows import all_contexts_windows
from constructions.encoders.one_head_optimum import exclusive_or_contexts
from constructions.errors import HypothesisError
from constructions.model.attention import logits
from constructions.model.exact_attention import exact_features
from constructions.model.exact_network import ExactFrontEnd
from constructions.tasks.arrays import all_contexts
from verify.theorems.claims import dana_lemma_2 as audit
from verify.theorems.claims.dana_lemma_2 import (
    CLAIM,
    Counterexample,
    counterexamples,
    false_step,
    loops,
    shared_directions,
)
from verify.verdict import Verdict


def test_contexts_that_reach_what_is_printed_are_no_counterexample():
    for contexts, width, n_heads in (
        (exclusive_or_contexts()[:3], 4, 1),
        (exclusive_or_contexts(), 4, 2),
        (np.array([[0, 0], [1, 1]]), 2, 1),
    ):
        piece = audit._counterexample(Counterexample("none", contexts, width, n_heads))
        assert piece.verdict is not Verdict.PROVED


def test_a_bound_that_no_weights_reach_is_not_confirmed(monkeypatch):
    monkeypatch.setattr(audit, "_reached", lambda *_, target, **__: target - 1)
    piece = audit._counterexample(Counterexample("XOR", exclusive_or_contexts(), 4, 1))
    assert piece.verdict is not Verdict.PROVED and "rank >= 2" in piece.certified


def test_outputs_in_a_hyperplane_do_not_refute_the_step(monkeypatch):
    contexts, front = false_step()
    fewer = ExactFrontEnd(front.W_E, front.W_pos, front.W_Q[:15], front.W_K[:15], front.W_V[:15])
    monkeypatch.setattr(audit, "false_step", lambda: (contexts, fewer))
    assert audit._false_step().verdict is Verdict.REFUTED
    monkeypatch.setattr(audit, "false_step", lambda: (contexts[[0, 1, 2]], front))
    assert audit._false_step().verdict is Verdict.REFUTED


@pytest.mark.parametrize("error", [-1, 1])
def test_a_wrong_formula_is_not_confirmed(changed, error):
    changed(audit, "bigram_rank", lambda found: replace(found, rank=found.rank + error))
    rng = np.random.default_rng(1)
    assert audit._theorem("S2", "", list(audit._bigrams(rng, 3))).verdict is not Verdict.PROVED
    changed(audit, "all_contexts_rank", lambda found: found + error)
    piece = audit._theorem("S5", "", list(audit._all(False))[:4])
    assert piece.verdict is not Verdict.PROVED and piece.data["failed"]


def test_a_wrong_set_is_not_confirmed():
    star = np.column_stack([np.arange(7), np.zeros(7, dtype=np.int64)])
    right = audit._bigram_instance(star, 2, 2, 1, with_skip=True)
    assert audit._theorem("S2", "", [right]).verdict is Verdict.PROVED
    assert audit._theorem("S2", "", [replace(right, subset=(0,))]).verdict is not Verdict.PROVED


def test_a_rank_that_no_explicit_weights_reach_is_not_confirmed(monkeypatch):
    instance = audit._bigram_instance(all_contexts(2, 2), 2, 2, 1, with_skip=True)
    assert audit._theorem("S2", "", [instance]).verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "_reached", lambda *_, target, **__: target - 1)
    assert audit._theorem("S2", "", [instance]).verdict is not Verdict.PROVED


def test_no_instances_confirm_nothing():
    one = audit._bigram_instance(np.array([[0, 0]]), 1, 1, 0, with_skip=True)
    assert audit._theorem("S2", "", [one]).verdict is Verdict.PROVED
    with pytest.raises(ValueError):
        audit._theorem("S2", "", [])


def test_dependent_windows_are_refuted(monkeypatch):
    def spoiled(d_vocab, n_ctx, **sizes):
        contexts, found = all_contexts_windows(d_vocab, n_ctx, **sizes)
        rows = found.windows[0].rows
        return contexts, Partition(skip=(*found.skip, *rows[:1]), windows=found.windows)

    monkeypatch.setattr(audit, "all_contexts_windows", spoiled)
    assert audit._windows(False).verdict is Verdict.REFUTED


def test_weights_with_a_head_too_many_or_for_fewer_contexts_confirm_nothing(monkeypatch):
    small = {"d_vocab": 2, "n_ctx": 2, "d_model": 2, "d_head": 1}
    assert audit._built(small).verdict is Verdict.PROVED
    assert audit._built({**small, "n_heads": 3}).verdict is not Verdict.PROVED
    made = audit.CLAIM.construct(**small)
    monkeypatch.setattr(audit, "CLAIM", SimpleNamespace(parameters={}, construct=lambda **_: made))
    assert audit._built(small).verdict is Verdict.PROVED
    for other in ({"n_ctx": 3}, {"d_model": 3}, {"d_head": 2}):
        assert audit._built({**small, **other}).verdict is Verdict.REFUTED


def test_instances_come_in_degenerate_sizes():
    rng = np.random.default_rng(0)
    instances = [*audit._generic(rng, 40), *audit._bigrams(rng, 40), *audit._long(rng, 40)]
    for degenerate in (
        lambda instance: len(instance.contexts) == 1,
        lambda instance: len(np.unique(instance.contexts)) == 1,
        lambda instance: instance.contexts.shape[1] == 1,
        lambda instance: instance.d_model == 1,
        lambda instance: instance.n_heads == 0,
        lambda instance: instance.d_head < instance.d_model,
    ):
        assert any(degenerate(instance) for instance in instances)
    assert max(len(instance.contexts) for instance in audit._all(False)) == len(all_contexts(16, 2))


@given(st.integers(1, 4), st.integers(2, 3), st.integers(1, 4), st.integers(1, 4), st.integers(0, 99))
def test_the_weights_hold_every_label(tokens, n_ctx, width, d_head, seed):
    width = min(width, tokens + n_ctx - 1)
    d_head = min(d_head, width, tokens)
    if width == 1 and tokens > 2:
        width = 2
    made = CLAIM.construct(d_vocab=tokens, n_ctx=n_ctx, d_model=width, d_head=d_head, seed=seed)
    assert made.task.n_contexts == tokens**n_ctx
    assert (logits(made.model, made.task.contexts).argmax(axis=1) == made.task.labels).all()


def test_more_heads_than_needed_are_allowed():
    made = CLAIM.construct(d_vocab=2, n_ctx=2, d_model=2, d_head=1, n_heads=4)
    assert made.model.n_heads == 4 and "fewest" not in made.summary


@pytest.mark.parametrize("example", counterexamples(), ids=lambda example: f"{example.name} {len(example.contexts)}")
def test_each_counterexample_has_a_smaller_generic_rank_than_printed(example):
    rank = generic_rank(
        example.contexts, d_model=example.d_model, d_head=example.d_model, n_heads=example.n_heads, with_skip=False
    )
    assert rank < min(len(example.contexts), example.n_heads * example.d_model)


def test_every_kind_of_counterexample_is_there():
    names = " ".join(example.name for example in counterexamples())
    assert all(kind in names for kind in ("XOR", "loops", "one token", "d > N + S - 1"))


def test_shared_directions_differ_by_their_multiples_only():
    drawn = shared_directions(d_vocab=3, n_ctx=2, d_model=4, d_head=2, n_heads=3, largest=5, seed=1)
    assert [query == drawn.W_Q[0] * (head + 1) for head, query in enumerate(drawn.W_Q)] == [True] * 3
    assert all(key == drawn.W_K[0] for key in drawn.W_K) and drawn.W_Q[0].rank() == drawn.W_K[0].rank() == 1
    assert exact_features(drawn, np.array([[0, 1], [2, 1]])).ncols() == 6


def test_contexts_without_the_relation_are_refused():
    for sizes in ({"n_ctx": 4}, {"d_model": 3}, {"n_ctx": 6, "d_model": 6}):
        with pytest.raises(HypothesisError, match="4 <= d <= S - 1"):
            false_step(**sizes)
    assert loops(3).tolist() == [[0, 0], [1, 1], [2, 2]]


def test_the_widest_embeddings_that_are_admitted_are_built():
    made = CLAIM.construct(d_vocab=2, n_ctx=5, d_model=6, d_head=2)
    assert made.summary.endswith("d_h = 2 and H = 15, the fewest heads")
