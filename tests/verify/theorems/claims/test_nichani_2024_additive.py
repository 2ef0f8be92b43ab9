"""Sums of suggestions are certified for disjoint answers, and XOR is not recalled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError
from constructions.memories.bigrams.suggested_answers import additive_recall, random_answers, random_recall
from verify.theorems.claims import nichani_2024_additive as audit
from verify.theorems.claims.nichani_2024_additive import CLAIM
from verify.verdict import Verdict


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(0, 99))
def test_disjoint_answers_lead_by_one(subjects, relations, answers, seed):
    table = random_answers(subjects=subjects, relations=relations, answers=answers, seed=seed)
    lead = audit.least_lead(table, relations * answers)
    assert lead is None or lead >= 1
    assert audit._are_disjoint(table)


def test_a_table_whose_relations_share_answers_is_not_confirmed():
    assert audit._recalled(random_answers(subjects=3, relations=2, answers=2, seed=0), 4).verdict is Verdict.PROVED
    for table in (np.array([[0, 1], [1, 0]]), np.array([[0, 0], [1, 1]])):
        assert audit._recalled(table, 2).verdict is Verdict.REFUTED


def test_a_suggestion_that_is_missing_is_noticed(monkeypatch):
    def spoiled(table, answers):
        task, _ = additive_recall(table, answers)
        _, other = additive_recall(np.roll(table, 1, axis=0), answers)
        return task, other

    monkeypatch.setattr(audit, "additive_recall", spoiled)
    table = random_answers(subjects=4, relations=3, answers=3, seed=0)
    assert audit._recalled(table, 9).verdict is not Verdict.PROVED


def test_answers_of_another_table_are_not_those_of_the_statement(monkeypatch):
    table = random_answers(subjects=4, relations=3, answers=3, seed=0)
    monkeypatch.setattr(audit, "additive_recall", lambda t, answers: additive_recall(np.roll(t, 1, axis=0), answers))
    assert audit._recalled(table, 9).verdict is Verdict.REFUTED


def test_tables_that_share_answers_do_not_lead(monkeypatch):
    monkeypatch.setattr(audit, "least_lead", lambda table, answers: 0)
    assert audit._all_tables(subjects=2, relations=1, answers=2).verdict is Verdict.REFUTED


def test_sizes_below_one_are_refused():
    with pytest.raises(HypothesisError, match="S, R, answers >= 1"):
        CLAIM.construct(subjects=0)
    assert random_recall(subjects=1, relations=1, answers=1, seed=0).task.n_contexts == 1
