"""Weights rounded to the precision in which a model is to be run.

Page: docs/conventions.md
"""

from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from constructions.errors import InputError
from constructions.models.model import Model

Precision = Literal["float32", "float64"]

SIGNIFICAND = {"float32": 24, "float64": 53}
"""Significant bits of a number of each precision."""


def require_precision(dtype: object) -> None:
    """Raise `InputError` unless it is the name of a precision."""
    if dtype not in get_args(Precision):
        raise InputError(f"dtype = {dtype!r}, expected one of {', '.join(map(repr, get_args(Precision)))}")


def rounded_model(model: Model, dtype: Precision) -> Model:
    """The model with every entry of every tensor rounded to nearest; in float64 it is what it was.

    Args:
        model: Weights in float64.
        dtype: The precision.

    Returns:
        The model, still of float64 tensors.

    Raises:
        InputError: A precision that is none, or an entry beyond its range.

    Page: docs/conventions.md

    Example:
        >>> one = np.full((1, 1), 0.1)
        >>> rounded_model(Model(blocks=(), W_U=one, W_E=one, W_pos=one), "float32").W_U.tolist()
        [[0.10000000149011612]]
    """
    require_precision(dtype)
    return model if dtype == "float64" else _rounded(model)


def _rounded(record: Any) -> Any:
    changed: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            with np.errstate(over="ignore"):
                changed[field.name] = value.astype(np.float32).astype(np.float64)
        elif is_dataclass(value):
            changed[field.name] = _rounded(value)
        elif isinstance(value, tuple) and value and is_dataclass(value[0]):
            changed[field.name] = tuple(_rounded(part) for part in value)
    return replace(record, **changed)
