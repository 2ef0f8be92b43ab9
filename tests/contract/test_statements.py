"""One battery over all statements: what is stated is proved, and a certificate that is changed in one place is not.

The folders are those of the corpus that between them state every kind in every form. Each field of each certificate
is removed, given another type, and given other numbers; whoever changes it writes the digest and the sentences that
follow, so that nothing but the field itself is wrong.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byheart.cli.main import main
from tests.corpus.cases import GOOD_FOLDERS
from tests.corpus.forging import rewrite
from tests.corpus.good_folders import GOOD
from tests.corpus.truth import falsehoods
from verify.certificates.certificate import Certificate
from verify.kernel.certificate import read_certificate
from verify.kernel.check import outcome
from verify.kernel.kinds import find_statement
from verify.kernel.numerals import read_number
from verify.kernel.verdicts import CheckError

CODES = {"proved": 0, "refuted": 1, "undecided": 3}
UPPER = ("moved", "outside", "spread")
"""The bounds of an edit, which are from above."""

Place = tuple[str | int, ...]


def written(name: str) -> dict[str, Any]:
    """The certificate of a good folder."""
    [file] = [each for each in ("certificate.json", "edit.json") if (GOOD_FOLDERS / name / each).exists()]
    return json.loads((GOOD_FOLDERS / name / file).read_text())


def forms_of(certificate: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The form of each statement: its kind and target, and which fields it has."""
    for each in certificate.get("statements", [{"id": "edit", "values": certificate.get("values", {})}]):
        masks = [name for name, value in each.items() if isinstance(value, str) and not value]
        target = certificate.get("subject", {}).get("target")
        yield each["id"], target, *sorted(each), *masks, *sorted(each["values"]), *sorted(each.get("named", ()))


def size_of(name: str) -> int:
    """How many numbers of how many contexts a folder is about."""
    sizes = written(name).get("subject", {}).get("sizes", {"parameters": 1, "contexts": 1})
    return sizes["parameters"] * sizes["contexts"]


def of_every_form() -> list[str]:
    """Good folders, the smallest first, each for a statement of a form that none before it has."""
    known, chosen = set[tuple[Any, ...]](), []
    for name in sorted(GOOD, key=size_of):
        forms = set(forms_of(written(name)))
        if not forms <= known:
            known |= forms
            chosen.append(name)
    return chosen


FOLDERS = of_every_form()


def places_of(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every object, list, text and number in a JSON value, and where it is."""
    if place:
        yield place, value
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            if key != "digest":
                yield from places_of(part, (*place, key))


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(GOOD_FOLDERS / name, folder))


def forged(folder: Path, name: str, change: Callable[[dict[str, Any]], Any]) -> Path:
    """The folder with a changed certificate, whose sentences and digest are those that follow from what is changed."""
    data = written(name)
    change(data)
    if name == "edit":
        rewrite(folder, data, "edit.json")
        return folder
    rewrite(folder, data)
    try:
        certificate = read_certificate(folder)
        for place, record in enumerate(data["statements"]):
            kind = find_statement(record["id"])
            if kind is not None:
                record["statement"] = kind.sentence(kind.read(f"statement {place}", record, certificate), certificate)
    except (CheckError, KeyError, TypeError, AttributeError):
        return folder  # what cannot be read has no sentence
    rewrite(folder, data)
    return folder


def put(place: Place, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change that puts a value in a place."""

    def change(data: Any) -> None:
        for key in place[:-1]:
            data = data[key]
        data[place[-1]] = value

    return change


def removed(place: Place) -> Callable[[dict[str, Any]], None]:
    """A change that leaves out what is in a place."""

    def change(data: Any) -> None:
        for key in place[:-1]:
            data = data[key]
        del data[place[-1]]

    return change


def by_the_prover(folder: Path) -> int:
    """The exit code of the fast check."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        return main(["check", "--quiet", "--fast", str(folder)])


def is_edit(folder: Path) -> bool:
    """Whether the certificate is that of an edit, of which there is no other truth than the kernel's."""
    return (folder / "edit.json").exists()


def is_idle(place: Place, data: dict[str, Any]) -> bool:
    """Whether nothing depends on a number: the tolerance is that of distributions and values."""
    return place == ("criterion", "tolerance") and data["subject"]["target"] == "labels"


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_true_is_proved_in_every_form(name: str, tmp_path: Path) -> None:
    folder = forged(copied(name, tmp_path / name), name, lambda data: None)
    assert (folder / "certificate.json").exists() == (name != "edit")
    expected = {CODES[GOOD[name].expected]}
    if name != "edit" and Certificate.load(folder).for_the_prover_alone():
        expected = {3}
    assert {outcome(folder)[0]} == expected


OTHER_TYPES: tuple[Any, ...] = (None, True, -1, 0.5, "", "more", [], {"more": 1}, 2**4097)


def is_free(place: Place, other: Any) -> bool:
    """Whether anything of its type may stand in a place, or what follows from the rest is put there again."""
    if place[0] == "statements" and place[-1] == "statement":
        return True
    if place == ("everywhere",):  # of every other block of neurons, and there is none
        return other is True
    return isinstance(other, str) and (place[0] == "provenance" or place[-1] == "method") and len(place) > 1


@pytest.mark.parametrize("name", FOLDERS)
def test_a_field_of_another_type_is_refused_by_both(name: str, tmp_path: Path) -> None:
    """The prover is asked of one other type at each place, each time the next one."""
    folder = copied(name, tmp_path / name)
    for number, (place, value) in enumerate(places_of(written(name))):
        for turn, other in enumerate(OTHER_TYPES):
            if other == value or is_free(place, other):
                continue
            forged(folder, name, put(place, other))
            code, said = outcome(folder)
            refused = (1, 2, 3) if place[-1] == "id" else (1, 2)  # a kind that is not known has no proof
            assert code in refused, (place, value, other, said)
            if turn == number % len(OTHER_TYPES):
                assert by_the_prover(folder) in refused, (place, value, other)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_field_less_is_refused_or_says_less_and_one_more_is_refused(name: str, tmp_path: Path) -> None:
    folder = copied(name, tmp_path / name)
    for place, value in places_of(written(name)):
        forged(folder, name, removed(place))
        may_be_absent = (place[0] == "provenance" and len(place) > 1) or place == ("values", "outside")
        assert outcome(folder)[0] in (1, 2, 3) or (may_be_absent if is_edit(folder) else not falsehoods(folder)), place
        if isinstance(value, dict):
            forged(folder, name, put((*place, "more"), 1))
            assert outcome(folder)[0] == 2, place
            assert by_the_prover(folder) == 2, place


def numbers_of(certificate: dict[str, Any]) -> Iterator[tuple[Place, int | float | Fraction]]:
    """The numbers of a certificate, and where they are."""
    for place, value in places_of(certificate):
        if isinstance(value, int | str) and not isinstance(value, bool):
            try:
                yield place, read_number("", "", value)
            except CheckError:
                continue


def others(value: int | float | Fraction) -> Iterator[int | str]:
    """Numbers beside a number and far from it, as a certificate writes them."""
    if isinstance(value, int):
        yield from {0, 1, max(value - 1, 0), value + 1, 2 * value + 1} - {value}
    elif isinstance(value, float):
        for other in (0.0, 5e-324, value / 2, np.nextafter(value, -1.0), np.nextafter(value, np.inf), 2 * value, 1e300):
            if other >= 0 and other != value:
                yield float(other).hex()
    else:
        for other in (value / 2**900, value - Fraction(1, 2**900), value + Fraction(1, 2**900), 2 * value):
            yield f"{other.numerator}/{other.denominator}"


@pytest.mark.parametrize("name", FOLDERS)
def test_another_number_is_not_proved_or_true_and_none_is_idle(name: str, tmp_path: Path) -> None:
    folder, data = copied(name, tmp_path / name), written(name)
    for place, value in numbers_of(data):
        codes = set[int]()
        for other in others(value):
            forged(folder, name, put(place, other))
            code, said = outcome(folder)
            codes.add(code)
            if code == 0 and is_edit(folder):
                assert place[-1] in UPPER and float.fromhex(str(other)) > value, (place, value, other)
            elif code == 0 and not is_idle(place, data):
                assert falsehoods(folder) == [], (place, value, other, said)
        assert codes & {1, 2, 3} or value == 0 or is_idle(place, data), (place, value)
