"""Weights rounded to the precision in which a model is to be run.

Page: docs/conventions.md
"""

from typing import Literal, get_args

import numpy as np

from constructions.arrays import Float64Array
from constructions.errors import require_one_of
from constructions.models.model import Model

Precision = Literal["float32", "float64"]

SIGNIFICAND = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}
"""Significant bits of a number of each format, the leading one included."""


def require_precision(dtype: object) -> None:
    """Raise `InputError` unless it is the name of a precision."""
    require_one_of(get_args(Precision), dtype=dtype)


def rounded(values: Float64Array, name: str) -> Float64Array:
    """Numbers rounded to nearest in a floating-point format, ties to even; held in float64.

    Subnormal numbers of the format are not rounded further, which only makes them more precise.

    Args:
        values: Numbers of any shape, below the overflow of the format.
        name: One of `SIGNIFICAND`.

    Returns:
        The rounded numbers.

    Raises:
        InputError: No such format.

    Example:
        >>> rounded(np.array([0.7071067811865476]), "bfloat16").tolist()
        [0.70703125]
    """
    require_one_of(SIGNIFICAND, name=name)
    bits = SIGNIFICAND[name]
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)


def rounded_model(model: Model, dtype: Precision) -> Model:
    """The model with every entry of every tensor rounded to nearest; in float64 it is what it was.

    Args:
        model: Weights in float64.
        dtype: The precision.

    Returns:
        The model, still of float64 tensors.

    Raises:
        InputError: A precision that is none, or an entry beyond its range.

    Example:
        >>> one = np.full((1, 1), 0.1)
        >>> rounded_model(Model(blocks=(), W_U=one, W_E=one, W_pos=one), "float32").W_U.tolist()
        [[0.10000000149011612]]
    """
    require_precision(dtype)
    if dtype == "float64":
        return model
    with np.errstate(over="ignore"):
        return model.with_each(lambda _, tensor: tensor.astype(np.float32).astype(np.float64))
