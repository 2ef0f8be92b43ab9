"""How steep activations are, and how they are evaluated; tests/verify/forward/test_rows.py bounds their errors."""

from typing import get_args

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from constructions.model.blocks import Activation
from verify.arithmetic.activations import ACTIVATION_UNITS, SLOPES, activated


def derivatives(x: arb, activation: str) -> tuple[arb, arb]:
    """The first and second derivatives of x s(x), on a ball."""
    if activation == "gelu":
        density = (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
        return (1 + (x / arb(2).sqrt()).erf()) / 2 + x * density, (2 - x * x) * density
    first, second, v = arb(1), arb(0), x
    if activation.startswith("gelu-"):
        root = (2 / arb.pi()).sqrt() if activation == "gelu-tanh" else arb(fmpq(79788456, 10**8))
        c, a = 2 * root, arb(fmpq(44715, 10**6))
        v, first, second = c * (x + a * x * x * x), c * (1 + 3 * a * x * x), 6 * c * a * x
    s = 1 / (1 + (-v).exp())
    bend = s * (1 - s)
    slope = bend * first
    return s + x * slope, 2 * slope + x * (bend * (1 - 2 * s) * first * first + bend * second)


@pytest.mark.parametrize("activation", ["gelu", "gelu-tanh", "gelu-bloom", "silu"])
def test_no_activation_is_steeper_or_more_curved_than_the_page_says(activation: str) -> None:
    steep, curved = SLOPES[activation]
    # The second derivative of SiLU attains its bound, at 0; there the page has a proof by hand.
    curved = 0.51 if activation == "silu" else curved
    largest = [0.0, 0.0]
    left = [(fmpq(i, 64), fmpq(1, 64)) for i in range(-12 * 64, 12 * 64)]
    with ctx.workprec(80):
        while left:
            start, width = left.pop()
            middle = arb(start + width / 2)
            found = derivatives(middle + arb(0, 0.51) * arb(width), activation)
            at = derivatives(middle, activation)
            largest = [max(a, float(abs(b).upper())) for a, b in zip(largest, at, strict=True)]
            if not (abs(found[0]) <= steep and abs(found[1]) <= curved):
                assert width > fmpq(1, 2**16), f"not proved at {start}"
                left += [(start, width / 2), (start + width / 2, width / 2)]
        assert derivatives(arb(0), activation)[0].overlaps(arb(fmpq(1, 2)))
    assert largest[0] > 0.998 * steep and largest[1] > 0.97 * curved


def test_only_the_right_activations_have_errors() -> None:
    assert set(ACTIVATION_UNITS) == set(get_args(Activation)) == set(SLOPES) and ACTIVATION_UNITS["relu"] == 0.0


@pytest.mark.parametrize("activation", get_args(Activation))
def test_the_shape_and_the_block_of_an_entry_are_of_no_consequence(activation: Activation) -> None:
    x = np.linspace(-9.0, 9.0, 3 * 2**14 + 6).reshape(2, -1).T
    at_once, one_by_one = activated(x, activation), [activated(np.array([t]), activation)[0] for t in x[::997, 0]]
    assert at_once.shape == x.shape and at_once[::997, 0].tolist() == one_by_one
