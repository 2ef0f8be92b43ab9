"""What it costs to enclose the forward pass and the divergences, beside the same without any proof.

    python benchmarks/bench_divergence.py [--contexts 1024 4096] [--repeat 5]

Prints markdown tables. Enclosures of features and logits are compared with one `numpy.linalg.solve` of T equations,
divergences with a plain numpy evaluation from the same residual vectors. One BLAS thread; medians of processor time,
which is the wall time of an idle machine.
"""

import argparse
from collections.abc import Callable

import numpy as np
from measure import median_seconds
from scipy.special import logsumexp

from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.task import Counts
from verify.arithmetic.enclosure import Enclosure, matmul
from verify.divergence import kullback_leibler as judged
from verify.forward.heads import enclose_features
from verify.forward.logits import enclose_logits


def network_of_heads(front_end: str, d_vocab: int, n_ctx: int, n_heads: int, d_head: int) -> Model:
    """One-hot embeddings with a table of +-8 for the scores, or Gaussian weights; W_O about as large as a solution."""
    rng = np.random.default_rng(0)
    d_model = d_vocab + n_ctx if front_end == "table" else d_vocab
    n_heads_d_head = n_heads * d_head
    shape_qk = (n_heads, d_model, d_model if front_end == "table" else d_head)
    tensors = {
        "W_O": rng.standard_normal((n_heads, d_head, d_model)) * 35 / np.sqrt(n_heads_d_head * d_model),
        "W_U": rng.standard_normal((d_model, d_vocab)) / np.sqrt(d_model),
    }
    if front_end == "table":
        tensors |= {
            "W_E": np.eye(d_vocab, d_model),
            "W_pos": np.eye(n_ctx, d_model, d_vocab),
            "W_Q": rng.choice([-8.0, 8.0], shape_qk),
            "W_K": np.broadcast_to(np.eye(d_model), shape_qk),
            "W_V": rng.choice([-1.0, 1.0], (n_heads, d_model, d_head)),
        }
    else:
        tensors |= {
            "W_E": rng.standard_normal((d_vocab, d_model)),
            "W_pos": rng.standard_normal((n_ctx, d_model)),
            "W_Q": rng.standard_normal(shape_qk) / np.sqrt(d_model),
            "W_K": rng.standard_normal(shape_qk) / np.sqrt(d_model),
            "W_V": rng.standard_normal((n_heads, d_model, d_head)) / np.sqrt(d_model),
        }
    return dana_network(**tensors)


def distinct_contexts(rows: int, n_ctx: int, d_vocab: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    frequency = 1.0 / np.arange(1, d_vocab + 1)
    drawn = rng.choice(d_vocab, (50 * rows, n_ctx), p=frequency / frequency.sum())
    return rng.permutation(np.unique(drawn, axis=0))[:rows]


def bench_forward(sizes: list[int], repeat: int) -> None:
    print(
        "| T | heads x d_head | front end | solve s | features / solve | logits / solve | radius of features | logits |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for T in sizes:
        rng = np.random.default_rng(0)
        matrix, right = rng.standard_normal((T, T)), rng.standard_normal((T, 64))
        solve = median_seconds(lambda m=matrix, r=right: np.linalg.solve(m, r), repeat)
        del matrix
        contexts = distinct_contexts(T, 4, 64)
        for front_end in ("table", "gaussian"):
            n_heads = T * 5 // 64
            network = network_of_heads(front_end, 64, 4, n_heads, 16)
            features = enclose_features(network, contexts)
            logits = enclose_logits(network, contexts)
            first = median_seconds(lambda n=network, c=contexts: enclose_features(n, c), repeat)
            second = median_seconds(lambda n=network, c=contexts: enclose_logits(n, c), repeat)
            print(
                f"| {T} | {n_heads} x 16 | {front_end} | {solve:.3f} | {first / solve:.2f} | {second / solve:.2f} "
                f"| {features.radius.max():.1e} | {logits.radius.max():.1e} |",
                flush=True,
            )


def plain_divergence(x: np.ndarray, W: np.ndarray, distributions: np.ndarray) -> np.ndarray:
    """Return the same number without any bound, with as few operations as numpy allows."""
    logits = x @ W
    top = logits.max(axis=1, keepdims=True)
    mass = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0]
    return np.einsum("ij,ij->i", distributions, np.log(distributions) - logits) + mass


def scipy_divergence(x: np.ndarray, W: np.ndarray, distributions: np.ndarray) -> np.ndarray:
    logits = x @ W
    return (distributions * (np.log(distributions) - (logits - logsumexp(logits, axis=1, keepdims=True)))).sum(axis=1)


def bench_divergence(repeat: int) -> None:
    print("| T | N | d | plain numpy s | with scipy's logsumexp | enclosure / plain | / scipy | quadratic / plain "
          "| labels / plain | counts / plain | radius |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for T, N, d in ((1000, 1000, 64), (64, 50_000, 256)):
        rng = np.random.default_rng(0)
        x, W = rng.standard_normal((T, d)), 0.3 * rng.standard_normal((d, N))
        distributions = np.exp(x @ W + 0.05 * rng.standard_normal((T, N)))
        distributions /= distributions.sum(axis=1, keepdims=True)
        labels = distributions.argmax(axis=1)
        counts = Counts.from_rows(
            [{int(i): 3 for i in np.argsort(distribution)[-20:]} for distribution in distributions]
        )

        def enclosed(
            of: Callable[[Enclosure, slice], object], x: np.ndarray = x, W: np.ndarray = W, N: int = N
        ) -> None:
            step = max(32, 2**20 // N)
            for start in range(0, len(x), step):
                rows = slice(start, min(start + step, len(x)))
                of(matmul(x[rows], W, tight=False), rows)

        plain = median_seconds(lambda x=x, W=W, p=distributions: plain_divergence(x, W, p), repeat)
        scipy = median_seconds(lambda x=x, W=W, p=distributions: scipy_divergence(x, W, p), repeat)
        full, quadratic, label, count = (
            median_seconds(lambda of=of: enclosed(of), repeat)
            for of in (
                lambda z, rows, p=distributions: judged.divergence(z, p[rows]),
                lambda z, rows, p=distributions: judged.quadratic_divergence_bound(z, p[rows]),
                lambda z, rows, y=labels: judged.label_divergence(z, y[rows]),
                lambda z, rows, c=counts: judged.empirical_divergence(z, c.rows(rows.start, rows.stop)),
            )
        )
        radius = judged.divergence(matmul(x, W, tight=False), distributions).radius.max()
        print(
            f"| {T} | {N} | {d} | {plain:.4f} | {scipy:.4f} | {full / plain:.2f} | {full / scipy:.2f} "
            f"| {quadratic / plain:.2f} | {label / plain:.2f} | {count / plain:.2f} | {radius:.1e} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contexts", type=int, nargs="+", default=[1024, 4096], help="sizes T of the forward pass")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of which the median is taken")
    arguments = parser.parse_args()
    bench_divergence(arguments.repeat)
    print()
    bench_forward(arguments.contexts, arguments.repeat)


if __name__ == "__main__":
    main()
