r"""The models of Dana, Pydi and Chevaleyre side by side: every tensor has a leading axis of the models.

Page: docs/experiments.md
"""

import math
from collections.abc import Callable, Sequence
from string import ascii_lowercase

import torch
from torch import Tensor
from torch.nn import functional

from byheart.experiments.points import Point

Weights = dict[str, Tensor]


def losses(points: Sequence[Point], device: str) -> Callable[[Weights, int], Tensor]:
    """The loss of stacked weights in a step, the sum over the models of their mean over the contexts.

    Args:
        points: Of one shape.
        device: Where the targets lie.
    """
    first = points[0]
    goal = torch.stack([torch.as_tensor(p.goal()) for p in points]).to(device)
    goal = goal.float().movedim(-1, 1) if first.targets == "laws" else goal  # the tokens where the loss looks for them
    rows = torch.as_tensor(first.rows, device=device)
    samples = None if first.protocol == "all contexts" else torch.stack([torch.as_tensor(p.sample()) for p in points])

    def loss(weights: Weights, step: int) -> Tensor:
        logits = forward(first, weights)[:, rows]
        each = functional.cross_entropy(logits.movedim(-1, 1), goal, reduction="none")
        if samples is None:
            return each.mean(1).sum()
        batch = samples[:, step % samples.shape[1]].to(each)
        return (each * batch).sum() / batch[0].sum()

    return loss


def initial(point: Point) -> Weights:
    """First weights as torch's layers have them: uniform within 1 / sqrt(fan-in); queries, keys, values by Xavier."""
    draw = torch.Generator().manual_seed(int(point.key[:15], 16))
    n, d, d_head, H, S = point.tokens, point.d_model, point.d_head, point.heads, point.length
    inner = d if point.maps == "own" else d_head

    def uniform(bound: float, *shape: int) -> Tensor:
        return (torch.rand(shape, generator=draw) * 2 - 1) * bound

    w = {"W_E": uniform(d**-0.5, n, d), "W_pos": uniform(inner**-0.5, S, inner), "W_U": uniform(d**-0.5, d, n)}
    if point.maps == "shared":
        w |= {"C": uniform(d**-0.5, d, d_head), "D": uniform(d_head**-0.5, d_head, d)}
    for layer in range(point.layers):
        if H:
            for name in ("W_Q", "W_K", "W_V"):
                w[f"{layer}.{name}"] = uniform(math.sqrt(6 / (inner + d_head)), H, inner, d_head)
            w[f"{layer}.W_O"] = uniform((H * d_head) ** -0.5, H, d_head, inner)
        if point.neurons:
            m = point.neurons
            w |= {f"{layer}.W_in": uniform(d**-0.5, d, m), f"{layer}.b_in": uniform(d**-0.5, m)}
            w |= {f"{layer}.W_out": uniform(m**-0.5, m, d), f"{layer}.b_out": uniform(m**-0.5, d)}
    return w


def forward(point: Point, weights: Weights) -> Tensor:
    """The logits of all N^S contexts in lexicographic order, `[models, N^S, N]`.

    The first heads read rows that depend on one token and one position, so their queries, keys and values are computed
    once a token, and the weighted sum is one product of matrices for each position; nothing of the size heads x
    contexts x d_h is ever made.

    Args:
        point: The shape.
        weights: ``W_E`` `[models, N, d]`, ``W_pos``, ``W_U``, and ``i.W_Q``, ... of layer i; ``C`` and ``D`` of shared
            maps.
    """
    w = folded(point, weights)
    x = w["W_E"][:, None] + w["W_pos"][:, :, None]  # models, positions, tokens, d
    last = range(point.length) if point.layers > 1 else [point.length - 1]
    streams = [_first_layer(point, w, x, i) for i in last]  # models, tokens of each position ..., d
    stream = torch.stack([each.flatten(1, -2) for each in streams], dim=2)  # models, contexts, positions, d
    for layer in range(1, point.layers):
        stream = _next_layer(point, w, stream, layer)
    return stream[:, :, -1] @ w["W_U"]


def _first_layer(point: Point, w: Weights, x: Tensor, i: int) -> Tensor:
    """The stream at position i, on the grid of all tokens of positions 0 .. S - 1."""
    size, n, S = x.shape[0], point.tokens, point.length
    axes = ascii_lowercase[:S]
    stream = x[:, i].reshape(size, *(n if s == i else 1 for s in range(S)), -1).expand(size, *[n] * S, -1)
    if point.heads:
        read = S if i == S - 1 else i + 1
        q = torch.einsum("mtd,mhdk->mhtk", x[:, i], w["0.W_Q"]) / math.sqrt(point.d_head)
        k = torch.einsum("mstd,mhdk->mhstk", x[:, :read], w["0.W_K"])
        v = torch.einsum("mstd,mhdk,mhke->mhste", x[:, :read], w["0.W_V"], w["0.W_O"])
        scores = []
        for s in range(read):
            between = torch.einsum("mhck,mhnk->mhnc", q, k[:, :, s])
            if s == i:
                between = torch.diagonal(between, dim1=-2, dim2=-1)
            # the tokens of s and of i are two of the axes; s comes first, as i is the last that is read
            shape = [n if t in (s, i) else 1 for t in range(S)]
            scores.append(between.reshape(size, point.heads, *shape).expand(size, point.heads, *[n] * S))
        a = torch.stack(scores).softmax(0)
        for s in range(read):
            stream = stream + torch.einsum(f"yz{axes},yz{axes[s]}x->y{axes}x", a[s], v[:, :, s])
    return _neurons(point, w, stream, 0)


def _next_layer(point: Point, w: Weights, stream: Tensor, layer: int) -> Tensor:
    if point.heads:
        q, k = (torch.einsum("mtsd,mhdk->mhtsk", stream, w[f"{layer}.{name}"]) for name in ("W_Q", "W_K"))
        v = torch.einsum("mtsd,mhdk,mhke->mhtse", stream, w[f"{layer}.W_V"], w[f"{layer}.W_O"])
        scores = q @ k.mT / math.sqrt(point.d_head)
        later = torch.ones_like(scores[0, 0, 0], dtype=torch.bool).triu(1)
        stream = stream + (scores.masked_fill(later, -math.inf).softmax(-1) @ v).sum(1)
    return _neurons(point, w, stream, layer)


def _neurons(point: Point, w: Weights, stream: Tensor, layer: int) -> Tensor:
    if not point.neurons:
        return stream
    flat = stream.flatten(1, -2)
    hidden = functional.gelu(flat @ w[f"{layer}.W_in"] + w[f"{layer}.b_in"][:, None])
    return stream + (hidden @ w[f"{layer}.W_out"] + w[f"{layer}.b_out"][:, None]).view_as(stream)


def folded(point: Point, w: Weights) -> Weights:
    r"""Shared maps written as own ones of the width $d + d_h$.

    $$ W_E = (E, 0),\quad W_{pos} = (0, p),\quad W_Q^h = \binom{C}{I} Q^h,\quad W_O^h = (O^h D, 0),\quad
       W_U = \binom{U}{0}, $$

    keys and values as queries.

    Args:
        point: The shape; heads with maps of their own stay as they are.
        w: ``W_E`` `[..., N, d]`, ``W_pos`` `[..., S, d_h]`, ``C`` `[..., d, d_h]`, ``D`` `[..., d_h, d]`, ``W_U`` and
            the heads, of which each is d_h x d_h.
    """
    if point.maps == "own":
        return w
    E, p, C, D = (w[name] for name in ("W_E", "W_pos", "C", "D"))
    d, d_head = C.shape[-2:]
    heads = {name: torch.cat((C[..., None, :, :] @ w[name], w[name]), dim=-2) for name in ("0.W_Q", "0.W_K", "0.W_V")}
    return {
        "W_E": functional.pad(E, (0, d_head)),
        "W_pos": functional.pad(p, (d, 0)),
        **heads,
        "0.W_O": functional.pad(w["0.W_O"] @ D[..., None, :, :], (0, d_head)),
        "W_U": functional.pad(w["W_U"], (0, 0, 0, d_head)),
    }
