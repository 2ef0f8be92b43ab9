"""Bits in a file of a probe memory, each tensor in its narrowest type, beside the information of its labels.

    python benchmarks/bench_stored_bits.py [FACTS ...]

Page: docs/measurements.md
"""

import lzma
import sys
import tempfile
from pathlib import Path

import numpy as np

from byheart.hosts.number_types import NARROWEST, write_tensors
from constructions.memories.probes.probe_memory import probe_memory
from constructions.model.model import Model
from constructions.model.precision import STORED, narrowest, stored_bits
from constructions.numeric.arrays import Float64Array
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Task
from verify.runs.exact_runs import memorized_without_rounding
from verify.runs.formats import FLOAT32

ANSWERS = (16, 88, 251)


def random_labels(facts: int, answers: int) -> Task:
    """Random labels of so many contexts of 4 of 103 tokens."""
    rng = np.random.default_rng([facts, answers])
    numbers = rng.choice(103**4, facts, replace=False)
    contexts = np.stack(np.unravel_index(numbers, (103,) * 4), axis=1)
    labels = rng.integers(0, answers, facts)
    return array_task(contexts, next_tokens=labels, vocabulary=103, answers=answers, target="labels")


def four_bits(tensor: Float64Array) -> int:
    """Return the same with four bits for integers that they hold, two of them a byte."""
    whole = bool((tensor == np.rint(tensor)).all())
    memorized = any(least <= tensor.min() and tensor.max() < least + 16 for least in (-8, 0))
    return tensor.size * (4 if whole and memorized else STORED[narrowest(tensor)])


def compressed_bits(model: Model) -> int:
    """Bits of the whole file, header included, as xz leaves it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        write_tensors(path, model.tensors(), dtype=NARROWEST, metadata={"format": "pt"})
        return 8 * len(lzma.compress(path.read_bytes(), preset=9))


def main(counts: list[int]) -> None:
    """Print a row for each number of facts and of answers."""
    sizes = "labels an entry,parameters,stored bits,entropy of the labels,share,with four bits,behind xz"
    print(f"facts,answers,{sizes},memorized in every run")
    for facts in counts:
        for answers in ANSWERS:
            task = random_labels(facts, answers)
            bits = (answers - 1).bit_length()
            built = [probe_memory(task, labels_per_word=width // bits) for width in (8, 16)]
            least = min(built, key=lambda each: stored_bits(each.model))
            memorized = int(memorized_without_rounding(least.model, task, FLOAT32, 0.0).sum())
            stored, known = stored_bits(least.model), task.information_bits
            assert known is not None
            m = (8, 16)[built.index(least)] // bits
            four = known / sum(map(four_bits, least.model.tensors().values()))
            sizes = f"{m},{least.model.parameters},{stored},{known:.0f},{known / stored:.3f},{four:.3f}"
            sizes += f",{known / compressed_bits(least.model):.3f}"
            print(f"{facts},{answers},{sizes},{memorized}", flush=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [1024, 4096, 16_384, 65_536])
