"""Where large products are computed: this machine's BLAS, or a device that torch finds.

Page: docs/run.md
"""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from constructions.errors import InputError


def require_device(device: str) -> None:
    """Refuse a device that is not there before anything is computed; torch is not asked for ``"cpu"``.

    Raises:
        InputError: No such kind of device, or torch is not installed.
        DeviceError: A device that is not there.
    """
    if device == "cpu":
        return
    if importlib.util.find_spec("torch") is None:
        raise InputError("device", f"= {device}, but torch is not installed; `pip install 'byheart[torch]'`")
    from verify.replica.device import select_device

    select_device(device)


@contextmanager
def on_device(device: str) -> Iterator[None]:
    """Compute large products of float64 matrices on a device within the block; on ``"cpu"`` as always.

    Raises:
        InputError: No such kind of device, or torch is not installed.
        DeviceError: A device that is not there, or whose double precision is emulated or coarse.
        BlasError: A product on the device fails a probe.

    Example:
        >>> with on_device("cpu"):
        ...     pass
    """
    require_device(device)
    if device == "cpu":
        yield
        return
    from verify.replica.device_products import products_on

    with products_on(device):
        yield
