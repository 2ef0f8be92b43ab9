"""A rule of somebody's own, from a Python file of theirs.

Page: docs/commands.md
"""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from constructions.errors import InputError


def named_rule(rule: str) -> str | Callable[..., Any]:
    """The function that ``FILE.py:function`` names, which runs the file; any other name as it is.

    Args:
        rule: What was typed.

    Raises:
        InputError: There is no such file, it does not run, or it has no such function.

    Example:
        >>> named_rule("max")
        'max'
    """
    place, separator, name = rule.rpartition(":")
    if not separator or not place.endswith(".py"):
        return rule
    path = Path(place)
    if not path.is_file():
        raise InputError("rule", f"is {rule!r}, but {path} is no file")
    try:
        found = runpy.run_path(place)
    except Exception as error:  # whatever the file may raise
        raise InputError(path, f"does not run: {type(error).__name__}: {error}") from error
    function = found.get(name)
    if not callable(function):
        known = sorted(each for each, value in found.items() if callable(value) and not each.startswith("_"))
        raise InputError(path, f"has no function {name!r}", f"one of {', '.join(known) or 'some'}")
    return function
