"""The evidence on the assumptions is proved, and is not with a wrong instance or a wrong tester."""

from dataclasses import replace

import numpy as np

from verify.theorems.claims import mahdavi_assumptions as audit
from verify.theorems.saturated_layers.block_certificate import certify_blocks
from verify.theorems.saturated_layers.kruskal_rank import SubsetCertificate
from verify.verdict import Verdict


def test_generic_contexts_are_no_counterexample():
    rng = np.random.default_rng(0)
    contexts, queries = rng.standard_normal((4, 3, 5)), rng.standard_normal((4, 5))
    assert audit._one_and_two_without_three(contexts, queries, "").verdict is Verdict.UNDECIDED


def test_vectors_with_a_wide_spectrum_are_no_counterexample(monkeypatch):
    monkeypatch.setattr(audit, "_SHARE", 1.0)
    assert audit._full_rank_below_a_tolerance(16).verdict is Verdict.UNDECIDED


def test_queries_without_a_relation_confirm_nothing(monkeypatch):
    original = audit.hidden_relation
    monkeypatch.setattr(
        audit,
        "hidden_relation",
        lambda **sizes: (original(**sizes)[0] + np.eye(sizes["examples"], sizes["d_model"]), (0,)),
    )
    assert audit._blocks_are_enough(22, 4, 6).verdict is Verdict.UNDECIDED


def test_a_tester_that_refutes_nothing_is_noticed(monkeypatch):
    proved = SubsetCertificate(3, Verdict.PROVED, "")
    monkeypatch.setattr(audit, "certify_shifted", lambda *_, **__: proved)
    assert audit._affine_hulls(trials=2).verdict is Verdict.REFUTED
    monkeypatch.setattr(audit, "certify_shifted", lambda *_, **__: replace(proved, verdict=Verdict.REFUTED))
    assert audit._almost_all_contexts(trials=2).verdict is Verdict.REFUTED


def test_a_rank_that_is_not_certified_confirms_nothing(monkeypatch):
    monkeypatch.setattr(audit, "_rank_certified", lambda *_: False)
    assert audit._blocks_are_enough(22, 4, 6).verdict is Verdict.UNDECIDED


def test_a_given_order_that_is_good_shows_no_search(monkeypatch):
    monkeypatch.setattr(audit, "find_blocks", lambda queries, **_: certify_blocks(queries, [range(len(queries))]))
    assert audit._an_order_is_found(lines=6).verdict is Verdict.UNDECIDED
