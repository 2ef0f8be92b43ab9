"""Labels of sequences are certified with their counts, and not where one is missed."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.claims.kim_2023_labels import CLAIM, sequence_network
from constructions.errors import InputError
from verify.claims import kim_2023_labels as audit
from verify.claims.audit import Audit
from verify.verdict import Verdict


def test_the_verdict_is_confirmed():
    assert Audit(CLAIM, tuple(audit.evidence(full=False)), 0.0).confirmed


@pytest.mark.slow
def test_the_verdict_is_confirmed_at_full_length():
    assert Audit(CLAIM, tuple(audit.evidence(full=True)), 0.0).confirmed


def spoil(monkeypatch, change):
    original = audit.sequence_network
    monkeypatch.setattr(audit, "sequence_network", lambda *given, **options: change(original(*given, **options)))


def test_a_head_that_writes_other_codes_is_refuted(monkeypatch):
    spoil(monkeypatch, lambda m: replace(m, blocks=(replace(m.blocks[0], W_O=2 * m.blocks[0].W_O), *m.blocks[1:])))
    assert audit._held(4, 3, 40, 4).verdict is Verdict.REFUTED


def test_labels_that_are_moved_are_refuted(monkeypatch):
    original = audit.sequence_network
    monkeypatch.setattr(
        audit, "sequence_network", lambda c, labels, **options: original(c, np.roll(labels, 1), **options)
    )
    assert audit._held(4, 3, 40, 4).verdict is Verdict.REFUTED


def test_entries_more_than_the_claim_counts_are_refuted(monkeypatch):
    def padded(model):
        W_pos = model.W_pos.copy()
        W_pos[:, 0] += 1
        return replace(model, W_pos=W_pos, W_E=model.W_E + 0 * model.W_E)

    spoil(monkeypatch, padded)
    assert audit._held(4, 3, 40, 4).verdict is Verdict.REFUTED


def test_words_that_are_not_the_best_are_refuted(monkeypatch):
    original = audit.sequence_network
    monkeypatch.setattr(audit, "sequence_network", lambda *given, **options: original(*given, items=1, **options))
    assert audit._held(8, 4, 128, 8).verdict is Verdict.REFUTED


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="2 labels of 1 contexts"):
        sequence_network(np.array([[0, 1]]), np.array([0, 1]), tokens=2)


def test_one_context_and_one_label_are_held():
    assert (
        audit.judge_words(
            sequence_network(np.array([[0]]), np.array([0]), tokens=1), np.array([[0]]), np.array([0])
        ).held
        == 1
    )
