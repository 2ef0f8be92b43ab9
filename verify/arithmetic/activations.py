"""Evaluate activations in float64 within a few units of the argument; bound their slopes and curvatures (Lemma T4).

Page: docs/rigour/forward.md
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from constructions.model.blocks import Activation
from verify.arithmetic.elementary import exp
from verify.arithmetic.error_function import normal_distribution
from verify.arithmetic.rounding import Floats

_CACHED = 2**14  # entries that are worked on while they stay in the cache
_COEFFICIENT = 0.044715
_ROOT = 0.7978845608028654  # the square root of 2 / pi
_BLOOM_ROOT = 0.79788456  # its first digits

ACTIVATION_UNITS: dict[Activation, float] = {
    "relu": 0.0,
    "gelu": 8.0,
    "gelu-tanh": 6.0,
    "gelu-bloom": 6.0,
    "silu": 4.0,
}
"""How many units times the argument each may be off, in float64 and in double-double."""

SLOPES: dict[Activation, tuple[float, float]] = {
    "relu": (1.0, 0.0),
    "gelu": (1.13, 0.8),
    "gelu-tanh": (1.13, 0.8),
    "gelu-bloom": (1.13, 0.8),
    "silu": (1.1, 0.5),
}
"""Upper bounds of the first and of the second derivative; the first is 1/2 at 0 but for ReLU."""


def activated(x: Floats, activation: Activation) -> Floats:
    r"""Return the activation of each entry x, off by at most $k u |x|$, k of `ACTIVATION_UNITS`; NaN or infinite where
    x is.

    Example:
        >>> activated(np.array([-1.0, 0.0, 50.0]), "silu").round(3).tolist()
        [-0.269, 0.0, 50.0]
    """
    if activation == "relu":
        return np.maximum(x, 0.0)
    function, flat = _FUNCTIONS[activation], np.ascontiguousarray(x).reshape(-1)
    result = np.empty_like(flat)
    for start in range(0, flat.size, _CACHED):
        result[start : start + _CACHED] = function(flat[start : start + _CACHED])
    return result.reshape(x.shape)


def _gelu_tanh(x: Floats, *, root: float = _ROOT) -> Floats:
    t = x * x
    t *= x
    t *= _COEFFICIENT
    t += x
    t *= -2.0 * root
    return _over_one_plus_exp(x, t)


def _silu(x: Floats) -> Floats:
    return _over_one_plus_exp(x, -x)


def _over_one_plus_exp(x: Floats, t: Floats) -> Floats:
    # Beyond, the quotient is x or 0 but for much less than a unit of x.
    powers = exp(np.clip(t, -700.0, 700.0)).midpoint + 1.0
    return x / powers


def _gelu(x: Floats) -> Floats:
    return x * normal_distribution(x)


_FUNCTIONS: dict[Activation, Callable[[Floats], Floats]] = {
    "gelu": _gelu,
    "gelu-tanh": _gelu_tanh,
    "gelu-bloom": partial(_gelu_tanh, root=_BLOOM_ROOT),
    "silu": _silu,
}
