"""How many numbers the walk of every model, and the judge of integers, evaluate of one memory: texts, random facts.

    python benchmarks/bench_integer_rows.py

The walk goes forward: it evaluates all columns of each row that occurs. The judge goes back from the logits, to the
columns and positions that they depend on, and evaluates rows of equal values once. Where a context is long and most of
its windows occur elsewhere too, as in a text, this is what makes the judge fast.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from measure import print_head, print_row, timed

from byheart.reciting import whole_text
from constructions.memories.probes.probe_memory import probe_memory
from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.tasks.random_facts import random_facts
from constructions.tasks.task import Task
from constructions.tasks.text import default_text
from verify.arithmetic.rounding import Floats
from verify.forward.attention_pairs import AttentionPairs
from verify.forward.walk import passed, stream_of
from verify.runs.formats import FLOAT32
from verify.runs.in_runs import InRuns
from verify.runs.integer_rows import integer_logits
from verify.runs.terms import Rows

_CELLS = 2**21  # positions times positions of the contexts that are walked together


class Shape(NamedTuple):
    """How many rows there are, and columns of each."""

    rows: int
    columns: int


class InShapes:
    """The walk's operations on shapes: nothing is evaluated, but what another arithmetic would evaluate is counted."""

    def __init__(self) -> None:
        self.numbers = 0

    def embed(self, a: Floats, b: Floats) -> Shape:
        return self._counted(len(a), a.shape[1])

    def gather(self, rows: Shape, chosen: Int64Array) -> Shape:
        return Shape(len(chosen), rows.columns)

    def concat(self, parts: Sequence[Shape]) -> Shape:
        return Shape(sum(part.rows for part in parts), parts[0].columns)

    def add(self, rows: Shape, others: Shape) -> Shape:
        return rows

    def materialize(self, rows: Shape) -> Shape:
        return rows

    def linear(self, rows: Shape, W: Floats, b: Floats | None) -> Shape:
        return self._counted(rows.rows, W.shape[1])

    def activate(self, rows: Shape, activation: str) -> Shape:
        return rows

    def add_bias(self, rows: Shape, b: Floats) -> Shape:
        return rows

    def nonzero(self, rows: Shape) -> BoolArray:
        return np.ones(rows, dtype=bool)

    def project_heads(self, rows: Shape, maps: Floats, shifts: Floats | None) -> Shape:
        return self._counted(rows.rows, len(maps) * maps.shape[2])

    def select_heads(self, x: Shape, heads: Sequence[int]) -> Shape:
        return x

    def uniform_attention(self, value: Shape, length: int) -> Shape:
        return value

    def subtract(self, rows: Shape, others: Shape) -> Shape:
        return rows

    def mean(self, rows: Shape, read: Int64Array) -> Shape:
        return self._counted(len(read), rows.columns)

    def attend(self, block: Attention, query: Shape, key: Shape, value: Shape, pairs: AttentionPairs) -> Shape:
        self.numbers += len(pairs.kept) * pairs.read.shape[1] * block.n_heads  # the scores
        return self._counted(len(pairs.kept), value.columns)

    def project_output(self, mixed: Shape, block: Attention, heads: Sequence[int] | None = None) -> Shape:
        return self._counted(mixed.rows, block.d_out)

    def _counted(self, rows: int, columns: int) -> Shape:
        self.numbers += rows * columns
        return Shape(rows, columns)


class CountedRuns(InRuns):
    """Every run, with a count of what is evaluated."""

    numbers = 0

    def linear(self, x: Rows, matrix: Floats, *more: Any, **named: Any) -> Rows:
        self.numbers += len(x.value) * matrix.shape[1]
        return super().linear(x, matrix, *more, **named)

    def decides(self, gap: Floats, error: float, exact: bool, count: Int64Array, length: int) -> BoolArray:
        self.numbers += gap.size * length  # the scores
        return super().decides(gap, error, exact, count, length)


def walked(model: Model, contexts: Int64Array) -> int:
    """Return how many numbers a walk forward evaluates."""
    arithmetic: Any = InShapes()
    together = max(1, _CELLS // contexts.shape[1] ** 2)
    for start in range(0, len(contexts), together):
        passed(arithmetic, model, stream_of(arithmetic, model, contexts[start : start + together]))
    return arithmetic.numbers


def judged(model: Model, contexts: Int64Array) -> int:
    """Return how many numbers the judge of every float32 run evaluates, the logits left out."""
    arithmetic = CountedRuns(FLOAT32)
    outputs = sum(len(part.logits.midpoint) for part in integer_logits(model, contexts, arithmetic))
    return arithmetic.numbers - outputs * model.d_vocab_out


def main() -> None:
    tasks: dict[str, Task] = {
        "1,000 facts of 4 of 31 tokens": random_facts(d_vocab=31, n_ctx=4, facts=1000, seed=0),
        "20,000 facts of 4 of 32 tokens": random_facts(d_vocab=32, n_ctx=4, facts=20_000, seed=0),
        "4,000 characters of Python's topics": whole_text(default_text()[:4000]),
    }
    print_head("probe memory of", "contexts", "walk forward", "judge", "quotient", "judge, s")
    for name, task in tasks.items():
        built = probe_memory(task)
        forward = walked(built.model, task.contexts)
        back, seconds = timed(lambda built=built, task=task: judged(built.model, task.contexts))
        print_row(name, task.contexts.shape, f"{forward:,}", f"{back:,}", f"{forward / back:.1f}", f"{seconds:.2f}")


if __name__ == "__main__":
    main()
