"""Runs that come near the bound of all runs: with half of it, or without one of its terms, they would be outside."""

from fractions import Fraction

import numpy as np
import pytest

from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from tests.verify.runs.worst_runs import worst_run
from verify import enclose_logits
from verify.arithmetic.enclosure import Enclosure
from verify.runs import rounding
from verify.runs.every_run import every_run
from verify.runs.formats import EXP_ULPS, FLOAT32, FLOAT64
from verify.runs.rounding import rounding_bound


def centred_rows(d: int) -> Model:
    """Rows far from 0 behind layer normalization; one output is their sum, 0 but for what the mean rounds by."""
    rows = np.stack([np.linspace(1.0, 2.0, d) + 2.0**11 * k for k in (1, 3)])
    ones = np.stack([np.ones(d), np.zeros(d)], axis=1)
    return Model(blocks=(Normalization("layer", w=np.ones(d)),), W_U=ones, W_E=rows, W_pos=np.zeros((1, d)))


@pytest.mark.parametrize("d", [3, 64])
def test_a_mean_that_is_off_moves_all_entries_the_same_way(d: int) -> None:
    model, contexts, both = centred_rows(d), np.array([[0], [1]]), np.zeros(2, dtype=np.int64)
    bound = rounding_bound(model, contexts, number_format=FLOAT32)
    exact, run = worst_run(model, contexts, both, both + 1, FLOAT32.unit_roundoff, EXP_ULPS)
    off = np.abs(run - exact).max(axis=1)
    assert (off <= bound).all() and (off > 0.1 * bound).all()


@pytest.mark.parametrize("d", [3, 5, 64])
def test_the_ball_of_float64_holds_what_a_mean_that_is_off_moves(d: int) -> None:
    """The sum is 0 exactly; what float64 makes of it is the error, and has to be within the radius."""
    rows = 2.0**11 + np.random.default_rng(d).random((20, d))
    norm = Normalization("layer", w=np.ones(d))
    model = Model(blocks=(norm,), W_U=np.ones((d, 1)), W_E=rows, W_pos=np.zeros((1, d)))
    found = enclose_logits(model, np.arange(20)[:, None])
    assert (found.lower() <= 0.0).all() and (found.upper() >= 0.0).all()
    assert np.abs(found.midpoint).max() > 2.0**-44  # some roundings of numbers of 2^11


@pytest.mark.parametrize("length", [16, 64])
def test_the_ball_of_float64_holds_an_average_that_rounds_with_each_of_its_terms(length: int) -> None:
    """Heads that ask nothing write a mean: of 1 and of numbers a little above half of its unit, all rounded up."""
    maps, half = np.eye(2)[None], 2.0**-53 * (1.0 + 2.0**-10)
    head = Attention(0.0 * maps, 0.0 * maps, maps, maps, skip=False)
    tokens = np.array([[1.0, 0.0], [half, 0.0], [half, half]])
    model = Model(blocks=(head,), W_U=np.eye(2), W_E=tokens, W_pos=np.zeros((length, 2)))
    contexts = np.ones((256, length), dtype=np.int64)  # more of them than rows, so that a mean of rows is worth it
    contexts[:, 0] = 0
    contexts[:, 1:9] += np.arange(256)[:, None] >> np.arange(8) & 1
    found = enclose_logits(model, contexts)
    exact = (1 + (length - 1) * Fraction(half)) / length
    off = np.array([abs(float(Fraction(x) - exact)) for x in found.midpoint[:, 0].tolist()])
    assert (off <= found.radius[:, 0]).all() and (off > 0.5 * found.radius[:, 0]).all()


def test_what_the_exact_outputs_are_off_by_is_part_of_the_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is within one radius of what float64 computes, and the exact output within another one of it."""
    model = Model(blocks=(), W_U=np.ones((1, 1)), W_E=np.ones((1, 1)), W_pos=np.zeros((1, 1)))
    run, computed, again, exact = 0.0, 1.0, 1.5, 3.5
    assert run == Enclosure(computed, 1.0).midpoint - 1.0 and exact == Enclosure(again, 2.0).midpoint + 2.0

    def given(*_: object, numbers: object = None, **__: object) -> object:
        value, radius = (again, 2.0) if numbers is None else (computed, 1.0)
        return iter([(0, np.full((1, 1), value), np.full((1, 1), radius))])

    monkeypatch.setattr(rounding, "logit_balls", given)
    [bound] = rounding_bound(model, np.array([[0]]), number_format=FLOAT32)
    assert exact - run <= bound <= 1.001 * (exact - run)


@pytest.mark.parametrize("kept", [1, 7])
@pytest.mark.parametrize("neurons", [False, True])
def test_one_context_that_overflows_is_noticed_among_others_that_do_not(kept: int, neurons: bool) -> None:
    """Of it the run computes infinity, in the readout or in neurons before it, and nothing is claimed."""
    tokens = np.concatenate([[[1e25, 1.0]], np.ones((kept, 2))])
    large, weights = np.diag([1e25, 1.0]), np.eye(2)
    block = FeedForward(large, 1e-30 * weights, skip=False)
    model = Model(
        blocks=(block,) if neurons else (),
        W_U=weights if neurons else large,
        W_E=tokens,
        W_pos=np.zeros((1, 2)),
    )
    contexts = np.arange(kept + 1)[:, None]
    with np.errstate(over="ignore"):
        assert np.isinf(np.float32(1e25) * np.float32(large[0, 0]))
    assert rounding_bound(model, contexts, number_format=FLOAT32)[0] == np.inf
    assert every_run(model, contexts, number_format=FLOAT32).place[0] == -1
    assert np.isfinite(rounding_bound(model, contexts, number_format=FLOAT64)).all()
    assert np.isfinite(rounding_bound(model, contexts[1:], number_format=FLOAT32)).all()
