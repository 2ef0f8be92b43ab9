"""The audit certifies what it says, and nothing that is not so."""

from verify.theorems.claims import dana_appendix_b as audit
from verify.verdict import Verdict


def test_enough_heads_are_no_counterexample():
    assert audit._ceiling(d_vocab=6, d_model=2, d_head=3, n_heads=8).verdict is Verdict.PROVED
    assert audit._ceiling(d_vocab=6, d_model=2, d_head=3, n_heads=17).verdict is Verdict.REFUTED
    assert audit._ceiling(d_vocab=6, d_model=2, d_head=2, n_heads=8).verdict is not Verdict.PROVED


def test_heads_that_are_equal_reach_nothing(monkeypatch):
    assert audit._reached(d_vocab=6, d_model=2, d_head=3, n_heads=8).verdict is Verdict.PROVED
    honest = audit.rank_one_integer_attention

    def one_head_for_all(**given):
        found = honest(**given)
        count = found.n_heads
        return type(found)(found.W_E, found.W_pos, *((part[0],) * count for part in (found.W_Q, found.W_K, found.W_V)))

    monkeypatch.setattr(audit, "rank_one_integer_attention", one_head_for_all)
    assert audit._reached(d_vocab=6, d_model=2, d_head=3, n_heads=8).verdict is Verdict.REFUTED
