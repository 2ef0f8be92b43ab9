"""Write values as Python code that recreates them: arrays, models, fractions and dataclasses of these.

Page: docs/own_theorem.md
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from textwrap import indent
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat
from numpy.typing import NDArray

_LONGEST_LINE = 90


def as_code(**values: Any) -> str:
    """Write values as assignments that can be pasted: the imports that they need, an empty line, and the values.

    Numbers are written in full, so that the code makes the same bits. A value of a type that is not known here is
    written as its `repr`.

    Args:
        values: The values by the names that they get.

    Returns:
        Python code.

    Example:
        >>> print(as_code(weights=np.array([[0.1, -0.0]]), half=Fraction(1, 2)))
        import numpy as np
        from fractions import Fraction
        <BLANKLINE>
        weights = np.array([[0.1, -0.0]], dtype='float64')
        half = Fraction(1, 2)
    """
    writer = _Writer()
    lines = [f"{name} = {writer.expression(value)}" for name, value in values.items()]
    imports = sorted(writer.imports, key=lambda line: (not line.startswith("import"), line))
    return "\n".join([*imports, "", *lines] if imports else lines)


class _Writer:
    """Writes expressions, and collects the imports that they need."""

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def expression(self, value: Any) -> str:
        match value:
            case Enum():
                return f"{self._name(type(value))}.{value.name}"
            case np.ndarray():
                return self._array(value)
            case np.generic() if isinstance(value.item(), bool | int | float | complex | str | bytes):
                return f"{self._numpy()}.{type(value).__name__}({self.expression(value.item())})"
            case float() if not math.isfinite(value):
                return f"float({str(value)!r})"
            case Fraction():
                return f"{self._name(Fraction)}({value.numerator}, {value.denominator})"
            case fmpq():
                return f"{self._flint('fmpq')}({value.p}, {value.q})"
            case fmpz():
                return f"{self._flint('fmpz')}({value})"
            case fmpq_mat() | fmpz_mat():
                entries = self.expression(value.entries())
                return f"{self._flint(type(value).__name__)}({value.nrows()}, {value.ncols()}, {entries})"
            case tuple() if hasattr(value, "_fields"):
                return self._call(type(value), _arguments(value))
            case tuple() if len(value) == 1:
                return f"({self.expression(value[0])},)"
            case tuple():
                return _grouped("(", map(self.expression, value), ")")
            case list():
                return _grouped("[", map(self.expression, value), "]")
            case set() if value:
                return _grouped("{", map(self.expression, value), "}")
            case frozenset():
                return f"frozenset({self.expression(list(value))})"
            case dict():
                pairs = (f"{self.expression(key)}: {self.expression(entry)}" for key, entry in value.items())
                return _grouped("{", pairs, "}")
            case _ if is_dataclass(value) and not isinstance(value, type):
                return self._call(type(value), _arguments(value))
            case _:
                return repr(value)

    def _array(self, array: NDArray[Any]) -> str:
        entries = self.expression(array.tolist()) if array.size else str(array.shape)
        made_by = "array" if array.size else "zeros"
        return f"{self._numpy()}.{made_by}({entries}, dtype={str(array.dtype)!r})"

    def _call(self, kind: type, arguments: Mapping[str, Any]) -> str:
        written = (f"{name}={self.expression(value)}" for name, value in arguments.items())
        return _grouped(f"{self._name(kind)}(", written, ")")

    def _name(self, kind: type) -> str:
        """Return the name of a class, imported from its module unless it is defined in a script or session."""
        outermost = kind.__qualname__.split(".")[0]
        if kind.__module__ not in ("__main__", "builtins"):
            self.imports.add(f"from {kind.__module__} import {outermost}")
        return kind.__qualname__

    def _numpy(self) -> str:
        self.imports.add("import numpy as np")
        return "np"

    def _flint(self, name: str) -> str:
        self.imports.add(f"from flint import {name}")
        return name


def _arguments(value: Any) -> dict[str, Any]:
    """Return the constructor arguments of a named tuple or dataclass, without defaults of the latter."""
    if hasattr(value, "_asdict"):
        return value._asdict()
    arguments = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return {
        field.name: arguments[field.name] for field in fields(value) if field.init and not _is_default(field, arguments)
    }


def _is_default(field: Field[Any], given: Mapping[str, Any]) -> bool:
    value, default = given[field.name], field.default
    if default is MISSING or isinstance(value, np.ndarray):
        return False
    return value is default or (
        type(value) is type(default) and isinstance(value, bool | int | str) and value == default
    )


def _grouped(opening: str, parts: Iterable[str], closing: str) -> str:
    """Return the parts in brackets, on one line if they fit, otherwise on one line each."""
    written = list(parts)
    line = f"{opening}{', '.join(written)}{closing}"
    if len(line) <= _LONGEST_LINE and "\n" not in line:
        return line
    return "\n".join([opening, *(indent(f"{part},", "    ") for part in written), closing])
