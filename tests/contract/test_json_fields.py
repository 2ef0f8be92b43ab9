"""What every command prints with `--json` are the fields that docs/json_fields.csv lists, no more and no fewer."""

import csv
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from byheart.cli.main import COMMANDS, main
from constructions.memories.heads.adder import adder
from tests.domains import max_of_four
from tests.edited_hosts import gpt2
from tests.layers import random_examples

FIELDS = Path(__file__).parents[2] / "docs" / "json_fields.csv"
FREE = {"files", "seconds", "versions", "construction", "values", "parameters"}
"""Fields whose names are those of files, stages, packages or numbers of the case itself."""


@cache
def documented():
    """The rows of the table of fields for each command, by the names of the fields."""
    found = {}
    with FIELDS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for command in row["command"].split():
                found.setdefault(command, {}).update(
                    dict.fromkeys(re.findall(r"`(\w+)`", row["fields"]), row["meaning"])
                )
    return found


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
    (folder / "facts.csv").write_text("France,capital,Paris\nFrance,river,Seine\nPeru,capital,Lima\n")
    assert main(["memorize", str(folder / "facts.csv"), "--out", str(folder / "out" / "facts")]) == 0
    return folder


@pytest.fixture
def printed(place, capsys, monkeypatch):
    """What a command prints as JSON: its objects."""
    monkeypatch.chdir(place)
    capsys.readouterr()

    def run(*words):
        main([*words, "--json"])
        shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return [each for line in shown for each in (line if isinstance(line, list) else [line])]

    return run


def of_memorize(printed):
    blocks = printed("memorize", "facts.csv", "--memory", "knots", "--out", "out/a")
    heads = printed("memorize", "facts.csv", "--dim", "4", "--out", "out/b")
    made = printed("build", "dana.lemma-3", "--out", "out/c") + printed("build", "theorem-1", "--out", "out/e")
    from verify.theorems.claims import claim

    few = [f"{name}={min(value, 3)}" for name, value in claim("mahdavi.theorem-1").parameters.items()]
    return [*blocks, *heads, *made, *printed("build", "mahdavi.theorem-1", "--out", "out/d", "--param", *few)]


def of_folder(command, *words):
    return lambda printed: printed(command, "out/facts", *words)


def of_run(printed):
    few = [f"{name}={value}" for name, value in {"n_examples": 3, "n_ctx": 2, "d_model": 3, "d_head": 2}.items()]
    printed("build", "saturated-heads", "--out", "values", "--param", *few)
    folders = of_folder("run")(printed) + printed("run", "values")
    return folders + printed("run", "--minutes", "0.001", "--record", "device.json")


def of_check(printed):
    return of_folder("check")(printed) + printed("check", "out/facts", "out/facts")


def of_ask(printed):
    printed("build", "maximum", "--param", "tokens=2", "below=3", "--out", "out/maximum")
    return [*printed("ask", "out/facts", "France, capital"), *printed("ask", "out/maximum", "1 2")]


def of_certify(printed):
    printed("export", "out/facts", "--to", "safetensors", "--out", "in")
    facts = printed("certify", "in", "--task", "facts.csv", "--every-run", "float32", "--out", "theirs")
    max_of_four(tokens=3).save(Path("max.safetensors"))
    adder(1, base=2).save(Path("adder.safetensors"))
    return [
        *facts,
        *printed("certify", "max.safetensors", "--rule", "max", "--length", "2"),
        *printed("certify", "adder.safetensors", "--rule", "addition", "--digits", "1", "--base", "2"),
    ]


def of_assumptions(printed):
    contexts, queries = random_examples()
    np.savez("data.npz", contexts=contexts, queries=queries)
    return printed("assumptions", "data.npz")


def of_recite(printed):
    Path("poem.txt").write_text("so much depends upon a red wheel barrow")
    printed("memorize", "poem.txt", "--memory", "probes", "--out", "poem")
    return printed("recite", "poem")


def of_edit(printed):
    gpt2(Path("host"))
    Path("new.csv").write_text("1,2,3\n")
    return printed("edit", "host", "--facts", "new.csv", "--keep-domain", "2", "--out", "edited")


def of_experiment(printed):
    from experiments.figures import FIGURES

    figure = FIGURES["dana.3"]
    short = replace(figure, quick=lambda: [replace(p, steps=2, tokens=3) for p in figure.quick() if not p.seed])
    with patch.dict(FIGURES, {"dana.3": short}, clear=True):
        listed = printed("experiment", "--list")
        return [
            *listed,
            *printed("experiment", "--out", "figures"),
            *printed("experiment", "--out", "figures", "--check"),
        ]


CASES = {
    "memorize": of_memorize,
    "capacity": lambda printed: [*printed("capacity", "facts.csv"), *printed("capacity", "facts.csv", "--profile")],
    "check": of_check,
    "run": of_run,
    "export": of_folder("export", "--to", "safetensors"),
    "certify": of_certify,
    "convert": of_folder("convert", "--out", "converted"),
    "edit": of_edit,
    "recite": of_recite,
    "ask": of_ask,
    "explain": of_folder("explain", "--fact", "France, capital"),
    "memories": lambda printed: printed("memories"),
    "assumptions": of_assumptions,
    "experiment": of_experiment,
    "claims": lambda printed: printed("claims", "dana.lemma-2"),
    "exercise": lambda printed: [*printed("exercise", "3.2"), *printed("exercise", "3.2", "3")],
    "audit": lambda printed: printed("audit", "dana.definition-1"),
}


@pytest.mark.parametrize("command", CASES)
def test_the_fields_that_are_printed_are_those_that_are_documented(command, printed):
    pytest.importorskip("torch")
    rows, found = documented()[command], CASES[command](printed)
    assert found and {name for each in found for name in each} == set(rows)
    for each in found:
        for name, value in each.items():
            inner = {field for record in records(value) for field in record} if name not in FREE else set()
            assert inner <= set(re.findall(r"`(\w+)`", rows[name])), f"{name} has {sorted(inner)}"


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
