"""The folders of the theorems, which a copy of the program can do without.

Page: docs/contributing.md
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

FOLDERS = (
    "constructions.attention",
    "constructions.encoders",
    "constructions.named",
    "constructions.rational",
    "constructions.saturated_heads",
    "constructions.theorem_1",
    "constructions.unembeddings",
    "verify.theorems",
    "byheart.theorems",
)
"""What speaks of the theorems: what builds, what judges, and of the interface the one folder that imports both."""


def missing_folders() -> list[str]:
    """Return those of `FOLDERS` that are not there.

    Example:
        >>> missing_folders()
        []
    """
    return [folder for folder in FOLDERS if find_spec(folder) is None]


def without(missing: str | None) -> str:
    """Say which folder of the theorems a module that is not there lies in; empty where it lies in none.

    Args:
        missing: The name of the module.

    Example:
        >>> without("constructions.attention.families")
        'constructions/attention is not there: what speaks of the theorems needs it, and a whole copy of byheart has it'
        >>> without("json")
        ''
    """
    for folder in FOLDERS:
        if f"{missing}.".startswith(f"{folder}."):
            place = folder.replace(".", "/")
            return f"{place} is not there: what speaks of the theorems needs it, and a whole copy of byheart has it"
    return ""


def theorems(module: str) -> ModuleType | None:
    """Return a module of `byheart.theorems` by its name; none where one of the folders is missing.

    The core says through it what the theorems say beside its memories, and does without it.

    Example:
        >>> theorems("memorized").__name__
        'byheart.theorems.memorized'
    """
    return None if missing_folders() else import_module(f"byheart.theorems.{module}")
