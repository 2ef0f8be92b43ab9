"""The page of all margins: made of the certificate, the task and what was computed beside, and compared by `check`."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.hosts.certify import certify
from byheart.measured import Measured, require_made_again
from byheart.report.facts_page import FactsDetails, Margin, facts_page
from byheart.report.pages import page_of_facts
from constructions.errors import FileFormatError, TamperedError
from constructions.formats.files import canonical_json
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.vectors import load_task
from tests.byheart.hosts.test_every_run import FACTS, NEARLY
from tests.exports import MODELS, spoiled, task_of
from tests.layers import memory_layer, random_layer_task
from tests.prompts import certified
from verify.certificates.certificate import Certificate

NAME = "gelu neurons"
DETAILS = FactsDetails(
    verdict="REFUTED", headline="NOT MEMORIZED: <all>", statements=[("all <b>", "prover")], memorized={0, 3}, wrong=1,
    runs=None, margins=[Margin(0.25, 0.5), Margin(-2.0, -1.5), Margin(-math.inf, 0.75), Margin(1.0, 1.0)], parameters=7,
    digests={"a": "1"}, provenance={"numpy": "2"},
)  # fmt: skip
ROWS = [["a", "<b>"], ["c", "d"], ["e", "f"], ["g", "h"]]


def titles(page):
    """What each bar says, from left to right."""
    return [part.split("</title>")[0] for part in page.split("<title>")[3:]]


def test_the_page_of_right_and_wrong_facts_shows_each_and_check_makes_it_again(tmp_path, capsys):
    task, out = spoiled(task_of(NAME), 3), tmp_path / "made"
    figures = certify(MODELS[NAME], task, out=out)
    assert (figures["memorized"], figures["wrong"]) == (17, 3) and "report.html" in figures["files"]
    page = (out / "report.html").read_text()
    bars = titles(page)
    assert ["proved wrong, margin ≤ −" in bar for bar in bars] == [True] * 3 + [False] * 17
    assert all("proved right, margin ≥ " in bar for bar in bars[3:])
    for row in figures["wrong_facts"]:
        assert any(bar.startswith(f"{' '.join(row[:-1])} → {row[-1]}:") for bar in bars[:3])
    assert (
        "proved right: 17" in page and "proved wrong: 3" in page and "may flip" not in page and "NOT MEMORIZED" in page
    )
    assert page.index("Nobody proves again what stands below") < page.index("<svg")
    code = main(["check", str(out), "--fast"])
    assert code == 1 and "report.html" not in capsys.readouterr().err  # refuted, and the page is the one
    (out / "report.html").write_text(page.replace("proved wrong: 3", "proved wrong: 0"))
    assert main(["check", str(out), "--fast"]) == 1
    assert "report.html is not the file that" in capsys.readouterr().err


def test_bars_are_as_high_as_the_bounds_that_are_proved(tmp_path):
    """Exact margins: a token is ahead by what stands in the only matrix."""
    ahead = np.diag([1.0, 2.0, 4.0])
    model = Model(blocks=(), W_U=np.eye(3), W_E=ahead, W_pos=np.zeros((1, 3)))
    task = array_task(
        np.array([[0], [1], [2]]), next_tokens=np.array([0, 0, 2]), vocabulary=3, answers=3, target="labels"
    )
    certify(model, task, out=tmp_path / "made")
    page = (tmp_path / "made" / "report.html").read_text()
    margins = [bar.split("margin ")[1] for bar in titles(page)]
    assert margins == ["≤ −1.999", "≥ 0.9999", "≥ 3.999"]
    heights = [float(part.split('height="')[1].split('"')[0]) for part in page.split("<rect")[1:] if "<title>" in part]
    assert heights == pytest.approx([260 / 3, 130 / 3, 520 / 3], abs=0.01)


@pytest.mark.parametrize("every_run", ["float32", None])
def test_a_fact_may_flip_only_where_every_run_was_asked(every_run, tmp_path):
    certify(NEARLY, FACTS, every_run=every_run, out=tmp_path / "made")
    require_made_again(tmp_path / "made")
    bars = titles((tmp_path / "made" / "report.html").read_text())
    assert bars[0].startswith("1 → 0: proved wrong, ") and bars[2].startswith("0 → 0: proved right, ")
    assert bars[1].startswith("2 → 0: right, may flip in float32, " if every_run else "2 → 0: proved right, ")


def test_where_no_fact_is_memorized_in_every_run_all_may_flip(tmp_path):
    task = array_task(np.array([[2]]), next_tokens=np.array([0]), vocabulary=3, answers=3, target="labels")
    certify(NEARLY, task, every_run="float32", out=tmp_path / "made")
    require_made_again(tmp_path / "made")
    page = (tmp_path / "made" / "report.html").read_text()
    assert "right, may flip in float32: 1" in page and "right in every float32 run</dt><dd>0<" in page


def test_prompts_have_a_page_of_their_texts(tmp_path):
    out = certified(tmp_path / "made")
    require_made_again(out)
    task = load_task(out / "task.safetensors")
    bars = titles((out / "report.html").read_text())
    assert len(bars) == task.n_contexts == 5
    for prompt, answer in task.rows(np.arange(5)):
        assert sum(f"{prompt} → {answer}: " in bar.replace("&#x27;", "'") for bar in bars) == 1


@pytest.mark.parametrize(
    "margins",
    [
        [],
        "none",
        [[1.0, 2.0]] * 19,
        [[1.0, 2.0]] * 20,  # the certificate says that three are wrong
        [[-2.0, -1.0]] * 20,
        [[-1.0, 1.0]] * 20,
        [[2.0, 1.0]] * 20,
        [[1.0, "2"]] * 20,
        [[1.0]] * 20,
    ],
)
def test_margins_that_contradict_the_certificate_make_no_page(margins, tmp_path):
    certify(MODELS[NAME], spoiled(task_of(NAME), 3), out=tmp_path / "made")
    path = tmp_path / "made" / "measured.json"
    data = json.loads(path.read_text())
    data["drawn"]["margins"] = margins
    path.write_text(canonical_json(data) + "\n")
    with pytest.raises(FileFormatError, match=r"measured\.json makes no page"):
        require_made_again(tmp_path / "made")


def test_a_page_of_other_margins_is_refused_and_a_lie_stands_below_the_line(tmp_path):
    out = tmp_path / "made"
    certify(MODELS[NAME], task_of(NAME), out=out)
    path = out / "measured.json"
    data = json.loads(path.read_text())
    data["drawn"]["margins"][0] = [12345.0, 12345.0]
    path.write_text(canonical_json(data) + "\n")
    with pytest.raises(TamperedError):
        require_made_again(out)
    certificate = Certificate.load(out)
    page = page_of_facts(out, certificate, load_task(out / "task.safetensors"), Measured.load(out, certificate))
    assert page.index("Nobody proves again what stands below") < page.index("1.234 × 10⁴")


def test_a_page_of_every_run_of_an_unknown_type_is_refused(tmp_path):
    certify(NEARLY, FACTS, out=tmp_path / "made")
    path = tmp_path / "made" / "measured.json"
    data = json.loads(path.read_text())
    data["figures"]["every_run"] = {"dtype": "<b>"}
    path.write_text(canonical_json(data) + "\n")
    (tmp_path / "made" / "summary.json").unlink()
    with pytest.raises(FileFormatError, match="makes no page"):
        require_made_again(tmp_path / "made")


def test_what_has_no_texts_or_no_labels_has_no_page(tmp_path):
    task = random_layer_task()
    assert "report.html" not in certify(memory_layer(task, n_heads=2), task, out=tmp_path / "vectors")["files"]
    require_made_again(tmp_path / "vectors")


def test_texts_are_escaped_and_what_is_undecided_lies_between_its_bounds():
    page = facts_page(ROWS, DETAILS)
    assert "<b>" not in page and "&lt;all&gt;" in page and "a → &lt;b&gt;" in page
    assert "e → f: undecided, margin −∞ to 0.75" in page and "undecided: 1" in page
    assert [bar[0] for bar in titles(page)] == ["c", "e", "a", "g"]


@pytest.mark.parametrize(
    "change",
    [
        {"wrong": 0},
        {"wrong": 2},
        {"memorized": {0}},
        {"memorized": {0, 1, 3}},
        {"memorized": {0, 2, 3}},
        {"margins": [*DETAILS.margins[:3], Margin(math.nan, 1.0)]},
        {"margins": [*DETAILS.margins[:3], Margin(math.inf, math.inf)]},
        {"margins": DETAILS.margins[:3]},
    ],
)
def test_margins_are_those_of_the_facts_that_are_memorized(change):
    with pytest.raises(ValueError, match="margin"):
        facts_page(ROWS, replace(DETAILS, **change))


@pytest.mark.parametrize("size", [1200, 1201, 50_000])
def test_many_facts_are_drawn_together_and_only_the_ends_are_named(size):
    margins = [Margin(1.0 + fact, 1.0 + fact) if fact % 4 else Margin(-1.0 - fact, -1.0 - fact) for fact in range(size)]
    memorized = {fact for fact in range(size) if fact % 4}
    details = replace(DETAILS, margins=margins, memorized=memorized, wrong=size - len(memorized))
    page = facts_page([[f"fact{fact}", "x"] for fact in range(size)], details)
    bars = titles(page)
    assert len(bars) <= 1202 and len(page) < 500_000
    more = [int(bar.split(" and ")[1].split(" more")[0]) if " more:" in bar else 0 for bar in bars]
    assert sum(more) + len(bars) == size
    assert len([bar for bar in bars if "proved wrong" in bar]) == -(-details.wrong // -(-size // 1200))
    # The bar of several facts says no more than what holds for all of them.
    first_right = next(bar for bar in bars if "proved right" in bar)
    assert first_right.startswith("fact1") and first_right.endswith("margin ≥ 2")
    assert bars[0].startswith(f"fact{(size - 1) // 4 * 4}") and page.count("<tr><td>proved") == 20
