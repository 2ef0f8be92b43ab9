"""The library is found, goes with every claim, and is compiled in an order that its imports allow."""

import re

import pytest

from byheart.coq import library
from byheart.coq.library import library_folder, library_sources, makefile, write_sources
from constructions.errors import FileFormatError


def test_the_library_has_what_a_proof_imports_and_each_file_comes_behind_those_it_imports():
    compiled = set()
    for name, text in library_sources().items():
        imported = re.findall(r"^From Float32 Require (?:Import|Export) (.*?)\.$", text, re.M)
        assert {each for line in imported for each in line.split()} <= compiled, name
        compiled.add(name.removesuffix(".v"))
    assert {"model", "semantics", "facts"} <= compiled


def test_a_folder_has_the_library_beside_the_memory(tmp_path):
    write_sources(tmp_path, {"claim.v": "a", "answers_0.v": "b", "proof.v": "c"})
    assert (tmp_path / "memory" / "proof.v").read_text() == "c"
    copied = tmp_path / "float32" / "semantics.v"
    assert copied.read_bytes() == (library_folder() / "semantics.v").read_bytes()


def test_answers_may_be_compiled_side_by_side():
    text = makefile(["claim.v", "answers_0.v", "answers_1.v", "proof.v"])
    assert "memory/answers_1.vo: memory/answers_1.v memory/claim.vo\n" in text
    assert "memory/proof.vo: memory/proof.v memory/answers_0.vo memory/answers_1.vo\n" in text
    assert "memory/claim.vo: memory/claim.v float32/facts.vo\n" in text
    assert "float32/semantics.vo: float32/semantics.v float32/model.vo\n" in text


def test_a_library_that_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "__file__", str(tmp_path / "byheart" / "coq" / "library.py"))
    with pytest.raises(FileFormatError, match="formal/float32 is not next to this program"):
        library_folder()
