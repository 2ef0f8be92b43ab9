"""The Newton memory on tables of several kinds: facts per entry, starts that succeed, and how many facts are proved."""

import argparse
import time

import numpy as np
from measure import print_head, print_row

from constructions.memories.newton.newton_memory import newton_memory
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.task import Task
from verify.provers.memorization import certify_memorization

TABLES = (
    "random 10", "random 16", "random 20", "skewed 16", "sum 14", "xor 12", "incomplete 24", "two labels 20",
    "length 4", "relations",
)  # fmt: skip
LARGE = ("random 32", "xor 32", "random 50", "skewed 50", "sum 50", "two labels 50", "incomplete 64", "length 3")
"""Of 1024 to 2500 facts: a start takes up to a minute and more."""


def table(name: str, seed: int) -> Task:
    """Return a table by its name; the number is that of the tokens."""
    rng = np.random.default_rng(seed)
    kind, _, number = name.rpartition(" ")
    size = int(number) if number.isdigit() else 0
    labels, vocabulary = None, size
    if name == "relations":  # 40 subjects, 6 relations, an answer of each relation's own 3 to 20
        contexts = np.array([[subject, 40 + relation] for subject in range(40) for relation in range(6)])
        answers = np.array([3, 5, 6, 8, 11, 20])
        first = 46 + np.concatenate([[0], np.cumsum(answers)[:-1]])
        labels = np.array([first[r - 40] + rng.integers(answers[r - 40]) for _, r in contexts])
        vocabulary = 46 + int(answers.sum())
    elif name == "length 4":
        contexts = np.unique(rng.integers(0, 12, (320, 4)), axis=0)
        contexts, vocabulary = contexts[np.sort(rng.permutation(len(contexts))[:300])], 12
    elif name == "length 3":
        contexts, vocabulary = all_contexts(13, 3), 13
    else:
        contexts = all_contexts(size, 2)
    if kind == "incomplete":
        contexts = contexts[np.sort(rng.permutation(len(contexts))[: 300 if size < 50 else 1500])]
    if kind == "sum":
        labels = contexts.sum(axis=1) % size
    elif kind == "xor":
        labels = contexts[:, 0] ^ contexts[:, 1]
        vocabulary = int(labels.max()) + 1
    elif kind == "skewed":
        labels = np.minimum(rng.exponential(2.5, len(contexts)).astype(np.int64), size - 1)
    elif kind == "two labels":
        labels = rng.integers(0, 2, len(contexts))
    elif labels is None:
        labels = rng.integers(0, vocabulary, len(contexts))
    return array_task(contexts, next_tokens=labels, vocabulary=vocabulary, target="labels")


class Clock:
    """Notes when a model with 0.6 facts per entry is found, and ends the search at the first if it shall."""

    def __init__(self, facts: int, first: bool) -> None:
        self.facts, self.first = facts, first
        self.reached: float | None = None

    def __call__(self, stage: str, share: float | None, detail: str) -> None:
        entries = int(detail.split(" facts, ")[1].split()[0])  # "256 facts, 402 entries: found"
        if self.reached is None and detail.endswith("found") and self.facts >= 0.6 * entries:
            self.reached = time.process_time()
        if self.first and detail.endswith("found"):
            raise KeyboardInterrupt  # which keeps the model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES + LARGE)
    parser.add_argument("--table-seed", type=int, default=0, help="seed of what is drawn in the tables")
    parser.add_argument("--seeds", type=int, default=4, help="starts for each shape")
    parser.add_argument("--iterations", type=int, default=1000, help="steps in each stage")
    parser.add_argument("--work", type=float, help="seconds of all starts, as their steps are counted")
    parser.add_argument("--first", action="store_true", help="end each search at its first model")
    parser.add_argument("--at-most", type=int, help="entries of the model; by default those of a safe shape")
    parser.add_argument("--seed", type=int, default=0, help="the first start")
    options = parser.parse_args()
    columns = (
        "table", "facts", "d, d_qk, heads", "entries", "facts per entry", "used entries", "facts per used entry",
        "starts that succeed, shape by shape", "steps", "processor seconds to 0.6", "processor seconds", "margin",
        "PROVED",
    )  # fmt: skip
    print_head(*columns)
    for name in options.tables:
        task = table(name, options.table_seed)
        clock = Clock(task.n_contexts, options.first)
        start = time.process_time()
        found = newton_memory(
            task,
            at_most=options.at_most,
            seeds=options.seeds,
            iterations=options.iterations,
            work=None if options.work is None else 1e9 * options.work,
            seed=options.seed,
            progress=clock,
        )
        seconds = time.process_time() - start
        if not found.complete and options.work is None and not options.first:
            raise KeyboardInterrupt  # a search that was cut off is no measurement
        judged = certify_memorization(found.network, task, rank=False)
        proved = int((judged.answers.margin_lower > 0).sum())
        row = (
            name,
            task.n_contexts,
            ", ".join(map(str, found.shape)),
            found.parameters,
            f"{task.n_contexts / found.parameters:.3f}",
            found.used_parameters,
            f"{task.n_contexts / found.used_parameters:.3f}",
            ", ".join(f"{a.parameters}: {a.solved} of {a.seeds}" for a in found.attempts),
            sum(sum(attempt.iterations) for attempt in found.attempts),
            "" if clock.reached is None else f"{clock.reached - start:.0f}",
            f"{seconds:.0f}",
            f"{judged.answers.margin_lower.min():.3f}",
            f"{proved} of {task.n_contexts}",
        )
        print_row(*row)


if __name__ == "__main__":
    main()
