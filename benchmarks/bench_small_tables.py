"""Heads for tables of bits: all classes of at most four bits, from both sides, and samples of five.

Every labelling of the contexts of n bits by two labels, up to exchanges of positions, of the tokens and of the labels:
multipliers forbid one head fewer than the threshold degree, weights with that many heads hold the labels, both exactly.
Of five bits, the labels that the exchange of the tokens turns into their opposite, random labels and random polynomials
of degree 2, where nothing but weights that were found is proved.

    python benchmarks/bench_small_tables.py [bits] [samples]
"""

import sys
import time
from collections import Counter

import numpy as np

from constructions.memories.heads.counting_heads import bit_contexts
from tests.small_tables import classes, heads_from_both_sides, self_dual_classes


def main() -> None:
    bits = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    samples = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    for n in range(1, bits + 1):
        start = time.process_time()
        tally = Counter(heads_from_both_sides(labels, draws=400) for labels in classes(n))
        for (heads, memorized), count in sorted(tally.items()):
            print(f"{n} bits, threshold degree {heads}: {count} classes {'memorized' if memorized else 'NOT FOUND'}")
        print(f"{n} bits: {sum(tally.values())} classes, {time.process_time() - start:.1f} s", flush=True)
    if samples:
        tally = Counter(heads_from_both_sides(labels, draws=5000) for labels in self_dual_classes(5))
        print("5 bits, self-dual:", {key: tally[key] for key in sorted(tally)}, flush=True)
    rng = np.random.default_rng(0)
    contexts = bit_contexts(5)[:, :-1]
    pairs = np.stack([contexts[:, i] * contexts[:, j] for i in range(5) for j in range(i + 1)], axis=1)
    for name in ("labels at random", "polynomials of degree 2") * (samples > 0):
        tally = Counter()
        for _ in range(samples):
            value = pairs @ rng.standard_normal(15) + rng.standard_normal() if "poly" in name else rng.normal(size=32)
            tally[heads_from_both_sides((value > 0).astype(np.int64), draws=2000)] += 1
        print(f"5 bits, {name}:", {key: tally[key] for key in sorted(tally)}, flush=True)


if __name__ == "__main__":
    main()
