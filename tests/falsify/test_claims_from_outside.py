"""A claim of another package stands in the register, and is judged as those here are."""

import json
from pathlib import Path

import pytest

from byheart.cli.main import main
from constructions.errors import InputError
from verify.theorems.claims import REGISTER, claim, register

MODULE = """
from verify.theorems.claim import Claim
from verify.theorems.evidence import Evidence, Means, Method
from verify.verdict import proved

CLAIM = Claim(
    id="{id}", title="A lemma", source="Mine (2026), Lemma 1", printed="1 + 1 = 2", judgement="{judgement}",
    truth="1 + 1 = 2", page="https://example.org/lemma-1",
)

def evidence(*, full):
    found = 1 + {other}
    yield Evidence("claim", "1 + 1", "= 2", f"= {{found}}", Method("integers", Means.EXACT), proved(found == 2))
"""


def install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    name: str = "mine.lemma-1",
    id: str = "mine.lemma-1",
    judgement: str = "holds",
    other: int = 1,
    module: str = "claim_of_mine",
) -> None:
    """A distribution that brings a claim, as pip leaves it."""
    (folder / f"{module}.py").write_text(MODULE.format(id=id, judgement=judgement, other=other))
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module.replace('_', '-')}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[byheart.claims]\n{name} = {module}\n")
    monkeypatch.syspath_prepend(str(folder))


def test_it_is_listed_and_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    install(tmp_path, monkeypatch, module="claim_that_holds")
    assert register() == (*REGISTER, "mine.lemma-1") and claim("mine.lemma-1").title == "A lemma"
    assert main(["claims", "--json"]) == 0
    assert [each["id"] for each in json.loads(capsys.readouterr().out)][-1] == "mine.lemma-1"
    assert main(["claims", "mine.lemma-1"]) == 0
    assert "https://example.org/lemma-1" in capsys.readouterr().out
    assert main(["audit", "mine.lemma-1", "--json"]) == 0
    [audit] = json.loads(capsys.readouterr().out)
    assert audit["confirmed"] is True


@pytest.mark.parametrize(("judgement", "other"), [("holds", 2), ("false", 1)])
def test_what_its_evidence_does_not_bear_is_not_confirmed(
    judgement: str, other: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    install(tmp_path, monkeypatch, module=f"claim_with_{judgement}_{other}", judgement=judgement, other=other)
    assert main(["audit", "mine.lemma-1", "--json"]) != 0
    assert json.loads(capsys.readouterr().out)[0]["confirmed"] is False


def test_it_cannot_take_the_place_of_another_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    install(tmp_path, monkeypatch, name="dana.lemma-2", id="dana.lemma-2", module="claim_that_steals")
    with pytest.raises(InputError, match=r"claim_that_steals brings the claim 'dana.lemma-2', which there is already"):
        register()
    assert main(["claims"]) == 2
    assert "already" in capsys.readouterr().err


def test_a_module_that_holds_another_record_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, id="mine.lemma-2", module="claim_of_another_name")
    with pytest.raises(InputError, match=r"expected a module with CLAIM, the record of 'mine.lemma-1'"):
        claim("mine.lemma-1")


def test_what_was_kept_of_it_is_not_taken_over_once_its_module_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    install(tmp_path, monkeypatch, module="claim_that_is_edited")
    command = ["audit", "mine.lemma-1", "--json", "--keep", str(tmp_path / "kept")]
    for earlier in (False, True):
        assert main(command) == 0
        assert json.loads(capsys.readouterr().out)[0]["earlier"] is earlier
    file = tmp_path / "claim_that_is_edited.py"
    file.write_text(file.read_text() + "# now it says something else")
    main(command)
    assert json.loads(capsys.readouterr().out)[0]["earlier"] is False
