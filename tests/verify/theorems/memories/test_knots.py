"""The judge of knots: its integers agree with balls and with rationals, and what is spoiled is not proved."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.memories.knots import knots_memory
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from verify.forward.in_balls import logits_in_balls, rounded_outwards
from verify.theorems.memories import knots as module
from verify.theorems.memories.knots import prove_knots, stream_of_knots


def random_model(seed: int, *, tokens: int, n_ctx: int, knots: int, outputs: int) -> Model:
    """Random weights of the shape, with knots among the numbers of the contexts."""
    rng = np.random.default_rng(seed)
    W_E, W_pos = np.zeros((tokens, 3)), rng.standard_normal((n_ctx, 3))
    W_E[:, 1] = rng.integers(-40, 40, tokens) / 4
    score = rng.standard_normal((2, 1, 3, 2))
    score[:, :, 1] = 0.0
    head = Attention(score[0], score[1], rng.standard_normal((1, 3, 2)), rng.standard_normal((1, 2, 1)), skip=False)
    neurons = FeedForward(
        rng.choice([-1.0, 1.0], (1, knots)),
        rng.standard_normal((knots, outputs)),
        b_in=rng.integers(-80, 80, knots) / 8,
        b_out=rng.standard_normal(outputs),
        skip=False,
    )
    b_U = rng.standard_normal(4)
    return Model(blocks=(head, neurons), W_U=rng.standard_normal((outputs, 4)), b_U=b_U, W_E=W_E, W_pos=W_pos)


def changed(model: Model, block: int, **tensors: Any) -> Model:
    blocks = list(model.blocks)
    blocks[block] = replace(blocks[block], **tensors)
    return replace(model, blocks=tuple(blocks))


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 4), st.integers(0, 12), st.integers(1, 3))
def test_the_enclosure_is_that_of_balls(seed: int, tokens: int, n_ctx: int, knots: int, outputs: int) -> None:
    model = random_model(seed, tokens=tokens, n_ctx=n_ctx, knots=knots, outputs=outputs)
    contexts = np.random.default_rng(seed).integers(0, tokens, (10, n_ctx))
    found = stream_of_knots(model, contexts)
    balls = rounded_outwards(logits_in_balls(model, contexts, 400))
    logits = found @ model.W_U + model.b_U
    assert (logits.lower() <= balls.upper()).all() and (balls.lower() <= logits.upper()).all()
    assert (found.radius <= 2.0**-50 * (1 + np.abs(found.midpoint))).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("knot", [1.0, 1.0 + 2.0**-40, 1.0 - 2.0**-40])
def test_a_knot_within_the_doubt_about_a_number_is_looked_at(
    knot: float, sign: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tent at 1 or -1, whose top is between the bounds of the number and beyond the values at both."""
    first, second = np.array([[[1.0], [0.0]]]), np.array([[[0.0], [1.0]]])
    neurons = FeedForward(
        np.ones((1, 3)), np.array([[1.0], [-2.0], [1.0]]), b_in=-sign * np.array([0.0, knot, 2 * knot]), skip=False
    )
    head = Attention(second, second, first, np.ones((1, 1, 1)), skip=False)
    model = Model(blocks=(head, neurons), W_U=np.ones((1, 1)), W_E=sign * first[0].T, W_pos=second[0].T)
    top = knot - abs(knot - 1)
    exact = stream_of_knots(model, np.array([[0]]))
    assert exact.lower()[0, 0] <= top <= exact.upper()[0, 0] and exact.radius < 1e-15
    doubt = 2 ** (module._SCALE - 30)
    monkeypatch.setattr(module, "_shares", lambda *_: [(2**module._SCALE - doubt, 2**module._SCALE + doubt)])
    found = stream_of_knots(model, np.array([[0]]))
    assert found.upper()[0, 0] >= knot and found.lower()[0, 0] <= 1 - 2.0**-30 + 2.0**-39
    assert found.upper()[0, 0] < knot + 2.0**-40


@pytest.mark.parametrize("slope", [1.0, -1.0])
@pytest.mark.parametrize("value", [1.0, -1.0])
def test_both_bounds_of_a_number_are_looked_at(slope: float, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = np.array([[[1.0], [0.0]]]), np.array([[[0.0], [1.0]]])
    neurons = FeedForward(np.ones((1, 1)), np.array([[slope]]), b_in=np.array([9.0]), skip=False)
    head = Attention(second, second, first, np.ones((1, 1, 1)), skip=False)
    model = Model(
        blocks=(head, neurons), W_U=np.ones((1, 1)), W_E=np.array([[value - 0.5, 0.0]]), W_pos=np.array([[0.5, 1.0]])
    )
    monkeypatch.setattr(module, "_shares", lambda *_: [(2**module._SCALE * 7 // 8, 2**module._SCALE * 9 // 8)])
    found = stream_of_knots(model, np.array([[0]]))
    ends = sorted([slope * (9 + 0.875 * value), slope * (9 + 1.125 * value)])
    assert found.lower()[0, 0] <= ends[0] and ends[1] <= found.upper()[0, 0] and found.radius[0, 0] < 0.126


def test_attention_weights_are_bounded_from_both_sides() -> None:
    model = random_model(5, tokens=2, n_ctx=3, knots=1, outputs=1)
    head = model.blocks[0]
    assert isinstance(head, Attention)
    with ctx.workprec(900):
        query = [arb(x) for x in model.W_pos[2].tolist()]
        projected = [sum((q * arb(w) for q, w in zip(query, column, strict=True)), arb(0)) for column in head.W_Q[0].T]
        scores = []
        for row in model.W_pos.tolist():
            key = [sum((arb(x) * arb(w) for x, w in zip(row, c, strict=True)), arb(0)) for c in head.W_K[0].T]
            scores.append(sum((q * k for q, k in zip(projected, key, strict=True)), arb(0)))
        mass = sum((score.exp() for score in scores), arb(0))
        for (low, high), score in zip(module._shares(model, head, 3), scores, strict=True):
            share = score.exp() / mass * arb(2) ** module._SCALE
            assert arb(low) < share < arb(high) and high - low == 1


def task_of(seed: int) -> Task:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, 9, (40, 4)), axis=0)
    return array_task(contexts, next_tokens=rng.integers(0, 9, len(contexts)), vocabulary=9, target="labels")


@given(st.integers(0, 2**32), st.integers(0, 30))
def test_one_changed_label_is_not_proved(seed: int, which: int) -> None:
    task = task_of(seed)
    model = knots_memory(task).model
    labels = task.labels.copy()
    labels[which] = (labels[which] + 1) % 9
    other = array_task(task.contexts, next_tokens=labels, vocabulary=9, target="labels")
    assert prove_knots(model, task).right == len(labels)
    assert np.flatnonzero(prove_knots(model, other).margin_lower <= 0).tolist() == [which]


def test_each_spoiled_tensor_is_noticed() -> None:
    task = task_of(1)
    model = knots_memory(task).model
    head, neurons = model.blocks
    assert isinstance(head, Attention) and isinstance(neurons, FeedForward) and neurons.b_in is not None
    W_pos, W_E = model.W_pos.copy(), model.W_E.copy()
    W_pos[0, 1] += 0.1
    W_E[3, 0] += 1
    b_in, W_out = neurons.b_in.copy(), neurons.W_out.copy()
    b_in[5] += 1
    W_out[5] *= 1.01
    W_U = model.W_U.copy()
    W_U[0, 2] += 1
    spoiled = {
        "a score": replace(model, W_pos=W_pos),
        "an embedding": replace(model, W_E=W_E),
        "a knot": changed(model, 1, b_in=b_in),
        "a jump": changed(model, 1, W_out=W_out),
        "the first output": changed(model, 1, b_out=np.array([9.0])),
        "the scale": changed(model, 0, W_O=1.01 * head.W_O),
        "a column": replace(model, W_U=W_U),
        "no shift": replace(model, b_U=None),
    }
    for what, other in spoiled.items():
        assert prove_knots(other, task).right < task.n_contexts, what


def test_a_code_that_two_contexts_share_is_not_proved() -> None:
    task = enumerated_task(3, 2, labels=np.array([0, 1, 2, 1, 2, 0, 2, 0, 1]))
    model = knots_memory(task).model
    W_pos = model.W_pos.copy()
    W_pos[:, 1] = 1.0  # equal scores: the order of the tokens is lost
    assert prove_knots(replace(model, W_pos=W_pos), task).right < 9


def test_models_of_another_shape_are_refused() -> None:
    task = task_of(0)
    model = knots_memory(task).model
    head, neurons = model.blocks
    assert isinstance(head, Attention) and isinstance(neurons, FeedForward)
    W_Q = head.W_Q.copy()
    W_Q[0, 0] = 1e-9
    two = np.concatenate([head.W_Q] * 2)
    heads = Attention(two, two, np.concatenate([head.W_V] * 2), np.concatenate([head.W_O] * 2), skip=False)
    for other, message in (
        (replace(model, blocks=(head,)), "expected a head without a skip"),
        (replace(model, blocks=(neurons, neurons), W_E=model.W_E[:, :1], W_pos=model.W_pos[:, :1]), "the model has"),
        (replace(model, blocks=(heads, neurons)), "block 0 has 2 heads"),
        (changed(model, 0, score_root=2), "block 0 has 1 heads"),
        (changed(model, 0, b_Q=np.zeros((1, 1))), "block 0 has 1 heads"),
        (changed(model, 1, activation="gelu"), "block 1 has the options"),
        (changed(model, 1, W_in=2 * neurons.W_in), "block 1 has the options"),
        (changed(model, 0, W_Q=W_Q), "W_Q reads the coordinate 0, in which tokens differ"),
        (changed(model, 0, W_K=W_Q), "W_K reads the coordinate 0, in which tokens differ"),
    ):
        with pytest.raises(InputError, match=message):
            prove_knots(other, task)
    with pytest.raises(InputError, match="the model 9 logits"):
        prove_knots(model, enumerated_task(3, 4))


@pytest.mark.parametrize("seed", range(20))
def test_the_ends_are_rounded_outwards_from_the_numbers_of_the_definition(seed: int) -> None:
    model = random_model(seed, tokens=3, n_ctx=1, knots=6, outputs=1)
    head, neurons = model.blocks
    assert isinstance(head, Attention) and isinstance(neurons, FeedForward)
    assert neurons.b_in is not None and neurons.b_out is not None
    found = stream_of_knots(model, np.array([[0], [1], [2]]))
    for token in range(3):
        x = [Fraction(a) + Fraction(b) for a, b in zip(model.W_E[token], model.W_pos[0], strict=True)]
        values = [sum(a * Fraction(w) for a, w in zip(x, head.W_V[0, :, j], strict=True)) for j in range(2)]
        z = sum((v * Fraction(o) for v, o in zip(values, head.W_O[0, :, 0], strict=True)), Fraction(0))
        wanted = Fraction(neurons.b_out[0]) + sum(
            Fraction(c) * max(z * int(w) + Fraction(b), Fraction(0))
            for c, b, w in zip(neurons.W_out[:, 0], neurons.b_in, neurons.W_in[0], strict=True)
        )
        assert Fraction(float(found.lower()[token, 0])) <= wanted <= Fraction(float(found.upper()[token, 0]))
