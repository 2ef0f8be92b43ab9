import pytest
import torch

from constructions.tasks.arrays import all_contexts
from experiments.points import Point
from experiments.stacked_heads import forward
from experiments.training import exact, shapes, trained
from verify.torch.module import Replica

SHAPES = {
    "own maps": Point(tokens=5, d_model=4, d_head=3, heads=2, steps=12),
    "shared maps": Point(tokens=5, d_model=4, d_head=3, heads=2, maps="shared", steps=12),
    "neurons": Point(tokens=5, d_model=4, d_head=2, heads=1, neurons=6, steps=12),
    "no heads": Point(tokens=5, d_model=4, d_head=2, heads=0, steps=12),
    "three layers": Point(tokens=5, d_model=4, d_head=2, heads=2, layers=3, steps=12),
    "three tokens": Point(tokens=3, d_model=4, d_head=2, heads=2, length=3, steps=12),
    "distributions": Point(tokens=4, d_model=2, d_head=2, heads=2, targets="distributions", steps=12),
    "parity": Point(tokens=2, d_model=4, d_head=2, heads=2, length=4, targets="parity", steps=12),
    "fixed sample": Point(tokens=5, d_model=4, d_head=2, heads=2, protocol="fixed sample", steps=12),
}


@pytest.mark.parametrize("point", SHAPES.values(), ids=SHAPES)
def test_what_is_trained_is_what_is_certified(point: Point) -> None:
    """The stacked forward pass computes the model that the certificate is about."""
    (weights,) = trained([point])
    assert {name: each.shape for name, each in weights.items()} == shapes(point)
    assert point.parameters() == sum(each.size for each in weights.values())
    contexts = torch.as_tensor(all_contexts(point.tokens, point.length))
    with torch.inference_mode():
        stacked = forward(point, {name: torch.as_tensor(each).double()[None] for name, each in weights.items()})[0]
        one = Replica.from_model(point.model(exact(point, weights)), dtype=torch.float64)(contexts)
    assert float((stacked - one).abs().max()) <= 1e-12
