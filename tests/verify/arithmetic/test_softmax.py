"""The softmax of an enclosure, against balls."""

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from tests.verify.forward.test_heads import assert_contains, softmax_of_balls
from verify.arithmetic import softmax as module
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.softmax import enclose_softmax


def coarse(operation, share=0.01):
    """An operation with a midpoint that is off, within a radius that says so."""
    rng = np.random.default_rng(0)

    def moved(*arguments, **options):
        result = operation(*arguments, **options)
        error = share * np.maximum(np.abs(result.midpoint), 1e-300)
        wrong = result.midpoint + error * rng.choice([-0.99, 0.99], result.shape)
        return Enclosure(wrong, result.radius + error * (1 + 1e-9))

    return moved


@pytest.mark.parametrize("name", ["exp", "total"])
def test_softmax_relies_on_the_radii_of_what_it_uses_and_not_on_their_midpoints(monkeypatch, name):
    monkeypatch.setattr(module, name, coarse(getattr(module, name)))
    rng = np.random.default_rng(1)
    for _ in range(30):
        logits = rng.standard_normal((1, int(rng.integers(1, 5))))
        with flint.ctx.workprec(300):
            softmax = enclose_softmax(Enclosure(logits))
            assert_contains(softmax, softmax_of_balls([flint.arb(z) for z in logits[0].tolist()]), 300)


@given(seed=st.integers(0, 2**32), axis=st.sampled_from([0, 1, -1]))
def test_softmax_contains_the_softmax_of_every_point_of_the_logits(seed, axis):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, 2))
    scale, radius = 10.0 ** rng.uniform(-3, 3), rng.choice([0.0, 1e-14, 1e-6, 0.1, 2.0])
    logits = Enclosure(scale * rng.standard_normal(shape), radius * rng.random(shape))
    softmax = enclose_softmax(logits, axis=axis)
    with flint.ctx.workprec(300):
        for _ in range(4):
            moved = logits.midpoint + logits.radius * rng.choice([-1.0, -0.5, 0.0, 1.0], shape) * (1 - 2.0**-40)
            # Such a difference is exact, or far from the end.
            memorized = np.abs(moved - logits.midpoint) <= logits.radius * (1 - 2.0**-45)
            point = np.where(memorized, moved, logits.midpoint)
            lines = np.moveaxis(point, axis, -1).reshape(-1, shape[axis])
            exact = np.array([softmax_of_balls([flint.arb(z) for z in line]) for line in lines.tolist()], dtype=object)
            turned = Enclosure(np.moveaxis(softmax.midpoint, axis, -1), np.moveaxis(softmax.radius, axis, -1))
            assert_contains(turned, exact.reshape(-1).tolist(), 300)


def test_a_softmax_over_nothing_is_refused():
    with pytest.raises(InputError, match="at least one entry along the axis 1"):
        enclose_softmax(Enclosure(np.zeros((2, 0))), axis=1)
