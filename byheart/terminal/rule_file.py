"""A rule of somebody's own, from a Python file of theirs.

Page: docs/commands.md
"""

import runpy
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import wraps
from pathlib import Path
from typing import Any

from constructions.errors import InputError


def named_rule(rule: str, option: str = "--rule") -> str | Callable[..., Any]:
    """The function that ``FILE.py:function`` names, which runs the file; any other name as it is.

    What the file and the function print goes to standard error: standard output is for the answer alone.

    Args:
        rule: What was typed.
        option: Where it was typed.

    Raises:
        InputError: There is no such rule or file, it does not run, or it has no such function.

    Example:
        >>> named_rule("max")
        'max'
    """
    from constructions.tasks.rule import RULES

    place, separator, name = rule.rpartition(":")
    if not separator or not place.endswith(".py"):
        if rule not in RULES:
            raise InputError(option, f"is {rule!r}", f"one of {', '.join(RULES)}, or FILE.py:function")
        return rule
    path = Path(place)
    if not path.is_file():
        raise InputError(option, f"is {rule!r}, but {path} is no file")
    try:
        with redirect_stdout(sys.stderr):
            found = runpy.run_path(place)
    except (Exception, SystemExit) as error:  # whatever the file may raise
        raise InputError(path, f"does not run: {type(error).__name__}: {error}") from error
    function = found.get(name)
    if not callable(function):
        known = sorted(each for each, value in found.items() if callable(value) and not each.startswith("_"))
        raise InputError(path, f"has no function {name!r}", f"one of {', '.join(known) or 'some'}")

    @wraps(function)
    def quiet(*given: Any) -> Any:
        with redirect_stdout(sys.stderr):
            return function(*given)

    quiet.__name__ = rule  # as it was typed, for what is said of it
    return quiet
