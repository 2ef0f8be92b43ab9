"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

import numpy as np

from verify.theorems.claims import mahdavi_remark_1 as audit
from verify.verdict import Verdict


def test_a_formula_that_is_off_proves_nothing(monkeypatch, spoil):
    queries = np.array(audit.QUERY_SETS["two pairs e, -e"])
    assert audit._two_tokens("", queries).verdict is Verdict.PROVED
    judge, ceiling = audit.two_token_rank, audit.TWO_TOKENS.judge
    for wrong in (
        lambda found: replace(found, limit=4, relations=()),  # as if a row of its own were independent
        lambda found: replace(found, relations=((1, 1, 1, -1),)),  # no relation
        lambda found: replace(found, relations=()),
    ):
        monkeypatch.setattr(audit, "two_token_rank", lambda *arrays, wrong=wrong: wrong(judge(*arrays)))
        spoil(audit.TWO_TOKENS, lambda *, wrong=wrong, n_heads, **a: wrong(judge(**a)).largest(n_heads))
        assert audit._two_tokens("", queries).verdict is not Verdict.PROVED
    monkeypatch.setattr(audit, "two_token_rank", judge)
    spoil(audit.TWO_TOKENS, lambda **given: ceiling(**given) + 1)
    assert audit._two_tokens("", queries).verdict is Verdict.REFUTED


def test_fewer_heads_or_queries_of_another_rank_prove_nothing(monkeypatch):
    sizes = {"n_ctx": 4, "d_model": 5, "n_heads": 3, "kruskal": 2}
    assert audit._beyond(**sizes).verdict is Verdict.PROVED
    built, drawn = audit.one_direction_layer, audit._queries
    monkeypatch.setattr(audit, "one_direction_layer", lambda *args, n_heads: built(*args, n_heads=n_heads - 1))
    assert audit._beyond(**sizes).verdict is not Verdict.PROVED
    monkeypatch.undo()
    monkeypatch.setattr(audit, "_queries", lambda examples, width, kruskal: drawn(examples, width, kruskal + 1))
    assert audit._beyond(**sizes).verdict is not Verdict.PROVED
    assert audit._as_printed(**sizes, shared=True).verdict is not Verdict.PROVED


def test_heads_that_ignore_the_queries_prove_nothing(changed):
    changed(audit, "saturated_heads", lambda found: replace(found, W_Q=np.zeros((3, 5, 2))))
    assert audit._as_printed(n_ctx=4, d_model=5, n_heads=3, kruskal=2, shared=True).verdict is not Verdict.PROVED


def test_heads_of_another_width_prove_nothing(monkeypatch):
    sizes = {"n_ctx": 4, "d_model": 5, "n_heads": 3, "kruskal": 2}
    built = audit.saturated_heads
    assert audit._as_printed(**sizes, shared=True).verdict is Verdict.PROVED

    def wider(*args, **options):
        found = built(*args, **options)
        more = [(0, 0), (0, 0), (0, 1)]
        return replace(found, W_Q=np.pad(found.W_Q, more), W_K=np.pad(found.W_K, more))

    monkeypatch.setattr(audit, "saturated_heads", wider)
    assert audit._as_printed(**sizes, shared=True).verdict is not Verdict.PROVED
    built = audit.integer_heads
    assert audit._both_signs(n_ctx=3, d_model=3, n_heads=2).verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "integer_heads", lambda *, n_heads, d_model: built(n_heads=n_heads + 1, d_model=d_model))
    assert audit._both_signs(n_ctx=3, d_model=3, n_heads=2).verdict is not Verdict.PROVED
