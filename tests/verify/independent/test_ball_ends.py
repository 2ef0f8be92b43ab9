"""Numbers as balls that hold them; that ends are rounded outward is tested beside the checker."""

import math
from fractions import Fraction

from flint import arb, ctx

from verify.independent.ball_ends import ball, outward


def test_a_number_is_in_its_ball():
    assert ball(0.1).contains(arb(0.1)) and (3 * ball(Fraction(1, 3))).contains(arb(1)) and ball(7) == 7


def test_ends_beyond_float64_are_infinite_or_the_last_numbers():
    huge, tiny = arb((1, 10**15)), arb((1, -(10**15)))
    assert (outward(huge, 1), outward(tiny, -1), outward(tiny, 1)) == (math.inf, 0.0, 5e-324)
    assert math.isfinite(outward(huge, -1))


def test_a_tiny_difference_of_more_bits_than_float64_counts_has_an_end():
    # A margin of a logit that nearly ties, in 4096 bits: its mantissa alone is beyond float64.
    with ctx.workprec(4096):
        nearly = arb((3**1000, -4000))
        less = -nearly
    assert (outward(nearly, 1), outward(nearly, -1)) == (5e-324, 0.0)
    assert (outward(less, 1), outward(less, -1)) == (0.0, -5e-324)
