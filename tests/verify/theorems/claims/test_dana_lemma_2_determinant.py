"""The audit certifies what it says, and nothing that is not so."""

from verify.theorems.claims import dana_lemma_2_determinant as audit
from verify.verdict import Verdict


def test_long_contexts_are_no_counterexample_and_short_ones_no_repair():
    assert audit._vanishes(3, 3).verdict is Verdict.PROVED
    assert audit._vanishes(4, 3).verdict is not Verdict.PROVED
    assert audit._nonzero(4, 3).verdict is Verdict.PROVED
    assert audit._nonzero(3, 3).verdict is not Verdict.PROVED


def test_other_counts_are_noticed(monkeypatch):
    honest = audit.counted_sequences

    def other(n, *, n_ctx, largest, first):
        return honest(n, n_ctx=n_ctx, largest=largest, first=first) + (first == largest)

    monkeypatch.setattr(audit, "counted_sequences", other)
    assert audit._counts(2).verdict is Verdict.REFUTED
