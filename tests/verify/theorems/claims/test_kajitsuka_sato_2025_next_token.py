"""Next tokens are certified for several lengths, and not where a label is missed."""

from dataclasses import replace

import numpy as np
import pytest

from verify.theorems.claims import kajitsuka_sato_2025_next_token as audit
from verify.verdict import Verdict


def test_labels_that_are_moved_are_refuted(monkeypatch):
    original = audit.array_task
    monkeypatch.setattr(
        audit, "array_task", lambda c, next_tokens, **sizes: original(c, next_tokens=np.roll(next_tokens, 1), **sizes)
    )
    assert audit._few(16, more=False).verdict is Verdict.REFUTED
    assert audit._lengths(12, (4, 8)).verdict is Verdict.REFUTED


def test_more_entries_than_facts_are_not_called_fewer():
    assert audit._few(16, more=False).verdict is Verdict.PROVED
    assert audit._few(16, more=True).verdict is Verdict.REFUTED


def test_contexts_that_repeat_are_not_judged(monkeypatch):
    monkeypatch.setattr(
        audit, "drawn", lambda n_ctx, facts: (np.zeros((facts, n_ctx), dtype=int), np.zeros(facts, dtype=int))
    )
    with pytest.raises(ArithmeticError, match="contexts that were drawn are equal"):
        audit._few(4, more=False)


def test_codes_longer_than_stated_are_refuted(monkeypatch):
    original = audit._judged

    def longer(n_ctx, facts):
        words, values = original(n_ctx, facts)
        return replace(words, code_bits=words.code_bits + 9), values

    monkeypatch.setattr(audit, "_judged", longer)
    assert audit._lengths(12, (4, 8)).verdict is Verdict.REFUTED
