"""The constant of contexts left out: the likeliest contexts kept, and those of a large volume, on the default text.

python benchmarks/bench_maximal_volume.py
"""

import pydoc_data.topics
import time

import numpy as np

from constructions.attention.maximal_volume import maximal_volume
from constructions.model.attention import features
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.text import text_task

WIDTH, HEAD, HEADS = 32, 8, 12


def independent(G: Float64Array) -> Int64Array:
    """Return the first rows that are independent of those before them."""
    rows, basis = [], np.zeros((0, G.shape[1]))
    for row, vector in enumerate(G):
        rest = vector - (vector @ basis.T) @ basis
        rest -= (rest @ basis.T) @ basis
        if np.linalg.norm(rest) > 1e-7 * np.linalg.norm(vector):
            rows.append(row)
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
        if len(rows) == G.shape[1]:
            break
    return np.array(rows)


def main() -> None:
    size = WIDTH + HEAD * HEADS
    text = "".join(pydoc_data.topics.topics.values())
    task = text_task(text, vocabulary=WIDTH, context=3, facts=size)
    rng = np.random.default_rng(0)
    shapes = {"W_E": (task.d_vocab, WIDTH), "W_pos": (3, WIDTH), "W_U": (WIDTH, 2)}
    shapes |= dict.fromkeys(("W_Q", "W_K", "W_V"), (HEADS, WIDTH, HEAD)) | {"W_O": (HEADS, HEAD, WIDTH)}
    model = dana_network(**{name: rng.standard_normal(shape) / WIDTH**0.25 for name, shape in shapes.items()})
    contexts = np.vstack([task.contexts, task.tail_contexts])
    weights = np.append(task.counts.totals(), task.tail_counts.totals()).astype(float)
    G = np.hstack([model.W_E[contexts[:, -1]] + model.W_pos[-1], features(model, contexts)])
    likeliest = independent(G)
    start = time.process_time()
    chosen = maximal_volume(G, likeliest)
    seconds = time.process_time() - start
    for name, kept in (("likeliest", likeliest), ("large volume", chosen)):
        z = np.linalg.solve(G[kept].T, G.T).T
        left = 1.0 - weights[kept].sum() / weights.sum()
        constant = np.sqrt(2.0) * np.sqrt(1.0 + (z**2).sum(axis=1).max())
        shown = f"C = {constant:.4g}, Pr(S_2) = {left:.4f}, product {constant * left:.4g}"
        print(f"{name}: {size} of {len(G)} contexts, {shown}")
    print(f"{seconds:.1f} s, {int((chosen != likeliest).sum())} contexts other than the likeliest")


if __name__ == "__main__":
    main()
