"""What proving again costs: folders by floats and by integers, and nonsingularity by integers.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_checker.py

Prints Markdown tables. Rivals are timed in turn within the same run; only their ratios are to be trusted.
"""

import argparse
import contextlib
import io
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import timed

from byheart.command.main import main as byheart
from verify.certificates.certificate import CheckReport
from verify.independent.checker import check_independently, recheck_nonsingular
from verify.linear_algebra.nonsingularity import certify_nonsingular
from verify.provers.memorization import check_memorization
from verify.workers import processes


def nonsingularity(sizes: list[int], repetitions: int) -> None:
    rng = np.random.default_rng(0)
    print("\n| n | numpy.linalg.inv, s | certify_nonsingular | recheck_nonsingular, s | against inv | verdict |")
    print("|---|---|---|---|---|---|")
    for size in sizes:
        a = rng.standard_normal((size, size))
        radius = np.abs(a) * 2.0**-45
        rows = []
        for _ in range(repetitions):
            _, inverse = timed(lambda a=a: np.linalg.inv(a))
            proof, prove = timed(lambda a=a, radius=radius: certify_nonsingular(a, radius, witness=True))
            check, again = timed(lambda a=a, radius=radius, proof=proof: recheck_nonsingular(a, radius, proof.witness))
            rows.append((inverse, prove, again))
        inverse, prove, again = (statistics.median(column) for column in zip(*rows, strict=True))
        ratio = prove / inverse
        print(f"| {size} | {inverse:.3f} | {ratio:.2f} | {again:.2f} | {again / inverse:.1f} | {check.verdict.value} |")


FOLDERS = {"default": [], "one layer of attention": ["--vocabulary", "64", "--dim", "64", "--head-dim", "16"]}


def proved_again(kind: str, folder: Path, workers: int, solve: float) -> None:
    def row(work: str, check: Callable[[], CheckReport]) -> None:
        clock = time.perf_counter()
        report, seconds = timed(check)
        clock = time.perf_counter() - clock
        spent = f"{seconds:.1f} | {seconds / solve:.0f}"
        print(f"| {kind} | {work} | {spent} | {clock:.1f} | {report.verdict.value} |", flush=True)

    stages: dict[str, float] = {}
    last: list[Any] = ["files", 0.0]

    def stage(name: str, share: float | None, detail: str) -> None:
        now = time.process_time()
        stages[last[0]] = stages.get(last[0], 0.0) + now - last[1]
        last[:] = [name, now]

    row("`check`", lambda: check_memorization(folder))
    last[1] = time.process_time()
    row("`check --independent --full`", lambda: check_independently(folder, full=True, progress=stage))
    stage("", None, "")
    for name, seconds in stages.items():
        print(f"| | of it {name} | {seconds:.1f} | {seconds / solve:.0f} | | |")
    spread = partial(processes, workers)
    row(
        f"with `--workers {workers}`, beside what they spend",
        lambda: check_independently(folder, full=True, workers=spread),
    )


def memorization(facts: int, workers: int) -> None:
    matrix = np.random.default_rng(0).standard_normal((facts, facts))
    _, solve = timed(lambda: np.linalg.solve(matrix, matrix[:, :64]))
    print(f"\nT = {facts}; the unit is one solve of T x T ({solve:.2f} s)")
    print("\n| folder | work | s of processor time | units | s of the clock | verdict |\n|---|---|---|---|---|---|")
    for kind, options in FOLDERS.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "folder"
            with contextlib.redirect_stdout(io.StringIO()):
                byheart(["memorize", *options, "--facts", str(facts), "--out", str(folder), "--json"])
            proved_again(kind, folder, workers, solve)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 256, 512, 1024])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--facts", type=int, default=1024)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    nonsingularity(options.sizes, options.repetitions)
    memorization(options.facts, options.workers)


if __name__ == "__main__":
    main()
