"""What a user imports and types: from a text or a table to weights, a certificate and a page.

The names below are loaded when they are first used, so that `import byheart` is quick and needs no torch.
"""

import importlib
from typing import Any

_HOME = {
    "byheart.editing": ("edit",),
    "byheart.reciting": ("recite",),
    "byheart.facts": ("memorize", "read_facts"),
    "byheart.hosts.certify": ("certify",),
    "byheart.hosts.export": ("export",),
    "byheart.figures": ("Figures",),
    "byheart.memory": ("Memory", "Answer"),
    "byheart.job": ("hold", "capacity_summary", "build_claim"),
    "byheart.report.page": ("report_html", "write_report"),
    "verify.certificates.memorization": ("certify_memorization", "check_memorization"),
    "verify.independent.checker": ("check_independently",),
    "verify.replica.run": ("run_all",),
    "verify.audit": ("audit_claims",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("byheart")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'byheart' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
