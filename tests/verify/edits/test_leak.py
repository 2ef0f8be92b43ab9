import flint
import numpy as np
import pytest
from flint import arb
from hypothesis import example, given
from hypothesis import strategies as st

from verify.edits.leak import leak

ACTIVATIONS = {
    "relu": lambda u: u.max(arb(0)),
    "silu": lambda u: u / (1 + (-u).exp()),
    "gelu": lambda u: u / 2 * (-u / arb(2).sqrt()).erfc(),
    "gelu-tanh": lambda u: u / (1 + (-2 * (2 / arb.pi()).sqrt() * (u + arb(44715) / 10**6 * u**3)).exp()),
    "gelu-bloom": lambda u: u / (1 + (-2 * arb(79788456) / 10**8 * (u + arb(44715) / 10**6 * u**3)).exp()),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@given(st.floats(-50.0, 60.0), st.floats(0.0, 30.0))
@example(6.0, 0.0)
def test_no_number_below_the_threshold_puts_out_more(activation: str, t: float, below: float) -> None:
    bound = float(leak(activation, np.array([t]))[0])  # type: ignore[arg-type]
    with flint.ctx.workprec(300):
        assert abs(ACTIVATIONS[activation](-arb(t) - arb(below))) <= arb(bound) * (1 + arb(2) ** -200)


@pytest.mark.parametrize(
    ("activation", "share"), [("silu", 0.99), ("gelu", 0.9), ("gelu-tanh", 0.99), ("gelu-bloom", 0.99)]
)
def test_the_bound_is_nearly_reached_at_the_threshold(activation: str, share: float) -> None:
    bound = float(leak(activation, np.array([6.0]))[0])  # type: ignore[arg-type]
    with flint.ctx.workprec(300):
        assert abs(ACTIVATIONS[activation](arb(-6))) >= share * arb(bound)


def test_the_deepest_point_is_above_the_constant() -> None:
    with flint.ctx.workprec(100):
        for name in ("silu", "gelu", "gelu-tanh", "gelu-bloom"):
            least = min(float(ACTIVATIONS[name](arb(-i) / 1000).lower()) for i in range(3000))
            assert -0.28 < least < -0.169
    assert leak("silu", np.array([0.0, 1.27])).tolist() == [0.28, 0.28]


def test_what_is_not_known_is_bounded_by_nothing() -> None:
    assert leak("gelu", np.array([np.nan])).tolist() == [np.inf] and leak("relu", np.array([np.nan])).tolist() == [
        np.inf
    ]


@pytest.mark.parametrize(("activation", "largest"), [("silu", 690.0), ("gelu-tanh", 20.0), ("gelu-bloom", 20.0)])
def test_far_out_the_bound_is_the_activation_but_for_its_own_rounding(activation: str, largest: float) -> None:
    """There the denominator 1 + e^-t is 1 to more digits than float64 has."""
    points = np.random.default_rng(0).uniform(0.3 * largest, largest, 500)
    bounds = leak(activation, points)  # type: ignore[arg-type]
    with flint.ctx.workprec(300):
        for t, bound in zip(points.tolist(), bounds.tolist(), strict=True):
            exact = abs(ACTIVATIONS[activation](-arb(t)))
            assert exact <= arb(bound) <= (1 + arb(2) ** -35) * exact
