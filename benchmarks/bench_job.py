"""The main job, stage by stage, as ratios to one numpy.linalg.solve of T x T, and its peak memory.

    python benchmarks/bench_job.py --facts 1024 4096 --dim 64 --head-dim 16

Each number of facts runs in a process of its own, on one BLAS thread, so that the peaks of memory are its own.
"""

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

from measure import median_seconds, print_head, print_row, timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--facts", type=int, nargs="+", default=[1024, 4096])
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--head-dim", type=int, default=16)
    parser.add_argument("--margin", type=float, default=1.25, help="features per fact")
    parser.add_argument("--no-rank", action="store_true", help="leave the rank certificate out")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        measure(options.facts[0], options.dim, options.head_dim, options.margin, rank=not options.no_rank)
        return
    one_thread = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    root = Path(__file__).parents[1]
    one_thread["PYTHONPATH"] = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    print_head("T", "stage", "seconds", "solves", "peak so far, GiB")
    for facts in options.facts:
        arguments = ["--facts", str(facts), "--dim", str(options.dim), "--head-dim", str(options.head_dim)]
        arguments += ["--margin", str(options.margin), "--alone"] + (["--no-rank"] if options.no_rank else [])
        subprocess.run([sys.executable, __file__, *arguments], env=one_thread, check=True)


def measure(facts: int, d_model: int, d_head: int, margin: float, *, rank: bool) -> None:
    from constructions.heads_of_theorem_1.memory import build_memory
    from constructions.tasks.text import default_text, text_task
    from verify.divergence.kullback_leibler import argmax_margin, quadratic_divergence_bound
    from verify.forward.heads import enclose_features
    from verify.forward.logits import enclose_logits
    from verify.linear_algebra.row_rank import certify_full_row_rank

    task = text_task(default_text(), context=4, facts=facts)
    solve = _solve_seconds(facts)
    _row(facts, f"numpy.linalg.solve, {facts} x {facts}", solve, solve)

    n_heads = -(-int(margin * facts) // d_head)
    built, spent = timed(lambda: build_memory(task, d_model=d_model, d_head=d_head, n_heads=n_heads))
    _row(facts, "weights: features and minimum-norm solve", spent, solve)
    total = spent
    features, spent = timed(lambda: enclose_features(built.model, task.contexts))
    _row(facts, "enclosed features", spent, solve)
    total += spent
    if rank:
        certificate, spent = timed(lambda: certify_full_row_rank(features))
        _row(facts, f"rank: {certificate.verdict.value}", spent, solve)
        total += spent
    logits, spent = timed(lambda: enclose_logits(built.model, task.contexts))
    _row(facts, "enclosed logits", spent, solve)
    total += spent
    assert task.distributions is not None
    distributions = task.distributions
    bounds, spent = timed(lambda: quadratic_divergence_bound(logits, distributions))
    total += spent
    margins, spent = timed(lambda: argmax_margin(logits, task.modes()))
    _row(facts, f"divergence <= {bounds.max():.1e}, argmax {int((margins > 0).sum())} of {facts}", spent, solve)
    total += spent
    _row(facts, "**all but the solve**", total, solve)


def _solve_seconds(size: int) -> float:
    """Return the unit: the median of some solves with 64 right-hand sides."""
    import numpy as np

    generator = np.random.default_rng(0)
    matrix, right = generator.standard_normal((size, size)), generator.standard_normal((size, 64))
    repeats = 5 if size <= 2048 else 3
    return median_seconds(lambda: np.linalg.solve(matrix, right), repeats)


def _row(facts: int, stage: str, seconds: float, solve: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print_row(facts, stage, f"{seconds:.3g}", f"{seconds / solve:.2f}", f"{peak:.2f}")


if __name__ == "__main__":
    main()
