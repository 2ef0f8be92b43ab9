"""The audit of the associative memory confirms its verdict, and not with a spoiled matrix."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.encoders.outer_product_memory import outer_products, random_associations
from constructions.model.attention import logits
from verify.theorems.claims import slides_associative_memory as audit
from verify.theorems.claims.slides_associative_memory import CLAIM
from verify.verdict import Verdict


def test_a_matrix_that_misses_one_association_refutes_nothing(changed):
    changed(audit, "random_associations", lambda made: replace(made, labels=np.roll(made.labels, 1)))
    assert audit._random_signs(128, 256, 1).verdict is Verdict.REFUTED


def test_a_matrix_that_is_no_sum_of_outer_products_refutes_nothing(changed):
    changed(audit, "random_associations", lambda found: (lambda x: replace(x, memory=3 * x.memory))(found))
    assert audit.judged(audit.random_associations(128, 200)).verdict is Verdict.PROVED
    assert audit._random_signs(128, 200, 1).verdict is Verdict.REFUTED


def test_no_more_associations_than_the_width_refute_nothing():
    assert audit._random_signs(128, 100, 1).verdict is Verdict.REFUTED


def test_a_bound_of_one_says_nothing(monkeypatch):
    monkeypatch.setattr(audit, "failure_bound", lambda *_, **__: 1.0)
    assert audit._for_almost_all_inputs(bases=2, d_model=128).verdict is not Verdict.PROVED


def test_independent_inputs_give_no_unstorable_labels(monkeypatch):
    monkeypatch.setattr(audit, "unstorable_labels", lambda _: None)
    assert audit._not_all_labels_of_more(d_model=4).verdict is not Verdict.PROVED


def test_the_capacity_is_a_number_that_is_stored_with_one_that_is_not():
    stored, missed = audit.certified_capacity(16, outputs=None)
    assert missed == stored + 1
    assert audit.judged(audit.random_associations(16, stored)).verdict is Verdict.PROVED
    assert audit.judged(audit.random_associations(16, missed)).verdict is Verdict.REFUTED


def test_a_capacity_that_does_not_hold_is_refuted(monkeypatch):
    monkeypatch.setattr(audit, "certified_capacity", lambda width, outputs: (40, 41))
    assert audit._growth((4, 8, 16), outputs=None).verdict is Verdict.REFUTED


def _wider(made):
    outputs, inputs = (np.hstack([x, x]) for x in (made.outputs, made.inputs))
    return outer_products(outputs, inputs, made.labels)


def _scaled(made):
    return outer_products(3 * made.outputs, made.inputs, made.labels)


def _one_label(made):
    return outer_products(made.outputs, made.inputs, np.zeros_like(made.labels))


@pytest.mark.parametrize("change", [_wider, _scaled, _one_label])
def test_an_instance_that_is_not_the_one_in_the_statement_refutes_nothing(monkeypatch, change):
    for name in ("random_associations", "tight_associations"):
        original = getattr(audit, name)
        monkeypatch.setattr(audit, name, lambda *_, make=original, **options: change(make(*_, **options)))
    assert audit._random_signs(128, 200, 1).verdict is Verdict.REFUTED
    assert audit._for_almost_all_inputs(bases=2, d_model=128).verdict is not Verdict.PROVED
    if change is not _one_label:
        assert audit._growth((4, 8, 16), outputs=2).verdict is Verdict.REFUTED


def test_no_draws_are_no_evidence():
    assert audit._random_signs(128, 256, 0).verdict is Verdict.REFUTED


def test_chosen_embeddings_for_other_labels_refute_nothing(monkeypatch):
    original = audit.parabola
    monkeypatch.setattr(audit, "parabola", lambda labels: original(np.sort(labels)))
    assert audit._chosen_embeddings(count=20).verdict is Verdict.REFUTED


def test_a_matrix_solved_for_other_labels_is_not_confirmed(monkeypatch):
    original = audit.solved_associations
    monkeypatch.setattr(audit, "solved_associations", lambda u, e, labels: original(u, e, np.zeros_like(labels)))
    assert audit._all_labels_of_few(d_model=4).verdict is Verdict.REFUTED


def test_inputs_of_another_size_give_no_unstorable_labels(monkeypatch):
    original = audit.random_associations
    monkeypatch.setattr(audit, "random_associations", lambda width, count, **_: original(2, count, **_))
    assert audit._not_all_labels_of_more(d_model=4).verdict is not Verdict.PROVED


def test_the_default_holds_twice_as_many_as_the_width():
    made = CLAIM.construct()
    assert made.task.n_contexts == 256 == 2 * made.model.d_head


def test_the_logits_are_those_of_the_matrix():
    made = CLAIM.construct(d_model=32, count=9)
    drawn = random_associations(32, 9, seed=0)
    expected = drawn.inputs @ drawn.memory.T @ drawn.outputs.T
    assert np.array_equal(logits(made.model, made.task.contexts), expected[made.task.contexts[:, 0]])
    assert np.array_equal(made.task.labels, drawn.labels[made.task.contexts[:, 0]])
