"""Blocks of tokens: what is embedded, what gaps labels ask for, and the readout that turns attention into labels."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.bigrams.token_blocks import TokenBlocks
from constructions.errors import HypothesisError, InputError
from constructions.models.attention import logits
from constructions.tasks.arrays import array_task, enumerated_task


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 99))
def test_gaps_give_attention_that_is_the_point_of_the_label(tokens: int, size: int, seed: int) -> None:
    task = enumerated_task(tokens, 2, seed=seed)
    blocks = TokenBlocks.of(task, size, claim="a claim")
    gaps = blocks.gaps.reshape(blocks.count * size, -1)
    for (before, last), label in zip(task.contexts, task.labels, strict=True):
        share = 1 / (1 + math.exp(-gaps[last, before]))
        point = (share - 0.5) * (len(blocks.answers) + 1)
        assert point == pytest.approx(blocks.code.points[list(blocks.answers).index(label)], abs=1e-9)
    assert not gaps[tokens:].any() and not gaps[:, tokens:].any()
    assert blocks.largest >= max(1, np.abs(gaps).max())


@given(st.integers(1, 40), st.integers(1, 9), st.booleans())
def test_points_of_blocks_are_on_the_circle_and_as_far_apart_as_is_said(tokens: int, size: int, even: bool) -> None:
    blocks = TokenBlocks.of(enumerated_task(tokens, 2), size, claim="a claim", even=even)
    assert blocks.count * size >= tokens and (blocks.count % 2 == 0 or not even)
    assert blocks.count <= -(-tokens // size) + even
    products = blocks.circle @ blocks.circle.T
    assert np.allclose(np.diagonal(products), 1)
    np.fill_diagonal(products, -1)
    assert products.max() <= 1 - blocks.apart + 1e-12


def test_without_gaps_every_bigram_has_the_middle_label() -> None:
    task = array_task(
        np.array([[0, 4], [3, 3], [1, 2]]), next_tokens=np.array([6, 2, 4]), vocabulary=7, target="labels"
    )
    blocks = TokenBlocks.of(task, 3, claim="a claim")
    model = blocks.model(np.zeros((1, 6, 1)), np.zeros((1, 6, 1)))
    found = logits(model, task.contexts)
    assert (found.argmax(axis=1) == 4).all()
    assert np.allclose(found[:, 4] - found[:, [2, 6]].max(axis=1), 0.5)
    assert (found[:, 4] - found[:, [0, 1, 3, 5]].max(axis=1) >= 7 / 8).all()


def test_what_is_no_table_of_bigrams_is_refused() -> None:
    with pytest.raises(HypothesisError, match="a claim needs contexts of two tokens, but they have 3"):
        TokenBlocks.of(enumerated_task(2, 3), 1, claim="a claim")
    with pytest.raises(HypothesisError, match="a claim needs labels, but the target is 'laws'"):
        TokenBlocks.of(enumerated_task(2, 2, target="laws"), 1, claim="a claim")
    with pytest.raises(InputError, match="a block of 0 tokens"):
        TokenBlocks.of(enumerated_task(2, 2), 0, claim="a claim")
