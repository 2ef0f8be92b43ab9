"""Floating-point formats, and how accurate their elementary functions are assumed to be.

Page: docs/rigour/runs.md
"""

from dataclasses import dataclass

from verify.kernel.runs import run_is


@dataclass(frozen=True)
class FloatFormat:
    """The three numbers of a binary floating-point format that rounding errors depend on.

    Args:
        name: Its name in numpy and torch.
        unit_roundoff: Largest relative error of one rounding to nearest.
        smallest_normal: Smallest positive normal number; what is smaller may be flushed to zero.
        largest: Largest finite number.
        finest: Unit roundoff of the longest format in which a run may keep what this one rounds (H5 b): one of 64 bits;
            but of float16 itself, whose least number is too large to vanish in a longer one.
    """

    name: str
    unit_roundoff: float
    smallest_normal: float
    largest: float
    finest: float = 2.0**-64


FLOAT32 = FloatFormat("float32", 2.0**-24, 2.0**-126, (2.0 - 2.0**-23) * 2.0**127)
FLOAT64 = FloatFormat("float64", 2.0**-53, 2.0**-1022, (2.0 - 2.0**-52) * 2.0**1023)
FLOAT16 = FloatFormat("float16", 2.0**-11, 2.0**-14, (2.0 - 2.0**-10) * 2.0**15, finest=2.0**-11)
BFLOAT16 = FloatFormat("bfloat16", 2.0**-8, 2.0**-126, (2.0 - 2.0**-7) * 2.0**127)
FORMATS = {each.name: each for each in (FLOAT64, FLOAT32, BFLOAT16, FLOAT16)}
"""All of them by name, the finest first."""

JUDGED = {"float32": FLOAT32, "float64": FLOAT64}
"""Those in which roundings are bounded; in shorter ones the bound is larger than the logits."""

EXP_ULPS = 4.0
"""Assumed accuracy of the exponentials of numpy and torch, in units in the last place of the result."""

ERF_ULPS = 4.0
"""Assumed accuracy of the error function of torch, in units in the last place of 1."""

ROOT_ULPS = 1.0
"""Assumed accuracy of the square root of torch, in units in the last place: on CPU not all are rounded to nearest."""


def every_run_is(dtype: str, exp_ulps: float = EXP_ULPS) -> str:
    """Describe the machines covered by "every run" in this type, in the words of all screens and pages."""
    return run_is(dtype, exp_ulps)
