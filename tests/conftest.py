"""What every test runs under: no change of global state, and the marker for a GPU."""

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version

import flint
import mpmath
import numpy as np
import pytest


def pytest_report_header() -> str:
    packages = ("numpy", "scipy", "python-flint", "hypothesis")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return (
        f"byheart: {versions}, FLINT {flint.__FLINT_VERSION__}, {blas['name']} {blas['version']}, {platform.machine()}"
    )


def global_state() -> dict[str, object]:
    torch = sys.modules.get("torch")
    return {
        "flint.ctx.prec": flint.ctx.prec,
        "flint.ctx.threads": flint.ctx.threads,
        "mpmath.mp.prec": mpmath.mp.prec,
        "numpy.geterr()": np.geterr(),
        "torch.get_default_dtype()": torch and torch.get_default_dtype(),
        "the working directory": os.getcwd(),
    }


@pytest.fixture(autouse=True)
def no_global_state_is_changed() -> Iterator[None]:
    """Precision, floating-point errors and the default dtype are as they were before the test."""
    before = global_state()
    yield
    after = global_state()
    changed = [name for name, value in before.items() if value is not None and after[name] != value]
    assert not changed, f"left changed by the test: {', '.join(changed)}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device, and torch sees none here")
