"""Kinds of statements and of tasks: each is one file of this folder, found by its name; to add a kind is to add a file.

A kind of statement is a module with `ID`, `read`, `sentence` and `check` (`check.py:Kind`); a kind of task one with
`TASK` and `read`, beside those of `task.py`.

Page: docs/rigour/kernel.md
"""

from importlib import import_module
from pathlib import Path
from typing import Any


def find_statement(id: str) -> Any | None:
    """The module of a kind of statement, or none."""
    return _find(id, "ID")


def find_task(name: str) -> Any | None:
    """The module of a kind of task, or none."""
    return _find(name, "TASK")


def _find(name: str, constant: str) -> Any | None:
    """The module of this folder that is called so, hyphens read as underscores, and says so in a constant."""
    stem = name.replace("-", "_")
    if not (stem.isascii() and stem.isidentifier() and Path(__file__).with_name(f"{stem}.py").is_file()):
        return None
    module = import_module(f"{__package__}.{stem}")
    return module if getattr(module, constant, None) == name else None
