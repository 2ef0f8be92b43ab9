"""Unembeddings: the least kappa of all families with its certificate, what is promised of random ones, and the limits.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_unembedding.py

Prints Markdown tables. Every kappa under "certified" is certified in this run. Seconds are of processor time; of the
ratios to the certificate that reads all inner products only the order is to be trusted.
"""

import argparse
import resource
import sys
from fractions import Fraction

from measure import timed

from constructions.unembeddings.coherence import (
    kappa_bound,
    kappa_of_coherence,
    levenshtein_bound,
    root_above,
)
from constructions.unembeddings.johnson_lindenstrauss import (
    paper_constant,
    paper_kappa,
    random_signs,
    sign_constant,
)
from constructions.unembeddings.unembedding import best
from constructions.unembeddings.unembedding_families import families
from verify.theorems.unembeddings.coherence import certify_margins
from verify.theorems.unembeddings.margins import gram_margins
from verify.verdict import Verdict


def number(x: Fraction | None) -> str:
    return "vacuous" if x is None else f"{float(x):.4f}"


def table(counts: list[int], sizes: list[int]) -> None:
    header = (
        "N, d | paper: C | kappa | signs: constant | kappa | family | certified mu | certified kappa | limit of kappa"
    )
    print(f"\n| {header} | Levenshtein | build, s | certify, s |\n|{'---|' * 12}")
    for count in counts:
        for d_model in sizes:
            built, seconds_built = timed(lambda count=count, d_model=d_model: best(count, d_model))
            found, seconds = timed(lambda built=built: certify_margins(built.vectors, built.encoders))
            if found.verdict(built.kappa) is not Verdict.PROVED:
                sys.exit(f"N = {count}, d = {d_model}: {built.family} is not certified")
            signs = sign_constant(count, d_model)
            mu = "-" if found.coherence_squared is None else f"{float(root_above(found.coherence_squared)):.4f}"
            cells = [
                f"{count}, {d_model}",
                f"{float(paper_constant(count, d_model)):.3f}",
                number(paper_kappa(count, d_model)),
                f"{float(signs):.3f}",
                number(kappa_of_coherence(signs)),
                built.family,
                mu,
                f"{found.kappa} = {number(found.kappa)}",
                number(kappa_bound(count, d_model)),
                f"{float(levenshtein_bound(count, d_model)):.4f}",
                f"{seconds_built:.2f}",
                f"{seconds:.2f}",
            ]
            print(f"| {' | '.join(cells)} |", flush=True)


def random_draws(counts: list[int], sizes: list[int], *, seed: int) -> None:
    print("\n| N, d | signs: mu | kappa | constant of signs |\n|---|---|---|---|")
    for count in counts:
        for d_model in sizes:
            found = gram_margins(random_signs(count, d_model, seed=seed))
            mu = float(root_above(found.coherence_squared or Fraction(0)))
            constant = float(sign_constant(count, d_model))
            print(f"| {count}, {d_model} | {mu:.4f} | {number(found.kappa)} | {constant:.4f} |", flush=True)


def whole_families(names: list[tuple[str, int, int]]) -> None:
    print("\n| whole family | N | d | coherence | build, s | certify, s |\n|---|---|---|---|---|---|")
    for name, count, d_model in names:
        family = next(family for family in families(count, d_model) if family.name == name)
        built, seconds_built = timed(family.build)
        found, seconds = timed(lambda built=built: certify_margins(built.vectors))
        exact = "=" if found.attained else "<="
        print(
            f"| {name} | {count} | {d_model} | {exact} {float(root_above(found.coherence_squared or Fraction(0))):.6f} "
            f"| {seconds_built:.2f} | {seconds:.2f} |",
            flush=True,
        )


def rivals(sizes: list[tuple[int, int]]) -> None:
    print("\n| N, d | certificate | s | all inner products, s | ratio |\n|---|---|---|---|---|")
    for count, d_model in sizes:
        built = best(count, d_model)
        quick, seconds = timed(lambda built=built: certify_margins(built.vectors))
        slow, seconds_slow = timed(lambda built=built: gram_margins(built.vectors))
        if (quick.least, quick.largest) != (slow.least, slow.largest):
            sys.exit(f"N = {count}, d = {d_model}: the certificates differ")
        ratio = seconds_slow / seconds
        print(f"| {count}, {d_model} | {quick.method} | {seconds:.2f} | {seconds_slow:.2f} | {ratio:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=[1000, 10_000, 50_257])
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256, 512, 1024, 2048, 4096])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", action="store_true", help="also every vector of the largest families")
    arguments = parser.parse_args()
    (built, seconds_built) = timed(lambda: best(50_257, 1024))
    found, seconds = timed(lambda: certify_margins(built.vectors))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # of KiB on Linux
    print(f"N = 50257, d = 1024: {built.family}, kappa = {found.kappa}, exact: {found.attained}; ", end="")
    print(f"built in {seconds_built:.2f} s, certified in {seconds:.2f} s, peak memory {peak:.0f} MiB.")
    table(arguments.counts, arguments.sizes)
    few = [count for count in arguments.counts if count <= 10_000]
    random_draws(few, [size for size in arguments.sizes if size <= 1024], seed=arguments.seed)
    rivals([(10_000, 1024), (10_000, 512)])
    if arguments.whole:
        whole_families(
            [
                ("Kerdock, D = 256", 33_024, 256),
                ("Gold, D = 512", 262_656, 512),
                ("Delsarte-Goethals, r = 1, D = 64", 65_600, 64),
                ("Kerdock, D = 1024", 525_312, 1024),
            ]
        )


if __name__ == "__main__":
    main()
