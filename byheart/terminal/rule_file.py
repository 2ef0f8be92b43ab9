"""A rule, a task or a memory of somebody's own, from a Python file of theirs.

Page: docs/commands.md
"""

import runpy
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constructions.errors import InputError
from constructions.plug_ins import required_plug_in

if TYPE_CHECKING:
    from constructions.memories.memory import Memory
    from constructions.tasks.any_task import AnyTask


def named_rule(rule: str, option: str = "--rule") -> str | Callable[..., Any]:
    """Return the function that ``FILE.py:function`` names, which runs the file; any other name as it is.

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
    place, separator, name = rule.rpartition(":")
    if not separator or not place.endswith(".py"):
        rules = required_plug_in("constructions.tasks.rule").RULES
        if rule not in rules:
            raise InputError(option, f"is {rule!r}", f"one of {', '.join(rules)}, or FILE.py:function")
        return rule
    path, found = Path(place), _run(place, option, rule)
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


def named_task(source: Path, option: str = "FILE") -> "AnyTask | None":
    """Return the task that ``FILE.py:name`` names, which runs the file; nothing where that is not what was typed.

    Args:
        source: What was typed.
        option: Where it was typed.

    Raises:
        InputError: There is no such file, it does not run, or it has no task of this name.
    """
    from constructions.tasks.any_task import AnyTask

    place, separator, name = str(source).rpartition(":")
    if not separator or not place.endswith(".py"):
        return None
    found = _run(place, option, str(source)).items()
    tasks = {each: value for each, value in found if isinstance(value, AnyTask) and not isinstance(value, type)}
    if name not in tasks:
        raise InputError(Path(place), f"has no task {name!r}", f"one of {', '.join(sorted(tasks)) or 'some'}")
    return tasks[name]


def named_memory(memory: str | None, option: str = "--memory") -> "str | Memory | None":
    """Return the memory that ``FILE.py:name`` names, which runs the file; any other name as it is.

    Args:
        memory: What was typed.
        option: Where it was typed.

    Raises:
        InputError: There is no such file, it does not run, or it has no memory of this name.

    Example:
        >>> named_memory("knots")
        'knots'
    """
    from constructions.memories.memory import Memory

    place, separator, name = (memory or "").rpartition(":")
    if memory is None or not separator or not place.endswith(".py"):
        return memory
    found = {each: value for each, value in _run(place, option, memory).items() if isinstance(value, Memory)}
    if name not in found:
        raise InputError(Path(place), f"has no memory {name!r}", f"one of {', '.join(sorted(found)) or 'some'}")
    return found[name]


def _run(place: str, option: str, typed: str) -> dict[str, Any]:
    """Return what a Python file defines; what it prints goes to standard error."""
    path = Path(place)
    if not path.is_file():
        raise InputError(option, f"is {typed!r}, but {path} is not a file")
    try:
        with redirect_stdout(sys.stderr):
            return runpy.run_path(place)
    except (Exception, SystemExit) as error:  # whatever the file may raise
        raise InputError(path, f"does not run: {type(error).__name__}: {error}") from error
