"""Probe the machine's arithmetic for the properties that the proofs assume, and refuse a machine that lacks them.

Page: docs/rigour/arithmetic.md
"""

import functools
import importlib
import importlib.util
import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from constructions.errors import ByheartError
from constructions.numeric.arrays import Float64Array, Int64Array

Matmul: TypeAlias = Callable[[Float64Array, Float64Array], Float64Array]
Shape: TypeAlias = tuple[int, int, int]  # rows, columns and, last, inner dimension of a product

_LARGE: Shape = (257, 255, 131)


class BlasError(ByheartError):
    """The arithmetic of this thread, or a product of this BLAS, violates the bounds that the proofs use."""


@dataclass(frozen=True)
class BlasReport:
    """The record, in a certificate, of a BLAS that passed every probe.

    Attributes:
        name: Vendor, as NumPy was built with it.
        version: Version of that vendor.
        configuration: Build configuration of that vendor, e.g. the kernels it chooses among.
        threads: Number of threads, where it can be told, or the environment's wish, or "default".
        cpu: Model of the processor.
        simd: Vector extensions that NumPy found.
        numpy: Version of NumPy.
        system: Operating system and machine type.
        probes: Names of the probes passed.
    """

    name: str
    version: str
    configuration: str
    threads: str
    cpu: str
    simd: str
    numpy: str
    system: str
    probes: tuple[str, ...]


def require_ieee() -> None:
    r"""Refuse a thread whose float64 arithmetic is not IEEE 754 round-to-nearest with gradual underflow.

    A library may set the processor to flush subnormals or to round elsewhere, in this thread, at any time; the four
    comparisons below tell. They are repeated whenever an enclosure is made, and cost less than a microsecond.

    Raises:
        BlasError: Subnormals are flushed, or rounding is not to nearest, or it happens twice (extended precision).

    Source: IEEE 754-2019, sections 4.3.1 and 7.5.

    Example:
        >>> require_ieee()
    """
    # Names, not literals: the compiler of Python would fold literals before the processor sees them.
    one, half, smallest_normal, u = 1.0, 0.5, 2.0**-1022, 2.0**-53
    if smallest_normal * half * 2.0 != smallest_normal:
        raise BlasError("this thread flushes subnormal float64 numbers to zero, expected gradual underflow")
    if one + 1.5 * u == one or -one - 1.5 * u == -one:
        raise BlasError("this thread does not round float64 to nearest, expected IEEE 754's default rounding")
    if one + u * (1.0 + 2.0**-52) == one:
        raise BlasError("this thread rounds twice (extended precision), expected float64 arithmetic")


def probe(matmul: Matmul | None = None, *, name: str = "matrix product", large: Shape = _LARGE) -> BlasReport:
    r"""Test a matrix product on inputs for which every evaluation outside of the proofs' assumptions fails.

    The proofs cover $\mathrm{fl}(AB)$ when each entry is an inner product summed in any order, with or without fused
    multiply-add, in float64. Products of integers must then be exact, also after each row of $A$, each column of $B$
    and each pair of inner index is scaled by its own power of two. A product that mixes rows or columns (Strassen,
    Winograd), or works in fewer bits (float32, tf32, bfloat16, fixed-point emulation), cannot keep that. Products of
    full mantissas must keep $|\mathrm{fl}(AB) - AB| \le \gamma_n |A||B|$, compared in integers, also where the sizes in
    a row spread over so few bits that an emulation need not return to float64; subnormals must survive on every thread;
    NaN and infinity must not be lost.

    A BLAS has routines of its own for the product of a matrix by a vector and for an inner product of two vectors, and
    the proofs use both. Without an argument they are attacked in the same way, as products of matrices that are put
    together from theirs; and so is SciPy's product of a sparse matrix, which is no BLAS's, by a dense one.

    Why this is not a proof: a BLAS is a program, and a probe can only refute it. What remains is said on the page.

    Args:
        matmul: The product to attack; by default ``numpy.matmul``, also by vectors, ``numpy.dot`` of two vectors, and
            the product by a ``scipy.sparse.csr_array``, the report of which is kept for the whole process.
        name: What the message calls it.
        large: How large products are in which full mantissas are looked at here and there.

    Returns:
        The report that certificates carry.

    Raises:
        BlasError: A probe failed; the message names it.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 3.1, 23.2.2.

    Example:
        >>> "graded integers" in probe().probes
        True
    """
    return _probe_numpy() if matmul is None else _report(_passed(_Product(name, matmul, large=large)))


def description() -> dict[str, Any]:
    """Return the report of this process's probe, as JSON-ready data for certificates.

    Example:
        >>> description()["numpy"] == np.__version__
        True
    """
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(probe()).items()}


@functools.cache
def _probe_numpy() -> BlasReport:
    probes = list(_passed(_PRODUCTS[0]))
    for product in _PRODUCTS[1:]:
        probes += [f"{name}, {product.name}" for name in _passed(product)]
    return _report(tuple(probes))


def _passed(product: "_Product") -> tuple[str, ...]:
    require_ieee()
    with np.errstate(all="ignore"):
        for name, holds in _PROBES.items():
            if not holds(product):
                raise BlasError(f"the {product.name} fails the probe {name!r}: nothing can be certified with it")
    return tuple(_PROBES)


# The largest is above every size at which a BLAS starts to split the work over its threads.
_SHAPES = (
    (1, 1, 1),
    (3, 5, 7),
    (1, 129, 300),
    (301, 1, 127),
    (64, 64, 64),
    (65, 33, 1031),
    (512, 512, 512),
    (700, 701, 699),
)
# The last of these have an even index: there all integers are positive, and sums are as long as they can be.
_VECTOR_SHAPES = ((1, 1, 1), (3, 5, 7), (1, 3, 300), (301, 2, 127), (64, 3, 64), (65, 3, 1031), (700, 3, 699))
_INNER_SHAPES = ((1, 1, 1), (3, 5, 7), (8, 8, 64), (5, 4, 1031), (3, 3, 20011))
# With one column SciPy takes another routine.
_SPARSE_SHAPES = ((1, 1, 1), (3, 5, 7), (1, 129, 300), (301, 1, 127), (65, 33, 1031), (201, 200, 199))
_LAYOUTS: list[Callable[[Float64Array], Float64Array]] = [
    np.ascontiguousarray,
    np.asfortranarray,
    lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
]


@dataclass(frozen=True)
class _Product:
    """A matrix product routine to probe, and the shapes to probe it with.

    Attributes:
        name: What the messages call it.
        multiply: The product.
        shapes: Of integers.
        wide: A shape large enough for every thread to take part, with a short inner dimension where it can have one.
        large: Of full mantissas.
    """

    name: str
    multiply: Matmul
    shapes: tuple[Shape, ...] = _SHAPES
    wide: Shape = (400, 400, 24)
    large: Shape = _LARGE


def _by_vectors(a: Float64Array, b: Float64Array) -> Float64Array:
    return np.stack([np.matmul(a, b[:, j]) for j in range(b.shape[1])], axis=1)


def _by_inner_products(a: Float64Array, b: Float64Array) -> Float64Array:
    return np.array([[np.dot(row, column) for column in b.T] for row in a])


def _by_sparse_rows(a: Float64Array, b: Float64Array) -> Float64Array:
    from scipy.sparse import csr_array

    return csr_array(a) @ b


_PRODUCTS = (
    _Product("matrix product", np.matmul),
    _Product("product by a vector", _by_vectors, _VECTOR_SHAPES, (700, 5, 24), (257, 5, 131)),
    _Product("inner product", _by_inner_products, _INNER_SHAPES, (3, 2, 20011), (6, 5, 131)),
    _Product("product by a sparse matrix", _by_sparse_rows, _SPARSE_SHAPES, (400, 40, 24), (257, 40, 131)),
)


def _graded_integers(product: _Product) -> bool:
    """Test integer products whose partial sums stay below 2^53, with rows, columns and inner indices scaled
    separately.
    """
    rng = np.random.default_rng(1)
    matmul = product.multiply
    for index, (rows, columns, inner) in enumerate(product.shapes):
        largest = 2 ** ((53 - (inner - 1).bit_length()) // 2)
        least = -largest if index % 2 else 0
        a = rng.integers(least, largest, (rows, inner), endpoint=True)
        b = rng.integers(least, largest, (inner, columns), endpoint=True)
        row, column = rng.integers(-150, 150, (rows, 1)), rng.integers(-150, 150, (1, columns))
        middle = rng.integers(-150, 150, inner)
        left = _LAYOUTS[index % 4](np.ldexp(a.astype(np.float64), row + middle))
        right = _LAYOUTS[index // 2 % 4](np.ldexp(b.astype(np.float64), column - middle[:, None]))
        computed = matmul(left, right)
        if computed.shape != (rows, columns) or not _is_integer_product(np.ldexp(computed, -row - column), a, b, rng):
            return False
    a = rng.integers(-(2**20), 2**20, (min(product.wide[0], 257), 131))
    x = a.astype(np.float64)
    # NumPy hands a product with its own transpose to another BLAS routine.
    return _is_integer_product(matmul(x, x.T), a, a.T, rng)


def _is_integer_product(product: Float64Array, a: Int64Array, b: Int64Array, rng: np.random.Generator) -> bool:
    """Apply Freivalds' test modulo 2^64; a single wrong entry cannot pass, because the entries of v are odd."""
    entries = product.astype(np.int64)
    v = 2 * rng.integers(-(2**62), 2**62, b.shape[1]) + 1
    return bool(np.all(entries == product)) and np.array_equal(entries @ v, a @ (b @ v))


def _full_mantissas(product: _Product) -> bool:
    """Return the a-priori bound itself, on 53-bit mantissas, compared in integers; of large products in some of the
    entries.

    The terms of a sum are alike, but the entries of a row spread over some bits: what an emulation relative to the
    largest of them loses, also one that returns to float64 where they spread over many. Where they do not spread, some
    rows of large products have but two entries that are not zero, so that hardly any error is allowed there.
    """
    rng = np.random.default_rng(2)
    large = [(*product.large, spread) for spread in (0, 8, 24, 60)]
    for rows, columns, inner, spread in [(17, 19, 1, 0), (13, 15, 2, 0), (9, 8, 67, 0), *large]:
        # Integers of 53 bits: float64 holds them, and Python multiplies them exactly.
        a = rng.integers(2**52, 2**53, (rows, inner)) * rng.choice([-1, 1], (rows, inner))
        b = rng.integers(2**52, 2**53, (inner, columns)) * rng.choice([-1, 1], (inner, columns))
        if inner > 67 and not spread:
            a[: rows // 2, 1:-1] = 0
        up = rng.integers(0, spread, inner, endpoint=True)
        down = spread - up[:, None]
        computed = product.multiply(np.ldexp(a.astype(np.float64), up), np.ldexp(b.astype(np.float64), down))
        if not (computed.shape == (rows, columns) and np.all(np.isfinite(computed))):
            return False
        some, others = (
            np.unique(np.linspace(0, size - 1, 20 if size <= 20 else 5, dtype=int)) for size in computed.shape
        )
        x, y = a[some].astype(object) << up.astype(object), b[:, others].astype(object) << down.astype(object)
        error = np.abs(np.vectorize(int, otypes=[object])(computed[np.ix_(some, others)]) - x @ y)
        # gamma_n = n u / (1 - n u) = n / (2^53 - n) for n terms that are not zero
        n = np.count_nonzero(x, axis=1)[:, None].astype(object)
        if not np.all(error * (2**53 - n) <= n * (np.abs(x) @ np.abs(y))):
            return False
    return True


def _subnormals(product: _Product) -> bool:
    """Return subnormal factors and products, in a product large enough to use every thread."""
    rng = np.random.default_rng(3)
    for left, right in [(-1074, 0), (-537, -537), (0, -1074)]:
        rows, columns, inner = product.wide
        a, b = np.zeros((rows, inner)), np.zeros((inner, columns))
        # One product per entry, at the end of the sum: arithmetic on subnormals is slow.
        a[:, -1], b[-1] = rng.integers(1, 1000, rows), rng.integers(1, 1000, columns)
        if not np.array_equal(product.multiply(np.ldexp(a, left), np.ldexp(b, right)), np.ldexp(a @ b, left + right)):
            return False
    return True


def _lost_values(product: _Product) -> bool:
    """Return whether an infinity, a NaN or an overflow in a row leaves no finite number in that row of the product."""
    for bad, partner in [(np.nan, 1.0), (np.inf, 1.0), (-np.inf, -2.0), (2.0**1000, 2.0**100)]:
        for position in (0, 8, 36):
            a, b = np.ones((29, 37)), np.ones((37, 31))
            a[11, position], b[position] = bad, partner
            if np.isfinite(product.multiply(a, b)[11]).any():
                return False
    return True


_PROBES: dict[str, Callable[[_Product], bool]] = {
    "graded integers": _graded_integers,
    "full mantissas": _full_mantissas,
    "subnormals": _subnormals,
    "lost values": _lost_values,
}


def _report(probes: tuple[str, ...]) -> BlasReport:
    config: Any = np.show_config(mode="dicts")
    built_with = config.get("Build Dependencies", {}).get("blas", {})
    return BlasReport(
        name=str(built_with.get("name", "unknown")),
        version=str(built_with.get("version", "unknown")),
        configuration=str(built_with.get("openblas configuration", "unknown")),
        threads=_threads(),
        cpu=_cpu(),
        simd=" ".join(config.get("SIMD Extensions", {}).get("found", [])),
        numpy=np.__version__,
        system=f"{platform.system()} {platform.machine()}",
        probes=probes,
    )


def _threads() -> str:
    if importlib.util.find_spec("threadpoolctl"):
        pools = importlib.import_module("threadpoolctl").threadpool_info()
        counts = [str(pool["num_threads"]) for pool in pools if pool["user_api"] == "blas"]
        if counts:
            return ", ".join(counts)
    wishes = (os.environ.get(name) for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"))
    return next((wish for wish in wishes if wish), "default")


def _cpu() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
