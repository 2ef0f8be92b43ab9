"""What the benchmarks share: one BLAS thread, seconds of processor time, and rows of Markdown."""

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

Result = TypeVar("Result")

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
if not any(name in os.environ for name in _THREADS):  # NumPy reads them when it is imported, which has happened
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(_THREADS, "1"))


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """Return what work returns, and its processor time: the clock on the wall would measure the neighbours too."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def median_seconds(work: Callable[[], object], repetitions: int = 3) -> float:
    """Median seconds of processor time."""
    return statistics.median(timed(work)[1] for _ in range(repetitions))


def medians(rivals: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    """Median seconds of processor time of each, in rounds of all of them: a busy machine distorts less."""
    rounds = [{name: timed(run)[1] for name, run in rivals.items()} for _ in range(repetitions)]
    return {name: statistics.median(one[name] for one in rounds) for name in rivals}


def print_head(*columns: str) -> None:
    print_row(*columns)
    print("|" + "---|" * len(columns), flush=True)


def print_row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
