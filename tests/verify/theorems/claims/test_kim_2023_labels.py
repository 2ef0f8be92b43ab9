"""Labels of sequences are certified with their counts, and not where one is missed."""

from dataclasses import replace

import numpy as np

from verify.theorems.claims import kim_2023_labels as audit
from verify.verdict import Verdict


def spoil(monkeypatch, change):
    original = audit.keyed_words_memory
    monkeypatch.setattr(
        audit, "keyed_words_memory", lambda task: replace(original(task), model=change(original(task).model))
    )


def test_a_head_that_writes_other_codes_is_refuted(monkeypatch):
    spoil(monkeypatch, lambda m: replace(m, blocks=(replace(m.blocks[0], W_O=2 * m.blocks[0].W_O), *m.blocks[1:])))
    assert audit._memorized(4, 3, 40, 4).verdict is Verdict.REFUTED


def test_labels_that_are_moved_are_refuted(monkeypatch):
    original = audit.array_task
    monkeypatch.setattr(
        audit, "array_task", lambda c, next_tokens, **sizes: original(c, next_tokens=np.roll(next_tokens, 1), **sizes)
    )
    assert audit._memorized(4, 3, 40, 4).verdict is Verdict.REFUTED


def test_entries_more_than_the_claim_counts_are_refuted(monkeypatch):
    def padded(model):
        W_pos = model.W_pos.copy()
        W_pos[:, 0] += 1
        return replace(model, W_pos=W_pos, W_E=model.W_E + 0 * model.W_E)

    spoil(monkeypatch, padded)
    assert audit._memorized(4, 3, 40, 4).verdict is Verdict.REFUTED


def test_words_that_are_not_the_best_are_refuted(monkeypatch):
    original = audit.keyed_words_memory
    monkeypatch.setattr(audit, "keyed_words_memory", lambda task: original(task, labels_per_word=1))
    assert audit._memorized(8, 4, 128, 8).verdict is Verdict.REFUTED
