r"""The layers of Mahdavi, Liao and Thrampoulidis side by side: every tensor has a leading axis of the models.

Page: docs/experiments.md
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from experiments.layers import LayerPoint
from experiments.stacked_heads import Weights


def losses(points: Sequence[LayerPoint], device: str) -> Callable[[Weights, int], Tensor]:
    """Return the loss of stacked weights in a step, the sum over the models of their mean over the examples.

    Args:
        points: Of one shape.
        device: Where the examples lie.
    """
    keys, queries = (_beside(each, device) for each in zip(*(point.vectors() for point in points), strict=True))
    labelled = points[0].targets == "labels"
    goal = torch.stack([torch.as_tensor(p.labels() if labelled else p.numbers()) for p in points]).to(device)

    def loss(weights: Weights, step: int) -> Tensor:
        outputs = forward(points[0], weights, keys, queries)
        if labelled:
            return functional.cross_entropy(outputs.mT, goal, reduction="none").mean(1).sum()
        return (outputs[..., 0] - goal).square().mean(1).sum()

    return loss


def initial(point: LayerPoint) -> Weights:
    """First weights: linear maps as torch has them, queries, keys and values by Xavier."""
    draw = torch.Generator().manual_seed(int(point.key[:15], 16))
    d, d_head, H = point.d_model, point.d_head, point.heads

    def uniform(bound: float, *shape: int) -> Tensor:
        return (torch.rand(shape, generator=draw) * 2 - 1) * bound

    w = {"A": uniform(d**-0.5, d, d), "b": uniform(d**-0.5, d)}
    w |= {name: uniform(math.sqrt(6 / (d + d_head)), H, d, d_head) for name in ("W_Q", "W_K")}
    w |= {"W_V": uniform(math.sqrt(6 / (d + 1)), H, d, 1), "W_O": uniform(math.sqrt(6 / (H + d)), H, 1, d)}
    return w | {"W_U": uniform(d**-0.5, d, point.answers), "b_U": uniform(d**-0.5, point.answers)}


def forward(point: LayerPoint, w: Weights, keys: Tensor, queries: Tensor) -> Tensor:
    """Return the outputs, `[models, T, C]`; queries are folded into the key maps, so no key is projected for each head.

    Args:
        point: The shape.
        w: ``A`` `[models, d, d]`, ``b``, ``W_Q``, ``W_K`` `[models, H, d, d_h]`, ``W_V``, ``W_O``, ``W_U``, ``b_U``.
        keys: `[models, 1 or T, n, 2 d]`, vectors and positions.
        queries: `[models, T, 2 d]`.
    """
    d = point.d_model
    x = keys[..., :d] @ w["A"][:, None] + w["b"][:, None, None] + keys[..., d:]
    e = queries[..., :d] @ w["A"] + w["b"][:, None] + queries[..., d:]
    asked = torch.einsum("mtd,mhdk,mhek->mthe", e, w["W_Q"], w["W_K"]) / math.sqrt(d)
    values = torch.einsum("mtnd,mhd->mthn", x, w["W_V"][..., 0])
    if point.context == "shared":
        scores = torch.einsum("mthd,mnd->mthn", asked, x[:, 0])
    else:
        scores = torch.einsum("mthd,mtnd->mthn", asked, x)
    read = (scores.softmax(-1) * values).sum(-1)
    return read @ w["W_O"][:, :, 0] @ w["W_U"] + w["b_U"][:, None]


def folded(point: LayerPoint, w: Weights) -> Weights:
    r"""Return the first map multiplied out, for vectors with their positions behind them.

    $$ \bigl((x A + b) + p\bigr) W = (x, p) \binom{A}{I} W + b\,W . $$

    Args:
        point: The shape.
        w: By the names of `forward`.
    """
    A, b = w["A"][..., None, :, :], w["b"][..., None, None, :]
    kept = {name: w[name] for name in ("W_O", "W_U", "b_U")}
    for name in ("Q", "K", "V"):
        own = w[f"W_{name}"]
        kept |= {f"W_{name}": torch.cat((A @ own, own), dim=-2), f"b_{name}": (b @ own).squeeze(-2)}
    return kept


def _beside(each: Sequence[np.ndarray], device: str) -> Tensor:
    return torch.stack([torch.as_tensor(vectors) for vectors in each]).float().to(device)
