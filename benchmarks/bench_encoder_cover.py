"""The least divergence of encoders from both sides: covers of all directions, judged in enclosures.

python benchmarks/bench_encoder_cover.py [relative] [most cones] [ranks]     ranks: of rank N - 2, or "other" ones
"""

import sys
import time

import numpy as np

from constructions.encoders.sequence_encoder import best_encoder
from verify.theorems.encoders.cover_floor import cover_floor, encoder_cover
from verify.theorems.encoders.encoder_ceiling import encoder_divergence
from verify.theorems.encoders.encoder_floor import encoder_floor

ROWS = ((1.0, 6, 36, 0, 4), (0.3, 6, 36, 2, 4), (1.0, 7, 49, 0, 5), (1.0, 8, 64, 0, 6))  # Dirichlet's, N, T, seed, d
OTHER = ((1.0, 5, 10, 0, 2), (1.0, 5, 10, 0, 1), (1.0, 6, 12, 0, 1), (1.0, 6, 12, 0, 2), (1.0, 6, 12, 0, 3))


def main() -> None:
    relative = float(sys.argv[1]) if len(sys.argv) > 1 else 0.05
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    print("distribution, N, T, d | Theorem SE1 | cover | encoder | cones | search, s | judge, s")
    for spread, tokens, contexts, seed, rank in OTHER if "other" in sys.argv else ROWS:
        distributions = np.random.default_rng(seed).dirichlet(np.full(tokens, spread), contexts) + (spread < 1) * 1e-4
        found = best_encoder(distributions, rank, starts=96)
        upper = encoder_divergence(found.E[:, :rank], found.W[:, :rank], distributions)[1]
        start = time.process_time()
        cover = encoder_cover(distributions, d_model=rank, relative=relative, reached=upper, most=most)
        searched = time.process_time()
        lower = cover_floor(distributions, cover, d_model=rank)
        judged = time.process_time()
        theorem_l = encoder_floor(distributions, rank).lower
        print(
            f"Dirichlet({spread}), {tokens}, {contexts}, {rank} | {theorem_l:.5f} | {lower:.6f} | {upper:.6f} | "
            f"{len(cover.cuts)} | {searched - start:.0f} | {judged - searched:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
