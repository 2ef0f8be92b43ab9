"""Find kinds of statements and tasks: each is one file of this folder, found by name, and a new file adds a kind.

A kind of statement is a module with `ID`, `read`, `sentence` and `check` (`statements.py:Kind`); a kind of task one
with `TASK` and `read`, beside those of `task.py`. Kinds of statements may also lie in another folder, which whoever
checks has to name: its files are believed as those of this one are.

Page: docs/rigour/kernel.md
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from verify.kernel.verdicts import BadInputError


def find_statement(id: str) -> Any | None:
    """Return the module of a kind of statement, or none."""
    return _find(id, "ID")


def find_task(name: str) -> Any | None:
    """Return the module of a kind of task, or none."""
    return _find(name, "TASK")


def kinds_in(folder: Path) -> list[Any]:
    """Run the modules in the folder `kernel` of another folder, and return their kinds of statements.

    Raises:
        BadInputError: There is no module, or one is no kind, has the name of another kind, or cannot be run.
    """
    kinds = []
    for path in sorted((folder / "kernel").glob("*.py")):
        module = load_module(path)
        id = getattr(module, "ID", None)
        if not isinstance(id, str) or id.replace("-", "_") != path.stem:
            raise BadInputError(str(path), "ID", "is not the name of the file")
        if find_statement(id) is not None:
            raise BadInputError(str(path), "ID", f"is {id!r}, a kind of statement that there is")
        kinds.append(module)
    if not kinds:
        raise BadInputError(str(folder), "the folder", "has no file of a kind of statement in its folder 'kernel'")
    return kinds


def load_module(path: Path) -> ModuleType:
    """Run a file as a module, once, and return it.

    Raises:
        BadInputError: It cannot be run.
    """
    name = str(path.resolve())
    if name not in sys.modules:
        spec = spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        try:
            sys.modules[name] = module  # where a dataclass of the module looks for its names
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise BadInputError(str(path), "the module", f"cannot be run: {error}") from error
    return sys.modules[name]


def _find(name: str, constant: str) -> Any | None:
    """Return the module of this folder with a name (hyphens become underscores) that declares itself in a constant."""
    stem = name.replace("-", "_")
    if stem not in {path.stem for path in Path(__file__).parent.glob("*.py")}:  # and not asked of the system as a path
        return None
    module = import_module(f"{__package__}.{stem}")
    return module if getattr(module, constant, None) == name else None
