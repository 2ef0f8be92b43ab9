"""A memory that is added by one file outside of the package is built, judged, certified and exported."""

import json
from pathlib import Path

import numpy as np
import pytest

import byheart
from byheart.choice.chooser import offers, smallest_of
from byheart.cli.main import main
from byheart.terminal.rule_file import named_memory
from constructions.memories.memory import Memory
from constructions.menu import BY_NAME
from constructions.tasks.table import facts_task
from verify.kernel.check import check_folder

FILE = Path(__file__).with_name("first_token_memory.py")
ROWS = [(f"city {i}", "lies in", f"country {i // 3}") for i in range(12)]


@pytest.fixture(scope="module")
def memory() -> Memory:
    found = named_memory(f"{FILE}:FIRST_TOKEN")
    assert isinstance(found, Memory)
    return found


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cities") / "cities.csv"
    path.write_text("".join(",".join(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def test_the_command_line_builds_it_and_its_folder_is_proved(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "cities"
    assert main(["memorize", str(table), "--memory", f"{FILE}:FIRST_TOKEN", "--json", "--out", str(out)]) == 0
    figures = json.loads(capsys.readouterr().out)
    # 13 tokens and 4 answers, two columns, two places, and a head of eight entries.
    assert (figures["memory"], figures["facts"], figures["parameters"]) == ("first-token", 12, 2 * 15 + 2 * 4 + 8)
    assert main(["check", str(out)]) == 0
    assert "12 of 12" in capsys.readouterr().out
    assert check_folder(out)  # the kernel raises where it does not prove
    assert main(["ask", str(out), "city 7,lies in"]) == 0
    assert "country 2" in capsys.readouterr().out


def test_a_library_builds_it_and_exports_it(memory: Memory, tmp_path: Path) -> None:
    made = byheart.memorize(ROWS, memory=memory)
    assert made["city 11", "lies in"] == "country 3" and made.figures.memory == "first-token"
    assert made.export(to="safetensors", out=tmp_path / "out")["proved"]["memorized"] == 12


def test_beside_others_it_is_chosen_where_it_is_the_smallest_and_refuses_by_its_own_words(memory: Memory) -> None:
    menu = (BY_NAME["knots"], memory)
    lies = np.random.default_rng(0).integers(0, 11, 60)
    facts = facts_task([(f"city {i}", f"relation {j}", f"country {lies[i]}") for i in range(60) for j in range(2)])
    chosen = smallest_of(offers(facts, memories=menu, judged=True))
    assert chosen.memory is memory and chosen.every_run
    other = facts_task([(f"city {i}", f"relation {j}", f"{(i + j) % 2}") for i in range(3) for j in range(2)])
    refused = {offer.memory.name: offer.refused for offer in offers(other, memories=menu)}
    assert "some first token has two" in refused["first-token"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [("{file}:NONE", "has no memory 'NONE', expected one of FIRST_TOKEN"), ("none.py:FIRST_TOKEN", "is not a file")],
)
def test_what_is_no_memory_is_named(
    typed: str, said: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["memorize", str(table), "--memory", typed.format(file=FILE), "--out", str(tmp_path / "none")]
    assert main(line) == 2 and said in capsys.readouterr().err
