"""A device that is not there is refused by name, and so is one whose arithmetic the rounding bound is not about."""

import math

import numpy as np
import pytest
import torch

from constructions.errors import ByheartError, InputError
from verify.runs.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FloatFormat
from verify.torch import module
from verify.torch.device import (
    DeviceError,
    device_name,
    on_threads,
    probe_matrices,
    product_is_within_bound,
    require_arithmetic,
    require_exact_sums,
    select_device,
    tf32_refusal,
    values_are_within_bound,
)

FORMATS = [FLOAT32, FLOAT64]


def in_format(x: np.ndarray, number_format: FloatFormat) -> np.ndarray:
    return x.astype(number_format.name).astype(np.float64)


def with_significands_of(x: np.ndarray, bits: int) -> np.ndarray:
    """Every entry rounded to so many significant bits, as TF32 (11) and bfloat16 (8) do."""
    significand, exponent = np.frexp(x)
    return np.ldexp(np.round(np.ldexp(significand, bits)), exponent - bits)


def in_fixed_point(x: np.ndarray, bits: int, axis: int) -> np.ndarray:
    """Every entry rounded relative to the largest of its row or column, as emulations by integer products do."""
    _, exponent = np.frexp(np.abs(x).max(axis=axis, keepdims=True))
    return np.ldexp(np.round(np.ldexp(x, bits - exponent)), exponent - bits)


def test_threads_are_those_that_are_asked_for_and_come_back() -> None:
    before = torch.get_num_threads()
    for count in (1, 2, None):
        with on_threads(count):
            assert torch.get_num_threads() == (before if count is None else count)
        assert torch.get_num_threads() == before
    with pytest.raises(ZeroDivisionError), on_threads(before + 1):
        _ = 1 // 0
    assert torch.get_num_threads() == before
    with pytest.raises(InputError, match="threads = 0, expected at least 1"), on_threads(0):
        pass


def exact_sums_anew(number_format: FloatFormat) -> None:
    require_exact_sums.__wrapped__(torch.device("cpu"), number_format)


@pytest.mark.parametrize("number_format", [BFLOAT16, FLOAT16, FLOAT32, FLOAT64], ids=lambda f: f.name)
def test_the_processor_rounds_nothing_that_its_formats_hold(number_format: FloatFormat) -> None:
    exact_sums_anew(number_format)


def tf32(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor(with_significands_of(x.double().numpy(), 11)).to(x.dtype)


def towards_zero(x: torch.Tensor) -> torch.Tensor:
    """The next number towards 0, within one unit roundoff: what H1 allows, and H5 does not."""
    return torch.nextafter(x, torch.zeros_like(x)) if x.is_floating_point() else x


@pytest.mark.parametrize(
    ("name", "owner", "attribute"),
    [
        ("matrix product", torch.Tensor, "__matmul__"),
        ("batched product", torch, "bmm"),
        ("product with a shift", torch, "addmm"),
        ("product with weights of a layer", torch.nn.functional, "linear"),
        ("weighted sum of rows", module, "bag_sums"),
        ("product", torch.Tensor, "__mul__"),
        ("exponential", torch, "exp"),
        ("softmax", module, "softmax"),
    ],
)
def test_what_rounds_a_number_that_is_representable_is_refused(
    name: str, owner: object, attribute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(owner, attribute)
    monkeypatch.setattr(owner, attribute, lambda *given: towards_zero(original(*given)))
    with pytest.raises(DeviceError, match=f"float32 {name} rounds what float32 holds"):
        exact_sums_anew(FLOAT32)


def test_products_in_tf32_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = torch.bmm
    monkeypatch.setattr(torch, "bmm", lambda x, w: original(tf32(x), tf32(w)))
    with pytest.raises(DeviceError, match="float32 batched product rounds"):
        exact_sums_anew(FLOAT32)


def test_autocast_leaves_the_replica_alone_and_breaks_a_layer() -> None:
    x, w = torch.full((4, 64), 257.0), torch.ones(8, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        exact_sums_anew(FLOAT32)
        assert not torch.equal(torch.nn.functional.linear(x, w).float(), torch.full((4, 8), 64.0 * 257.0))


def test_a_device_with_coarse_sums_of_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def shortened(bags: torch.Tensor, table: torch.Tensor, **options: torch.Tensor) -> torch.Tensor:
        return original(bags, table.bfloat16().to(table.dtype), **options)

    original = module.functional.embedding_bag
    monkeypatch.setattr(module.functional, "embedding_bag", shortened)
    for number_format in FORMATS:
        with pytest.raises(DeviceError, match="not sums of"):
            require_arithmetic.__wrapped__(torch.device("cpu"), number_format)


def test_a_device_with_coarse_products_in_batches_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = torch.bmm
    monkeypatch.setattr(torch, "bmm", lambda left, right: original(left, right.bfloat16().to(right.dtype)))
    with pytest.raises(DeviceError, match="not sums of"):
        require_arithmetic.__wrapped__(torch.device("cpu"), FLOAT32)


@pytest.mark.parametrize("name", ["cpu", "cpu:0"])
def test_the_cpu_is_there(name: str) -> None:
    assert select_device(name).type == "cpu"
    assert device_name(select_device(name)) == "cpu"


@pytest.mark.parametrize("name", ["", "gpu", "meta", "mps", "cuda:x", "cpu cpu"])
def test_an_unknown_device_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="expected cpu, cuda or cuda:i"):
        select_device(name)


def test_a_missing_cuda_device_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match=r"no CUDA device: this torch \(.*\).*; run on the device 'cpu'"):
        select_device("cuda")
    assert issubclass(DeviceError, ByheartError)


def test_a_cuda_device_of_a_number_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(DeviceError, match="no CUDA device 2: torch sees 2"):
        select_device("cuda:2")
    assert select_device("cuda") == torch.device("cuda", 0)
    assert select_device("cuda:1") == torch.device("cuda", 1)


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
def test_this_cpu_passes_the_probe(number_format: FloatFormat) -> None:
    require_arithmetic(torch.device("cpu"), number_format)


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
def test_the_matrices_of_the_probe_are_numbers_of_the_format(number_format: FloatFormat) -> None:
    for matrix in probe_matrices(number_format):
        assert np.array_equal(in_format(matrix, number_format), matrix)


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
def test_a_product_in_the_format_passes(number_format: FloatFormat) -> None:
    left, right = probe_matrices(number_format)
    product = (left.astype(number_format.name) @ right.astype(number_format.name)).astype(np.float64)
    assert product_is_within_bound(left, right, product, number_format)


@pytest.mark.parametrize("bits", [8, 11, 16])
def test_a_product_of_shortened_significands_fails(bits: int) -> None:
    left, right = probe_matrices(FLOAT32)
    product = with_significands_of(left, bits) @ with_significands_of(right, bits)
    assert not product_is_within_bound(left, right, np.round(product), FLOAT32)


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
def test_a_product_emulated_in_fixed_point_fails(number_format: FloatFormat) -> None:
    left, right = probe_matrices(number_format)
    bits = -int(np.log2(number_format.unit_roundoff))
    product = in_fixed_point(left, bits, axis=1) @ in_fixed_point(right, bits, axis=0)
    assert not product_is_within_bound(left, right, np.round(product), number_format)


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
def test_a_product_with_one_wrong_entry_fails(number_format: FloatFormat) -> None:
    left, right = probe_matrices(number_format)
    product = np.round(left @ right)
    for wrong in (np.nan, np.inf, 2.0 * product[3, 4], -product[3, 4]):
        spoilt = product.copy()
        spoilt[3, 4] = wrong
        assert not product_is_within_bound(left, right, spoilt, number_format)


def test_the_bound_of_the_probe_is_met_exactly_and_not_beyond() -> None:
    left, right = np.full((1, 4), 1.0), np.full((4, 1), 2.0**40)
    coarse = FloatFormat("coarse", 2.0**-10, 2.0**-1022, 2.0**1000)
    size = 4 * 2**40
    allowed = 4 * size // (2**10 - 4)
    assert product_is_within_bound(left, right, np.array([[float(size + allowed)]]), coarse)
    assert not product_is_within_bound(left, right, np.array([[float(size + allowed + 1)]]), coarse)


@pytest.mark.parametrize(("error", "passes"), [(0.0, True), (3.9, True), (-3.9, True), (4.1, False), (-4.1, False)])
def test_an_exponential_that_is_off_by_more_than_assumed_fails(error: float, passes: bool) -> None:
    points = np.linspace(-20.0, 0.0, 17)
    values = np.exp(points) * (1.0 + error * 2.0 * FLOAT32.unit_roundoff)
    assert values_are_within_bound("exponential", points, values, FLOAT32, ulps=4.0) is passes
    roots = np.sqrt(-points) * (1.0 + error * 2.0 * FLOAT32.unit_roundoff)
    assert values_are_within_bound("root", -points, roots, FLOAT32, ulps=4.0) is passes
    shifted = np.vectorize(math.erf)(points / 8.0) + error * 2.0 * FLOAT32.unit_roundoff
    assert values_are_within_bound("error function", points / 8.0, shifted, FLOAT32, ulps=4.0) is passes


def test_an_exponential_that_is_not_a_number_fails() -> None:
    assert not values_are_within_bound("exponential", np.zeros(1), np.array([np.nan]), FLOAT32, ulps=4.0)


def test_a_device_with_wrong_products_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.torch.device.product_is_within_bound", lambda *_: False)
    with pytest.raises(DeviceError, match="cpu: float32 matrix products are not sums"):
        require_arithmetic.__wrapped__(torch.device("cpu"), FLOAT32)


@pytest.mark.parametrize(
    ("constant", "name"), [("EXP_ULPS", "exponential"), ("ERF_ULPS", "error function"), ("ROOT_ULPS", "root")]
)
def test_a_device_with_a_coarse_function_is_refused(monkeypatch: pytest.MonkeyPatch, constant: str, name: str) -> None:
    monkeypatch.setattr(f"verify.torch.device.{constant}", 1e-3)
    with pytest.raises(DeviceError, match=f"cpu: the float64 {name} is off"):
        require_arithmetic.__wrapped__(torch.device("cpu"), FLOAT64)


@pytest.mark.parametrize("within", [True, False])
def test_tf32_is_refused_by_name_where_it_changes_a_product(monkeypatch: pytest.MonkeyPatch, within: bool) -> None:
    settings: list[str] = []

    def judged(*_: object) -> bool:
        settings.append(torch.backends.cuda.matmul.fp32_precision)
        return within

    monkeypatch.setattr("verify.torch.device.product_is_within_bound", judged)
    before = torch.backends.cuda.matmul.fp32_precision
    expected = "" if within else "cpu: TF32 is on, and its products are not those of float32"
    assert tf32_refusal(torch.device("cpu")) == expected
    assert set(settings) == {"tf32"} and torch.backends.cuda.matmul.fp32_precision == before


def test_tf32_by_the_environment_is_refused_by_name_before_anything_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")
    with pytest.raises(DeviceError, match="NVIDIA_TF32_OVERRIDE is '1', expected 0: no rounding bound of float32"):
        require_arithmetic.__wrapped__(torch.device("cuda"), FLOAT32)
    require_arithmetic.__wrapped__(torch.device("cpu"), FLOAT32)  # it speaks of GPUs only


@pytest.mark.gpu
@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
def test_the_cuda_device_passes_the_probe(number_format: FloatFormat) -> None:
    device = select_device("cuda")
    assert device_name(device) != "cpu"
    require_arithmetic(device, number_format)
