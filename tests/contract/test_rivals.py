"""The table of rivals adds up, and its page says what it shows."""

import csv

import pytest

from benchmarks.bench_rivals import CSV, QUOTED, TABLES, TYPES, table
from constructions.memories.object_words.object_words_memory import object_words_parameters
from constructions.model.precision import STORED
from constructions.tasks.table import facts_task

PAGE = CSV.parent.parent / "measurements.md"
NAMES = [f"{S} x {R} x {K} {kind}" for S, R, K, kind in TABLES]


def rows(name: str) -> dict[str, dict[str, str]]:
    """Return what the file has of each rival for one table."""
    with CSV.open(encoding="utf-8", newline="") as file:
        return {row["rival"]: row for row in csv.DictReader(file) if row["table"] == name}


def bits(name: str, rival: str) -> int:
    return int(rows(name)[rival]["bits"])


@pytest.mark.parametrize(("size", "name"), [*zip(TABLES, NAMES, strict=True)], ids=NAMES)
def test_bits_and_shares_follow_from_facts_parameters_and_entropy(size: tuple[int, int, int, str], name: str) -> None:
    subjects, relations, *_ = size
    facts, found = subjects * relations, rows(name)
    known = int(found["entropy of the objects"]["bits"])
    for rival, row in found.items():
        assert abs(int(row["bits"]) / facts - float(row["bits a fact"])) <= 0.0051
        if rival in QUOTED:
            assert abs(int(row["parameters"]) * QUOTED[rival] - known) <= QUOTED[rival]
            assert abs(int(row["bits"]) * QUOTED[rival] - 32 * known) <= 32
        elif row["parameters"]:
            dtype = next(dtype for dtype in TYPES if rival.endswith(f" in {dtype}"))
            assert int(row["bits"]) == STORED[dtype] * int(row["parameters"])
            assert abs(known / int(row["parameters"]) - float(row["bits of information a parameter"])) <= 0.051
    drawn = table(*size)
    task = facts_task([(f"s{i}", f"r{j}", f"o{drawn[i, j]}") for i in range(subjects) for j in range(relations)])
    assert task.information_bits is not None and round(task.information_bits) == known
    for dtype in TYPES:
        assert object_words_parameters(task, dtype=dtype) == int(found[f"object words in {dtype}"]["parameters"])


def test_what_the_page_says_of_the_rivals_holds() -> None:
    said = PAGE.read_text(encoding="utf-8")
    assert "within 6 % of the entropy" in said and "1.5 to 3 times as many bits as the array" in said
    shorter = [rival for rival in rows(NAMES[0]) if rival.endswith(("in float16", "in bfloat16"))]
    for name in NAMES:
        array, weights = bits(name, "array, a cell a pair"), bits(name, "object words in float32")
        if name.endswith("random"):
            assert array <= 1.06 * bits(name, "entropy of the objects")
        assert 1.5 <= weights / array <= 3.0
        assert all(weights < bits(name, rival) < bits(name, "hash table") for rival in shorter)
    for name in NAMES[2:]:
        assert 0.9 <= bits(name, "object words in float32") / bits(name, "minimal perfect hash and values") <= 1.1
