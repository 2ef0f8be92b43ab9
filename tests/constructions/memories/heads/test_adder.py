"""Tests of constructions/memories/heads/adder.py: sums by plain numpy, of the weights alone."""

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.folds.fold import addition
from constructions.memories.heads.adder import adder
from constructions.model.model import Model


def said_by(model: Model, prompts: np.ndarray, count: int) -> np.ndarray:
    """What greedy decoding says, in float64."""
    attention, neurons = model.blocks
    contexts = prompts
    for _ in range(count):
        x = model.W_E[contexts] + model.W_pos[: contexts.shape[1]]
        y = x[:, -1].copy()
        for W_Q, W_K, W_V, W_O in zip(attention.W_Q, attention.W_K, attention.W_V, attention.W_O, strict=True):
            scores = np.einsum("tq,tsq->ts", x[:, -1] @ W_Q, x @ W_K)
            weights = np.exp(scores - scores.max(1, keepdims=True))
            y += np.einsum("ts,tsv->tv", weights / weights.sum(1, keepdims=True), x @ W_V) @ W_O
        y = y + np.maximum(y @ neurons.W_in + neurons.b_in, 0.0) @ neurons.W_out
        said = (y @ model.W_U + model.b_U).argmax(1)
        contexts = np.concatenate([contexts, said[:, None]], axis=1)
    return contexts[:, prompts.shape[1] :]


@pytest.mark.parametrize("layout", [{}, {"first_digit": "most", "plus": (20,), "equals": (0, 21), "before": (22,)}])
@pytest.mark.parametrize(("digits", "base"), [(1, 2), (1, 20), (5, 2), (10, 10), (20, 16), (70, 3)])
def test_it_adds(digits: int, base: int, layout: dict) -> None:
    fold, model = addition(digits, base=base, **layout), adder(digits, base=base, **layout)
    rng = np.random.default_rng(0)
    choices = np.stack([rng.integers(len(stage.choices), size=200) for stage in fold.stages], axis=1)
    carried = np.stack([np.full(2, len(stage.choices) - 1) for stage in fold.stages], axis=1)
    choices = np.concatenate([choices, carried])
    said = said_by(model, fold.prompts(choices), digits + 1)
    assert (said == fold.answers(choices)).all()


@pytest.mark.parametrize("wrong", [{"plus": ()}, {"equals": (1,)}, {"base": 1}, {"digits": 0}])
def test_what_it_cannot_add_is_refused(wrong: dict) -> None:
    with pytest.raises(InputError):
        adder(**{"digits": 2, "base": 3, **wrong})


@pytest.mark.parametrize("base", [2, 3, 10, 17, 64])
def test_half_a_step_off_changes_no_digit(base: int) -> None:
    """What Theorem FD2 says of heads that are off by 1/16, for all sums of two digits and carries."""
    _, neurons = (model := adder(2, base=base)).blocks
    x, c, before = (each.ravel() for each in np.meshgrid(np.arange(2 * base - 1), [0, 1], [0, 1]))
    for off in np.array([(0, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)]) / 16:
        y = np.zeros((len(x), model.d_model))
        y[:, 0], y[:, 1] = base * c - before + off[0], x + off[1]
        y = y + np.maximum(y @ neurons.W_in + neurons.b_in, 0.0) @ neurons.W_out
        assert np.abs(y[:, 1] - off[1] - (x + c) % base).max() < 1e-9
        logits = y @ model.W_U + model.b_U
        right = logits[np.arange(len(x)), (x + c) % base]
        logits[np.arange(len(x)), (x + c) % base] = -np.inf
        assert (right - logits.max(1)).min() > 7 / 8 - 1e-9
