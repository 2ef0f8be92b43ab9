"""`byheart audit`: certify the verdict on every claim again."""

import json
from dataclasses import replace

import pytest

from byheart.cli.main import main
from verify.theorems.audit import Audit, is_verdict
from verify.theorems.claim import Claim
from verify.theorems.claims import REGISTER, claims
from verify.theorems.evidence import Evidence, Means, Method
from verify.verdict import Verdict

STAND_IN = Claim("source.lemma", "A lemma", "Source, Lemma", "printed", "holds", "as printed", "docs/audit.md")


def evidence_of(*verdicts):
    return tuple(
        Evidence("claim", "words", "rank >= 1", "rank >= 1", Method("counting", Means.EXACT), verdict)
        for verdict in verdicts
    )


def interrupted_after_one():
    left = [Audit(claim=STAND_IN, evidence=evidence_of(Verdict.PROVED), seconds=0.0)]

    def audits(*_, **__):
        if not left:
            raise KeyboardInterrupt
        yield left.pop()

    return audits


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
    stand_in = (Audit(claim=STAND_IN, evidence=evidence_of(*verdicts), seconds=0.0),)
    monkeypatch.setattr("verify.theorems.audit.audit_claims", lambda *_, **__: iter(stand_in))
    assert main(["audit", "dana.lemma-3", "--json"]) == code
    [summary] = json.loads(capsys.readouterr().out)
    assert summary["confirmed"] is (code == 0) and summary["id"] == "source.lemma"
    assert main(["audit", "dana.lemma-3"]) == code
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith(("CONFIRMED: 1 of 1", "NOT CONFIRMED: 0 of 1")[code != 0])
    assert any("NOT CONFIRMED" in line for line in others) is (code != 0)
    assert any("rank >= 1" in line for line in others) is bool(verdicts)
    assert main(["audit"]) == code
    assert "rank >= 1" not in capsys.readouterr().out
    assert main(["audit", "--verbose"]) == code
    assert ("rank >= 1" in capsys.readouterr().out) is bool(verdicts)


def test_an_interrupted_audit_prints_what_it_has_certified(monkeypatch, capsys):
    monkeypatch.setattr("verify.theorems.audit.audit_claims", interrupted_after_one())
    assert main(["audit", "--json"]) == 130
    printed = capsys.readouterr()
    assert [summary["id"] for summary in json.loads(printed.out)] == ["source.lemma"]
    assert f"interrupted after 1 of {len(REGISTER)} claims" in printed.err
    monkeypatch.setattr("verify.theorems.audit.audit_claims", interrupted_after_one())
    assert main(["audit", "--quiet"]) == 130
    verdicts = sum(is_verdict(claim.judgement) for claim in claims())
    assert capsys.readouterr().out.startswith(f"NOT FINISHED, CONFIRMED: 1 of {verdicts} verdicts (1 ")


def test_an_audit_on_workers_says_what_one_without_them_says(capsys):
    ids = ["dana.value-rank", "mahdavi.one-token"]
    printed = []
    for at_a_time in ([], ["--workers", "2"]):
        assert main(["audit", *ids, "--json", *at_a_time]) == 0
        printed.append([{**each, "seconds": 0} for each in json.loads(capsys.readouterr().out)])
    assert printed[0] == printed[1] and [each["id"] for each in printed[0]] == ids


def test_the_page_is_written_beside_the_list_and_after_an_interruption(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("verify.theorems.audit.audit_claims", interrupted_after_one())
    page = tmp_path / "audit.html"
    assert main(["audit", "--json", "--html", str(page)]) == 130
    assert len(json.loads(capsys.readouterr().out)) == 1
    assert "Interrupted after 1 of" in page.read_text(encoding="utf-8")


def test_a_page_that_has_no_place_is_refused_before_the_work(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("verify.theorems.audit.audit_claims", lambda *_, **__: pytest.fail("it worked first"))
    for place in (tmp_path / "nowhere" / "audit.html", tmp_path):
        assert main(["audit", "--html", str(place)]) == 2
        assert f"--html is {str(place)!r}, expected a file in a folder that exists" in capsys.readouterr().err


def test_full_is_passed_on(monkeypatch, capsys):
    asked = []

    def audits(ids, *, full, progress):
        asked.append((*ids, full))
        return iter((Audit(claim=STAND_IN, evidence=(), seconds=0.0),))

    monkeypatch.setattr("verify.theorems.audit.audit_claims", audits)
    main(["audit", "dana.lemma-3", "--full", "--json"])
    main(["audit", "--json"])
    assert asked == [("dana.lemma-3", True), *((id, False) for id in REGISTER)]


def test_an_audit_that_was_interrupted_goes_on_from_its_file_and_says_so(monkeypatch, capsys, tmp_path):
    ids, file, page = ["dana.value-rank", "mahdavi.one-token"], tmp_path / "kept", tmp_path / "audit.html"
    from verify.theorems import audit

    original, audited = audit.audit_claims, []

    def audits(ids, **given):
        audited.extend(ids)
        if ids == ["mahdavi.one-token"] and len(audited) == 2:
            raise KeyboardInterrupt
        return original(ids, **given)

    monkeypatch.setattr(audit, "audit_claims", audits)
    assert main(["audit", *ids, "--json", "--keep", str(file)]) == 130
    first = capsys.readouterr()
    assert "0 taken over" in first.err and "1 judged by this run" in first.err
    file.write_bytes(file.read_bytes() + b'{"code":"0","found":{},"pi')
    assert main(["audit", *ids, "--json", "--keep", str(file), "--html", str(page)]) == 0
    rest = capsys.readouterr()
    assert audited == [*ids, "mahdavi.one-token"]
    assert [(each["id"], each["earlier"]) for each in json.loads(rest.out)] == [(ids[0], True), (ids[1], False)]
    [before], (taken, _) = json.loads(first.out), json.loads(rest.out)
    assert "by an earlier run" in taken.pop("headline") and "earlier" not in before.pop("headline")
    assert {**taken, "earlier": False} == before
    said = " ".join(rest.err.split())
    assert f"1 taken over from {file}, as earlier runs left it, not proved again; 1 judged by this run" in said
    assert "1 line rejected (signature mismatch)" in said
    assert "1 claim taken over from an earlier run, not proved again" in page.read_text(encoding="utf-8")
    assert main(["audit", *ids, "--keep", str(file)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("confirmed by an earlier run") == 2
    assert "2 of 2 verdicts, 2 of them by an earlier run and not again" in shown
    assert main(["audit", ids[1], "--full", "--json", "--keep", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)[0]["earlier"] is False


def test_a_claim_that_could_not_be_computed_is_computed_again(monkeypatch, capsys, tmp_path):
    lost = (Audit(STAND_IN, (replace(evidence_of(Verdict.UNDECIDED)[0], role="error"),), seconds=0.0),)
    monkeypatch.setattr("verify.theorems.audit.audit_claims", lambda *_, **__: iter(lost))
    for _ in range(2):
        assert main(["audit", "dana.lemma-3", "--json", "--keep", str(tmp_path / "kept")]) == 3
        assert json.loads(capsys.readouterr().out)[0]["earlier"] is False


def test_a_file_that_holds_something_else_is_refused_before_the_work(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("verify.theorems.audit.audit_claims", lambda *_, **__: pytest.fail("it worked first"))
    notes = tmp_path / "notes"
    notes.write_text("mine\n")
    for place in (notes, tmp_path / "nowhere" / "kept", tmp_path):
        assert main(["audit", "--keep", str(place)]) == 2
        assert f"--keep is {str(place)!r}, expected a file that --keep wrote" in capsys.readouterr().err
    assert notes.read_text() == "mine\n"
    assert main(["audit", "--keep", str(tmp_path / "one"), "--html", str(tmp_path / "one")]) == 2
    assert "--html and --keep are both" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "code", "first"), [
    ([], 3, "NO VERDICT: 1 not judged (what is said beside it was proved again); "),
    (["mahdavi.one-token"], 0, "CONFIRMED: 1 of 1 verdict (1 holds); 1 not judged (what is said beside it was proved"),
])  # fmt: skip
def test_a_claim_that_is_not_judged_is_not_confirmed(capsys, words, code, first):
    assert main(["audit", "cabannes-2024.scaling", *words, "--quiet"]) == code
    assert capsys.readouterr().out.startswith(first)
    assert main(["audit", "cabannes-2024.scaling", *words, "--json"]) == code
    found = {each["id"]: each for each in json.loads(capsys.readouterr().out)}["cabannes-2024.scaling"]
    assert found["confirmed"] is None and found["proved_again"] is True
    assert main(["audit", "cabannes-2024.scaling", *words]) == code
    assert "confirmed" not in "".join(line for line in capsys.readouterr().out.splitlines() if "cabannes" in line)
