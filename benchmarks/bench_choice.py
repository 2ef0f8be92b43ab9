"""Which memories are the smallest of any table: their parameters on a grid of shapes, counted, or built in closed form.

    python benchmarks/bench_choice.py

Prints for each shape the three smallest, of all and of those without neurons, and at the end which is the smallest.
Searches (`newton`) are left out.

Page: docs/memories.md
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from byheart.choice.chooser import offers
from constructions.menu import BY_NAME
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Task

CLOSED = ("knots",)
COUNTED = ("packed-words", "object-words", "probes", "one-head", "rank-one-heads", "last-token-heads")
STRUCTURES = ("random", "sum", "one column", "runs", "constant")


def shapes() -> Iterator[tuple[str, Task]]:
    """All bigrams, and random contexts of 3, 4 and 16 tokens, each with labels of every structure."""
    rng = np.random.default_rng(0)
    for tokens in (4, 8, 16, 24, 32, 48, 64, 96):
        pairs = np.stack(np.divmod(np.arange(tokens**2), tokens), axis=1)
        yield from _labelled(f"all bigrams of {tokens}", pairs, tokens, (2, tokens), rng)
    for length in (3, 4, 16):
        for facts in (12, 48, 192, 768, 3072):
            numbers = np.unique(rng.integers(0, 50, (facts + facts // 8, length)), axis=0)[:facts]
            yield from _labelled(f"{len(numbers)} of {length} tokens", numbers, 50, (2, 50), rng)


def _labelled(
    title: str, contexts: Int64Array, tokens: int, answers: tuple[int, ...], rng: np.random.Generator
) -> Iterator[tuple[str, Task]]:
    for kinds in answers:
        for structure in STRUCTURES:
            labels = {
                "random": rng.integers(0, kinds, len(contexts)),
                "sum": contexts.sum(axis=1) % kinds,
                "one column": contexts[:, 0] % kinds,
                "runs": np.arange(len(contexts)) * kinds // len(contexts),
                "constant": np.zeros(len(contexts), dtype=np.int64),
            }[structure]
            task = array_task(contexts, next_tokens=labels, vocabulary=tokens, answers=kinds, target="labels")
            yield f"{title}, {kinds} answers, {structure}", task


def counts(task: Task) -> dict[str, int]:
    """Parameters by memory, of those that take the task."""
    found = {name: BY_NAME[name].fewest(task, "float32") for name in COUNTED}
    for offer in offers(task, names=CLOSED):
        found[offer.memory.name] = 0 if offer.built is None else offer.built.model.parameters
    return {name: count for name, count in found.items() if count}


def main() -> None:
    """Print the grid, and where each memory is the smallest."""
    smallest: Counter[tuple[str, str]] = Counter()
    for title, task in shapes():
        ordered = sorted(counts(task).items(), key=lambda each: each[1])
        heads = [each for each in ordered if BY_NAME[each[0]].attention_only]
        shown = []
        for kind, found in (("all", ordered), ("heads", heads)):
            smallest[kind, found[0][0]] += 1
            shown.append(f"{kind}: " + ", ".join(f"{name} {count:,}" for name, count in found[:3]))
        print(f"{title} | {' | '.join(shown)}")
    for (kind, name), count in sorted(smallest.items()):
        print(f"{kind}: {name} is the smallest of {count} shapes")


if __name__ == "__main__":
    main()
