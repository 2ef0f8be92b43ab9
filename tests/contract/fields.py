"""What every command prints with `--json`, on small inputs; `python -m tests.contract.fields` documents its fields.

The rows of docs/json_fields.csv of a command that prints nothing but results are made of the words of their fields;
others are written by hand.
"""

import contextlib
import csv
import io
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from byheart.cli.main import main
from byheart.result import Result
from constructions.memories.heads.adder import adder
from tests.domains import max_of_four
from tests.edited_hosts import gpt2
from tests.layers import random_examples

FIELDS = Path(__file__).parents[2] / "docs" / "json_fields.csv"
COLUMNS: tuple[str, ...] = ("command", "fields", "meaning")


@cache
def documented() -> dict[str, dict[str, str]]:
    """The rows of the table of fields for each command, by the names of the fields."""
    found: dict[str, dict[str, str]] = {}
    for row in _rows():
        for command in row["command"].split():
            names = re.findall(r"`(\w+)`", row["fields"])
            found.setdefault(command, {}).update(dict.fromkeys(names, row["meaning"]))
    return found


def _rows() -> list[dict[str, str]]:
    with FIELDS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@dataclass
class Printed:
    """What commands printed with `--json`, and the results that those which are documented together printed."""

    commands: Sequence[str] = ()
    objects: list[dict[str, Any]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def __call__(self, *words: str) -> list[dict[str, Any]]:
        """Run a command and return its objects."""
        out, made, json_of = io.StringIO(), self.results, Result.json

        def recorded(result: Result) -> dict[str, Any]:
            if words[0] in self.commands:
                made.append(result)
            return json_of(result)

        with patch.object(Result, "json", recorded), contextlib.redirect_stdout(out):
            main([*words, "--json"])
        lines = [json.loads(line) for line in out.getvalue().splitlines()]
        return [each for line in lines for each in (line if isinstance(line, list) else [line])]

    def meanings(self) -> dict[str, str]:
        """What the fields of the results mean, by their names."""
        found: dict[str, list[str]] = {}
        for result in self.results:
            for each in result.fields():
                if each.name and each.meaning() not in found.setdefault(each.name, []):
                    found[each.name].append(each.meaning())
        return {name: "; or: ".join(meanings) for name, meanings in found.items()}


def make_place(folder: Path) -> None:
    """Write a table, and in `out/facts` what `memorize` makes of it."""
    (folder / "facts.csv").write_text("France,capital,Paris\nFrance,river,Seine\nPeru,capital,Lima\n")
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["memorize", str(folder / "facts.csv"), "--out", str(folder / "out" / "facts")]) == 0


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

ANSWER = {
    "headline": "the answer in a sentence",
    "verdict": "`PROVED`, `REFUTED` or `UNDECIDED`",
}
"""The two fields that every result has, or the first alone where nothing is asked."""


def main_of(command: str, run: Callable[[Printed], list[dict[str, Any]]]) -> Printed:
    """Run the cases of a command, and return what they printed."""
    together = next(row["command"].split() for row in _rows() if command in row["command"].split())
    printed = Printed(together)
    printed.objects = run(printed)
    return printed


def write_fields() -> None:
    """Write the rows of every command that prints nothing but results again."""
    rows, before = _rows(), Path.cwd()
    with TemporaryDirectory() as folder:
        make_place(Path(folder))
        os.chdir(folder)
        try:
            for command, run in CASES.items():
                printed = main_of(command, run)
                made = {**ANSWER, **printed.meanings()} if printed.results else {}
                named = {name for each in printed.objects for name in each}
                if made and named <= set(made):
                    rows = _replaced(rows, command, {name: made[name] for name in made if name in named})
        finally:
            os.chdir(before)
    with FIELDS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _replaced(rows: list[dict[str, str]], command: str, meanings: dict[str, str]) -> list[dict[str, str]]:
    """Return the rows with those of a command made again, where the first of them is now."""
    place = next(place for place, row in enumerate(rows) if command in row["command"].split())
    named = rows[place]["command"]  # the commands that print the same
    others = [row for row in rows if row["command"] != named or not row["fields"]]
    made = [dict(zip(COLUMNS, (named, f"`{name}`", meaning), strict=True)) for name, meaning in meanings.items()]
    return [*others[:place], *made, *others[place:]]


if __name__ == "__main__":
    write_fields()
