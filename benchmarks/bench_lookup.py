"""The look-up table of all bigrams: its condition number, and what is left of it in float64, float32 and bfloat16."""

import argparse
from functools import partial

import numpy as np
from measure import median_seconds, print_head, print_row

from constructions.encoders.lookup_table import lookup_output, lookup_table
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.model.attention import features
from constructions.tasks.arrays import enumerated_task
from verify.forward.heads import enclose_features
from verify.linear_algebra.condition import enclose_condition
from verify.provers.memorization import certify_memorization
from verify.torch.run import DTYPES, run


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
    print_head(*columns)
    for d_vocab in options.tokens:
        task = enumerated_task(d_vocab, 2)
        for total in (-2.0, -d_vocab / 2):
            network = lookup_table(task, gap=options.gap, total=total)
            found = certify_memorization(network, task, rank=False)
            proved = found.certificate.verdict.value == "PROVED"
            results = [run(network, task, device=options.device, dtype=dtype) for dtype in DTYPES]
            matrix = features(network, task.contexts)
            right = np.random.default_rng(0).standard_normal((task.n_contexts, d_vocab))
            solve = median_seconds(partial(np.linalg.solve, matrix, right))
            wanted = right.reshape(d_vocab, d_vocab, d_vocab)
            attention, position = 1 / (1 + np.exp(-options.gap)), [total / d_vocab] * d_vocab
            closed = median_seconds(partial(lookup_output, wanted, attention, position))
            drawn = build_memory(task, d_model=d_vocab, d_head=d_vocab, n_heads=d_vocab)
            rival = run(drawn.model, task, device=options.device, dtype="bfloat16")
            row = (
                d_vocab,
                task.n_contexts,
                f"{total:g}",
                f"{enclose_condition(enclose_features(network, task.contexts)).upper():.4g}",
                f"{np.abs(network.W_O).max():.3g}",
                f"{found.answers.margin_lower.min():.4g}" if proved else "none",
                *(f"{result.accuracy:g}, {result.max_output_error:.1e}" for result in results),
                f"{closed / solve:.2g}",
                f"{drawn.condition:.2g}, {rival.accuracy:.2g}",
            )
            print_row(*row)


if __name__ == "__main__":
    main()
