"""Select the device of a replica, and refuse one whose arithmetic fails the probes of the rounding bound.

Pages: docs/run.md, docs/rigour/runs.md
"""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from flint import arb, ctx, fmpz_mat

from constructions.errors import ByheartError, InputError
from constructions.numeric.arrays import Float64Array
from verify.runs.formats import ERF_ULPS, EXP_ULPS, ROOT_ULPS, FloatFormat

_OUTER, _INNER = 128, 192
_POINTS = 1024
_SEED = 20241115
_TF32_OVERRIDE = "NVIDIA_TF32_OVERRIDE"  # read by cuBLAS; stronger than every setting of torch


class DeviceError(ByheartError):
    """A device that does not exist, or whose arithmetic violates the rounding bound."""


def select_device(name: str) -> torch.device:
    """Return the device of that name.

    Args:
        name: ``"cpu"``, ``"cuda"`` or ``"cuda:i"``.

    Returns:
        The device; ``"cuda"`` becomes ``"cuda:0"``.

    Raises:
        InputError: No such kind of device.
        DeviceError: A CUDA device that is not there.

    Example:
        >>> select_device("cpu")
        device(type='cpu')
    """
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError("device", f"= {name!r}", "cpu, cuda or cuda:i") from error
    if device.type not in ("cpu", "cuda"):
        raise InputError("device", f"= {name!r}", "cpu, cuda or cuda:i")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise DeviceError(f"no CUDA device: {_why_no_cuda()}; run on the device 'cpu'")
        device = torch.device("cuda", device.index or 0)
        if device.index is not None and device.index >= torch.cuda.device_count():
            raise DeviceError(f"no CUDA device {device.index}: torch sees {torch.cuda.device_count()}")
    return device


def _why_no_cuda() -> str:
    if not torch.backends.cuda.is_built():
        return f"this torch ({torch.__version__}) was built without CUDA"
    return f"this torch ({torch.__version__}) finds no usable one"


@contextmanager
def on_threads(count: int | None) -> Iterator[None]:
    """Limit torch to a number of CPU threads within the block; None keeps the current number.

    Raises:
        InputError: A number below 1.
    """
    if count is not None and count < 1:
        raise InputError("threads", f"= {count}", "at least 1")
    before = torch.get_num_threads()
    torch.set_num_threads(before if count is None else count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def device_name(device: torch.device) -> str:
    """Return the device as its maker calls it, or ``"cpu"``."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


@functools.cache
def require_arithmetic(device: torch.device, number_format: FloatFormat) -> None:
    r"""Refuse a device whose products or elementary functions visibly break the hypotheses of the rounding bound.

    The products of two integer matrices, whose entries fill the significand and whose sizes spread over many orders of
    magnitude, are computed as matrix products, alone and in batches, and as weighted sums of rows, and compared with
    the exact ones of FLINT: they must be within $\gamma_n \sum_i |a_i||b_i|$. Half of the columns meet the large
    entries of every row with zeros, so that an emulation in fixed point, relative to the largest entry of a row, loses
    what is left; TF32 and bfloat16 lose the low bits everywhere. Half of the rows have but two entries, so that hardly
    any error is allowed there. Exponentials, error functions and roots are compared with balls.
    A probe proves nothing: it turns a hypothesis that fails here into an error.

    Args:
        device: The device that computes the products.
        number_format: The format, `FLOAT32` or `FLOAT64`.

    Raises:
        DeviceError: A product, an exponential, an error function or a root is further off than the bound allows.

    Example:
        >>> from verify.runs.formats import FLOAT32
        >>> require_arithmetic(torch.device("cpu"), FLOAT32)
    """
    from verify.torch.module import full_precision

    override = os.environ.get(_TF32_OVERRIDE, "0")
    if device.type == "cuda" and number_format.name == "float32" and override != "0":
        raise DeviceError(
            f"{_TF32_OVERRIDE} is {override!r}, expected 0: no rounding bound of float32 holds for products in TF32"
        )
    dtype = getattr(torch, number_format.name)
    with full_precision(), torch.autocast(device.type, enabled=False):
        _require_products(device, number_format)
        points = torch.linspace(-20.0, 20.0, _POINTS, dtype=torch.float64).to(dtype)
        # The error function is steep in the middle alone, and roots are of numbers that are not negative.
        probe_points = {"exponential": points, "error function": points / 4.0, "root": points.abs()}
        functions = {"exponential": torch.exp, "error function": torch.erf, "root": torch.sqrt}
        values = {name: functions[name](x.to(device)).double().cpu().numpy() for name, x in probe_points.items()}
    for name, ulps in (("exponential", EXP_ULPS), ("error function", ERF_ULPS), ("root", ROOT_ULPS)):
        if not values_are_within_bound(
            name, probe_points[name].double().numpy(), values[name], number_format, ulps=ulps
        ):
            raise DeviceError(
                f"{device_name(device)}: the {number_format.name} {name} is off by more than {ulps} units in the last "
                "place"
            )


def tf32_refusal(device: torch.device) -> str:
    """Switch TF32 on, and return why float32 products are then refused; empty if the setting has no effect.

    A replica and its probes switch TF32 off for themselves, so that no setting of a library reaches them
    (`verify.torch.module.full_precision`). Here it is on: GPUs from Ampere on have it, CPUs and older ones do not.

    Example:
        >>> tf32_refusal(torch.device("cpu")) in ("", "cpu: TF32 is on, and its products are not those of float32")
        True
    """
    from verify.runs.formats import FLOAT32
    from verify.torch.module import full_precision

    with full_precision(), torch.autocast(device.type, enabled=False):
        torch.backends.cuda.matmul.fp32_precision = "tf32"  # `full_precision` puts it back
        try:
            _require_products(device, FLOAT32)
        except DeviceError:
            return f"{device_name(device)}: TF32 is on, and its products are not those of float32"
    return ""


def _require_products(device: torch.device, number_format: FloatFormat) -> None:
    """Refuse products of the probe matrices that are further from the exact ones than the rounding bound allows."""
    from verify.torch.module import bag_sums

    left, right = probe_matrices(number_format)
    rows, columns = (torch.tensor(matrix).to(device, getattr(torch, number_format.name)) for matrix in (left, right))
    everywhere = torch.arange(_INNER, device=device).expand(_OUTER, _INNER)
    in_batch = torch.bmm(rows[None], columns[None])[0]
    products = (rows @ columns, in_batch, bag_sums(rows[None], everywhere, columns[None]))
    computed = [product.double().cpu().numpy() for product in products]
    if not all(product_is_within_bound(left, right, product, number_format) for product in computed):
        raise DeviceError(
            f"{device_name(device)}: {number_format.name} matrix products are not sums of {number_format.name} "
            "products, so that no rounding bound holds there; is TF32, or another reduced or emulated precision, "
            "switched on?"
        )


@functools.cache
def require_exact_sums(device: torch.device, number_format: FloatFormat) -> None:
    """Refuse a device that violates hypothesis H5 on a probe: representable results are exact.

    Products of matrices of integers, whose terms together fill the significand and no more, are compared with the exact
    ones, with rows and columns in units of their own and with a shift and a skip row in the same kernel: of one row, as
    `addmm`, which may add them first, of few and of many. Pairs of numbers whose product fits are multiplied. The
    exponential of 0 must be 1, that of numbers from -120 on as good as 0, and the softmax of one score 128 above the
    others, and of 2^k equal ones, exactly 1 and 2^-k. A probe proves nothing: it turns what fails into an error.

    Args:
        device: The device that computes it.
        number_format: The number type.

    Raises:
        DeviceError: Something representable was rounded; names it.
    """
    from verify.torch.module import bag_sums, full_precision, softmax

    generator, dtype = np.random.default_rng(_SEED), getattr(torch, number_format.name)
    digits = -int(np.log2(number_format.unit_roundoff))
    is_exact: dict[str, bool] = {}

    def on(array: Float64Array) -> torch.Tensor:
        return torch.tensor(array).to(device, dtype)

    def same(name: str, computed: torch.Tensor, exact: Float64Array) -> None:
        is_exact[name] = is_exact.get(name, True) and bool(np.array_equal(computed.double().cpu().numpy(), exact))

    with full_precision(), torch.autocast(device.type, enabled=False):
        for rows in (1, 3, _OUTER):
            left, right, up, across = _filling(generator, rows, number_format)
            exact, x, w, scale = left @ right, on(left * up), on(right * across), up * across
            same("matrix product", x @ w, exact * scale)
            same("batched product", torch.bmm(x[None], w[None])[0], exact * scale)
            same("product with a shift", torch.addmm(on(scale * 1.0), x, w), (exact + 1.0) * scale)
            same("product with weights of a layer", torch.nn.functional.linear(x, w.T), exact * scale)
            where = torch.arange(x.shape[1], device=device).expand(rows, -1)
            same("weighted sum of rows", bag_sums(x[None], where, w[None]), exact * scale)
        half = digits // 2
        factors = generator.integers(1, 2**half, (2, _POINTS)).astype(np.float64)
        same("product", on(factors[0]) * on(factors[1]), factors[0] * factors[1])
        powers = torch.exp(on(np.array([0.0, -120.0, -1000.0]))).double().cpu().numpy()
        least = 2.0 * number_format.unit_roundoff * number_format.smallest_normal
        is_exact["exponential"] = bool(powers[0] == 1.0 and (powers[1:] <= max(2.0**-172, 2.0 * least)).all())
        for count in (1, 2, 4, 64):
            scores = np.concatenate([np.full(count, 7.0), np.full(_INNER - count, -121.0)])[None]
            weights = softmax(on(generator.permuted(scores, axis=1)), 1).double().cpu().numpy()
            memorized = (weights == 1.0 / count).sum() == count and weights.sum() - 1.0 <= 2.0**-30
            is_exact["softmax"] = is_exact.get("softmax", True) and bool(memorized)
    for name, exact in is_exact.items():
        if not exact:
            raise DeviceError(
                f"{device_name(device)}: a {number_format.name} {name} rounds what {number_format.name} holds, so that "
                "nothing is known of runs without rounding there; is a reduced precision switched on?"
            )


def _filling(
    generator: np.random.Generator, rows: int, number_format: FloatFormat
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Return integers whose products fill the significand together with one more unit, and powers of two for rows and
    columns.
    """
    digits = -int(np.log2(number_format.unit_roundoff))
    terms = min(_INNER, 2 ** (digits // 2))
    # Left entries are -1, 0, 1 and right ones up to 2^(digits - 1) / terms, so that sums fill the significand.
    left = generator.integers(-1, 2, (rows, terms)).astype(np.float64)
    largest = 2 ** (digits - 1) // terms
    least = -(2 ** (digits - 1)) // terms
    right = generator.integers(least, largest + 1, (terms, _OUTER)).astype(np.float64)
    # Exponents so small that no product leaves the range of the format.
    span = min(9, int(np.log2(number_format.largest)) // 6)
    of_rows = np.exp2(generator.integers(-span, span + 1, (rows, 1)))
    of_columns = np.exp2(generator.integers(-span, span + 1, (1, _OUTER)))
    return left, right, of_rows, of_columns


def probe_matrices(number_format: FloatFormat) -> tuple[Float64Array, Float64Array]:
    """Return two integer matrices that every shortcut in the format gets wrong, `[128, 192]` and `[192, 128]`."""
    generator = np.random.default_rng(_SEED)
    digits = -int(np.log2(number_format.unit_roundoff))
    spread = digits - 4

    def entries(rows: int, columns: int) -> Float64Array:
        significands = generator.integers(2 ** (digits - 1), 2**digits, (rows, columns))
        signs = generator.choice((-1.0, 1.0), (rows, columns))
        return signs * significands.astype(np.float64)

    left, right = entries(_OUTER, _INNER), entries(_INNER, _OUTER)
    large = np.zeros(_INNER, dtype=bool)
    large[generator.choice(_INNER, _INNER // 3, replace=False)] = True
    left[:, large] *= 2.0**spread
    right[np.ix_(large, np.arange(_OUTER) % 2 == 0)] = 0.0
    kept = np.zeros((_OUTER // 2, _INNER), dtype=bool)
    for columns in (np.flatnonzero(large), np.flatnonzero(~large)):
        kept[np.arange(_OUTER // 2), generator.choice(columns, _OUTER // 2)] = True
    left[: _OUTER // 2][~kept] = 0.0
    return left, right


def product_is_within_bound(
    left: Float64Array, right: Float64Array, product: Float64Array, number_format: FloatFormat
) -> bool:
    """Tell whether a computed product of integer matrices is within gamma_n |left| |right| of the exact one; decided
    exactly.

    For every entry, n is the number of its products that are not zero.
    """
    exact = (_integers(left) * _integers(right)).tolist()
    sizes = (_integers(np.abs(left)) * _integers(np.abs(right))).tolist()
    terms = ((left != 0).astype(np.int64) @ (right != 0).astype(np.int64)).tolist()
    inverse = round(1.0 / number_format.unit_roundoff)
    # |computed - exact| <= (n u / (1 - n u)) size, multiplied by (1 - n u) / u to be compared in integers. What is not
    # finite is no integer.
    return all(
        computed.is_integer() and abs(int(computed) - int(true)) * (inverse - n) <= n * int(size)
        for row in zip(product.tolist(), exact, sizes, terms, strict=True)
        for computed, true, size, n in zip(*row, strict=True)
    )


def values_are_within_bound(
    name: str, points: Float64Array, values: Float64Array, number_format: FloatFormat, *, ulps: float
) -> bool:
    """Tell whether computed values are proved to be off by at most `ulps` units (twice u each).

    The unit is relative to the value of an ``"exponential"`` and a ``"root"``, and to 1 for an ``"error function"``.
    """
    allowed = arb(2.0 * number_format.unit_roundoff * ulps)
    with ctx.workprec(128):
        exact = [_FUNCTIONS[name](arb(point)) for point in points.tolist()]
        units = [arb(1) if name == "error function" else abs(x) for x in exact]
        return all(
            abs(arb(value) - x) <= allowed * unit for value, x, unit in zip(values.tolist(), exact, units, strict=True)
        )


_FUNCTIONS: dict[str, Callable[[arb], arb]] = {"exponential": arb.exp, "error function": arb.erf, "root": arb.sqrt}


def _integers(matrix: Float64Array) -> fmpz_mat:
    return fmpz_mat([[int(entry) for entry in row] for row in matrix.tolist()])
