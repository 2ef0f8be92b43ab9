"""Bound the output of an inactive neuron: the supremum of an activation below a threshold.

Page: docs/claims/editing.md
"""

import numpy as np

from constructions.model.blocks import Activation
from verify.arithmetic.elementary import exp
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats

_TURNS = 1.28  # the activations have their minimum between minus this and 0, and rise to 0 below it
_DEEPEST = 0.28  # above the size of that minimum
_TANH = {"gelu-tanh": 1.5957691216057308, "gelu-bloom": 1.59576912}  # 2 sqrt(2 / pi), and as BLOOM has it
_CUBE = 0.044715
_LOWEST = -700.0  # of an exponent: what is smaller is bounded by its exponential there


def leak(activation: Activation, threshold: Floats) -> Floats:
    r"""Return upper bounds of $\sup_{u \le -t} |\varphi(u)|$ (Lemma N2).

    For $t \ge 1.28$: 0 for ReLU, $te^{-t}$ for SiLU, $e^{-t^2/2}/\sqrt{2\pi}$ for GELU, and
    $t \exp(-2\sqrt{2/\pi}(t + 0.044715 t^3))$ for its tanh form.

    Args:
        activation: $\varphi$.
        threshold: t, of any sign and shape; a NaN gives infinity.

    Returns:
        The bounds, of the same shape.

    Example:
        >>> leak("relu", np.array([3.0])).tolist(), bool(leak("silu", np.array([20.0]))[0] < 4.2e-8)
        ([0.0], True)
    """
    t = np.asarray(threshold, dtype=np.float64)
    known = np.where(np.isnan(t), -np.inf, t)
    above_zero = np.maximum(-known, 0.0)  # |u| bounds every activation, and u <= -t may be positive up to -t
    if activation == "relu":
        return above_zero
    far = Enclosure.exact(np.maximum(known, _TURNS))
    if activation == "silu":
        exponent, factor = -far, far
    elif activation == "gelu":
        exponent, factor = -(far * far) / 2.0, Enclosure.exact(np.full(t.shape, 0.4))  # 1 / sqrt(2 pi) < 0.4
    else:
        cube = Enclosure(np.full(t.shape, _CUBE), np.full(t.shape, 2.0**-57)) * (far * far * far)
        exponent, factor = (
            -(Enclosure(np.full(t.shape, _TANH[activation]), np.full(t.shape, 2.0**-51)) * (far + cube)),
            far,
        )
    largest = np.maximum(exponent.upper(), _LOWEST)
    with np.errstate(over="ignore", under="ignore"):
        bound = (exp(largest) * factor).upper()
    near = np.maximum(_DEEPEST, above_zero)
    return np.where(known >= _TURNS, bound, near)
