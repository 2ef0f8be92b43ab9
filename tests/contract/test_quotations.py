"""Quotations: the words of each record stand in its source, as far as the copy at hand goes.

Where the variable BYHEART_SOURCES names a folder with the texts, `dana.txt`, `slides.txt` and `mahdavi.txt`, they are
compared with these; in any case with the hashes of their runs of words (tests/quotations.py).
"""

import os
import re
from functools import cache
from pathlib import Path

import pytest

from tests.quotations import RUN, runs, words
from verify.theorems.claim import LEFT_OUT, LOST, Claim
from verify.theorems.claims import REGISTER, claim

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "tests" / "sources"
QUOTED = [id for id in REGISTER if claim(id).quotation]
FOLDER = os.environ.get("BYHEART_SOURCES", "")


@cache
def known_runs(source: str) -> frozenset[str]:
    return frozenset((SOURCES / f"{source}.runs").read_text(encoding="ascii").split())


def source_of(record: Claim) -> str:
    return record.id.partition(".")[0]


def pieces(record: Claim) -> list[str]:
    """All that a record says in the words of its source; what a copy has lost is nothing there."""
    quoted = record.quotation.split(LEFT_OUT) + re.findall(r'"([^"]*)"', record.reading)
    return [piece.replace(LOST, " ") for piece in quoted]


def stands_in(source: str, piece: str) -> bool:
    return len(words(piece)) >= RUN and runs(piece) <= known_runs(source)


def test_every_claim_quotes_its_source_or_says_that_it_was_not_at_hand() -> None:
    for id in REGISTER:
        record = claim(id)
        assert (record.kind == "own") == id.startswith("project."), id
        assert record.quotation or record.reconstructed or record.kind == "own", id
    assert {id.partition(".")[0] for id in QUOTED} == {path.stem for path in SOURCES.glob("*.runs")}


@pytest.mark.parametrize("id", QUOTED)
def test_a_quotation_stands_in_its_source(id: str) -> None:
    record = claim(id)
    assert [piece for piece in pieces(record) if not stands_in(source_of(record), piece)] == []


@pytest.mark.parametrize("id", QUOTED)
def test_another_word_in_a_quotation_is_noticed(id: str) -> None:
    record = claim(id)
    for piece in pieces(record):
        found = words(piece)
        for i, word in enumerate(found):
            other = "lower" if word != "lower" else "upper"
            assert not stands_in(source_of(record), " ".join([*found[:i], other, *found[i + 1 :]])), (piece, word)


@pytest.mark.skipif(not FOLDER, reason="needs the texts of the sources, a folder named by BYHEART_SOURCES")
@pytest.mark.parametrize("id", QUOTED)
def test_a_quotation_is_a_part_of_the_text(id: str) -> None:
    record = claim(id)
    text = " ".join(words((Path(FOLDER) / f"{source_of(record)}.txt").read_text(encoding="utf-8")))
    assert [piece for piece in pieces(record) if " ".join(words(piece)) not in text] == []


@pytest.mark.skipif(not FOLDER, reason="needs the texts of the sources, a folder named by BYHEART_SOURCES")
@pytest.mark.parametrize("source", sorted(path.stem for path in SOURCES.glob("*.runs")))
def test_the_hashes_are_those_of_the_text(source: str) -> None:
    assert known_runs(source) == runs((Path(FOLDER) / f"{source}.txt").read_text(encoding="utf-8"))


def quoted_in_the_erratum(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8").partition("## Erratum")[2].partition("\n## ")[0]
    return [piece for quotation in re.findall(r'"([^"\n]+)"', text) for piece in quotation.split(LEFT_OUT)]


@pytest.mark.parametrize("page", sorted({claim(id).page for id in QUOTED}))
def test_what_an_erratum_quotes_stands_in_a_source(page: str) -> None:
    known = frozenset().union(*(known_runs(path.stem) for path in SOURCES.glob("*.runs")))
    assert [piece for piece in quoted_in_the_erratum(page) if not runs(piece) <= known] == []


@pytest.mark.skipif(not FOLDER, reason="needs the texts of the sources, a folder named by BYHEART_SOURCES")
@pytest.mark.parametrize("page", sorted({claim(id).page for id in REGISTER}))
def test_what_an_erratum_quotes_is_a_part_of_a_text(page: str) -> None:
    """Quotations of fewer words than a run too, which no hash tells."""
    texts = [" ".join(words(path.read_text(encoding="utf-8"))) for path in sorted(Path(FOLDER).glob("*.txt"))]
    assert [
        piece for piece in quoted_in_the_erratum(page) if not any(" ".join(words(piece)) in text for text in texts)
    ] == []


def test_words_are_compared_through_layout() -> None:
    assert words("the embed-\nding  of\n$W_{QK}^h$, **bold**") == words(r"the embedding of W_QK^h, bold")
    assert words("a \\leq b") != words("a \\geq b") and words("N") != words("n") and words("ﬁt") == words("fit")


def boxes(page: Path) -> list[str]:
    """What a page of a construction quotes, in the pieces between what it leaves out and what the copy has lost."""
    quoted = re.findall(r"(?:^>(?: .*)?\n)+", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = [re.sub(r"\\[lr]brace(?![a-z])", "", re.sub(r"^> ?", "", box, flags=re.MULTILINE)) for box in quoted]
    return [piece.replace(LOST, " ") for box in plain for piece in box.split(LEFT_OUT)]


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "constructions").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_a_construction_quotes_its_source(page: Path) -> None:
    source = "mahdavi" if "2306.02010" in page.read_text(encoding="utf-8") else "dana"
    found = boxes(page)
    assert found and [piece for piece in found if not stands_in(source, piece)] == []
    assert not stands_in(source, found[0].replace(" ", " other ", 9))
