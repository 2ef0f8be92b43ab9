"""What proving again costs: a certificate by floats and by integers, and nonsingularity by integers.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_checker.py

Prints Markdown tables. Rivals are timed in turn within the same run; only their ratios are to be trusted.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from constructions.memories.memory import build_memory
from constructions.tasks.text import default_text, text_task
from verify.certificates.memorization import certify_memorization, check_memorization
from verify.independent.checker import check_independently, recheck_nonsingular
from verify.linear_algebra.nonsingularity import certify_nonsingular

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds of processor time, which a busy machine distorts less, and what came out."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def nonsingularity(sizes: list[int], repetitions: int) -> None:
    rng = np.random.default_rng(0)
    print("\n| n | numpy.linalg.inv, s | certify_nonsingular | recheck_nonsingular, s | against inv | verdict |")
    print("|---|---|---|---|---|---|")
    for size in sizes:
        a = rng.standard_normal((size, size))
        radius = np.abs(a) * 2.0**-45
        rows = []
        for _ in range(repetitions):
            inverse, _ = timed(lambda a=a: np.linalg.inv(a))
            prove, proof = timed(lambda a=a, radius=radius: certify_nonsingular(a, radius, witness=True))
            again, check = timed(lambda a=a, radius=radius, proof=proof: recheck_nonsingular(a, radius, proof.witness))
            rows.append((inverse, prove, again))
        inverse, prove, again = (statistics.median(column) for column in zip(*rows, strict=True))
        ratio = prove / inverse
        print(f"| {size} | {inverse:.3f} | {ratio:.2f} | {again:.2f} | {again / inverse:.1f} | {check.verdict.value} |")


def memorization(facts: int, heads: int, *, full: bool) -> None:
    task = text_task(default_text(), context=4, facts=facts)
    network = build_memory(task, d_model=64, d_head=16, n_heads=heads).model
    matrix = np.random.default_rng(0).standard_normal((facts, facts))
    solve, _ = timed(lambda: np.linalg.solve(matrix, matrix[:, :64]))
    print(f"\nT = {facts}, M = {task.n_all}, H = {heads}, d = 64, d_h = 16, N = {task.vocabulary_size}, S = 4")
    print(f"\n| work | s | against one solve of T x T ({solve:.2f} s) | verdict |\n|---|---|---|---|")

    def row(name: str, seconds: float, verdict: str) -> None:
        print(f"| {name} | {seconds:.2f} | {seconds / solve:.0f} | {verdict} |", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds, certified = timed(lambda: certify_memorization(network, task))
        row("certify_memorization", seconds, certified.certificate.verdict.value)
        network.save(folder / "model.safetensors")
        task.save(folder / "task.npz")
        certified.save(folder)
        seconds, report = timed(lambda: check_memorization(folder))
        row("check_memorization", seconds, report.verdict.value)
        stages: dict[str, float] = {}
        last = [time.process_time(), "files"]

        def stage(name: str, share: float | None, detail: str) -> None:
            if name != last[1]:
                stages[str(last[1])] = time.process_time() - float(last[0])
                last[:] = [time.process_time(), name]

        seconds, report = timed(lambda: check_independently(folder, full=full, progress=stage))
        stages[str(last[1])] = time.process_time() - float(last[0])
        row("check_independently", seconds, report.verdict.value)
        for name, spent in stages.items():
            row(f"of these: {name}", spent, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 256, 512, 1024])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--facts", type=int, default=1024)
    parser.add_argument("--heads", type=int, default=80)
    parser.add_argument("--full", action="store_true", help="all contexts by integers too, however long it takes")
    options = parser.parse_args()
    nonsingularity(options.sizes, options.repetitions)
    memorization(options.facts, options.heads, full=options.full)


if __name__ == "__main__":
    main()
