"""Products on a device are those that the proofs are about, in blocks that fit, and a device that cheats is refused."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from constructions.products import multiplier, multiply
from tests.exact_values import exact_product, outside, rationals
from verify.arithmetic import products
from verify.arithmetic.blas import BlasError
from verify.arithmetic.enclosure import Enclosure, matmul
from verify.certificates.provenance import provenance
from verify.linear_algebra.nonsingularity import certify_nonsingular
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.linear_algebra.singular_values import enclose_singular_values
from verify.replica import device_products
from verify.replica.device import DeviceError
from verify.replica.device_products import DeviceProducts, products_on
from verify.verdict import Verdict

CPU = torch.device("cpu")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
VIEWS = [lambda x: x, lambda x: x.T.copy().T, lambda x: x[::-1, ::-1].copy()[::-1, ::-1], lambda x: x.repeat(2, 0)[::2]]


def integers(seed: int, rows: int, inner: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 10, (rows, inner)).astype(float), rng.integers(-9, 10, (inner, columns)).astype(float)


@pytest.mark.parametrize("device", DEVICES)
@given(
    shape=st.tuples(*[st.integers(0, 9)] * 3),
    memory=st.integers(1, 3000),
    terms=st.none() | st.integers(1, 12),
    views=st.tuples(*[st.sampled_from(VIEWS)] * 2),
)
def test_blocks_of_any_size_give_the_product(device, shape, memory, terms, views) -> None:
    a, b = integers(1, *shape)
    left, right = views[0](a), views[1](b)
    left.flags.writeable = right.flags.writeable = False
    found = DeviceProducts(torch.device(device), memory)(left, right, terms)
    assert found.shape == (shape[0], shape[2]) and found.dtype == np.float64
    assert np.array_equal(found, a @ b)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int]]]:
    """The shapes of the blocks that go to the device, a left and a right one in turn."""
    shapes: list[tuple[int, int]] = []
    original = DeviceProducts._sent

    def noted(self: DeviceProducts, block: np.ndarray) -> torch.Tensor:
        shapes.append(block.shape)
        return original(self, block)

    monkeypatch.setattr(DeviceProducts, "_sent", noted)
    yield shapes


@pytest.mark.parametrize("memory", [8 * 16, 8 * 100, 8 * 1000, 8 * 10**6])
@pytest.mark.parametrize("terms", [None, 3, 10, 32])
def test_blocks_fit_into_the_memory_and_no_block_of_terms_is_cut(sent, memory: int, terms: int | None) -> None:
    a, b = integers(2, 11, 47, 14)
    DeviceProducts(CPU, memory)(a, b, terms)
    for (rows, depth), (inner, columns) in zip(sent[::2], sent[1::2], strict=True):
        assert depth == inner
        # The result, and what is added to it, lie there as well. One block of terms always goes there.
        least = 2 * (depth + 1) if terms is not None and depth <= terms else 0
        assert depth * (rows + columns) + 2 * rows * columns <= max(memory // 8, least)
    if terms is not None:
        assert {depth % terms for _, depth in sent[::2] if depth % terms} <= {47 % terms}


def test_within_a_block_of_terms_the_device_adds_no_more_than_the_bounds_count(monkeypatch) -> None:
    """Of 1000 terms in blocks of 100, each goes through ten sums of blocks, however little memory there is."""
    added: list[int] = []
    original = torch.Tensor.__matmul__

    def noted(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        added.append(left.shape[1])
        return original(left, right)

    a, b = integers(3, 1, 1000, 1)
    monkeypatch.setattr(torch.Tensor, "__matmul__", noted)
    for memory in (8, 8 * 50, 8 * 4 * 250**2, 10**9):
        added.clear()
        assert DeviceProducts(CPU, memory)(a, b, 100) == a @ b
        assert added == [100] * 10


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("terms", [None, 7])
def test_an_enclosure_with_products_on_a_device_holds_the_exact_product(device: str, terms: int | None) -> None:
    rng = np.random.default_rng(4)
    for size in (1.0, 2.0**-530, 2.0**500):
        a, b = rng.standard_normal((5, 33)) * size, rng.standard_normal((33, 6)) * size
        a[:, 5] *= 2.0**40
        b[5] = 0.0
        with products_on(device), products_on(device, least=0, memory=8 * 100):
            found = matmul(a, b)
            near = multiply(a, b, terms)
        assert not outside(found, exact_product(rationals(a), rationals(b), (5, 33, 6)))
        assert size == 2.0**-530 or (abs(near - found.midpoint) <= found.radius).all()


@pytest.mark.parametrize("device", DEVICES)
def test_proofs_about_matrices_are_as_without_the_device(device: str) -> None:
    rng = np.random.default_rng(5)
    regular = rng.integers(-50, 51, (40, 40)).astype(float)
    singular = regular.copy()
    singular[7] = 2.0 * singular[3] - singular[30]
    here = enclose_singular_values(regular)
    with products_on(device), products_on(device, least=0, memory=8 * 500, side=16):
        assert certify_nonsingular(regular).verdict is Verdict.PROVED
        assert certify_nonsingular(singular).verdict is Verdict.REFUTED
        wide = certify_full_row_rank(Enclosure(regular[:20], 1e-9), witness=True)
        assert certify_full_row_rank(Enclosure(singular, 1e-9)).verdict is Verdict.UNDECIDED
        there = enclose_singular_values(regular)
    assert (wide.verdict, wide.method) == (Verdict.PROVED, "gram")
    assert wide.smallest_singular_value <= np.linalg.svd(regular[:20], compute_uv=False)[-1]
    assert (here.lower() <= there.upper()).all() and (there.lower() <= here.upper()).all()
    assert there.radius.max() < 1e-9


def test_the_device_is_asked_within_the_block_and_in_this_thread_alone(sent) -> None:
    a, b = integers(6, 9, 8, 7)
    with pytest.raises(ZeroDivisionError), products_on("cpu", least=9 * 8 * 7):
        sent.clear()
        multiply(a, b)
        assert len(sent) == 2
        multiply(a[1:], b)  # too small to be worth the way
        multiply(a[None], b)  # a batch
        thread = threading.Thread(target=multiply, args=(a, b))
        thread.start()
        thread.join()
        assert len(sent) == 2
        raise ZeroDivisionError
    assert multiplier() is None
    multiply(a, b)
    assert len(sent) == 2


def test_provenance_names_the_device() -> None:
    key = "arithmetic: large products"
    assert key not in provenance()
    with products_on("cpu"):
        assert provenance()[key] == f"cpu by torch {torch.__version__}"
    assert key not in provenance()


@pytest.mark.parametrize("wish", ["1", "", "true"])
def test_emulated_double_precision_is_refused_by_its_name(wish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUBLAS_EMULATE_DOUBLE_PRECISION", wish)
    refusal = f"CUBLAS_EMULATE_DOUBLE_PRECISION is '{wish}', expected 0"
    with pytest.raises(DeviceError, match=refusal), products_on("cpu"):
        pass


@pytest.mark.parametrize("before", [None, "0"])
def test_emulation_is_switched_off_within_the_block(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "CUBLAS_EMULATE_DOUBLE_PRECISION"
    monkeypatch.delenv(name, raising=False)
    if before is not None:
        monkeypatch.setenv(name, before)
    with products_on("cpu"):
        assert device_products.os.environ[name] == "0"
    assert device_products.os.environ.get(name) == before


def test_a_missing_device_and_a_full_one_are_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceError, match="0 bytes are free, too few"), products_on("cpu", memory=0):
        pass
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="no CUDA device"), products_on("cuda"):
        pass


def shortened(block: torch.Tensor) -> torch.Tensor:
    return block.float().double()


def flushed(block: torch.Tensor) -> torch.Tensor:
    return torch.where(block.abs() < 2.0**-1022, 0.0, block)


@pytest.mark.parametrize("spoil", [shortened, flushed, torch.nan_to_num], ids=lambda f: f.__name__)
def test_a_device_that_spoils_its_blocks_is_refused(spoil, monkeypatch: pytest.MonkeyPatch) -> None:
    original = DeviceProducts._sent
    monkeypatch.setattr(DeviceProducts, "_sent", lambda self, block: spoil(original(self, block)))
    products._probe.cache_clear()
    with pytest.raises(BlasError, match=r"the matrix product on cpu by torch .* fails the probe"):
        with products_on("cpu"):
            pass


def test_a_device_with_coarse_double_precision_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def coarse(*_: object) -> None:
        raise DeviceError("coarse")

    monkeypatch.setattr(device_products, "require_arithmetic", coarse)
    with pytest.raises(DeviceError, match="coarse"), products_on("cpu"):
        pass
