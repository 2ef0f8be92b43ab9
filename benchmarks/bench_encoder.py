"""The best encoder of a rank: its divergence beside truncated logarithms and Adam, and the bound for all encoders."""

import argparse
import time

import numpy as np
from measure import print_head, print_row

from constructions.encoders.sequence_encoder import best_encoder
from constructions.numeric.arrays import Float64Array
from constructions.tasks.text import default_text, text_task
from verify.theorems.encoders.encoder_ceiling import encoder_divergence
from verify.theorems.encoders.encoder_floor import encoder_floor


def truncated(distributions: Float64Array, prior: Float64Array, rank: int) -> tuple[Float64Array, Float64Array]:
    """Return the weighted least squares of the paper's slides: the logarithms, truncated to the rank."""
    logarithms = np.log(distributions)
    logarithms -= logarithms.mean(axis=1, keepdims=True)
    _, _, right = np.linalg.svd(np.sqrt(prior)[:, None] * logarithms, full_matrices=False)
    return logarithms @ right[:rank].T, right[:rank].T


def by_adam(
    distributions: Float64Array, prior: Float64Array, rank: int, *, seconds: float, rate: float
) -> tuple[Float64Array, Float64Array]:
    """Adam on E and W from random starts, for so much time of the processor."""
    rng = np.random.default_rng(0)
    share, masses = (prior / prior.sum())[:, None], distributions / distributions.sum(axis=1, keepdims=True)
    point = [
        rng.standard_normal((len(distributions), rank)),
        rng.standard_normal((distributions.shape[1], rank)) / np.sqrt(rank),
    ]
    first, second = [np.zeros_like(x) for x in point], [np.zeros_like(x) for x in point]
    start, step = time.process_time(), 0
    while time.process_time() - start < seconds:
        step += 1
        logits = point[0] @ point[1].T
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        gap = (powers / powers.sum(axis=1, keepdims=True) - masses) * share * len(distributions)
        for x, g, m, v in zip(point, (gap @ point[1], gap.T @ point[0]), first, second, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            x -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-12)
    return point[0], point[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=1024, help="contexts of the text")
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[64], help="tokens")
    parser.add_argument("--dim", type=int, nargs="+", default=[4, 8, 16, 32])
    options = parser.parse_args()
    columns = (
        "N", "T", "d", "KL <=", "truncated / found", "Adam, same time / found", "KL of all encoders >=", "starts",
        "search, s", "bound, s",
    )  # fmt: skip
    print_head(*columns)
    for tokens in options.vocabulary:
        task = text_task(default_text(), context=4, target="distributions", vocabulary=tokens, facts=options.facts)
        if task.distributions is None:
            raise SystemExit("the text has no distributions")
        distributions, prior = task.distributions, task.prior
        for rank in options.dim:
            start = time.process_time()
            found = best_encoder(distributions, rank, prior=prior)
            search = time.process_time() - start
            start = time.process_time()
            floor = encoder_floor(distributions, rank, prior=prior).lower
            bound = time.process_time() - start
            own = encoder_divergence(found.E, found.W, distributions, prior=prior)[1]
            plain = encoder_divergence(*truncated(distributions, prior, rank), distributions, prior=prior)[0]
            adam = min(
                encoder_divergence(
                    *by_adam(distributions, prior, rank, seconds=search / 2, rate=rate), distributions, prior=prior
                )[0]
                for rate in (0.01, 0.05)
            )
            row = (
                tokens, len(distributions), rank, f"{own:.4g}", f"{plain / own:.3g}", f"{adam / own:.3g}",
                f"{floor:.3g}", found.starts, f"{search:.1f}", f"{bound:.1f}",
            )  # fmt: skip
            print_row(*row)


if __name__ == "__main__":
    main()
