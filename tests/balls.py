"""Whether balls of FLINT hold numbers of mpmath."""

from typing import Any

import mpmath
from flint import arb, ctx


def contains(ball: arb, value: Any) -> bool:
    """Whether a number of mpmath lies in a ball, to the last bit of both."""
    with ctx.workprec(4000):
        ends = ball.lower(), ball.upper()
    if not all(end.is_finite() for end in ends):
        return True
    lower, upper = (mpmath.mpf(int(m)) * mpmath.mpf(2) ** int(e) for m, e in (end.man_exp() for end in ends))
    return bool(lower <= value <= upper)
