"""Bits for the same facts: weights, trained models as others measured them, compressed files, hash tables.

Writes docs/measured/rivals.csv. Every structure is asked all of its facts.

    python benchmarks/bench_rivals.py

Page: docs/measurements.md
"""

import bz2
import csv
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.static_functions import DirectTable, HashTable, PerfectHash, Ribbon
from constructions.errors import CapacityError
from constructions.memories.object_words.object_words_memory import object_words_memory
from constructions.memories.probes.probe_memory import probe_memory
from constructions.model.model import Model
from constructions.model.precision import STORED, Precision
from constructions.tasks.table import facts_task
from constructions.tasks.task import Task
from verify.runs.exact_runs import exact_runs
from verify.runs.formats import FORMATS

CSV = Path(__file__).parent.parent / "docs" / "measured" / "rivals.csv"
TYPES: tuple[Precision, ...] = ("float32", "float16", "bfloat16")
TABLES = ((300, 5, 60, "random"), (300, 5, 60, "skewed"), (2000, 6, 100, "random"), (1000, 20, 60, "random"))
STRUCTURES = {
    "array, a cell a pair": DirectTable,
    "hash table": HashTable,
    "minimal perfect hash and values": PerfectHash,
    "ribbon": Ribbon,
}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "zlib": lambda data: zlib.compress(data, 9),
    "bz2": bz2.compress,
    "lzma": lambda data: lzma.compress(data, preset=9),
}
QUOTED = {
    "a trained model, by 3.6 bits a parameter (quoted: Morris et al., 2025)": 3.6,
    "a trained model, by 2 bits a parameter (quoted: Allen-Zhu and Li, 2024)": 2.0,
}
"""Bits of information for each parameter; nothing of it is measured here."""


def table(subjects: int, relations: int, objects: int, kind: str) -> np.ndarray:
    """Return the object of each subject and relation, uniform or with frequencies 1, 1/2, 1/3, ..."""
    rng = np.random.default_rng([subjects, relations, objects])
    share = np.ones(objects) if kind == "random" else 1.0 / np.arange(1.0, objects + 1.0)
    return rng.choice(objects, (subjects, relations), p=share / share.sum())


def weights(task: Task) -> Iterator[tuple[str, int, int]]:
    """Yield what weights hold all facts in every run, how many parameters they have, and their bits."""
    built: list[tuple[str, Precision, Model]] = []
    for dtype in TYPES:
        try:
            built.append((f"object words in {dtype}", dtype, object_words_memory(task, dtype=dtype).model))
        except CapacityError:  # which is no row of the table
            continue
    built.append(("probes in float32", "float32", probe_memory(task).model))
    for name, dtype, model in built:
        memorized = exact_runs(model, task.contexts, task.labels, FORMATS[dtype]).memorized
        if not memorized.all():
            raise ValueError(f"{name} holds {memorized.sum()} of {len(memorized)} facts in every run, expected all")
        yield name, model.parameters, STORED[dtype] * model.parameters


def structures(objects: np.ndarray) -> Iterator[tuple[str, int]]:
    """Yield the bits of each structure; its keys are the numbers of the pairs."""
    values = dict(enumerate(objects.ravel().tolist()))
    bits = (int(objects.max())).bit_length()
    for name, kind in STRUCTURES.items():
        built = kind.of(values, keys=len(values), bits=bits)
        if any(built[key] != value for key, value in values.items()):
            raise ValueError(f"{name} does not give every key its value")
        yield name, built.bits


def files(rows: list[tuple[str, str, str]], objects: np.ndarray) -> Iterator[tuple[str, int]]:
    """Yield the bits of the compressed table, and of its objects alone, one byte each, in the order of the pairs."""
    whole = "".join(f"{','.join(row)}\n" for row in rows).encode()
    alone = objects.astype(np.uint8).tobytes()
    for name, packed in PACKERS.items():
        yield f"{name} of the table as CSV", 8 * len(packed(whole))
        yield f"{name} of the objects alone", 8 * len(packed(alone))


def rows_of(size: tuple[int, int, int, str]) -> Iterator[list[str]]:
    """Yield the row of each rival for a table of this size and kind."""
    subjects, relations, count, kind = size
    objects = table(subjects, relations, count, kind)
    facts = [(f"s{i}", f"r{j}", f"o{objects[i, j]}") for i in range(subjects) for j in range(relations)]
    task = facts_task(facts)
    known = task.information_bits
    assert known is not None
    name = f"{subjects} x {relations} x {count} {kind}"
    yield [name, "entropy of the objects", "", f"{known:.0f}", f"{known / len(facts):.2f}", ""]
    of_weights = list(weights(task))
    of_weights += [(rival, round(known / each), round(32.0 * known / each)) for rival, each in QUOTED.items()]
    for rival, parameters, bits in of_weights:
        yield [name, rival, f"{parameters}", f"{bits}", f"{bits / len(facts):.2f}", f"{known / parameters:.1f}"]
    for rival, bits in (*structures(objects), *files(facts, objects)):
        yield [name, rival, "", f"{bits}", f"{bits / len(facts):.2f}", ""]


def main() -> None:
    """Print and write a row for each table and rival."""
    lines = [["table", "rival", "parameters", "bits", "bits a fact", "bits of information a parameter"]]
    for size in TABLES:
        lines += rows_of(size)
    csv.writer(sys.stdout, lineterminator="\n").writerows(lines)
    with CSV.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()
