"""How many associations a sum of outer products stores, counted exactly, and how fast that is counted."""

import argparse
import statistics

import numpy as np
from flint import fmpz_mat
from measure import median_seconds, print_head, print_row

from constructions.encoders.outer_product_memory import random_associations
from verify.theorems.claims.slides_associative_memory import certified_capacity
from verify.theorems.memories.outer_product_capacity import exact_product

WIDTHS = (16, 32, 64, 128)
OUTPUTS: tuple[int | None, ...] = (None, 2, 5, 20)


def capacities(widths: tuple[int, ...], draws: int) -> None:
    print_head("d", "outputs", "N stored, median of the draws", "least", "most", "N log N / d^2", "N / d")
    for outputs in OUTPUTS:
        for width in widths:
            found = sorted(certified_capacity(width, outputs=outputs, seed=seed)[0] for seed in range(draws))
            middle = statistics.median_low(found)
            cells = (
                width,
                "permutation" if outputs is None else outputs,
                middle,
                found[0],
                found[-1],
                f"{middle * np.log(middle) / width**2:.3f}",
                f"{middle / width:.2f}",
            )
            print_row(*cells)


def speed(width: int, count: int) -> None:
    made = random_associations(width, count)
    readout = exact_product(made.memory.T, made.outputs.T)
    exact = median_seconds(lambda: exact_product(made.inputs, readout), 5)
    rivals = {
        "NumPy's int64 product": median_seconds(lambda: made.inputs @ readout, 1),
        "FLINT's integer product": median_seconds(
            lambda: fmpz_mat(made.inputs.tolist()) * fmpz_mat(readout.tolist()), 1
        ),
    }
    print(f"\nAll logits of {count} associations, d = {width}, exactly: {exact:.3f} s")
    print("\n| rival | times slower |\n|---|---|")
    for name, seconds in rivals.items():
        print(f"| {name} | {seconds / exact:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="add d = 256 and 512")
    parser.add_argument("--draws", type=int, default=5, help="draws for each row")
    options = parser.parse_args()
    capacities(WIDTHS + ((256, 512) if options.large else ()), options.draws)
    speed(256, 1000)


if __name__ == "__main__":
    main()
