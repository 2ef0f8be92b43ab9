"""The audit confirms a verdict by the evidence of this run, and by nothing else."""

import json
import sys
from types import ModuleType

import pytest

from constructions.claims.claim import Claim
from constructions.errors import InputError
from verify.claims import audit as module
from verify.claims.audit import NEEDED, Audit, audit_claims
from verify.claims.evidence import Evidence
from verify.verdict import Verdict


def piece(role, verdict=Verdict.PROVED):
    return Evidence(role, f"a {role}", "rank >= 4", "rank <= 3", verdict, "counting", {"contexts": [[0, 1]]})


def claim(judgement):
    return Claim("source.lemma", "A lemma", "Source, Lemma", "printed", judgement, "true", "docs/audit.md")


def audited(judgement, *evidence):
    return Audit(claim=claim(judgement), evidence=evidence, seconds=0.5)


@pytest.mark.parametrize("judgement", NEEDED)
def test_a_verdict_without_evidence_is_not_confirmed(judgement):
    assert not audited(judgement).confirmed


@pytest.mark.parametrize("judgement", NEEDED)
def test_a_verdict_is_confirmed_by_all_that_it_needs_and_by_nothing_less(judgement):
    pieces = [piece(role) for role in sorted(NEEDED[judgement])]
    assert audited(judgement, *pieces).confirmed
    for left_out in range(len(pieces)):
        assert not audited(judgement, *(pieces[:left_out] + pieces[left_out + 1 :])).confirmed


@pytest.mark.parametrize("verdict", [Verdict.UNDECIDED, Verdict.REFUTED])
@pytest.mark.parametrize("judgement", NEEDED)
def test_one_piece_that_is_not_proved_spoils_the_verdict(judgement, verdict):
    pieces = [piece(role) for role in sorted(NEEDED[judgement])]
    assert not audited(judgement, *pieces, piece("claim", verdict)).confirmed


def test_a_false_claim_needs_a_counterexample_and_a_repair():
    assert not audited("false", piece("claim"), piece("repair")).confirmed
    assert not audited("false", piece("claim"), piece("counterexample")).confirmed


def test_the_summary_is_plain_data_and_holds_the_counterexample():
    summary = audited("false", piece("counterexample"), piece("repair")).summary()
    assert json.loads(json.dumps(summary)) == summary
    assert {"id", "verdict", "confirmed", "promised", "certified", "counterexample", "seconds"} <= set(summary)
    assert (summary["id"], summary["verdict"], summary["confirmed"]) == ("source.lemma", "false", True)
    assert summary["counterexample"] == [
        {"statement": "a counterexample", "certified": "rank <= 3", "contexts": [[0, 1]]}
    ]
    assert audited("holds", piece("claim")).summary()["counterexample"] is None


@pytest.fixture
def register(monkeypatch):
    """A register of one claim, whose evidence is what the test appends."""
    evidence = []
    stand_in = ModuleType("verify.claims.source_lemma")
    stand_in.__dict__["evidence"] = lambda *, full: iter(evidence * (2 if full else 1))
    monkeypatch.setitem(sys.modules, "verify.claims.source_lemma", stand_in)
    monkeypatch.setattr(module, "claims", lambda ids: tuple(claim("holds") for _ in ids))
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


def test_an_unknown_claim_is_refused():
    with pytest.raises(InputError, match=r"no claim 'dana\.lemma-99', expected one of dana\.proposition-1"):
        list(audit_claims(["dana.lemma-99"]))
