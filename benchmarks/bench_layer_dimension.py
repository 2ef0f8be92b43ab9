"""The dimension of a layer's logits: ranks modulo a prime against the bound, for random shapes and sets of contexts.

python benchmarks/bench_layer_dimension.py [shapes] [seed] [sets]
"""

import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from constructions.tasks.arrays import all_contexts
from verify.theorems.capacity.layer_dimension import dimension_ceiling, dimension_floor


def main() -> None:
    shapes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    tally: Counter[tuple[str, str]] = Counter()
    start = time.process_time()
    while tally.total() < shapes:
        tokens, length, heads = int(rng.integers(2, 9)), int(rng.integers(2, 6)), int(rng.integers(0, 7))
        d_model, d_qk, d_head = (int(width) for width in rng.integers(1, 10, 3))
        entries = d_model * (2 * tokens + length + 2 * heads * (d_qk + d_head))
        if tokens**length > 260 or tokens ** (length + 1) * entries > 400_000:
            continue
        sizes: dict[str, Any] = {"d_model": d_model, "d_qk": d_qk, "d_head": d_head, "n_heads": heads}
        ceiling = dimension_ceiling(tokens, length, **sizes)
        floor = dimension_floor(all_contexts(tokens, length), **sizes, seed=tally.total())
        if floor > ceiling:
            raise AssertionError(f"rank {floor} above the bound {ceiling}: N = {tokens}, S = {length}, {sizes}")
        tally["N = 2" if tokens == 2 else "N >= 3", "equal" if floor == ceiling else "bound larger"] += 1
        if tokens > 2 and floor < ceiling:
            print(f"N = {tokens}, S = {length}, {sizes}: rank {floor}, bound {ceiling}")
    sets = int(sys.argv[3]) if len(sys.argv) > 3 else shapes
    for number in range(sets):
        tokens, length, heads = int(rng.integers(3, 6)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
        everything = all_contexts(tokens, length)
        contexts = everything[np.sort(rng.permutation(len(everything))[: int(rng.integers(2, 41))])]
        d_model, d_qk, d_head = (int(width) for width in rng.integers(1, 6, 3))
        sizes = {"d_model": d_model, "d_qk": d_qk, "d_head": d_head, "n_heads": heads}
        tokens = int(contexts.max()) + 1
        ceiling = dimension_ceiling(tokens, length, **sizes, contexts=contexts)
        floor = dimension_floor(contexts, **sizes, seed=number)
        if floor > ceiling:
            raise AssertionError(f"rank {floor} above the bound {ceiling}: {contexts.tolist()}, {sizes}")
        tally["sets of contexts", "equal" if floor == ceiling else "bound larger"] += 1
    for key, count in sorted(tally.items()):
        print(*key, count)
    print(f"{time.process_time() - start:.0f} s")


if __name__ == "__main__":
    main()
