"""Tests of constructions/memories/heads/whole_input.py: answers by plain numpy."""

import itertools

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.memories.heads.whole_input import largest_token, sum_of_tokens
from constructions.model.model import Model


def said_by(model: Model, prompts: np.ndarray) -> np.ndarray:
    """The tokens with the largest logits, in float64."""
    attention, *behind = model.blocks
    x = model.W_E[prompts]
    query = x[:, -1] @ attention.W_Q[0] + (0.0 if attention.b_Q is None else attention.b_Q[0])
    scores = np.einsum("tq,tsq->ts", query, x @ attention.W_K[0])
    weights = np.exp(scores - scores.max(1, keepdims=True))
    y = np.einsum("ts,tsv->tv", weights / weights.sum(1, keepdims=True), x @ attention.W_V[0]) @ attention.W_O[0]
    for neurons in behind:
        y = y + np.maximum(y @ neurons.W_in + neurons.b_in, 0.0) @ neurons.W_out
    return (y @ model.W_U + model.b_U).argmax(1)


@pytest.mark.parametrize(("count", "below"), [(1, 1), (1, 5), (4, 6), (6, 3)])
def test_the_largest_token_is_said(count: int, below: int) -> None:
    prompts = np.array(list(itertools.product(range(below), repeat=count)))
    assert (said_by(largest_token(count, below=below), prompts) == prompts.max(1)).all()


@pytest.mark.parametrize(("terms", "below", "modulus"), [(1, 2, 5), (3, 3, 9), (10, 2, 2), (4, 6, 5), (3, 9, 1)])
def test_the_sum_modulo_a_number_is_said(terms: int, below: int, modulus: int) -> None:
    prompts = np.array(list(itertools.product(range(below), repeat=terms)))
    model = sum_of_tokens(terms, below=below, modulus=modulus)
    assert (said_by(model, prompts) == prompts.sum(1) % modulus).all()


def test_sizes_below_one_are_refused() -> None:
    with pytest.raises(InputError, match="count"):
        largest_token(0, below=3)
    with pytest.raises(InputError, match="modulus"):
        sum_of_tokens(2, below=3, modulus=0)
