"""Plug-ins: what the core calls by name, and does without where its files are missing.

Page: docs/contributing.md
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from constructions.errors import InputError


def plug_in(module: str) -> ModuleType | None:
    """Return a module by its name; none where its file, or the folder that it lies in, is missing.

    Example:
        >>> plug_in("constructions.counted").__name__
        'constructions.counted'
        >>> plug_in("constructions.no_such_folder.module")
    """
    parts = module.split(".")
    for end in range(1, len(parts) + 1):  # a name is only looked for in a folder that is there
        if find_spec(".".join(parts[:end])) is None:
            return None
    return import_module(module)


def required_plug_in(module: str) -> ModuleType:
    """Return a module by its name, for what cannot be done without it.

    Raises:
        InputError: It is not there.

    Example:
        >>> required_plug_in("constructions.no_such_module")
        Traceback (most recent call last):
        ...
        constructions.errors.InputError: constructions/no_such_module.py is not there, expected a whole copy of byheart
    """
    found = plug_in(module)
    if found is None:
        raise InputError(f"{module.replace('.', '/')}.py", "is not there", "a whole copy of byheart")
    return found
