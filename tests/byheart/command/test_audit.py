"""`byheart audit`: certify the verdict on every claim again."""

import json

import pytest

from byheart.command.main import main
from constructions.claims import REGISTER
from constructions.claims.claim import Claim
from verify.claims.audit import Audit
from verify.claims.evidence import Evidence, Means, Method
from verify.verdict import Verdict

STAND_IN = Claim("source.lemma", "A lemma", "Source, Lemma", "printed", "holds", "as printed", "docs/audit.md")


def evidence_of(*verdicts):
    return tuple(
        Evidence("claim", "words", "rank >= 1", "rank >= 1", Method("counting", Means.EXACT), verdict)
        for verdict in verdicts
    )


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([Verdict.PROVED, Verdict.PROVED], 0),
        ([Verdict.PROVED, Verdict.UNDECIDED], 3),
        ([Verdict.UNDECIDED, Verdict.REFUTED], 1),
        ([], 3),
    ],
)
def test_audit_ends_well_only_if_every_verdict_is_confirmed(verdicts, code, monkeypatch, capsys):
    stand_in = [Audit(claim=STAND_IN, evidence=evidence_of(*verdicts), seconds=0.0)]
    monkeypatch.setattr("verify.claims.audit.audit_claims", lambda *_, **__: iter(stand_in))
    assert main(["audit", "dana.lemma-3", "--json"]) == code
    [summary] = json.loads(capsys.readouterr().out)
    assert summary["confirmed"] is (code == 0) and summary["id"] == "source.lemma"
    assert main(["audit", "dana.lemma-3"]) == code
    assert ("NOT CONFIRMED" in capsys.readouterr().out) is (code != 0)


def test_an_interrupted_audit_prints_what_it_has_certified(monkeypatch, capsys):
    def audits(*_, **__):
        yield Audit(claim=STAND_IN, evidence=evidence_of(Verdict.PROVED), seconds=0.0)
        raise KeyboardInterrupt

    monkeypatch.setattr("verify.claims.audit.audit_claims", audits)
    assert main(["audit", "--json"]) == 130
    printed = capsys.readouterr()
    assert [summary["id"] for summary in json.loads(printed.out)] == ["source.lemma"]
    assert f"interrupted after 1 of {len(REGISTER)} claims" in printed.err


def test_an_audit_on_workers_says_what_one_without_them_says(capsys):
    ids = ["slides.quality", "mahdavi.one-token"]
    printed = []
    for at_a_time in ([], ["--workers", "2"]):
        assert main(["audit", *ids, "--json", *at_a_time]) == 0
        printed.append([{**each, "seconds": 0} for each in json.loads(capsys.readouterr().out)])
    assert printed[0] == printed[1] and [each["id"] for each in printed[0]] == ids


def test_the_page_is_written_beside_the_list_and_after_an_interruption(monkeypatch, capsys, tmp_path):
    def audits(*_, **__):
        yield Audit(claim=STAND_IN, evidence=evidence_of(Verdict.PROVED), seconds=0.0)
        raise KeyboardInterrupt

    monkeypatch.setattr("verify.claims.audit.audit_claims", audits)
    page = tmp_path / "audit.html"
    assert main(["audit", "--json", "--html", str(page)]) == 130
    assert len(json.loads(capsys.readouterr().out)) == 1
    assert f"1 of {len(REGISTER)} verdicts confirmed" in page.read_text(encoding="utf-8")


def test_a_page_that_has_no_place_is_refused_before_the_work(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("verify.claims.audit.audit_claims", lambda *_, **__: pytest.fail("it worked first"))
    for place in (tmp_path / "nowhere" / "audit.html", tmp_path):
        assert main(["audit", "--html", str(place)]) == 2
        assert f"--html is {str(place)!r}, expected a file in a folder that exists" in capsys.readouterr().err


def test_full_is_passed_on(monkeypatch, capsys):
    asked = []

    def audits(ids, *, full, progress):
        asked.append((ids, full))
        return iter(())

    monkeypatch.setattr("verify.claims.audit.audit_claims", audits)
    main(["audit", "dana.lemma-3", "--full", "--json"])
    main(["audit", "--json"])
    assert asked == [(["dana.lemma-3"], True), (list(REGISTER), False)]
