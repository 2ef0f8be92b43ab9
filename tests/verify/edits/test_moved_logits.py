from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.model.blocks import FeedForward, Normalization
from constructions.model.model import Model
from tests.edited_models import LENGTH, TOKENS, small_model
from verify import enclose_logits
from verify.edits.moved_logits import moved_behind, moved_logits
from verify.forward.in_double_double import InDoubleDouble


def logits(model: Model, rows: np.ndarray) -> np.ndarray:
    final: Any = model.blocks[-1]
    x = rows.astype(np.longdouble)
    if final.kind == "layer":
        x = x - x.mean(axis=-1, keepdims=True)
    y = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.longdouble(final.epsilon)) * final.w
    return (y + (0.0 if final.b is None else final.b)) @ model.W_U.astype(np.longdouble)


@given(st.integers(0, 2**32), st.sampled_from(["layer", "rms"]), st.sampled_from([1e-6, 1e-2, 1.0]), st.integers(2, 9))
def test_no_move_of_the_stream_moves_a_logit_farther(seed: int, kind: Any, epsilon: float, d: int) -> None:
    rng = np.random.default_rng(seed)
    final = Normalization(kind, w=rng.normal(size=d), b=rng.normal(size=d), epsilon=epsilon)
    model = Model(blocks=(final,), W_U=rng.normal(size=(d, 3)), W_E=np.eye(d)[:1], W_pos=np.zeros((1, d)))
    stream = rng.normal(size=(50, d)) * np.sqrt(epsilon) * 10.0 ** rng.uniform(-3, 1, size=(50, 1))
    stream[:10] = 0.0  # the denominator is smallest there
    move = rng.normal(size=(50, d))
    move *= np.sqrt(epsilon) * rng.uniform(0, 1.9, size=(50, 1)) / np.linalg.norm(move, axis=1, keepdims=True)
    bound = moved_logits(model, np.linalg.norm(move, axis=1) * (1 + 1e-12))
    assert (np.abs(logits(model, stream + move) - logits(model, stream)).max(axis=1) <= bound + 1e-12).all()


def test_the_bound_is_nearly_reached_and_says_nothing_beyond_its_denominator() -> None:
    final = Normalization("rms", w=np.ones(2), epsilon=1.0)
    model = Model(blocks=(final,), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
    small = 1e-3 * np.array([[1.0, 0.0]])
    found = np.abs(logits(model, small) - logits(model, 0 * small)).max()
    bound = moved_logits(model, np.array([1e-3]))[0]
    assert 0.999 * bound <= found <= bound
    assert moved_logits(model, np.array([3.0, np.inf])).tolist() == [np.inf, np.inf]
    assert moved_logits(model, np.array([0.0]))[0] == 0.0


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_the_ones_vector_counts_for_nothing_behind_layer_normalization(kind: Any) -> None:
    final = Normalization(kind, w=np.ones(4), epsilon=1.0)
    model = Model(blocks=(final,), W_U=np.ones((4, 1)), W_E=np.eye(4), W_pos=np.zeros((1, 4)))
    bound = moved_logits(model, np.array([0.1]))[0]
    assert bound < 1e-12 if kind == "layer" else bound > 0.1


@given(st.integers(0, 2**32), st.sampled_from([1e-6, 1e-2, 0.3]), st.booleans())
def test_no_move_behind_an_earlier_block_moves_a_logit_farther(seed: int, size: float, gated: bool) -> None:
    model, rng = small_model(seed % 5, gated=gated), np.random.default_rng(seed)
    contexts = rng.integers(TOKENS, size=(3, LENGTH))
    block: Any = model.blocks[1]
    moved = replace(block, b_out=block.b_out + size * rng.normal(size=12) / np.sqrt(12))
    other = replace(model, blocks=(model.blocks[0], moved, *model.blocks[2:]))
    distance = float(np.linalg.norm(moved.b_out - block.b_out)) * (1 + 1e-12)
    bounds = [
        moved_behind(model, 1, contexts, np.full(contexts.shape, distance), numbers=n) for n in (None, InDoubleDouble())
    ]
    one, two = (enclose_logits(each, contexts, precision=200).midpoint for each in (model, other))
    for bound in bounds:
        assert (np.abs(one - two).max(axis=1) <= bound).all() and (bound >= distance * 1e-3).all()
    assert moved_behind(model, 1, contexts, np.zeros(contexts.shape)).tolist() == [0.0, 0.0, 0.0]
    late = np.full(contexts.shape, distance)
    late[:, :2] = 0.0  # the last position alone moves by less than all do
    assert (moved_behind(model, 1, contexts, late) <= bounds[0]).all()


def test_the_bound_behind_an_earlier_block_is_nearly_the_move_across_the_row() -> None:
    still = FeedForward(np.eye(2), np.zeros((2, 2)), b_out=np.zeros(2))
    final = Normalization("rms", w=np.ones(2))
    model = Model(blocks=(still, still, final), W_U=np.eye(2), W_E=np.array([[1.0, 0.0]]), W_pos=np.zeros((1, 2)))
    other = replace(model, blocks=(replace(still, b_out=np.array([0.0, 1e-3])), still, final))
    one, two = (enclose_logits(each, np.array([[0]]), precision=200).midpoint for each in (model, other))
    move, bound = np.abs(one - two).max(), moved_behind(model, 0, np.array([[0]]), np.array([[1e-3]]))[0]
    assert move <= bound <= 2.1 * move


@pytest.mark.parametrize("gains", [[1.0, 100.0], [100.0, 1.0]])
@pytest.mark.parametrize("late", [False, True])
def test_the_logit_that_moves_most_counts_and_so_does_the_position_that_moves(gains: list[float], late: bool) -> None:
    """What is added to a row of two entries moves the second one, at the last position or at both."""
    still = FeedForward(np.eye(2), np.zeros((2, 2)), b_out=np.zeros(2))
    final = Normalization("rms", w=np.ones(2))
    model = Model(blocks=(still, still, final), W_U=np.diag(gains), W_E=np.array([[1.0, 0.0]]), W_pos=np.zeros((2, 2)))
    other = replace(model, blocks=(replace(still, b_out=np.array([0.0, 1e-3])), still, final))
    contexts = np.array([[0, 0]])
    one, two = (enclose_logits(each, contexts, precision=200).midpoint for each in (model, other))
    distance = np.array([[0.0 if late else 1e-3, 1e-3]])
    [bound] = moved_behind(model, 0, contexts, distance)
    assert np.abs(one - two).max() <= bound <= 2.1e-3 * max(gains) * np.sqrt(2.0)
