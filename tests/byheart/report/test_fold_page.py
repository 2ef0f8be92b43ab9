"""The page of a rule with a state: made of the certificate, the weights and what was found, and compared by `check`."""

import json

import pytest

from byheart.cli.main import main
from byheart.hosts.certify import certify_fold
from byheart.report.fold_page import FoldDetails, Lead, fold_page
from constructions.errors import FileFormatError
from constructions.folds.fold import addition, fold_of
from constructions.memories.heads.adder import adder
from constructions.model.entries import Entries
from tests.byheart.hosts.test_fold_export import damaged

DETAILS = FoldDetails(
    "PROVED", "MEMORIZED, PROVED: <all>", [("all <b>", "prover")], [], None, {"a": "1"}, {"numpy": "2"}
)


def made(model, folder):
    return certify_fold(model, addition(2, base=2), every_run="float32", out=folder)


def test_the_page_of_a_certified_fold_shows_the_lead_of_each_token_and_check_makes_it_again(tmp_path, capsys):
    made(adder(2, base=2), tmp_path / "made")
    page = (tmp_path / "made" / "report.html").read_text()
    assert page.count("<td>≥ 0.89") == 3 and page.count("<rect") == 3 and " + " in page and "PROVED" in page
    assert main(["check", str(tmp_path / "made"), "--fast"]) == 0
    (tmp_path / "made" / "report.html").write_text(page.replace("≥ 0.89", "≥ 0.99"))
    assert main(["check", str(tmp_path / "made"), "--fast"]) == 1
    assert "report.html is not the file that" in capsys.readouterr().err


def test_the_page_of_a_wrong_model_shows_the_input(tmp_path):
    wrong = made(damaged(2, 2), tmp_path / "made")["wrong_input"]
    page = (tmp_path / "made" / "report.html").read_text()
    assert "REFUTED" in page and "≥" not in page
    assert all(" ".join(map(str, wrong[name])) in page for name in ("prompt", "answer", "decoded"))


@pytest.mark.parametrize("leads", [[], [{"lower": 1.0}], "none", [{"lower": None, "found": 1e999, "prompt": [0]}] * 3])
def test_numbers_that_make_no_page_are_named(leads, tmp_path):
    made(adder(2, base=2), tmp_path / "made")
    path = tmp_path / "made" / "measured.json"
    data = json.loads(path.read_text())
    data["drawn"]["leads"] = leads
    if leads == []:
        data["drawn"] = {}
    path.write_text(json.dumps(data, sort_keys=True, separators=(",", ":")) + "\n")
    assert main(["check", str(tmp_path / "made"), "--fast"]) == 2


def test_texts_are_escaped_and_prompts_are_those_of_the_rule():
    page = fold_page(addition(1, base=2), Entries(9, 8, 7, 6), DETAILS)
    assert "&lt;all&gt;" in page and "<b>" not in page and "leads</h2>" not in page
    bits = [((0,), [(0,), (1,)])]
    own = fold_of(lambda odd, bit: (0, bit[0]), start=0, length=1, stages=bits, answer=[0])
    for prompt, wanted in (([1], "<td>1</td>"), ([2], None)):
        details = FoldDetails("PROVED", "", [], [Lead(None, 1.0, prompt)], None, {}, {})
        if wanted is None:
            with pytest.raises(Exception, match="choices of the rule"):
                fold_page(own, Entries(9, 8, 7, 6), details)
        else:
            assert wanted in fold_page(own, Entries(9, 8, 7, 6), details)


def test_a_page_without_its_numbers_is_refused(tmp_path):
    from byheart.measured import require_made_again

    made(adder(2, base=2), tmp_path / "made")
    (tmp_path / "made" / "measured.json").unlink()
    with pytest.raises(FileFormatError, match=r"without measured\.json"):
        require_made_again(tmp_path / "made")
