"""A certificate has one form; masks name contexts bit by bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verify.kernel import folders
from verify.certificates.certificate import mask_text
from verify.kernel.certificate import read_certificate, read_mask
from verify.kernel.check import outcome
from verify.kernel.verdicts import BadInputError, NotProvedError

CHANGES: dict[str, Callable[[Any], Any]] = {
    "another version": lambda data: data.update(version=3),
    "a version that is true": lambda data: data.update(version=True),
    "a field more": lambda data: data.update(more=1),
    "a field less": lambda data: data.pop("provenance"),
    "no statements": lambda data: data.update(statements=[]),
    "statements that are none": lambda data: data.update(statements={"id": "answers"}),
    "a statement that is none": lambda data: data.update(statements=[1]),
    "a field of a statement": lambda data: data["statements"][0].update(more=1),
    "names where there are none": lambda data: data["statements"][0].update(named={}),
    "a number that is a text": lambda data: data["statements"][0]["values"].update(contexts="4"),
    "a number more": lambda data: data["statements"][0]["values"].update(median=1),
    "a mask where all are memorized": lambda data: data["statements"][0].update(memorized="f"),
    "other words": lambda data: data["statements"][0].update(statement="Of 4 contexts 5 are memorized."),
    "words that are none": lambda data: data["statements"][0].update(statement=None),
    "an id that is none": lambda data: data["statements"][0].update(id=["answers"]),
    "a margin of 0": lambda data: data["statements"][0]["values"].update(margin_lower="0x0.0p+0"),
    "more than there are": lambda data: data["statements"][0]["values"].update(wrong=1),
    "half a hash": lambda data: data["subject"].update(task="0" * 63),
    "a size more": lambda data: data["subject"]["sizes"].update(layers=0),
    "a size below 0": lambda data: data["subject"]["sizes"].update(contexts=-4),
    "an origin that is none": lambda data: data["subject"].update(origin=None),
    "a target that is a list": lambda data: data["subject"].update(target=["labels"]),
    "a question that is none": lambda data: data["criterion"].update(asked="nicely"),
    "at least none": lambda data: data["criterion"].update(asked="at-least", contexts=0),
    "a bound that nobody asked for": lambda data: data["criterion"].update(bound=(1.0).hex()),
    "a tolerance of 0": lambda data: data["criterion"].update(tolerance=(0.0).hex()),
    "no tolerance": lambda data: data["criterion"].update(tolerance=None),
    "an integer tolerance": lambda data: data["criterion"].update(tolerance=1),
    "a witness of nothing": lambda data: data.update(witness={"file": "witness.safetensors", "sha256": "0" * 64}),
    "a witness elsewhere": lambda data: data.update(witness={"file": "../witness", "sha256": "0" * 64}),
    "a provenance that is a list": lambda data: data.update(provenance=[]),
    "a provenance of numbers": lambda data: data["provenance"].update(python=3),
}

OF_OTHERS: dict[str, Callable[[Any], Any]] = {
    "another hash": lambda data: data["subject"].update(model="0" * 64),
    "other sizes": lambda data: data["subject"]["sizes"].update(outputs=5),
    "another target": lambda data: data["subject"].update(target="distributions"),
    "another origin": lambda data: data["subject"].update(origin="own"),
}


@pytest.mark.parametrize("change", OF_OTHERS.values(), ids=OF_OTHERS)
def test_files_that_are_not_those_of_the_certificate_are_refuted(change: Callable[[Any], Any], tmp_path: Path) -> None:
    data = folders.certificate(folders.lookup(tmp_path))
    change(data)
    code, text = outcome(folders.rewritten(tmp_path, data))
    assert code == 1 and text.startswith(("NOT PROVED: model.safetensors: ", "NOT PROVED: certificate.json: ")), text


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_not_so_is_refused_although_the_digest_is_right(change: Callable[[Any], Any], tmp_path: Path) -> None:
    data = folders.certificate(folders.lookup(tmp_path))
    change(data)
    code, text = outcome(folders.rewritten(tmp_path, data))
    assert code == 2 and text.startswith("BAD INPUT: "), text


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "\xff", "{" * 10**5, '{"format":"byheart-certificate"}'])
def test_what_is_no_certificate_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "certificate.json").write_text(text, encoding="latin-1")
    with pytest.raises(BadInputError, match=r"^certificate\.json: "):
        read_certificate(tmp_path)


def test_another_digest_or_spacing_is_refused(tmp_path: Path) -> None:
    path = folders.lookup(tmp_path) / "certificate.json"
    text = path.read_text()
    digest = folders.certificate(tmp_path)["digest"]
    path.write_text(text.replace(digest, "0" * 64))
    with pytest.raises(NotProvedError, match="digest is not the hash of the rest"):
        read_certificate(tmp_path)
    for changed in (text.replace(":", ": "), text.strip(), text + "\n", text[:-2]):
        path.write_text(changed)
        with pytest.raises(BadInputError):
            read_certificate(tmp_path)


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_a_mask_names_contexts(memorized: list[bool]) -> None:
    text = mask_text(memorized)
    mask = read_mask("memorized", text, len(memorized), sum(memorized))
    assert [mask[i] for i in range(len(memorized))] == memorized and mask.count == sum(memorized)
    for other in (text + "0", text.upper() if text.upper() != text else "0x", "f" * len(text) + "f"):
        with pytest.raises(BadInputError):
            read_mask("memorized", other, len(memorized), sum(memorized))
