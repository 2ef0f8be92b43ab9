"""Weights rounded to the precision in which a model is to be run.

Page: docs/conventions.md
"""

from typing import TYPE_CHECKING, Literal, get_args

from constructions.errors import require_one_of

if TYPE_CHECKING:
    from constructions.model.model import Model
    from constructions.numeric.arrays import Float64Array

Precision = Literal["float16", "bfloat16", "float32", "float64"]
"""The types that weights are rounded to, and in whose runs a task is to be memorized."""

SHORT: tuple[Precision, ...] = ("float16", "bfloat16")
"""Those of 16 bits."""

SIGNIFICAND = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}
"""Significant bits of a number of each format, the leading one included."""

_RANGES = {"float16": (2.0**-14, 65504.0), "bfloat16": (2.0**-126, (2.0 - 2.0**-7) * 2.0**127)}
"""The least normal number and the largest number."""


STORED = {
    "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "bfloat16": 16, "float16": 16, "float32": 32, "float64": 64,
}  # fmt: skip
"""Bits of an entry in each type that a tensor is stored in, the fewest first."""


def narrowest(tensor: "Float64Array") -> str:
    """Return the type of fewest bits that holds every entry exactly, one of `STORED`.

    Example:
        >>> import numpy as np
        >>> [narrowest(np.array([0.0, x])) for x in (-128, 255, 1.5, 2049.0, 2.0**20, 0.1)]
        ['int8', 'uint8', 'bfloat16', 'int16', 'bfloat16', 'float64']
    """
    import numpy as np

    least, most = tensor.min(initial=0.0), tensor.max(initial=0.0)
    whole = bool((tensor == np.rint(tensor)).all())
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(tensor, dtype=np.float32)
        if not (single == tensor).all():
            return "float64"
        for name in STORED:
            if "int" in name:
                holds = whole and np.iinfo(name).min <= least and most <= np.iinfo(name).max
            elif name == "bfloat16":
                holds = not (single.view(np.uint32) & 0xFFFF).any()
            else:
                holds = bool((tensor.astype(name) == tensor).all())
            if holds:
                return name
    return "float64"


def stored_bits(model: "Model") -> int:
    """Return the bits of all tensors, each in the narrowest type that represents it exactly.

    Example:
        >>> import numpy as np
        >>> from constructions.model.model import Model
        >>> one = np.ones((1, 1))
        >>> stored_bits(Model(blocks=(), W_U=300 * one, W_E=one, W_pos=one))
        32
    """
    return sum(STORED[narrowest(tensor)] * tensor.size for tensor in model.tensors().values())


def require_precision(dtype: object) -> None:
    """Raise `InputError` unless it is the name of a precision."""
    require_one_of(get_args(Precision), dtype=dtype)


def rounded(values: "Float64Array", name: str) -> "Float64Array":
    """Round to nearest in a floating-point format, ties to even; the result is stored in float64.

    Subnormal numbers of the format are not rounded further, which only makes them more precise.

    Args:
        values: Numbers of any shape, below the overflow of the format.
        name: One of `SIGNIFICAND`.

    Returns:
        The rounded numbers.

    Raises:
        InputError: No such format.

    Example:
        >>> import numpy as np
        >>> rounded(np.array([0.7071067811865476]), "bfloat16").tolist()
        [0.70703125]
    """
    import numpy as np

    require_one_of(SIGNIFICAND, name=name)
    bits = SIGNIFICAND[name]
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)


def rounded_model(model: "Model", dtype: Precision) -> "Model":
    """Return the model with every entry of every tensor rounded to nearest; in float64 it is unchanged.

    In types of 16 bits to multiples of the least normal number, since no run has to keep others.

    Args:
        model: Weights in float64.
        dtype: The precision.

    Returns:
        The model, still of float64 tensors.

    Raises:
        InputError: A precision that is none, or an entry beyond its range.

    Example:
        >>> import numpy as np
        >>> from constructions.model.model import Model
        >>> one = np.full((1, 1), 0.1)
        >>> rounded_model(Model(blocks=(), W_U=one, W_E=one, W_pos=one), "float32").W_U.tolist()
        [[0.10000000149011612]]
    """
    import numpy as np

    require_precision(dtype)
    if dtype == "float64":
        return model
    if dtype == "float32":
        with np.errstate(over="ignore"):
            return model.with_each(lambda _, tensor: tensor.astype(np.float32).astype(np.float64))
    least, most = _RANGES[dtype]

    def short(_: str, tensor: "Float64Array") -> "Float64Array":
        nearest = np.rint(rounded(tensor, dtype) / least) * least
        return np.where(np.abs(nearest) > most, np.inf, nearest)

    return model.with_each(short)
