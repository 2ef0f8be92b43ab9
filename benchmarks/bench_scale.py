"""Processor time and peak memory of each stage of `byheart memorize` with nothing named, as the facts grow.

    python benchmarks/bench_scale.py --facts 1000 10000 --bigrams 32 100 >> docs/measured/scale.csv

Random labels: facts of 4 of 103 tokens with 88 labels, and all bigrams of so many tokens. Each task runs in a process
of its own, on one BLAS thread. A peak is the largest resident memory while the stage runs (Linux).
"""

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from pathlib import Path
from unittest.mock import patch

STAGES = ("choose", "build", "every run", "search", "certify", "write", "page")
COLUMNS = ["facts", "memory", "entries", "of each stage", *STAGES]


def main() -> None:
    parser = argparse.ArgumentParser(description="Processor time and peak memory of each stage.")
    parser.add_argument("--facts", type=int, nargs="*", default=[1000, 10_000])
    parser.add_argument("--bigrams", type=int, nargs="*", default=[32, 100])
    parser.add_argument("--alone", choices=("facts", "bigrams"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        rows = measured(options.alone, getattr(options, options.alone)[0])
        csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
        return
    root = Path(__file__).parents[1]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    csv.writer(sys.stdout, lineterminator="\n").writerow(COLUMNS)
    for kind in ("facts", "bigrams"):
        for size in getattr(options, kind):
            sys.stdout.flush()
            command = [sys.executable, __file__, f"--{kind}", str(size), "--alone", kind]
            subprocess.run(command, env=environment, check=True)


class Clock:
    """Processor seconds and the peak of each stage; a stage inside another one takes its time from it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.peaks: dict[str, float] = defaultdict(float)
        self.running, self.since = "", 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        before = self.running
        self._turn(name)
        try:
            yield
        finally:
            self._turn(before)

    def timed(self, place: str, name: str, *, within: tuple[str, ...] = ()) -> AbstractContextManager:
        """Return a function whose time counts as this stage, where one of those is running, or any if none is named."""
        module, _, attribute = place.rpartition(".")
        work: Callable = getattr(sys.modules[module], attribute)

        @wraps(work)
        def stage(*arguments, **named):
            if within and self.running not in within:
                return work(*arguments, **named)
            with self.stage("search" if named.get("earlier") else name):
                return work(*arguments, **named)

        return patch(place, stage)

    def _turn(self, name: str) -> None:
        now, status = time.process_time(), Path("/proc/self/status").read_text(encoding="ascii")
        kibibytes = re.search(r"VmHWM:\s*(\d+)", status)
        assert kibibytes
        self.seconds[self.running] += now - self.since
        self.peaks[self.running] = max(self.peaks[self.running], int(kibibytes[1]) / 2**20)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        self.running, self.since = name, now


def measured(kind: str, size: int) -> list[list[str]]:
    import numpy as np

    from byheart.jobs.memorize import hold
    from constructions.tasks.arrays import all_contexts, array_task

    rng = np.random.default_rng(0)
    if kind == "bigrams":
        contexts, labels = all_contexts(size, 2), size
    else:
        drawn = rng.choice(103**4, size, replace=False)
        contexts, labels = np.stack(np.unravel_index(drawn, (103,) * 4), axis=1), 88
    answers = rng.integers(0, labels, len(contexts))
    task = array_task(contexts, next_tokens=answers, target="labels", answers=tuple(map(str, range(labels))))
    clock = Clock()
    with (
        tempfile.TemporaryDirectory() as folder,
        clock.timed("byheart.jobs.memorize.offers", "choose"),
        clock.timed("byheart.choice.chooser._offer", "build", within=("choose",)),
        clock.timed("byheart.choice.chooser._judged", "every run", within=("choose",)),
        clock.timed("byheart.memory.write_report", "page"),
    ):
        with clock.stage("certify"):
            made = hold(task)
        with clock.stage("write"):
            made.save(Path(folder) / "out")
    assert made.figures.memorized == task.n_contexts
    what = f"{task.n_contexts:,} of 4" if kind == "facts" else f"all bigrams of {size:,}"
    found = made.figures
    head = [what, str(found.memory), f"{found.parameters:,}"]
    times, peaks = ([each[stage] for stage in STAGES] for each in (clock.seconds, clock.peaks))
    return [
        [*head, "seconds", *(f"{seconds:.2g}" for seconds in times)],
        [*head, "peak, GiB", *(f"{peak:.2f}" for peak in peaks)],
    ]


if __name__ == "__main__":
    main()
