"""Which software and which arithmetic made a certificate: information only, nothing is concluded from it."""

import platform
from importlib.metadata import PackageNotFoundError, version

import flint

from verify.arithmetic import blas
from verify.arithmetic.products import multiplier


def provenance() -> dict[str, str]:
    """Names and versions, as texts.

    Page: docs/rigour/certificate.md

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
    if (elsewhere := multiplier()) is not None:
        arithmetic["large products"] = elsewhere.name
    return {
        "byheart": byheart,
        "python": platform.python_version(),
        "flint": flint.__FLINT_VERSION__,
        "python-flint": flint.__version__,
        **{f"arithmetic: {name}": str(value) for name, value in arithmetic.items()},
    }
