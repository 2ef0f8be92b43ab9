r"""The models of Dana, Pydi and Chevaleyre side by side: every tensor has a leading axis of the models.

Page: docs/experiments.md
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from experiments.points import Point

Weights = dict[str, Tensor]


def losses(points: Sequence[Point], device: str) -> Callable[[Weights, int], Tensor]:
    """Return the loss of stacked weights in a step, the sum over the models of their mean over the contexts.

    Args:
        points: Of one shape.
        device: Where the targets lie.
    """
    first, models = points[0], torch.arange(len(points), device=device)[:, None]
    goal = torch.stack([torch.as_tensor(p.goal()) for p in points]).to(device)
    goal = goal.float() if first.targets == "distributions" else goal
    asked = torch.as_tensor(first.rows, device=device)
    rows = None if len(asked) == first.tokens**first.length else asked.expand(len(points), -1)
    samples = None
    if first.protocol != "all contexts":
        samples = torch.stack([torch.as_tensor(p.sample()) for p in points], dim=1).to(device)

    def loss(weights: Weights, step: int) -> Tensor:
        if samples is None:
            logits, wanted = forward(first, weights, rows), goal
        else:
            batch = samples[step % len(samples)]
            logits, wanted = forward(first, weights, asked[batch]), goal[models, batch]
        each = functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(0, 1), reduction="none")
        return each.view(len(points), -1).mean(1).sum()

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


def forward(point: Point, weights: Weights, rows: Tensor | None = None) -> Tensor:
    """Return the logits of contexts, by default of all N^S in lexicographic order, `[models, N^S, N]`.

    The first heads read rows that depend on one token and one position, so their queries, keys and values are computed
    once a token, and the weighted sum is one product of matrices for each position; nothing of the size heads x
    contexts x d_h is ever made. Behind the first heads only what is asked is computed.

    Args:
        point: The shape.
        weights: ``W_E`` `[models, N, d]`, ``W_pos``, ``W_U``, and ``i.W_Q``, ... of layer i; ``C`` and ``D`` of shared
            maps.
        rows: The numbers of the contexts that are asked of each model, `[models, contexts]`.
    """
    w = folded(point, weights)
    x = w["W_E"][:, None] + w["W_pos"][:, :, None]  # models, positions, tokens, d
    last = range(point.length) if point.layers > 1 else [point.length - 1]
    streams = [_first_heads(point, w, x, i) for i in last]  # models, contexts, d, of each position
    if rows is not None:
        streams = [each.take_along_dim(rows[..., None], 1) for each in streams]
    streams = [_neurons(point, w, each, 0) for each in streams]
    for layer in range(1, point.layers):
        streams = _next_layer(point, w, streams, layer)
    return streams[-1] @ w["W_U"]


def _first_heads(point: Point, w: Weights, x: Tensor, i: int) -> Tensor:
    """Return the stream at position i behind the first heads, `[models, N^S, d]`."""
    size, n, S = x.shape[0], point.tokens, point.length
    grid = x[:, i].reshape(size, *(n if s == i else 1 for s in range(S)), -1).expand(size, *[n] * S, -1)
    if point.heads:
        read = S if i == S - 1 else i + 1
        rows = x[:, :, None].expand(-1, -1, point.heads, -1, -1)  # models, positions, heads, tokens, d
        q = rows[:, i] @ w["0.W_Q"] / math.sqrt(point.d_head)
        scores, values = [], []
        for s in range(read):
            k = rows[:, s] @ w["0.W_K"]
            values.append((rows[:, s] @ w["0.W_V"] @ w["0.W_O"]).transpose(1, 2))
            between = (k * q).sum(-1) if s == i else k @ q.mT
            # the tokens of s and of i are two of the axes; s comes first, as i is the last that is read
            shape = [n if t in (s, i) else 1 for t in range(S)]
            scores.append(between.reshape(size, point.heads, *shape).expand(size, point.heads, *[n] * S))
        a = torch.stack(scores).softmax(0)
        for s in range(read):
            weights = a[s].movedim(2 + s, 1).flatten(3)  # models, tokens of s, heads, the other tokens
            part = (weights.mT @ values[s]).unflatten(2, [n] * (S - 1))
            grid = grid + part.movedim(1, 1 + s)
    return grid.flatten(1, -2)


def _next_layer(point: Point, w: Weights, streams: list[Tensor], layer: int) -> list[Tensor]:
    """Return the streams that are read on: of all positions, or in the last layer of the last one."""
    asking = range(len(streams)) if layer < point.layers - 1 else [len(streams) - 1]
    if not point.heads:
        return [_neurons(point, w, streams[i], layer) for i in asking]
    W_Q, W_K, W_V = (w[f"{layer}.{name}"].transpose(1, 2).flatten(2) for name in ("W_Q", "W_K", "W_V"))
    split = (point.heads, point.d_head)
    keys, values = ([(x @ W).unflatten(2, split) for x in streams] for W in (W_K, W_V))
    found = []
    for i in asking:
        q = (streams[i] @ W_Q).unflatten(2, split) / math.sqrt(point.d_head)
        a = torch.stack([(q * k).sum(-1) for k in keys[: i + 1]]).softmax(0)
        read = sum(each[..., None] * v for each, v in zip(a, values, strict=False))
        assert isinstance(read, Tensor)
        stream = streams[i] + read.flatten(2) @ w[f"{layer}.W_O"].flatten(1, 2)
        found.append(_neurons(point, w, stream, layer))
    return found


def _neurons(point: Point, w: Weights, stream: Tensor, layer: int) -> Tensor:
    if not point.neurons:
        return stream
    W_in = torch.cat((w[f"{layer}.W_in"], w[f"{layer}.b_in"][:, None]), dim=1)  # a sum of its own passes over memory
    hidden = functional.gelu(functional.pad(stream, (0, 1), value=1.0) @ W_in)
    return stream + hidden @ w[f"{layer}.W_out"] + w[f"{layer}.b_out"][:, None]


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
