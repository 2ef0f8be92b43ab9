"""The least divergence of encoders of rank N - 2 from both sides: covers of all directions, judged in enclosures.

python benchmarks/bench_encoder_cover.py [relative] [most cones]
"""

import sys
import time

import numpy as np

from constructions.encoders.sequence_encoder import best_encoder
from verify.encoders.cover_floor import cover_floor, encoder_cover
from verify.encoders.encoder_ceiling import encoder_divergence
from verify.encoders.encoder_floor import encoder_floor

ROWS = ((1.0, 6, 36, 0), (0.3, 6, 36, 2), (1.0, 7, 49, 0), (1.0, 8, 64, 0))  # Dirichlet's parameter, N, T, seed


def main() -> None:
    relative = float(sys.argv[1]) if len(sys.argv) > 1 else 0.05
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    print("law, N, T | Theorem L | cover | encoder | cones | search, s | judge, s")
    for spread, tokens, contexts, seed in ROWS:
        laws = np.random.default_rng(seed).dirichlet(np.full(tokens, spread), contexts) + (spread < 1) * 1e-4
        found = best_encoder(laws, tokens - 2, starts=12)
        upper = encoder_divergence(found.E[:, : tokens - 2], found.W[:, : tokens - 2], laws)[1]
        start = time.process_time()
        cover = encoder_cover(laws, relative=relative, most=most)
        searched = time.process_time()
        lower = cover_floor(laws, cover)
        judged = time.process_time()
        theorem_l = encoder_floor(laws, tokens - 2).lower
        print(
            f"Dirichlet({spread}), {tokens}, {contexts} | {theorem_l:.5f} | {lower:.6f} | {upper:.6f} | "
            f"{len(cover.cuts)} | {searched - start:.0f} | {judged - searched:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
