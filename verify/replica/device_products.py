r"""Products of float64 matrices by torch, in blocks that fit into the memory of a device.

Page: docs/rigour/arithmetic.md
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from constructions.arrays import Float64Array
from verify.arithmetic.products import multiplying
from verify.replica.device import DeviceError, device_name, require_arithmetic, select_device
from verify.runs.formats import FLOAT64

_EMULATION = "CUBLAS_EMULATE_DOUBLE_PRECISION"
_LEAST = 2**27  # multiplications that are worth the way to the device and back
_SIDE = 2**14  # rows: each number that is sent takes part in as many multiplications
_SHARE = 0.75  # of the memory that is free
_WITHOUT_LIMIT = 2**30  # bytes that blocks take in the memory of the CPU


@dataclass(frozen=True)
class DeviceProducts:
    """Products of float64 matrices on a device, each number of the result a sum of products in float64.

    Source: the blocks are those of any textbook (Golub, Van Loan, Matrix Computations, Section 1.3).

    Args:
        device: Where.
        memory: Bytes that blocks may take there at a time; matrices may be larger.
        least: Products of fewer multiplications are left to NumPy.
        side: Rows of the blocks that it is given at a time.

    Example:
        >>> multiply = DeviceProducts(torch.device("cpu"), memory=2**10)
        >>> bool((multiply(np.ones((50, 60)), np.ones((60, 70))) == 60.0).all())
        True
    """

    device: torch.device
    # Equal are products on one device, however they are cut: they are probed once.
    memory: int = field(compare=False)
    least: int = field(default=_LEAST, compare=False)
    side: int = field(default=_SIDE, compare=False)

    @property
    def name(self) -> str:
        """What certificates call it: the device and the library."""
        return f"{device_name(self.device)} by torch {torch.__version__}"

    def __call__(self, a: Float64Array, b: Float64Array, terms: int | None = None, /) -> Float64Array:
        """`a @ b`, blocks of `terms` terms one after the other; a block of the result stays there until it is done."""
        (rows, inner), columns = a.shape, b.shape[1]
        entries = self.memory // a.itemsize
        # Squares of a, of b, of the result, and of what is added to it.
        side = step = max(1, math.isqrt(entries // 4))
        depth = min(side if terms is None else terms, max(inner, 1))
        if terms is not None:
            # No block of terms is cut, or a term would go through more additions than the bounds count.
            side, step = max(1, min(side, entries // (4 * depth))), max(depth, side // depth * depth)
        result = np.zeros((rows, columns))
        with torch.inference_mode(), torch.autocast(self.device.type, enabled=False):
            for row in range(0, rows, side):
                for column in range(0, columns, side):
                    total: Tensor | None = None
                    for start in range(0, inner, step):
                        left = self._sent(a[row : row + side, start : start + step])
                        right = self._sent(b[start : start + step, column : column + side])
                        for term in range(0, left.shape[1], depth):
                            part = left[:, term : term + depth] @ right[term : term + depth]
                            total = part if total is None else total.add_(part)
                    if total is not None:
                        result[row : row + side, column : column + side] = total.cpu().numpy()
        return result

    def _sent(self, block: Float64Array) -> Tensor:
        # A copy as it lies in memory: torch takes no array that is read only or runs backwards.
        return torch.from_numpy(np.array(block, dtype=np.float64, order="K")).to(self.device)


@contextmanager
def products_on(name: str, *, memory: int | None = None, least: int = _LEAST, side: int = _SIDE) -> Iterator[None]:
    r"""Let a device compute the large products of float64 matrices within the block, in this thread.

    Why it is rigorous: the radii of products allow any order of summation, fused multiply-add and results flushed to
    zero below the normal numbers (Lemma A7). Precision that is emulated is refused by its name where the environment
    asks for it, and else, like all other arithmetic that is not float64, by the probes; they prove nothing, and what is
    trusted is said in docs/rigour/trust.md.

    Args:
        name: ``"cpu"``, ``"cuda"`` or ``"cuda:i"``.
        memory: Bytes that blocks of matrices may take there; by default three quarters of what is free on a GPU.
        least: Products of fewer multiplications are left to NumPy.
        side: Rows of the blocks in which a Gram matrix is computed.

    Raises:
        InputError: No such kind of device.
        DeviceError: No such device, or one whose double precision is emulated or coarse.
        BlasError: A product on the device fails a probe.

    Example:
        >>> from verify.arithmetic.enclosure import matmul
        >>> with products_on("cpu", least=0):
        ...     matmul(np.ones((2, 3)), np.ones((3, 2))).midpoint.tolist()
        [[3.0, 3.0], [3.0, 3.0]]
    """
    device = select_device(name)
    asked = os.environ.get(_EMULATION, "0")
    if asked != "0":
        raise DeviceError(f"{_EMULATION} is {asked!r}, expected 0: no rounding bound holds for emulated float64")
    if memory is None:
        memory = int(_SHARE * torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else _WITHOUT_LIMIT
    if memory < 1:
        raise DeviceError(f"{device_name(device)}: {memory} bytes are free, too few for a product")
    with _native_double_precision():
        require_arithmetic(device, FLOAT64)
        with multiplying(DeviceProducts(device, memory, least, side)):
            yield


@contextmanager
def _native_double_precision() -> Iterator[None]:
    """Say to cuBLAS, which reads it when it starts, that double precision is not to be emulated."""
    before = os.environ.get(_EMULATION)
    os.environ[_EMULATION] = "0"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_EMULATION, None)
