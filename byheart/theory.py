"""The folders of the theorems, which a copy of the program can do without.

Page: docs/contributing.md
"""

from importlib.util import find_spec
from types import ModuleType

from constructions.errors import InputError
from constructions.plug_ins import plug_in

FOLDERS = (
    "constructions.attention",
    "constructions.encoders",
    "constructions.named",
    "constructions.rational",
    "constructions.saturated_layers",
    "constructions.heads_of_theorem_1",
    "constructions.unembeddings",
    "verify.theorems",
    "byheart.theorems",
)
"""What speaks of the theorems: what builds, what judges, and of the interface the one folder that imports both."""


def missing_folders() -> list[str]:
    """Return the missing ones of `FOLDERS`.

    Example:
        >>> missing_folders()
        []
    """
    return [folder for folder in FOLDERS if find_spec(folder) is None]


def lost(module: str | None) -> InputError | None:
    """Return the message for a missing module of one of `FOLDERS`; None for other modules.

    Example:
        >>> print(lost("constructions.attention.families"))
        constructions/attention is not there, expected a whole copy of byheart: this speaks of the theorems
        >>> lost("json")
    """
    for folder in FOLDERS:
        if f"{module}.".startswith(f"{folder}."):
            expected = "a whole copy of byheart: this speaks of the theorems"
            return InputError(folder.replace(".", "/"), "is not there", expected)
    return None


def theorems(module: str) -> ModuleType | None:
    """Return a module of `byheart.theorems` by name; None if one of the folders is missing.

    The core says through it what the theorems say beside its memories, and does without it.

    Example:
        >>> theorems("memorized").__name__
        'byheart.theorems.memorized'
    """
    return None if missing_folders() else plug_in(f"byheart.theorems.{module}")
