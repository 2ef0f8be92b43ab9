"""Bits in a file of a probe memory, each tensor in its narrowest type, beside the information of its labels.

    python benchmarks/bench_stored_bits.py [FACTS ...]

Page: docs/measurements.md
"""

import sys

import numpy as np

from constructions.models.precision import stored_bits
from constructions.probes.probe_memory import probe_memory
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Task
from verify.runs.exact_runs import held_without_rounding
from verify.runs.formats import FLOAT32

ANSWERS = (16, 88, 251)


def random_labels(facts: int, answers: int) -> Task:
    """Random labels of so many contexts of 4 of 103 tokens."""
    rng = np.random.default_rng([facts, answers])
    numbers = rng.choice(103**4, facts, replace=False)
    contexts = np.stack(np.unravel_index(numbers, (103,) * 4), axis=1)
    labels = rng.integers(0, answers, facts)
    return array_task(contexts, next_tokens=labels, vocabulary=103, answers=answers, target="labels")


def main(counts: list[int]) -> None:
    """Print a row for each number of facts and of answers."""
    print("facts,answers,labels an entry,parameters,stored bits,entropy of the labels,share,held in every run")
    for facts in counts:
        for answers in ANSWERS:
            task = random_labels(facts, answers)
            bits = (answers - 1).bit_length()
            built = [probe_memory(task, labels_per_word=width // bits) for width in (8, 16)]
            least = min(built, key=lambda each: stored_bits(each.model))
            held = int(held_without_rounding(least.model, task, FLOAT32, 0.0).sum())
            stored, known = stored_bits(least.model), task.information_bits
            assert known is not None
            m = (8, 16)[built.index(least)] // bits
            sizes = f"{m},{least.model.parameters},{stored},{known:.0f},{known / stored:.3f}"
            print(f"{facts},{answers},{sizes},{held}", flush=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [1024, 4096, 16_384, 65_536])
