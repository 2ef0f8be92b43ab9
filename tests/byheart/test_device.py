"""The device of the command line: none for the CPU, torch's for any other, one sentence where there is none."""

import importlib.util
import subprocess
import sys

import pytest
import torch

from byheart import job
from byheart.device import on_device, require_device
from constructions.errors import InputError
from constructions.features import minimum_norm
from constructions.products import multiplier
from constructions.tasks.table import table_task
from verify.claims import claim
from verify.replica.device import DeviceError


def test_on_the_cpu_numpy_multiplies_and_torch_is_not_imported() -> None:
    program = (
        "import sys; from byheart.device import on_device; from constructions.products import multiplier\n"
        "with on_device('cpu'): assert multiplier() is None\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_any_other_device_multiplies_within_the_block() -> None:
    with on_device("cpu:0"):
        found = multiplier()
        assert found is not None and found.name.startswith("cpu by torch")
    assert multiplier() is None


@pytest.mark.parametrize("use", [require_device, lambda device: on_device(device).__enter__()])
def test_a_device_that_is_not_there_is_refused(use, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="device = 'gpu', expected cpu, cuda or cuda:i"):
        use("gpu")
    with monkeypatch.context() as patched:
        patched.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(DeviceError, match="no CUDA device"):
            use("cuda")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"torch is not installed; `pip install 'byheart\[torch\]'`"):
        use("cuda")


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
def test_weights_are_solved_for_where_their_proof_multiplies(device: str, tmp_path, monkeypatch) -> None:
    seen = []
    original = minimum_norm._cholesky
    monkeypatch.setattr(minimum_norm, "_cholesky", lambda matrix: (seen.append(multiplier()), original(matrix))[1])
    task = table_task("a b,c\nb a,d\na a,c\n", target="labels")
    job.hold(task, memory="theorem-1", device=device)
    job.build_claim(claim("dana.theorem-1"), out=tmp_path / "built", device=device)
    assert len(seen) >= 2 and all((found is None) == (device == "cpu") for found in seen)
