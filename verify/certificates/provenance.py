"""Record which software and arithmetic made a certificate; this is information only.

Pages: docs/rigour/certificate.md, docs/audit.md
"""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, distributions, version
from typing import Any

import flint

from verify.arithmetic import blas
from verify.program_text import program_sha256


def provenance() -> dict[str, str]:
    """Return names and versions as texts.

    Example:
        >>> "python" in provenance()
        True
    """
    try:
        byheart = version("byheart")
    except PackageNotFoundError:
        byheart = "not installed"
    arithmetic = {
        name: ", ".join(value) if isinstance(value, list) else value for name, value in blas.description().items()
    }
    return {
        "byheart": byheart,
        "python": platform.python_version(),
        "flint": flint.__FLINT_VERSION__,
        "python-flint": flint.__version__,
        **{f"arithmetic: {name}": str(value) for name, value in arithmetic.items()},
    }


def all_that_judges() -> dict[str, Any]:
    """Return everything besides its subject that a result depends on: the program text, and what it runs on.

    Example:
        >>> all_that_judges()["provenance"].items() < provenance().items(), "numpy" in all_that_judges()["installed"]
        (True, True)
    """
    made_by = provenance()
    del made_by["arithmetic: threads"]  # every bound holds for any order of summation, and workers have one each
    return {"program": program_sha256(), "provenance": made_by, "installed": _installed()}


@cache
def _installed() -> dict[str, str]:
    """Return the version of every installed package, because a claim from another package may use any of them."""
    return {str(package.metadata["Name"]): package.version for package in distributions()}
