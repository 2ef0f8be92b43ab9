"""The look-up table of all bigrams: its condition number, and what is left of it in float64, float32 and bfloat16."""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy is imported

import numpy as np  # noqa: E402

from constructions.bigrams.lookup_table import lookup_output, lookup_table  # noqa: E402
from constructions.memories.memory import build_memory  # noqa: E402
from constructions.models.attention import features  # noqa: E402
from constructions.tasks.arrays import enumerated_task  # noqa: E402
from verify.certificates.certificate import ARGMAX  # noqa: E402
from verify.certificates.memorization import certify_memorization  # noqa: E402
from verify.forward.heads import enclose_features  # noqa: E402
from verify.linear_algebra.singular_values import enclose_condition  # noqa: E402
from verify.replica.run import DTYPES, run  # noqa: E402

Result = TypeVar("Result")


def timed(action: Callable[[], Result]) -> float:
    """Median time of the processor, of three runs."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="+", default=[8, 16, 32], help="sizes of the vocabulary")
    parser.add_argument("--gap", type=float, default=8.0, help="difference of the scores, nats")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    columns = (
        "N", "T", "sum of the position", "condition", "largest W_O", "proved margin, nats",
        *(f"{dtype}: accuracy, largest error" for dtype in DTYPES), "outputs in closed form / by a dense solve, time",
        "random heads: condition, bfloat16 accuracy",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    for d_vocab in options.tokens:
        task = enumerated_task(d_vocab, 2)
        for total in (-2.0, -d_vocab / 2):
            network = lookup_table(task, gap=options.gap, total=total)
            found = certify_memorization(network, task, rank=False)
            proved = found.certificate.claim(ARGMAX).verdict.value == "PROVED"
            results = [run(network, task, device=options.device, dtype=dtype) for dtype in DTYPES]
            matrix = features(network, task.contexts)
            right = np.random.default_rng(0).standard_normal((task.n_contexts, d_vocab))
            solve = timed(partial(np.linalg.solve, matrix, right))
            wanted = right.reshape(d_vocab, d_vocab, d_vocab)
            attention, position = 1 / (1 + np.exp(-options.gap)), [total / d_vocab] * d_vocab
            closed = timed(partial(lookup_output, wanted, attention, position))
            drawn = build_memory(task, d_model=d_vocab, d_head=d_vocab, n_heads=d_vocab)
            rival = run(drawn.model, task, device=options.device, dtype="bfloat16")
            row = (
                d_vocab,
                task.n_contexts,
                f"{total:g}",
                f"{enclose_condition(enclose_features(network, task.contexts)).upper():.4g}",
                f"{np.abs(network.W_O).max():.3g}",
                f"{found.margin_lower.min():.4g}" if proved else "none",
                *(f"{result.accuracy:g}, {result.max_output_error:.1e}" for result in results),
                f"{closed / solve:.2g}",
                f"{drawn.condition:.2g}, {rival.accuracy:.2g}",
            )
            print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()
