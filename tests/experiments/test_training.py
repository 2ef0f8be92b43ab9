from dataclasses import replace

import numpy as np
import pytest
import torch

from experiments.layers import AnyPoint, LayerPoint
from experiments.points import Point
from experiments.stacked_heads import forward
from experiments.training import trained

SHAPES = {
    "own maps": Point(tokens=5, d_model=4, d_head=3, heads=2, steps=12),
    "distributions": Point(tokens=4, d_model=2, d_head=2, heads=2, targets="distributions", steps=12),
    "fixed sample": Point(tokens=5, d_model=4, d_head=2, heads=2, protocol="fixed sample", steps=12),
    "one context": LayerPoint(examples=6, n_ctx=3, d_model=4, d_head=2, heads=2, steps=12),
    "contexts and numbers": LayerPoint(
        examples=6, n_ctx=3, d_model=4, d_head=2, heads=2, context="own", targets="numbers", steps=12
    ),
}


def _beside(point: AnyPoint, seeds: int) -> list[AnyPoint]:
    return [replace(point, seed=seed, data_seed=seed) for seed in range(seeds)]


@pytest.mark.parametrize("point", SHAPES.values(), ids=SHAPES)
def test_a_point_learns_beside_others_what_it_learns_alone(point: AnyPoint) -> None:
    beside = _beside(point, 3)
    alone = [trained([each])[0] for each in beside]
    for together, apart in zip(trained(beside), alone, strict=True):
        assert together.keys() == apart.keys()
        for name in together:
            np.testing.assert_allclose(together[name], apart[name], rtol=1e-3, atol=1e-4)


def test_training_lowers_the_loss_and_moves_every_tensor() -> None:
    point = Point(tokens=4, d_model=3, d_head=2, heads=2, steps=200)
    first, last = trained([replace(point, steps=1)])[0], trained([point])[0]
    assert all(np.abs(first[name] - last[name]).max() > 0.01 for name in first)
    labels = torch.as_tensor(point.labels())

    def loss(weights: dict) -> float:
        logits = forward(point, {name: torch.as_tensor(each)[None] for name, each in weights.items()})[0]
        return float(torch.nn.functional.cross_entropy(logits, labels))

    assert loss(last) < 0.5 * loss(first)


@pytest.mark.parametrize(("tokens", "batch"), [(5, 256), (50, 256), (51, 1024)])
def test_a_sample_is_drawn_from_all_contexts(tokens, batch) -> None:
    fixed = replace(SHAPES["fixed sample"], tokens=tokens)
    for point, shape in ((fixed, (64, batch)), (replace(fixed, protocol="sample of the text"), (1000, 1024))):
        sample = point.sample()
        assert sample.shape == shape
        assert 0 <= sample.min() < tokens and tokens**2 - tokens <= sample.max() < tokens**2


@pytest.mark.parametrize("protocol", ["fixed sample", "sample of the text"])
def test_a_step_sees_its_batch_alone(protocol, monkeypatch) -> None:
    """A sample of one context teaches that context, and no other."""
    point = replace(SHAPES["fixed sample"], tokens=3, steps=150, protocol=protocol)
    monkeypatch.setattr(Point, "sample", lambda _: np.full((64, 256), 4))
    monkeypatch.setattr(Point, "labels", lambda _: np.arange(9) % 3)
    logits = forward(point, {name: torch.as_tensor(each)[None] for name, each in trained([point])[0].items()})[0]
    losses = torch.nn.functional.cross_entropy(logits, torch.as_tensor(point.labels()), reduction="none")
    assert float(losses[4]) < 0.05 and float(losses.max()) > 1


def test_points_begin_apart() -> None:
    one, other = (trained([replace(SHAPES["own maps"], seed=seed, steps=1)])[0] for seed in (0, 1))
    assert all(np.abs(one[name] - other[name]).max() > 0.05 for name in one)
