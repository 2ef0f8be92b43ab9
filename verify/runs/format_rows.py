"""Bound row arithmetic of an evaluation on another machine in a floating-point format.

The values are those of float64. The radii of `verify/forward/rows/row_balls.py` then hold what every evaluation in the
format computes, in any order of summation, before one is done.

Page: docs/rigour/runs.md
"""

from constructions.model.blocks import Activation
from verify.arithmetic.activations import ACTIVATION_UNITS
from verify.arithmetic.rounding import UNIT, Floats
from verify.forward.arithmetic import Elsewhere, growth
from verify.forward.in_float64 import InFloat64
from verify.runs.formats import ERF_ULPS, FloatFormat


class InFormat(InFloat64):
    r"""Float64 values for an evaluation in a format: the unit is the sum of both, so that it covers the errors of both.

    Args:
        number_format: The format, of a unit roundoff from $2^{-53}$ to $2^{-11}$.
        exp_ulps: Assumed accuracy of the exponential, in units in the last place.

    Example:
        >>> from verify.runs.formats import FLOAT32
        >>> InFormat(FLOAT32, 4.0).unit == 2.0**-24 + 2.0**-53
        True
    """

    def __init__(self, number_format: FloatFormat, exp_ulps: float) -> None:
        u, smallest = number_format.unit_roundoff, number_format.smallest_normal
        self.unit = u + UNIT
        self.exponential = max(InFloat64.exponential, 2.0 * exp_ulps)
        self.elsewhere = Elsewhere(
            conversion=growth(self.unit, 1),
            floor=2.0**22 * smallest / u + 2.0**-400,
            square=16.0 * smallest,
            largest=number_format.largest / 8.0,
        )
        self._units = {
            "relu": 0.0,
            "gelu": 3.0 + 1.2 * ERF_ULPS,
            "gelu-tanh": 7.0 + 0.6 * exp_ulps,
            "gelu-bloom": 7.0 + 0.6 * exp_ulps,
            "silu": 7.0 + 0.6 * exp_ulps,
        }

    def inner(self, terms: int) -> float:
        # One more, because a weight is converted to the format.
        return growth(self.unit, terms + 1)

    def activation_units(self, activation: Activation) -> float:
        return max(ACTIVATION_UNITS[activation], self._units[activation])

    def sum_of_exact(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        return a + b, growth(self.unit, 2) * (abs(a) + abs(b))
