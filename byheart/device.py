"""The device that torch runs a model on.

Page: docs/run.md
"""

import importlib.util

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
    from verify.torch.device import select_device

    select_device(device)
