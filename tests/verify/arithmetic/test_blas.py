"""The probes refuse every way of multiplying matrices that the proofs do not cover, and accept those that they do."""

import ctypes
import json
import platform
from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg.blas
from scipy.sparse import csr_array

from constructions.errors import ByheartError
from verify.arithmetic import blas
from verify.arithmetic.blas import BlasError, BlasReport, description, probe, require_ieee

Floats = np.ndarray
TINY = 2.0**-1022


def padded(a: Floats, rows: int, columns: int) -> Floats:
    return np.pad(a, ((0, rows - a.shape[0]), (0, columns - a.shape[1])))


def strassen(a: Floats, b: Floats, cutoff: int = 32) -> Floats:
    """Strassen's recursion: seven products of blocks for eight; right in exact arithmetic."""
    m, n = a.shape
    p = b.shape[1]
    if min(m, n, p) <= cutoff:
        return a @ b
    half = max(m, n, p) // 2 + 1
    x, y = padded(a, 2 * half, 2 * half), padded(b, 2 * half, 2 * half)
    a11, a12, a21, a22 = x[:half, :half], x[:half, half:], x[half:, :half], x[half:, half:]
    b11, b12, b21, b22 = y[:half, :half], y[:half, half:], y[half:, :half], y[half:, half:]
    m1 = strassen(a11 + a22, b11 + b22, cutoff)
    m2 = strassen(a21 + a22, b11, cutoff)
    m3 = strassen(a11, b12 - b22, cutoff)
    m4 = strassen(a22, b21 - b11, cutoff)
    m5 = strassen(a11 + a12, b22, cutoff)
    m6 = strassen(a21 - a11, b11 + b12, cutoff)
    m7 = strassen(a12 - a22, b21 + b22, cutoff)
    top = np.hstack([m1 + m4 - m5 + m7, m3 + m5])
    bottom = np.hstack([m2 + m4, m1 - m2 + m3 + m6])
    return np.vstack([top, bottom])[:m, :p]


def winograd(a: Floats, b: Floats) -> Floats:
    """Winograd's inner product: half the multiplications, by sums of an entry of a and one of b."""
    if a.shape[1] % 2:
        return winograd(padded(a, len(a), a.shape[1] + 1), padded(b, len(b) + 1, b.shape[1]))
    rows = (a[:, ::2] * a[:, 1::2]).sum(axis=1)[:, None]
    columns = (b[::2] * b[1::2]).sum(axis=0)
    total = np.zeros((len(a), b.shape[1]))
    for k in range(0, a.shape[1], 2):
        total += (a[:, k, None] + b[k + 1]) * (a[:, k + 1, None] + b[k])
    return total - rows - columns


def three_products(a: Floats, b: Floats) -> Floats:
    """Sums of scaled rows and back: exact in the rationals, but rows are mixed."""
    mixed = a + a[::-1]
    return mixed @ b - a[::-1] @ b


def in_float32(a: Floats, b: Floats) -> Floats:
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float64)


def chopped(x: Floats, bits: int) -> Floats:
    """Normal numbers cut to so many leading bits."""
    return (np.ascontiguousarray(x).view(np.int64) & -(1 << (53 - bits))).view(np.float64)


def by_products(product: Callable[[Floats, Floats], Floats], add: Callable[[Floats, Floats], Floats]) -> Callable:
    """The textbook product, with its own multiplication and addition."""

    def matmul(a: Floats, b: Floats) -> Floats:
        total = np.zeros((a.shape[0], b.shape[1]))
        for k in range(a.shape[1]):
            total = add(total, product(a[:, k, None], b[None, k]))
        return total

    return matmul


def fixed_point(a: Floats, b: Floats) -> Floats:
    """Emulation by integers: each row of a and each column of b gets one exponent for all of its entries."""

    def rounded(x: Floats, axis: int) -> Floats:
        _, exponent = np.frexp(np.abs(x).max(axis=axis, keepdims=True))
        return np.ldexp(np.rint(np.ldexp(x, 60 - exponent)), exponent - 60)

    return rounded(a, 1) @ rounded(b, 0)


def adaptive(a: Floats, b: Floats) -> Floats:
    """The same, but in float64 where the entries of a row or of a column spread over many bits, or are not numbers."""
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return a @ b
    _, rows = np.frexp(a)
    _, columns = np.frexp(b)
    few = max(np.ptp(rows, axis=1).max(), np.ptp(columns, axis=0).max()) <= 64
    return fixed_point(a, b) if few else a @ b


def flushed(x: Floats) -> Floats:
    return np.where(np.abs(x) < TINY, 0.0, x)


def one_wrong_entry(a: Floats, b: Floats) -> Floats:
    product = a @ b
    if product.size > 10_000:
        product[-1, -1] += np.spacing(product[-1, -1])
    return product


def wrong_by_a_fraction(a: Floats, b: Floats) -> Floats:
    product = a @ b
    if len(product) == 700:
        product[-1, -1] += np.spacing(product[-1, -1])
    return product


def forgetful_in_some_columns(a: Floats, b: Floats) -> Floats:
    product = a @ b
    product[:, ::2] = np.nan_to_num(product[:, ::2], nan=0.0)
    return product


def forgetful(a: Floats, b: Floats) -> Floats:
    return np.nan_to_num(a, nan=0.0, posinf=0.0, neginf=0.0) @ b


def saturating(a: Floats, b: Floats) -> Floats:
    return np.nan_to_num(a @ b, nan=0.0)


def transposed_for_large(a: Floats, b: Floats) -> Floats:
    product = a @ b
    return product.T if a.shape[0] == b.shape[1] > 100 else product


REFUSED: dict[str, Callable[[Floats, Floats], Floats]] = {
    "Strassen": strassen,
    "Strassen at the top only": lambda a, b: strassen(a, b, 400),
    "Strassen for the largest only": lambda a, b: strassen(a, b, 600),
    "Winograd's inner product": winograd,
    "rows mixed": three_products,
    "float32": in_float32,
    "tf32": lambda a, b: chopped(a, 11) @ chopped(b, 11),
    "bfloat16": lambda a, b: chopped(a, 8) @ chopped(b, 8),
    "52 bits": lambda a, b: chopped(a, 52) @ b,
    "chopped products": by_products(lambda x, y: chopped(x * y, 52), np.add),
    "chopped sums": by_products(np.multiply, lambda x, y: chopped(x + y, 50)),
    "fixed-point emulation": fixed_point,
    "fixed-point emulation of narrow rows": adaptive,
    "fixed-point emulation of large matrices": lambda a, b: adaptive(a, b) if a.size * b.shape[1] > 10**6 else a @ b,
    "40 bits in large products": lambda a, b: chopped(a, 40) @ b if a.size * b.shape[1] > 10**6 else a @ b,
    "subnormal results flushed": lambda a, b: flushed(a @ b),
    "subnormal factors flushed": lambda a, b: flushed(a) @ flushed(b),
    "one entry wrong in the last bit": one_wrong_entry,
    "one entry wrong by a fraction": wrong_by_a_fraction,
    "NaN and infinity forgotten": forgetful,
    "NaN forgotten in some columns": forgetful_in_some_columns,
    "NaN turned into zero": saturating,
    "transposed when large": transposed_for_large,
    "transposed": lambda a, b: (a @ b).T,
    "zeros": lambda a, b: np.zeros((len(a), b.shape[1])),
    "NaN": lambda a, b: np.full((len(a), b.shape[1]), np.nan),
    "wrong shape": lambda a, b: np.zeros((1, 1)),
}


def backwards(a: Floats, b: Floats) -> Floats:
    return a[:, ::-1] @ b[::-1]


def in_blocks(a: Floats, b: Floats) -> Floats:
    total = np.zeros((a.shape[0], b.shape[1]))
    for start in range(0, a.shape[1], 50):
        total = total + a[:, start : start + 50] @ b[start : start + 50]
    return total


ACCEPTED: dict[str, Callable[[Floats, Floats], Floats]] = {
    "numpy": np.matmul,
    "numpy.dot": np.dot,
    "numpy.einsum": lambda a, b: np.einsum("ik,kj->ij", a, b),
    "a batch of one": lambda a, b: np.matmul(a[None], b[None])[0],
    "scipy's BLAS": lambda a, b: scipy.linalg.blas.dgemm(1.0, a, b),
    "summed backwards": backwards,
    "summed in blocks": in_blocks,
    "one product at a time": by_products(np.multiply, np.add),
    "transposed": lambda a, b: (b.T @ a.T).T,
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_product_that_the_proofs_do_not_cover_is_refused(name: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(BlasError, match="the matrix product fails the probe"):
        probe(REFUSED[name])


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_product_that_the_proofs_cover_is_accepted(name: str) -> None:
    with np.errstate(all="ignore"):
        report = probe(ACCEPTED[name])
    assert report.probes == ("graded integers", "full mantissas", "subnormals", "lost values")


def test_the_product_of_torch_is_accepted() -> None:
    torch = pytest.importorskip("torch")

    def matmul(a: Floats, b: Floats) -> Floats:
        return (torch.tensor(np.ascontiguousarray(a)) @ torch.tensor(np.ascontiguousarray(b))).numpy()

    with np.errstate(all="ignore"):
        assert probe(matmul).probes == probe(np.matmul).probes


def test_each_probe_alone_refuses_something_that_the_others_let_pass() -> None:
    only = {
        "graded integers": REFUSED["one entry wrong by a fraction"],
        "full mantissas": lambda a, b: chopped(a @ b, 52) if a.shape[1] == 1 and len(a) == 17 else a @ b,
        "subnormals": REFUSED["subnormal results flushed"],
        "lost values": REFUSED["NaN turned into zero"],
    }
    with np.errstate(all="ignore"):
        for name, matmul in only.items():
            assert [other for other, holds in blas._PROBES.items() if not holds(blas._Product(name, matmul))] == [name]


def test_graded_integers_alone_refuse_one_exponent_for_a_whole_row() -> None:
    assert blas._graded_integers(blas._Product("product", np.matmul))
    assert not blas._graded_integers(blas._Product("emulation", fixed_point))


def by_vectors(product: Callable[[Floats, Floats], Floats]) -> Callable[..., Floats]:
    """NumPy's product, but for a matrix times a vector."""
    matmul = np.matmul
    return lambda a, b: product(a, b[:, None])[:, 0] if b.ndim == 1 else matmul(a, b)


def by_inner_products(product: Callable[[Floats, Floats], Floats]) -> Callable[..., Floats]:
    return lambda x, y: product(x[None], y[:, None])[0, 0]


def lossy_in_long_sums(a: Floats, b: Floats) -> Floats:
    """Wrong where a sum is so long that threads share it."""
    return a @ b if a.shape[1] <= 10000 else chopped(a @ b, 50)


def lossy_in_tall_products(a: Floats, b: Floats) -> Floats:
    """Wrong where a matrix is so tall that threads share it."""
    return a @ b if len(a) < 700 else chopped(a @ b, 45)


# What is wrong with whole matrices only is no product of vectors.
OF_MATRICES = (
    "Strassen",
    "Winograd",
    "one entry",
    "rows",
    "fixed",
    "wrong shape",
    "transposed",
    "NaN forgotten in some",
    "40 bits in large",
)


@pytest.mark.parametrize("name", [name for name in REFUSED if not name.startswith(OF_MATRICES)])
def test_products_by_vectors_and_inner_products_are_attacked_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, np.errstate(all="ignore"):
        patched.setattr(np, "matmul", by_vectors(REFUSED[name]))
        with pytest.raises(BlasError, match="the product by a vector fails the probe"):
            blas._probe_numpy.__wrapped__()
    with monkeypatch.context() as patched, np.errstate(all="ignore"):
        patched.setattr(np, "dot", by_inner_products(REFUSED[name]))
        with pytest.raises(BlasError, match="the inner product fails the probe"):
            blas._probe_numpy.__wrapped__()


@pytest.mark.parametrize("name", [name for name in REFUSED if not name.startswith(OF_MATRICES)])
def test_products_by_sparse_matrices_are_attacked_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, np.errstate(all="ignore"):
        patched.setattr(csr_array, "__matmul__", lambda a, b: REFUSED[name](a.toarray(), b))
        with pytest.raises(BlasError, match="the product by a sparse matrix fails the probe"):
            blas._probe_numpy.__wrapped__()


@pytest.mark.parametrize("columns", ["one", "several"])
def test_a_sparse_product_in_float32_is_noticed_in_either_routine(
    columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_float32_with(a: csr_array, b: Floats) -> Floats:
        narrow = (b.ndim == 1 or b.shape[1] == 1) == (columns == "one")
        return in_float32(a.toarray(), b) if narrow else a.toarray() @ b

    with monkeypatch.context() as patched, np.errstate(all="ignore"):
        patched.setattr(csr_array, "__matmul__", in_float32_with)
        with pytest.raises(BlasError, match="the product by a sparse matrix fails the probe"):
            blas._probe_numpy.__wrapped__()


def test_products_of_vectors_are_attacked_where_threads_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, pytest.raises(BlasError, match="the product by a vector fails"):
        patched.setattr(np, "matmul", by_vectors(lossy_in_tall_products))
        blas._probe_numpy.__wrapped__()
    with monkeypatch.context() as patched, pytest.raises(BlasError, match="the inner product fails"):
        patched.setattr(np, "dot", by_inner_products(lossy_in_long_sums))
        blas._probe_numpy.__wrapped__()


def test_subnormals_are_looked_for_where_threads_share_a_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        monkeypatch.context() as patched,
        pytest.raises(BlasError, match=r"the product by a vector fails .*subnormals"),
    ):
        patched.setattr(np, "matmul", by_vectors(lambda a, b: flushed(a @ b) if len(a) >= 700 else a @ b))
        blas._probe_numpy.__wrapped__()
    with monkeypatch.context() as patched, pytest.raises(BlasError, match=r"the inner product fails .*subnormals"):
        patched.setattr(np, "dot", by_inner_products(lambda a, b: flushed(a @ b) if a.size > 10000 else a @ b))
        blas._probe_numpy.__wrapped__()


def test_the_report_names_the_probes_of_all_products() -> None:
    names = ("graded integers", "full mantissas", "subnormals", "lost values")
    kinds = ("", ", product by a vector", ", inner product", ", product by a sparse matrix")
    assert probe().probes == tuple(name + kind for kind in kinds for name in names)


def test_the_report_of_this_process_is_made_once() -> None:
    assert probe() is probe()
    assert probe(np.matmul) is not probe()


def test_the_description_is_plain_data_that_names_the_machine() -> None:
    data = description()
    assert json.loads(json.dumps(data)) == data
    assert data["numpy"] == np.__version__
    assert data["name"] != "unknown"
    assert data["probes"] == list(probe().probes)
    assert set(data) == set(BlasReport.__dataclass_fields__)
    assert all(data.values())


def test_a_refused_product_is_an_error_of_this_package() -> None:
    assert issubclass(BlasError, ByheartError)


def test_the_number_of_threads_is_the_wish_of_the_environment_where_nothing_else_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blas.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    assert blas._threads() == "7"
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert blas._threads() == "default"


@pytest.mark.skipif(platform.machine() != "x86_64" or platform.system() != "Linux", reason="sets rounding by glibc")
@pytest.mark.parametrize("mode", [0x400, 0x800, 0xC00], ids=["downward", "upward", "toward zero"])
def test_another_rounding_mode_is_noticed(mode: int) -> None:
    libm = ctypes.CDLL("libm.so.6")
    require_ieee()
    assert libm.fesetround(mode) == 0
    try:
        for refused in (require_ieee, lambda: probe(np.matmul)):
            with pytest.raises(BlasError, match="does not round float64 to nearest"):
                refused()
    finally:
        libm.fesetround(0)
    require_ieee()
