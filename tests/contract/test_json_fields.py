"""What every command prints with `--json` are the fields that docs/json_fields.csv lists, no more and no fewer."""

import re

import pytest

from byheart.cli.main import COMMANDS
from tests.contract.fields import ANSWER, CASES, Printed, documented, main_of, make_place, of_folder

FREE = {"files", "seconds", "versions", "construction", "values", "parameters"}
"""Fields whose names are those of files, stages, packages or numbers of the case itself."""


def records(value):
    """The objects that a list, or an object of objects, holds."""
    inside = value if isinstance(value, list) else value.values() if isinstance(value, dict) else []
    inside = [each for each in inside if each is not None]
    if inside and all(isinstance(each, dict) for each in inside):
        return inside
    return [value] if isinstance(value, dict) else []


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table, and in `out/facts` what `memorize` makes of it."""
    folder = tmp_path_factory.mktemp("fields")
    make_place(folder)
    return folder


@pytest.fixture
def printed(place, monkeypatch):
    """What a command prints as JSON: its objects."""
    monkeypatch.chdir(place)
    return Printed()


@pytest.mark.parametrize("command", CASES)
def test_the_fields_that_are_printed_are_those_that_are_documented(command, place, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(place)
    run = main_of(command, CASES[command])
    rows, found = documented()[command], run.objects
    assert found and {name for each in found for name in each} == set(rows)
    for each in found:
        for name, value in each.items():
            inner = {field for record in records(value) for field in record} if name not in FREE else set()
            assert inner <= set(re.findall(r"`(\w+)`", rows[name])), f"{name} has {sorted(inner)}"
    meanings = {**ANSWER, **run.meanings()} if run.results else {}
    made = {name: meaning for name, meaning in meanings.items() if name in rows}
    if set(rows) <= set(made):  # all that the command prints are results
        assert rows == made, "python -m tests.contract.fields writes these rows again"


def test_every_command_has_its_fields_documented_and_its_case():
    names = set(COMMANDS)
    assert set(documented()) == names == {*CASES, "build"}


def test_an_error_is_an_object_of_two_fields(printed):
    assert [set(each) for each in printed("check", "nothing")] == [{"error", "kind"}]


def test_a_missing_device_is_one_field(printed):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    assert [set(each) for each in of_folder("run", "--device", "cuda")(printed)] == [{"skipped"}]
