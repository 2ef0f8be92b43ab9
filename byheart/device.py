"""The device that torch runs a model on.

Page: docs/run.md
"""

from importlib.util import find_spec

from constructions.errors import InputError
from constructions.plug_ins import required_plug_in


def require_device(device: str) -> None:
    """Refuse a missing device before any computation; ``"cpu"`` does not need torch.

    Raises:
        InputError: No such kind of device, or torch is not installed.
        DeviceError: A device that is not there.
    """
    if device == "cpu":
        return
    if find_spec("torch") is None:
        raise InputError("device", f"= {device}, but torch is not installed; `pip install 'byheart[torch]'`")
    required_plug_in("verify.torch.device").select_device(device)
