"""Balls contain what the definitions give in mpmath, for blocks of every kind, and what more bits give."""

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import models
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from tests.balls import contains
from tests.corpus.definitions import DIGITS, logits_of
from tests.random_models import Pen, random_model
from tests.verify.kernel.test_walk import kernel_model
from verify.kernel import balls

CONTEXTS = [(0, 1, 2), (1, 1, 1), (2, 0, 1), (2, 2, 1)]


@pytest.mark.parametrize("bits", [64, 128])
@given(seed=st.integers(0, 2**32))
def test_balls_hold_what_blocks_compute(bits: int, seed: int) -> None:
    model = random_model(np.random.default_rng(seed))
    found = balls.logits(kernel_model(model), CONTEXTS, bits)
    with mpmath.workdps(700):
        for context, row in zip(CONTEXTS, found, strict=True):
            assert all(contains(ball, x) for ball, x in zip(row, logits_of(model, context), strict=True))


@given(seed=st.integers(0, 2**32))
def test_balls_of_tame_models_are_small(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pen = Pen(rng)
    block = pen.attention(3) if rng.random() < 0.5 else pen.feed_forward(3, None)
    model = Model((block,), pen.tensor(block.d_out, 2), W_E=pen.tensor(3, 3), W_pos=pen.tensor(3, 3))
    for row in balls.logits(kernel_model(model), CONTEXTS, 128):
        assert all(ball.rad() < 1e-9 * (1 + abs(ball.mid())) for ball in row)


def rare_model(seed: int) -> Model:
    """A model with all that only models of other programs have."""
    rng = np.random.default_rng(seed)

    def some(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape)

    norm = Normalization("rms", 1.0 + 0.1 * some(4), epsilon=0.01)
    first = Attention(
        *(some(2, 4, 4), some(1, 4, 4), some(1, 4, 3), some(2, 3, 4)),
        b_V=some(1, 3),
        norm=norm,
        attends="causal",
        score_root=4,
        frequencies=np.abs(some(2)),
        turned=("halves", "neighbours")[seed % 2],
        q_norm=norm,
        k_norm=norm,
        score_cap=3.0,
        post_norm=norm,
    )
    beside = FeedForward(some(4, 5), some(5, 4), W_gate=some(4, 5), activation="silu", parallel=True, post_norm=norm)
    second = Attention(*(some(2, 4, 4) for _ in range(3)), some(2, 4, 4), attends="all", clip=0.7, slopes=some(2))
    tables = {"W_U": some(4, 3), "b_U": some(3), "W_E": some(3, 4), "W_pos": None, "positions": 5}
    return Model(blocks=(first, beside, second), **tables, logit_divisor=2.0, logit_cap=1.5)


@pytest.mark.parametrize("seed", range(4))
def test_rare_options_are_what_the_definitions_say(seed: int) -> None:
    model = rare_model(seed)
    with mpmath.workdps(DIGITS):
        for context, row in zip(CONTEXTS, balls.logits(kernel_model(model), CONTEXTS, 128), strict=True):
            assert all(contains(ball, x) for ball, x in zip(row, logits_of(model, context), strict=True))
            assert all(ball.rad() < 1e-20 for ball in row)


@given(models(hostile=True).filter(lambda model: model.reads_tokens))
def test_more_bits_stay_in_the_balls(model: Model) -> None:
    assert model.W_E is not None
    contexts = [(0,), (len(model.W_E) - 1,)]
    kernel = kernel_model(model)
    with ctx.workprec(4096):
        for row, finer in zip(balls.logits(kernel, contexts, 128), balls.logits(kernel, contexts, 1024), strict=True):
            assert all(x.overlaps(y) or not (x.is_finite() and y.is_finite()) for x, y in zip(row, finer, strict=True))
            assert all(isinstance(x, arb) for x in row)


@given(st.lists(st.integers(1, 3000), max_size=40), st.integers(1, 5))
def test_contexts_are_looked_at_in_their_order_few_of_long_ones_together(lengths: list[int], few: int) -> None:
    contexts = [(i,) * length for i, length in enumerate(lengths)]
    found = list(balls.batches(contexts, few))
    assert [context for some in found for context in some] == contexts
    assert not found or len(found[0]) <= few
    assert all(len(some) == 1 or sum(len(context) ** 2 for context in some) <= 2**22 for some in found)


def test_short_contexts_are_looked_at_a_thousand_at_a_time() -> None:
    contexts = [(i,) for i in range(3000)]
    assert [len(some) for some in balls.batches(contexts)] == [1024, 1024, 952]
    assert [len(some) for some in balls.batches(contexts, 16)] == [16, 1024, 1024, 936]


def test_all_logits_are_those_of_some_contexts_together(monkeypatch) -> None:
    monkeypatch.setattr(balls, "TOGETHER", 2)
    model = kernel_model(random_model(np.random.default_rng(0)))
    assert list(map(str, balls.all_logits(model, CONTEXTS, 64))) == list(map(str, balls.logits(model, CONTEXTS, 64)))
