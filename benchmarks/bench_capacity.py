"""How many heads real text needs, and how long the certified answer takes beside one linear solve of the same size."""

import argparse
import statistics
from collections.abc import Callable
from functools import partial

import numpy as np
from measure import print_head, print_row, timed

from constructions.attention.capacity.head_counts import capacity
from constructions.numeric.arrays import Int64Array
from constructions.tasks.text import Unit, default_text, read_text, text_task

# unit, N, S, T, d, d_h
TASKS: list[tuple[Unit, int, int, int, int, int]] = [
    ("char", 64, 2, 1024, 64, 64),
    ("char", 64, 4, 1024, 64, 64),
    ("char", 64, 4, 1024, 64, 16),
    ("char", 64, 8, 1024, 64, 64),
    ("char", 128, 4, 1024, 102, 102),
    ("word", 256, 4, 1024, 255, 255),
    ("word", 1000, 2, 1024, 999, 999),
    ("word", 1000, 4, 1024, 999, 999),
    ("word", 1000, 4, 1024, 999, 64),
]
LARGE_TASKS: list[tuple[Unit, int, int, int, int, int]] = [
    ("char", 64, 4, 2048, 64, 64),
    ("char", 64, 4, 4096, 64, 16),
    ("char", 64, 4, 4096, 64, 64),
]
LARGE_TABLES: dict[str, Callable[[np.random.Generator], Int64Array]] = {
    "10,000 rows, one key column": lambda rng: rng.permutation(10_000)[:, None],
    "10,000 rows, a key and one relation": lambda rng: np.stack([rng.permutation(10_000), np.full(10_000, 10_000)], 1),
    "5000 subjects, 2 relations": lambda rng: np.stack([np.arange(10_000) // 2, 10_000 + np.arange(10_000) % 2], 1),
    "10,000 pairs of 50,000 words": lambda rng: np.stack([rng.permutation(50_000)[:10_000] for _ in range(2)], 1),
}


def solve_seconds(size: int) -> float:
    rng = np.random.default_rng(0)
    matrix, right = rng.standard_normal((size, size)), rng.standard_normal((size, 64))
    return statistics.median(timed(lambda: np.linalg.solve(matrix, right))[1] for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", help="a text file; by default the text that comes with Python")
    parser.add_argument("--large", action="store_true", help="add the tasks of 2048 and 4096 contexts")
    parser.add_argument("--tables", action="store_true", help="large tables instead, without an elimination")
    parser.add_argument("--quick", action="store_true", help="256 contexts in each task")
    options = parser.parse_args()
    if options.tables:
        tables()
        return
    columns = (
        "unit, N", "S", "T", "d, d_h", "heads: paper", "rank then: paper", "certified", "U: contexts, tokens",
        "fewest heads", "alone", "CPU s", "/ solve", "no elimination, ms",
    )  # fmt: skip
    print_head(*columns)
    for unit, vocabulary, context, facts, d_model, d_head in TASKS + (LARGE_TASKS if options.large else []):
        facts = 256 if options.quick else facts
        text = read_text(options.text, unit) if options.text else default_text()
        task = text_task(text, unit=unit, vocabulary=vocabulary, context=context, facts=facts, target="labels")
        result, seconds = timed(partial(capacity, task.contexts, d_model=d_model, d_head=d_head))
        _, without = timed(partial(capacity, task.contexts, d_model=d_model, d_head=d_head, eliminate=False))
        rows = result.upper_witness.rows
        row = (
            f"{unit}, {task.d_vocab}",
            context,
            facts,
            f"{d_model}, {d_head}",
            result.paper_heads,
            result.paper_rank,
            interval(result.rank_lower, result.rank_upper),
            f"{len(rows)}, {len(np.unique(task.contexts[rows]))}",
            interval(result.necessary_heads, result.fewest_heads),
            interval(result.heads_alone.necessary, result.fewest_heads_alone),
            f"{seconds:.1f}",
            f"{seconds / solve_seconds(facts):.1f}",
            f"{1000 * without:.0f}",
        )
        print_row(*row)


def tables() -> None:
    """Print what a job asks of tables that are too large for an elimination."""
    print_head("table", "fewest heads, d = 64, d_h = 16", "CPU s")
    for name, draw in LARGE_TABLES.items():
        contexts = np.ascontiguousarray(draw(np.random.default_rng(0)), dtype=np.int64)
        found, seconds = timed(partial(capacity, contexts, d_model=64, d_head=16, eliminate=False))
        print(f"| {name} | {interval(found.necessary_heads, found.fewest_heads)} | {seconds:.2f} |", flush=True)


def interval(low: int | None, high: int | None) -> str:
    return str(low) if low == high else f"{low} .. {high}"


if __name__ == "__main__":
    main()
