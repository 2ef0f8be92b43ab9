"""What a builder returns, with one of its numbers one more, or with none of them left."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq, fmpq_mat, fmpz, fmpz_mat

MATRICES = (fmpq_mat, fmpz_mat)
NUMBERS = (arb, int, float, Fraction, fmpq, fmpz, np.integer, np.floating)


class NoNumberError(Exception):
    """There is no number in what is to be changed."""


def first_more(value: Any) -> Any:
    """The value with its first number one more."""
    return _changed(value, lambda array: _entry(array, 0), last=False)


def last_more(value: Any) -> Any:
    """The value with its last number one more."""
    return _changed(value, lambda array: _entry(array, -1), last=True)


def other_signs(value: Any) -> Any:
    """The value with the opposite of every number, so that what is of any size is still another thing."""
    return _everywhere(value, lambda array: -array)


def no_numbers(value: Any) -> Any:
    """The value with 0 in the place of every number."""
    return _everywhere(value, lambda array: array * 0)


PERTURBATIONS: tuple[Callable[[Any], Any], ...] = (last_more, first_more, no_numbers, other_signs)


def _entry(array: Any, place: int) -> Any:
    if array.size == 0:
        raise NoNumberError
    array = array.copy()
    array.reshape(-1)[place] = ~array.reshape(-1)[place] if array.dtype == bool else array.reshape(-1)[place] + 1
    return array


def _of_entries(matrix: Any, change: Callable[[Any], Any]) -> Any:
    """A matrix of FLINT whose entries are changed as those of an array."""
    entries = np.array([None, *matrix.entries()], dtype=object)[1:]
    return type(matrix)(matrix.nrows(), matrix.ncols(), list(change(entries)))


def _parts(value: Any) -> list[tuple[Any, Any]]:
    """The parts of a record or a sequence by their names."""
    if is_dataclass(value) and not isinstance(value, type):
        return [(part.name, getattr(value, part.name)) for part in fields(value) if part.init]
    if isinstance(value, tuple | list):
        return list(enumerate(value))
    if isinstance(value, dict):
        return list(value.items())
    raise NoNumberError


def _with(value: Any, changed: dict[Any, Any]) -> Any:
    """The record or sequence with other parts."""
    if isinstance(value, dict):
        return {**value, **changed}
    if not isinstance(value, tuple | list):
        return replace(value, **changed)
    parts = [changed.get(place, part) for place, part in enumerate(value)]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def _changed(value: Any, change: Callable[[Any], Any], *, last: bool) -> Any:
    """The value with one array or number changed, the first or the last that there is."""
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, NUMBERS):
        return value + 1
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, MATRICES):
        return _of_entries(value, change)
    if isinstance(value, Iterator):
        return iter(_changed(list(value), change, last=last))
    parts = _parts(value)
    for name, part in reversed(parts) if last else parts:
        try:
            return _with(value, {name: _changed(part, change, last=last)})
        except NoNumberError:
            continue
    raise NoNumberError


def _everywhere(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with every array and number changed, none left out."""
    if isinstance(value, bool | np.bool_):
        return value
    if isinstance(value, NUMBERS):
        return change(value)
    if isinstance(value, np.ndarray):
        return value if value.dtype == bool else change(value)
    if isinstance(value, MATRICES):
        return _of_entries(value, change)
    if isinstance(value, Iterator):
        return iter(_everywhere(list(value), change))
    changed = {}
    for name, part in _parts(value):
        try:
            changed[name] = _everywhere(part, change)
        except NoNumberError:
            continue
    if not changed:
        raise NoNumberError
    return _with(value, changed)
