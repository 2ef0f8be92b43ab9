"""What rigour costs: exp and log against NumPy and FLINT's balls, enclosures of products against the plain product.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_arithmetic.py

Prints Markdown tables of medians. Rivals are timed in turn within the same run; only their ratios are to be trusted.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from flint import arb, ctx
from measure import medians

from verify.arithmetic import blas
from verify.arithmetic.elementary import exp, log, log1p
from verify.arithmetic.enclosure import Enclosure, matmul
from verify.arithmetic.sums import total


def functions(size: int, repetitions: int) -> None:
    rng = np.random.default_rng(0)
    x = 5.0 * rng.normal(size=size)
    positive = np.abs(x) + 1e-3
    known, wide = Enclosure(x), Enclosure(x, 1e-12)
    few = [arb(value) for value in x[:2000].tolist()]
    few_positive = [arb(value) for value in positive[:2000].tolist()]
    rivals: dict[str, Callable[[], object]] = {
        "numpy.exp": lambda: np.exp(x),
        "exp, exact": lambda: exp(known),
        "exp, radius": lambda: exp(wide),
        "arb.exp, 53 bits": lambda: [value.exp() for value in few],
        "numpy.log": lambda: np.log(positive),
        "log, exact": lambda: log(positive),
        "log1p, exact": lambda: log1p(positive),
        "arb.log, 53 bits": lambda: [value.log() for value in few_positive],
        "numpy.sum": lambda: x.sum(),
        "total, exact": lambda: total(known),
    }
    with ctx.workprec(53):
        seconds = medians(rivals, repetitions)
    base = {"exp": "numpy.exp", "log": "numpy.log", "sum": "numpy.sum"}
    print(f"\n| function of {size} entries | ns per entry | against NumPy |\n|---|---|---|")
    for name, value in seconds.items():
        rival = seconds[base["exp" if "exp" in name else "log" if "log" in name else "sum"]]
        count = len(few) if "arb" in name else size
        rival_count = size
        print(f"| {name} | {1e9 * value / count:.2f} | {(value / count) / (rival / rival_count):.1f} |")


def products(sizes: list[int], repetitions: int) -> None:
    rng = np.random.default_rng(1)
    header = [
        "n",
        "gemm, s",
        "exact",
        "column radius",
        "radius of B",
        "two radii",
        "exact, norms",
    ]
    print(f"\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for n in sizes:
        a, b = rng.normal(size=(n, n)), rng.normal(size=(n, n))
        x, y = Enclosure(a, 1e-12 * np.abs(a)), Enclosure(b, 1e-12 * np.abs(b))
        column = Enclosure(a, 1e-12 * np.abs(a[:, :1]))
        rivals: dict[str, Callable[[], object]] = {
            "gemm": lambda a=a, b=b: a @ b,
            "exact": lambda a=a, b=b: matmul(a, b),
            "column": lambda column=column, b=b: matmul(column, b),
            "right": lambda a=a, y=y: matmul(a, y),
            "both": lambda x=x, y=y: matmul(x, y),
            "norms": lambda a=a, b=b: matmul(a, b, tight=False),
        }
        seconds = medians(rivals, repetitions)
        gemm = seconds.pop("gemm")
        print(f"| {n} | {gemm:.4f} | {' | '.join(f'{value / gemm:.2f}' for value in seconds.values())} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2**18, help="entries of the functions")
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 1024, 2048], help="orders of the products")
    parser.add_argument("--repetitions", type=int, default=9)
    arguments = parser.parse_args()
    start = time.perf_counter()
    report = blas.probe()
    print(f"{report.cpu}; {report.name} {report.version}; NumPy {report.numpy}; {report.threads} BLAS thread(s).")
    print(f"The probe of the BLAS took {time.perf_counter() - start:.2f} s.")
    functions(arguments.size, arguments.repetitions)
    products(arguments.sizes, arguments.repetitions)


if __name__ == "__main__":
    main()
