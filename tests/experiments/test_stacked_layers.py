from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from experiments.layers import LayerPoint
from experiments.stacked_layers import forward
from experiments.sweep import proved
from experiments.training import exact, shapes, trained
from verify.torch.module import Replica

SIZE: dict[str, Any] = {"examples": 7, "n_ctx": 3, "d_model": 4, "d_head": 2, "heads": 2}
SHAPES = {
    "one context": LayerPoint(**SIZE, steps=12),
    "own contexts": LayerPoint(**SIZE, context="own", steps=12),
    "numbers": LayerPoint(**SIZE, targets="numbers", steps=12),
    "one key": LayerPoint(**{**SIZE, "n_ctx": 1}, classes=3, steps=12),
}


@pytest.mark.parametrize("point", SHAPES.values(), ids=SHAPES)
def test_what_is_trained_is_what_is_certified(point: LayerPoint) -> None:
    """The stacked forward pass computes the model that the certificate is about."""
    (weights,) = trained([point])
    assert {name: each.shape for name, each in weights.items()} == shapes(point)
    assert point.parameters() == sum(each.size for each in weights.values())
    keys, queries = (torch.as_tensor(each) for each in point.vectors())
    with torch.inference_mode():
        doubles = {name: torch.as_tensor(each).double()[None] for name, each in weights.items()}
        stacked = forward(point, doubles, keys[None], queries[None])[0]
        one = Replica.from_model(point.model(exact(point, weights)), dtype=torch.float64)(keys, queries)
    assert float((stacked - one).abs().max()) <= 1e-12


def test_the_proved_square_is_that_of_the_outputs() -> None:
    point = LayerPoint(**SIZE, targets="numbers", steps=200)
    (weights,) = trained([point])
    model, task = point.model(exact(point, weights)), point.task()
    found = proved(point, model)
    outputs = Replica.from_model(model, dtype=torch.float64)(*map(torch.tensor, (task.contexts, task.queries)))
    errors = outputs.detach().numpy() - task.labels
    assert found.loss_lower <= float((errors**2).mean()) * (1 + 1e-9) and found.loss_upper >= 0.999 * found.loss_lower
    assert found.loss_upper == pytest.approx(float((errors**2).mean()), rel=1e-6)
    assert found.memorized == int((abs(errors) <= 0.05).sum()) and found.memorized + found.wrong == 7
    assert found.saturation is not None and sum(found.saturation) == 7 and len(found.saturation) == 3


def test_the_first_map_moves_keys_and_queries() -> None:
    """A map that is not the identity, and a shift, reach queries, keys and values."""
    point, rng = SHAPES["own contexts"], np.random.default_rng(0)
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes(point).items()}
    model = point.model(exact(point, weights))
    (keys, queries), w = point.vectors(), {name: each.astype(np.float64) for name, each in weights.items()}
    x = keys[..., :4] @ w["A"] + w["b"] + keys[..., 4:]
    e = queries[:, :4] @ w["A"] + w["b"] + queries[:, 4:]
    outputs = np.tile(w["b_U"], (7, 1))
    for head in range(2):
        scores = np.einsum("tk,tnk->tn", e @ w["W_Q"][head], x @ w["W_K"][head]) / 2  # the root of d
        a = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        outputs += np.einsum("tn,tnv->tv", a, x @ w["W_V"][head]) @ w["W_O"][head] @ w["W_U"]
    found = Replica.from_model(model, dtype=torch.float64)(torch.as_tensor(keys), torch.as_tensor(queries))
    np.testing.assert_allclose(found.detach().numpy(), outputs, rtol=1e-9, atol=1e-12)


def test_one_key_says_one_thing() -> None:
    (weights,) = trained([SHAPES["one key"]])
    found = proved(SHAPES["one key"], SHAPES["one key"].model(exact(SHAPES["one key"], weights)))
    assert found.ceiling is not None and found.memorized <= found.ceiling and found.saturation == (0, 0, 7)


def test_numbers_of_one_key_have_the_variance_as_their_floor() -> None:
    point = LayerPoint(**{**SIZE, "n_ctx": 1}, targets="numbers", steps=300)
    (weights,) = trained([point])
    found = proved(point, point.model(exact(point, weights)))
    numbers = [Fraction(y) for y in point.numbers().tolist()]
    mean = sum(numbers) / 7
    variance = sum((y - mean) ** 2 for y in numbers) / 7
    assert found.floor is not None and 0.999 * variance <= found.floor <= variance
    assert found.violation is None and found.loss_upper >= found.floor
