"""What a claim promises, or a construction of a theorem, is built, certified and written under its name."""

import json

import pytest

from byheart.theorems.building import build_claim, build_named, named
from byheart.theorems.register import claim
from constructions.errors import InputError


def test_weights_for_a_claim_say_in_the_first_line_what_they_were_made_for(tmp_path):
    figures = build_claim(claim("dana.lemma-3"), out=tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["headline"] == figures.headline
    assert "weights for dana.lemma-3, a claim whose verdict is" in figures.headline


def test_a_construction_for_data_of_ones_own_says_how_they_were_read(tmp_path):
    (tmp_path / "own.txt").write_text("0 1\n1 0\n1 1\n")
    figures = build_named(named("full-rank-attention"), out=tmp_path / "out", file=tmp_path / "own.txt")
    assert (figures.named, figures.facts, figures.verdict) == ("full-rank-attention", 3, "PROVED")
    assert figures.reading and figures.findings


def test_a_folder_that_is_there_is_refused_before_anything_is_built(tmp_path, monkeypatch):
    monkeypatch.setattr("byheart.theorems.building.certified", lambda *_, **__: pytest.fail("the work has started"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("kept")
    with pytest.raises(InputError, match="out"):
        build_claim(claim("dana.lemma-3"), out=tmp_path / "out")
