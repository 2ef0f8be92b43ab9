"""The notebooks in docs/ run from the first cell to the last, and hold what their cells print."""

import ast
import importlib
import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SLOW = {"maximum_of_four", "trained_adder"}
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def cells_of(path):
    data = json.loads(path.read_text(encoding="utf-8"))
    assert (data["nbformat"], data["nbformat_minor"]) == (4, 5)
    return data["cells"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_cells_in_the_order_in_which_they_were_run(path):
    cells = cells_of(path)
    assert cells[0]["cell_type"] == "markdown" and cells[0]["source"][0].startswith("# ")
    assert len({cell["id"] for cell in cells}) == len(cells)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(line.count("\n") <= 1 for cell in cells for line in cell["source"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_notebook_imports_of_the_project_is_there(path):
    """Slow notebooks run seldom."""
    code = "\n".join("".join(cell["source"]) for cell in cells_of(path) if cell["cell_type"] == "code")
    imported = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imported if (node.module or "").startswith(("byheart", "constructions", "verify"))]
    for node in ours:
        assert all(hasattr(importlib.import_module(node.module), name.name) for name in node.names), node.module


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] if path.stem in SLOW else [], id=path.stem) for path in NOTEBOOKS],
)
def test_a_notebook_runs(path, tmp_path, monkeypatch, capsys):
    code = ["".join(cell["source"]) for cell in cells_of(path) if cell["cell_type"] == "code"]
    imported = {
        name.name.partition(".")[0]
        for node in ast.parse(code[0]).body
        if isinstance(node, ast.Import)
        for name in node.names
    }
    if missing := [name for name in imported if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{path.stem} needs {missing[0]}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = {"__name__": "__main__"}
    for number, source in enumerate(code, start=1):
        exec(compile(source, f"{path.stem}, code cell {number}", "exec"), names)
    printed = capsys.readouterr().out
    if path.stem == "ground_truth":
        assert names["smallest"].certificate.verdict.value == names["memory"].certificate.verdict.value == "PROVED"
        assert any(names["predicted"].values()) and "by hand: every ablation loses exactly" in printed
        assert names["observed"] in (None, names["predicted"])
        if names["observed"] is None:
            assert "TransformerLens is not installed here" in printed
    elif path.stem == "editing":
        assert names["done"].certificate.headline() in printed
        assert "the prover: PROVED" in printed and "the kernel: PROVED" in printed
        assert names["done"].certificate.verdict.value == "PROVED"
    elif path.stem == "language_model":
        assert names["proved"]["undecided"] == 0 and {"Sydney", "Toronto"}.isdisjoint(names["facts"].values())
        assert {prompt.split()[3] for prompt, _ in names["proved"]["wrong_facts"]} == {"Australia", "Canada"}
        assert names["done"].certificate.verdict.value == names["again"]["verdict"] == "PROVED"
        assert names["again"]["every_run"]["right"] == len(names["facts"])
    elif path.stem == "recitation":
        assert names["found"].text == names["verse"] and names["back"]["white"] == " "
    elif path.stem == "trained_adder":
        assert names["proved"]["verdict"] == "PROVED" and names["found"]["verdict"] == "REFUTED"
        assert "100p-damaged 1000 of 1000" in printed and "WRONG, PROVED; the rule says 0" in printed
    elif path.stem == "counterexample":
        assert len(names["found"]) == 12 and (names["figures"].paper_rank, names["figures"].rank_upper) == (4, 3)
    else:
        assert names["figures"]["undecided"] == 0 and names["figures"]["inputs"] == 64**4
        assert names["figures"]["wrong"] < 64**3


def test_there_are_notebooks():
    assert {path.stem for path in NOTEBOOKS} >= {"ground_truth", *SLOW}


def test_the_gallery_names_every_notebook_and_the_readme_and_the_index_name_the_gallery():
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\(notebooks/(\w+)\.ipynb\)", gallery)) == [path.stem for path in NOTEBOOKS]
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        assert "gallery.md)" in page.read_text(encoding="utf-8")
