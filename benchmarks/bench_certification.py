"""What a proof costs: nonsingularity, full row rank, ranks, singular values and solutions, against not proving them.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_certification.py
    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_certification.py --only nonsingular power --sizes 64 256 1024

Prints Markdown tables of medians. Rivals are timed in turn within the same run; only their ratios are to be trusted.
"""

import argparse
import resource
from collections.abc import Callable

import flint
import mpmath
import numpy as np
from flint import arb_mat, fmpz_mat
from measure import medians, print_head

from constructions.numeric.arrays import Float64Array
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure
from verify.linear_algebra.condition import enclose_condition
from verify.linear_algebra.linear_systems import enclose_solution
from verify.linear_algebra.nonsingularity import certify_nonsingular
from verify.linear_algebra.rank import rank_bracket
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.linear_algebra.singular_values import enclose_singular_values, enclose_spectral_norm


def conditioned(size: int, condition: float) -> Float64Array:
    """Return a random matrix with geometrically spaced singular values."""
    rng = np.random.default_rng([size, int(np.log10(condition))])
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    return left * np.logspace(0.0, -np.log10(condition), size) @ right


def balls(a: Float64Array) -> arb_mat:
    return arb_mat(a.tolist())


def identity(size: int) -> arb_mat:
    return arb_mat(np.eye(size).tolist())


def nonsingular(sizes: list[int], repetitions: int) -> None:
    header = ["n", "numpy.linalg.inv, s", "certify", "with radii", "svdvals", "arb_mat precond", "mpmath lu_solve"]
    print("\nNonsingularity of a random matrix, relative to `numpy.linalg.inv`:\n")
    print_head(*header)
    for n in sizes:
        a = np.random.default_rng(n).standard_normal((n, n))
        radius = 1e-13 * np.abs(a)
        rivals: dict[str, Callable[[], object]] = {
            "inv": lambda a=a: np.linalg.inv(a),
            "certify": lambda a=a: certify_nonsingular(a),
            "radii": lambda a=a, radius=radius: certify_nonsingular(a, radius),
            "svd": lambda a=a: np.linalg.svd(a, compute_uv=False),
        }
        rounds = repetitions if n <= 2048 else 1
        seconds = medians(rivals, rounds)
        if n <= 256:
            matrix = balls(a)
            rival = {"arb": lambda m=matrix, n=n: m.solve(identity(n), algorithm="precond")}
            seconds |= medians(rival, 1)
        if n <= 64:
            exact = mpmath.matrix(a.tolist())
            seconds |= medians({"mp": lambda m=exact, n=n: mpmath.lu_solve(m, mpmath.ones(n, 1))}, 1)
        ratios = [f"{seconds[name] / seconds['inv']:.2f}" if name in seconds else "" for name in ("certify", "radii")]
        slow = [f"{seconds[name] / seconds['inv']:.1f}" if name in seconds else "" for name in ("svd", "arb", "mp")]
        print(f"| {n} | {seconds['inv']:.4f} | {' | '.join(ratios + slow)} |", flush=True)


def power(sizes: list[int]) -> None:
    print("\nThe method that proves a matrix of that condition number nonsingular:\n")
    exponents = range(9, 18)
    print(f"| n | {' | '.join(f'1e{e}' for e in exponents)} |\n|{'---|' * (len(exponents) + 1)}")
    for n in sizes:
        methods = [certify_nonsingular(conditioned(n, 10.0**e)).method for e in exponents]
        print(f"| {n} | {' | '.join(methods)} |", flush=True)


def row_rank(sizes: list[int], repetitions: int) -> None:
    print("\nFull row rank of a T x 1.25 T matrix with radii, relative to one `numpy.linalg.solve` of T x T:\n")
    print_head("T", "solve, s", "certify", "with witness", "bound / smallest singular value", "peak memory, MB")
    for t in sizes:
        rng = np.random.default_rng(t)
        square, wide = rng.standard_normal((t, t)), rng.standard_normal((t, t + t // 4))
        given = Enclosure(wide, np.full((t, 1), 1e-12))
        rivals: dict[str, Callable[[], object]] = {
            "solve": lambda a=square, b=square[:, 0]: np.linalg.solve(a, b),
            "certify": lambda x=given: certify_full_row_rank(x),
            "witness": lambda x=given: certify_full_row_rank(x, witness=True),
        }
        seconds = medians(rivals, repetitions if t <= 2048 else 1)
        proved = certify_full_row_rank(given).smallest_singular_value
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        share = f"{proved / np.linalg.svd(wide, compute_uv=False)[-1]:.2f}" if t <= 2048 else ""
        ratios = " | ".join(f"{seconds[name] / seconds['solve']:.2f}" for name in ("certify", "witness"))
        print(f"| {t} | {seconds['solve']:.3f} | {ratios} | {share} | {memory:.0f} |", flush=True)


def ranks(sizes: list[int], repetitions: int) -> None:
    print("\nRank of an integer matrix of 8 bits from both sides, with witnesses, relative to `fmpz_mat.rank`:\n")
    print_head("n", "rank", "fmpz_mat.rank, s", "rank_bracket", "its check")
    for n in sizes:
        rng = np.random.default_rng(n)
        full = rng.integers(-128, 128, (n, n))
        deficient = full.copy()
        deficient[-5:] = rng.integers(-1, 2, (5, n - 5)) @ np.clip(full[:-5], -1, 1)
        deficient[:-5] = np.clip(full[:-5], -1, 1)
        for x in (full, deficient):
            matrix = fmpz_mat(n, n, x.ravel().tolist())
            bracket = rank_bracket(x)
            if bracket.lower != bracket.upper:
                raise SystemExit(f"the rank of {n} x {n} integers was not settled: {bracket.lower} to {bracket.upper}")

            def check(matrix: fmpz_mat = matrix, bracket=bracket) -> bool:
                sides = (bracket.lower_witness, bracket.upper_witness)
                return all(witness is None or witness.proves_rank_of(matrix) for witness in sides)

            rivals: dict[str, Callable[[], object]] = {
                "flint": lambda m=matrix: m.rank(),
                "bracket": lambda x=x: rank_bracket(x),
                "check": check,
            }
            seconds = medians(rivals, repetitions if bracket.upper == n else 1)
            ratios = " | ".join(f"{seconds[name] / seconds['flint']:.2f}" for name in ("bracket", "check"))
            print(f"| {n} | {bracket.upper} | {seconds['flint']:.3f} | {ratios} |", flush=True)


def others(sizes: list[int], repetitions: int) -> None:
    print("\nSingular values relative to `numpy.linalg.svd`, solutions relative to `numpy.linalg.solve`:\n")
    header = ["n", "svd, s", "enclose_singular_values", "enclose_spectral_norm", "enclose_condition"]
    header += ["solve, s", "enclose_solution", "with radii", "largest radius / ulp"]
    print_head(*header)
    for n in sizes:
        rng = np.random.default_rng(n)
        a, b = rng.standard_normal((n, n)), rng.standard_normal(n)
        given = Enclosure(a, 1e-12)
        rivals: dict[str, Callable[[], object]] = {
            "svd": lambda a=a: np.linalg.svd(a),
            "values": lambda a=a: enclose_singular_values(a),
            "norm": lambda a=a: enclose_spectral_norm(a),
            "condition": lambda a=a: enclose_condition(a),
            "solve": lambda a=a, b=b: np.linalg.solve(a, b),
            "solution": lambda a=a, b=b: enclose_solution(a, b),
            "radii": lambda a=given, b=b: enclose_solution(a, b),
        }
        seconds = medians(rivals, repetitions)
        x = enclose_solution(a, b)
        svd = " | ".join(f"{seconds[name] / seconds['svd']:.2f}" for name in ("values", "norm", "condition"))
        solve = " | ".join(f"{seconds[name] / seconds['solve']:.0f}" for name in ("solution", "radii"))
        last = float((x.radius / np.spacing(np.abs(x.midpoint))).max())
        print(f"| {n} | {seconds['svd']:.4f} | {svd} | {seconds['solve']:.5f} | {solve} | {last:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sections = ("nonsingular", "power", "row-rank", "ranks", "others")
    parser.add_argument("--only", nargs="+", choices=sections, default=sections, metavar="SECTION")
    parser.add_argument("--sizes", nargs="+", type=int, help="instead of the sizes of each section")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    report = blas.probe()
    print(f"{report.cpu}; {report.name} {report.version}, {report.threads} threads; FLINT {flint.__FLINT_VERSION__}")
    sizes: list[int] | None = arguments.sizes
    if "nonsingular" in arguments.only:
        nonsingular(sizes or [64, 128, 256, 512, 1024, 2048, 4096], arguments.repetitions)
    if "power" in arguments.only:
        power(sizes or [64, 256, 512])
    if "row-rank" in arguments.only:
        row_rank(sizes or [1024, 4096], arguments.repetitions)
    if "ranks" in arguments.only:
        ranks(sizes or [256, 512, 1024], arguments.repetitions)
    if "others" in arguments.only:
        others(sizes or [64, 256, 1024], arguments.repetitions)


if __name__ == "__main__":
    main()
