"""How many associations a layer of neurons stores, by the degree of what is summed, counted in integers.

    python benchmarks/bench_neuron_memory.py

prints the largest number of associations of which most draws store all, of numbers 14 to 25 percent apart.
"""

import argparse
import time

from measure import print_head, print_row

from constructions.encoders.outer_product_memory import random_associations
from constructions.rational.neuron_memory import Activation, neuron_memory
from verify.theorems.memories.outer_product_capacity import stored_associations

WIDTH = 32
NEURONS = (128, 512, 2048)
KINDS: tuple[tuple[Activation, int], ...] = (
    ("relu", 1), ("relu", 2), ("relu", 3), ("polynomial", 1), ("polynomial", 2), ("polynomial", 3),
)  # fmt: skip
COUNTS = tuple(
    count << shift for shift in range(8) for count in ((4, 5, 6, 7) if shift else (1, 2, 3, 4, 5, 6, 7))
)  # up to 896


def all_stored(count: int, seed: int, neurons: int, activation: Activation, degree: int) -> bool:
    """Whether one draw stores all; without neurons, that of a matrix."""
    if neurons:
        made, _ = neuron_memory(
            d_model=WIDTH, neurons=neurons, count=count, degree=degree, activation=activation, seed=seed
        )
    else:
        made = random_associations(WIDTH, count, seed=seed)
    return stored_associations(made.outputs, made.inputs, made.labels, made.memory).stored == count


def most(draws: int, neurons: int = 0, activation: Activation = "relu", degree: int = 1) -> int:
    """Return the largest of the counts before the first of which most draws miss some."""
    best = 0
    for count in COUNTS:
        memorized = sum(all_stored(count, seed, neurons, activation, degree) for seed in range(draws))
        if 2 * memorized <= draws:
            return best
        best = count
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=11, help="draws of each, an odd number (default: 11)")
    draws = parser.parse_args().draws
    start = time.process_time()
    print(f"d = {WIDTH}, {draws} draws; a matrix: {most(draws)}\n")
    print_head("m (m d)", *(f"{activation}, k = {degree}" for activation, degree in KINDS))
    for neurons in NEURONS:
        cells = [most(draws, neurons, activation, degree) for activation, degree in KINDS]
        print_row(f"{neurons} ({neurons * WIDTH:,})", *cells)
    print(f"\n{time.process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
