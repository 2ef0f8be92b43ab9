"""The audit confirms a verdict by the evidence of this run, and by nothing else."""

import json
import sys
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import get_args

import numpy as np
import pytest

from constructions.errors import InputError
from verify.theorems import audit as module
from verify.theorems.audit import ALLOWED, NEEDED, Audit, audit_claims, audit_outcome, is_verdict
from verify.theorems.claim import Claim, Judgement
from verify.theorems.evidence import Comparison, Evidence, Means, Method, stated
from verify.theorems.evidence.theorems import RANK
from verify.verdict import Verdict

XOR = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])


def piece(role, verdict=Verdict.PROVED, compared=(), data=None):
    data = {"contexts": [[0, 1]]} if data is None else data
    return Evidence(
        role, f"a {role}", "rank >= 4", "rank <= 3", Method("counting", Means.EXACT), verdict, data, compared=compared
    )


def by_theorem(role):
    ceiling = RANK.at("rank", contexts=XOR, d_model=4, d_head=4, n_heads=1, with_skip=False)
    return piece(role, compared=(Comparison(ceiling, "<", 4),))


def claim(judgement, truth="true", reconstructed=""):
    return Claim(
        "source.lemma",
        "A lemma",
        "Source, Lemma",
        "printed",
        judgement,
        truth,
        "docs/audit.md",
        reconstructed=reconstructed or "the formulas" * (judgement == "not-legible"),
    )


def audited(judgement, *evidence, truth="true", reconstructed=""):
    return Audit(claim=claim(judgement, truth, reconstructed), evidence=evidence, seconds=0.5)


def complete(judgement):
    """One piece of every kind that a judgement needs."""
    return [by_theorem(role) if role == "with" else piece(role) for role in sorted(NEEDED[judgement])]


def test_every_judgement_says_which_evidence_it_needs_and_which_it_allows():
    assert set(NEEDED) == set(ALLOWED) == set(get_args(Judgement))
    assert all(NEEDED[word] and not NEEDED[word] & ALLOWED[word] for word in NEEDED)
    assert all("error" not in NEEDED[word] | ALLOWED[word] for word in NEEDED)


@pytest.mark.parametrize("judgement", NEEDED)
def test_a_verdict_without_evidence_is_not_confirmed(judgement):
    assert not audited(judgement).confirmed


@pytest.mark.parametrize("judgement", NEEDED)
def test_a_verdict_is_confirmed_by_all_that_it_needs_and_by_nothing_less(judgement):
    pieces = complete(judgement)
    assert audited(judgement, *pieces).confirmed
    for left_out in range(len(pieces)):
        assert not audited(judgement, *(pieces[:left_out] + pieces[left_out + 1 :])).confirmed


@pytest.mark.parametrize("judgement", NEEDED)
def test_no_other_word_is_confirmed_by_the_same_evidence(judgement):
    pieces = complete(judgement)
    assert [word for word in NEEDED if audited(word, *pieces).confirmed] == [judgement]


@pytest.mark.parametrize("verdict", [Verdict.UNDECIDED, Verdict.REFUTED])
@pytest.mark.parametrize("judgement", NEEDED)
def test_one_piece_that_is_not_proved_spoils_the_verdict(judgement, verdict):
    assert not audited(judgement, *complete(judgement), piece("boundary", verdict)).confirmed


def test_a_claim_that_holds_allows_no_counterexample():
    found = audited("holds", piece("claim"), piece("counterexample"))
    assert not found.confirmed
    assert found.missing == ("'holds' allows no evidence of the kind 'counterexample'",)


def test_a_hypothesis_needs_a_theorem_with_it():
    found = audited("hypothesis", piece("without"), piece("with"))
    assert found.missing == ("'hypothesis' needs evidence of the kind 'with' that rests on a theorem",)


def test_a_formula_that_no_evidence_computes_is_missing():
    text = "at least [[least: 0.0298]] nats"
    assert audited("holds", piece("claim"), truth=text).missing == ("no evidence computes 0.0298 (least)",)
    for value, confirmed in ((Fraction("0.02985"), True), (Fraction("0.0299"), False)):
        comparison = Comparison(value, "begins with", stated(claim("holds", text), "least"))
        assert audited("holds", piece("claim", compared=(comparison,)), truth=text).confirmed is confirmed


def test_the_summary_is_plain_data_and_holds_the_counterexample():
    summary = audited("false", piece("counterexample"), piece("repair")).summary()
    assert json.loads(json.dumps(summary)) == summary
    assert {"id", "verdict", "confirmed", "promised", "certified", "counterexample", "seconds"} <= set(summary)
    assert (summary["id"], summary["verdict"], summary["confirmed"]) == ("source.lemma", "false", True)
    assert (summary["reconstructed"], summary["missing"]) == (None, [])
    unread = audited("not-legible", piece("ours"), reconstructed="all formulas").summary()
    assert (unread["reconstructed"], unread["confirmed"], unread["proved_again"]) == ("all formulas", None, True)
    assert summary["counterexample"] == [
        {
            "statement": "a counterexample",
            "certified": "rank <= 3",
            "quantifier": "these weights",
            "contexts": [[0, 1]],
        }
    ]
    assert summary["certified"] == ["rank <= 3, for these weights"] * 2
    assert audited("holds", piece("claim")).summary()["counterexample"] is None


@pytest.fixture
def register(monkeypatch):
    """A register of one claim, whose evidence is what the test appends."""
    evidence = []
    stand_in = ModuleType("verify.theorems.claims.source_lemma")
    stand_in.__dict__["evidence"] = lambda *, full: iter(evidence * (2 if full else 1))
    monkeypatch.setitem(sys.modules, "verify.theorems.claims.source_lemma", stand_in)
    monkeypatch.setattr(module, "claims", lambda ids: tuple(claim("holds") for _ in ids))
    monkeypatch.setattr(module, "module_of", lambda id: "verify.theorems.claims." + id.replace(".", "_"))
    return evidence


def test_the_evidence_is_that_of_this_run(register):
    [before] = audit_claims(["source.lemma"])
    register.append(piece("claim"))
    [after] = audit_claims(["source.lemma"])
    assert (before.confirmed, after.confirmed) == (False, True)


def test_a_full_audit_asks_for_more(register):
    register.append(piece("claim"))
    [quick], [full] = audit_claims(["source.lemma"]), audit_claims(["source.lemma"], full=True)
    assert (len(quick.evidence), len(full.evidence)) == (1, 2)


def test_the_progress_names_each_claim_and_each_piece_of_evidence(register):
    register.append(piece("claim"))
    said = []
    list(audit_claims(["source.lemma"], progress=lambda *words: said.append(words)))
    assert said == [
        ("source.lemma", None, "A lemma"),
        ("source.lemma", None, "PROVED: rank <= 3"),
        ("source.lemma", 1.0, ""),
    ]


def test_an_audit_that_raises_is_undecided_and_the_others_go_on(monkeypatch, register):
    def broken(*, full):
        yield piece("claim")
        raise ValueError("no encoder fits")

    register.append(piece("claim"))
    stand_in = ModuleType("verify.theorems.claims.source_broken")
    stand_in.__dict__["evidence"] = broken
    monkeypatch.setitem(sys.modules, "verify.theorems.claims.source_broken", stand_in)
    both = (replace(claim("holds"), id="source.broken"), claim("holds"))
    monkeypatch.setattr(module, "claims", lambda ids: both)
    first, second = audit_claims(["source.broken", "source.lemma"])
    assert [one.role for one in first.evidence] == ["claim", "error"] and not first.confirmed
    last = first.evidence[-1]
    assert last.verdict is Verdict.UNDECIDED and last.certified == "ValueError: no encoder fits"
    assert last.method.words.startswith("raised in test_audit.py:")
    assert second.confirmed


def test_an_interrupt_is_no_error_of_an_audit(monkeypatch, register):
    def interrupted(*, full):
        yield piece("claim")
        raise KeyboardInterrupt

    stand_in = ModuleType("verify.theorems.claims.source_lemma")
    stand_in.__dict__["evidence"] = interrupted
    monkeypatch.setitem(sys.modules, "verify.theorems.claims.source_lemma", stand_in)
    with pytest.raises(KeyboardInterrupt):
        list(audit_claims(["source.lemma"]))


def test_an_unknown_claim_is_refused():
    with pytest.raises(InputError, match=r"no claim 'dana\.lemma-99'; did you mean 'dana\.lemma-"):
        list(audit_claims(["dana.lemma-99"]))


@pytest.mark.parametrize("judgement", NEEDED)
@pytest.mark.parametrize("left_out", [0, 1])
def test_only_what_decides_something_is_a_verdict_that_can_be_confirmed(judgement, left_out):
    found = audited(judgement, *complete(judgement)[left_out:])
    summary, asked = found.summary(), [found.claim]
    decides = judgement not in ("measured", "not-judged", "not-legible", "open")
    assert is_verdict(judgement) is decides and summary["proved_again"] is not bool(left_out)
    assert summary["confirmed"] is (not left_out if decides else None)
    outcome = audit_outcome([summary], asked)
    assert (outcome.verdict is Verdict.PROVED) == (outcome.word == "CONFIRMED") == (decides and not left_out)
    assert (outcome.word == "NOT CONFIRMED") == bool(left_out)
    assert outcome.word == "NO VERDICT" or decides or left_out
    of_it = f"1 of 1 verdict (1 {judgement.replace('-', ' ')})"  # CONFIRMED alone says too much of what is false
    assert (of_it in str(outcome)) == ("1 of 1 verdict" in str(outcome)) == (decides and not left_out)
    assert audit_outcome([summary], asked * 2).verdict is not Verdict.PROVED  # interrupted


def test_claims_without_a_verdict_are_counted_apart_and_spoil_what_is_false_beside_them():
    good = audited("false", *complete("false")).summary()
    aside = [audited(word, *complete(word)).summary() for word in ("open", "not-judged", "not-judged")]
    asked = [claim(each["verdict"]) for each in (good, *aside)]
    assert str(audit_outcome([good, *aside], asked)) == (
        "CONFIRMED: 1 of 1 verdict (1 false); 2 not judged, 1 open (what is said beside them was proved again)"
    )
    taken = [{**each, "earlier": True} for each in (good, *aside)]
    assert "1 of them by an earlier run" in str(audit_outcome(taken, asked)) and "proved again" not in str(
        audit_outcome(taken, asked)
    )
    lost = audited("open", piece("known", Verdict.UNDECIDED)).summary()
    found = audit_outcome([good, lost], [claim("false"), claim("open")])
    assert str(found) == "NOT CONFIRMED: 1 of 1 verdict (1 false); 1 open (what is said beside it was not proved again)"
    assert found.verdict is Verdict.UNDECIDED
    wrong = audited("open", piece("known", Verdict.REFUTED)).summary()
    assert audit_outcome([good, wrong], [claim("false"), claim("open")]).verdict is Verdict.REFUTED
    assert audit_outcome([], []).verdict is Verdict.UNDECIDED
