"""Folders whose certificate is true, and whose summary or page says something else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from constructions.formats.files import canonical_json
from tests.corpus.false_claims import Bad, Forge

MEASURED, SUMMARY, PAGE = "measured.json", "summary.json", "report.html"
GOOD_FOLDER = "pages-of-facts"


def replaced(name: str, old: str, new: str) -> Forge:
    """Replace a text wherever it stands in a file."""

    def forge(folder: Path) -> None:
        path = folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text, (name, old)
        path.write_text(text.replace(old, new), encoding="utf-8")

    return forge


def fields(name: str, change: Callable[[dict[str, Any]], Any]) -> Forge:
    """Change the fields of a file of JSON, in canonical form."""

    def forge(folder: Path) -> None:
        data = json.loads((folder / name).read_text(encoding="utf-8"))
        change(data)
        (folder / name).write_text(canonical_json(data) + "\n", encoding="utf-8")

    return forge


def both(first: Forge, second: Forge) -> Forge:
    """Change one thing and then another."""

    def forge(folder: Path) -> None:
        first(folder)
        second(folder)

    return forge


def stronger(data: dict[str, Any]) -> None:
    """Say a first line that no certificate says."""
    data["headline"] = "BY HEART, PROVED: 9 of 9 characters, in every float16 run; 9 parameters"


def removed(name: str) -> Forge:
    """Remove a file."""
    return lambda folder: (folder / name).unlink()


def false_pages() -> list[Bad]:
    """Return all of them."""
    changes: list[tuple[str, str, Forge, str]] = [
        ("summary-float16", "the summary says float16 for float32", replaced(SUMMARY, "float32", "float16"), "refuted"),
        ("page-float16", "the page says float16 for float32", replaced(PAGE, "float32", "float16"), "refuted"),
        ("both-float16", "summary and page say float16 for float32",
         both(replaced(SUMMARY, "float32", "float16"), replaced(PAGE, "float32", "float16")), "refuted"),
        ("summary-headline", "the summary has another first line", fields(SUMMARY, stronger), "refuted"),
        ("summary-memorized", "the summary counts more contexts",
         fields(SUMMARY, lambda d: d.update(memorized=3, facts=3)), "refuted"),
        ("summary-margin", "the summary has a larger margin",
         fields(SUMMARY, lambda d: d.update(margin_lower=1.5)), "refuted"),
        ("summary-statement", "the summary has a statement more",
         fields(SUMMARY, lambda d: d["statements"].append({**d["statements"][-1], "id": "runs (float16)"})), "refuted"),
        ("summary-checker", "the summary says another checker",
         fields(SUMMARY, lambda d: d["statements"][-1].update(checker="prover")), "refuted"),
        ("summary-spaces", "the summary has spaces", replaced(SUMMARY, ":", ": "), "refuted"),
        ("summary-empty", "the summary is empty", lambda folder: (folder / SUMMARY).write_text(""), "refuted"),
        ("page-memorized", "the page counts more contexts", replaced(PAGE, "2 of 2", "3 of 3"), "refuted"),
        ("page-margin", "the page has a larger margin", replaced(PAGE, "0.4999", "0.9999"), "refuted"),
        ("page-loss", "the page has a smaller loss", replaced(PAGE, "0.4742", "0.0742"), "refuted"),
        ("page-word", "the page says something else than PROVED", replaced(PAGE, "PROVED", "SURE"), "refuted"),
        ("page-longer", "something stands behind the page", replaced(PAGE, "</html>", "</html><p>Believe me.</p>"),
         "refuted"),
        ("measured-fact", "a figure that was measured is another, and the files are left as they were",
         fields(MEASURED, lambda d: d["figures"].update(built="1 parameter")), "refuted"),
        ("measured-drawn", "what the page draws is another, and the page is left as it was",
         fields(MEASURED, lambda d: d["drawn"].update(margin_lower=[[9.0, 2]])), "refuted"),
        ("measured-headline", "a first line is said to be measured",
         fields(MEASURED, lambda d: stronger(d["figures"])), "refused"),
        ("measured-margin", "a margin is said to be measured",
         fields(MEASURED, lambda d: d["figures"].update(margin_lower=9.0)), "refused"),
        ("measured-spaces", "the measured figures have spaces", replaced(MEASURED, ":", ": "), "refused"),
        ("measured-missing", "the measured figures are missing", removed(MEASURED), "refused"),
        ("measured-version", "the measured figures are of version 2",
         fields(MEASURED, lambda d: d.update(version=2)), "refused"),
    ]  # fmt: skip
    return [Bad(GOOD_FOLDER, slug, "pages", about, forge, expected) for slug, about, forge, expected in changes]
