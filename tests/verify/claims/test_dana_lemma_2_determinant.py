"""The audit certifies what it says, and nothing that is not so."""

import pytest

from constructions.claims.dana_lemma_2_determinant import CLAIM
from verify.claims import dana_lemma_2_determinant as audit
from verify.claims.audit import Audit
from verify.verdict import Verdict


def test_the_verdict_is_confirmed():
    assert Audit(CLAIM, tuple(audit.evidence(full=False)), 0.0).confirmed


def test_long_contexts_are_no_counterexample_and_short_ones_no_repair():
    assert audit._vanishes(3, 3).verdict is Verdict.PROVED
    assert audit._vanishes(4, 3).verdict is not Verdict.PROVED
    assert audit._nonzero(4, 3).verdict is Verdict.PROVED
    assert audit._nonzero(3, 3).verdict is not Verdict.PROVED


def test_other_counts_are_noticed(monkeypatch):
    honest = audit.counted_sequences

    def other(n, *, length, largest, first):
        return honest(n, length=length, largest=largest, first=first) + (first == largest)

    monkeypatch.setattr(audit, "counted_sequences", other)
    assert audit._counts(2).verdict is Verdict.REFUTED


@pytest.mark.slow
def test_longer_contexts_are_certified():
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=True))
