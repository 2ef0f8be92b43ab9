r"""Train points of one shape side by side: one stacked forward pass, one Adam.

Every tensor has a leading axis of the models. The loss is the sum over the models of their mean over the contexts, so
each model gets its own gradient, and Adam works entry by entry: what comes out is what each would learn alone, up to
rounding.

Page: docs/experiments.md
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from experiments import stacked_heads, stacked_layers
from experiments.layers import AnyPoint, LayerPoint
from experiments.stacked_heads import Weights

Arrays = dict[str, NDArray[np.float32]]

_REPORTS = 64  # of the progress of one training


def trained(
    points: Sequence[AnyPoint],
    *,
    device: str = "cpu",
    progress: Callable[[float], None] | None = None,
) -> list[Arrays]:
    """Train points of one shape, each from its own first weights on its own targets.

    Args:
        points: They differ in their seeds alone.
        device: Where.
        progress: Called with the share that is done.

    Returns:
        The weights of each, float32, by the names of ``forward`` of its kind, products of maps apart.
    """
    first = points[0]
    weights = {
        name: each.to(device).requires_grad_() for name, each in _stacked([_kind(p).initial(p) for p in points]).items()
    }
    loss_of = _kind(first).losses(points, device)
    adam = torch.optim.Adam(list(weights.values()), lr=first.rate, fused=True)
    for step in range(first.steps):
        adam.param_groups[0]["lr"] = first.rate + (first.last_rate - first.rate) * step / first.steps
        loss = loss_of(weights, step)
        adam.zero_grad()
        loss.backward()
        adam.step()
        if progress is not None and step % max(1, first.steps // _REPORTS) == 0:
            progress(step / first.steps)
    kept = {name: each.detach().cpu().numpy() for name, each in weights.items()}
    return [{name: each[i].copy() for name, each in kept.items()} for i in range(len(points))]


def exact(point: AnyPoint, weights: Arrays) -> dict[str, NDArray[np.float64]]:
    """Return the weights as `Point.model` takes them: float64 of the same values, maps multiplied out and rounded."""
    doubles = {name: torch.as_tensor(each).double() for name, each in weights.items()}
    return {name: each.numpy() for name, each in _kind(point).folded(point, doubles).items()}


def shapes(point: AnyPoint) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors that a point trains, by name."""
    return {name: tuple(each.shape) for name, each in _kind(point).initial(point).items()}


def _kind(point: AnyPoint) -> Any:
    return stacked_layers if isinstance(point, LayerPoint) else stacked_heads


def _stacked(each: Sequence[Weights]) -> Weights:
    return {name: torch.stack([w[name] for w in each]) for name in each[0]}
