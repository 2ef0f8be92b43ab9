"""The device of the command line: torch's where it is not the CPU, one sentence where there is none."""

import subprocess
import sys

import pytest
import torch

from byheart import device
from byheart.device import require_device
from constructions.errors import InputError
from verify.torch.device import DeviceError


def test_torch_is_not_asked_for_the_cpu() -> None:
    program = "import sys, byheart.device\nbyheart.device.require_device('cpu'); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    require_device("cpu:0")
    with pytest.raises(InputError, match="device = 'gpu', expected cpu, cuda or cuda:i"):
        require_device("gpu")
    with monkeypatch.context() as patched:
        patched.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(DeviceError, match="no CUDA device"):
            require_device("cuda")
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"torch is not installed; `pip install 'byheart\[torch\]'`"):
        require_device("cuda")
