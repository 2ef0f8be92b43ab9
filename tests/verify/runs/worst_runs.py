"""Runs whose every rounding is turned against one output: as large as H1 to H4 allow, in the worst order of a sum.

Quotients are off by 4 units, shifts and skip rows are terms, and a normalization multiplies by a reciprocal.


A first pass in float64 finds by its gradient which way each rounding would have to go; a second one lets it go there.
"""

import math

import numpy as np
import torch

from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model


class _Roundings:
    """The roundings of a run: nothing at first, then as their gradients say."""

    def __init__(self, unit: float, exp_ulps: float) -> None:
        self.unit, self.exp_ulps = unit, exp_ulps
        self.turned: list[torch.Tensor] = []
        self.place, self.known = 0, False

    def off(self, y: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        if not self.known:
            self.turned.append(torch.zeros_like(size).requires_grad_())
        turned = self.turned[self.place]
        self.place += 1
        return y + self.unit * size.detach() * turned

    def against(self) -> None:
        self.turned = [-torch.sign(each.grad) for each in self.turned if each.grad is not None]
        self.place, self.known = 0, True


def _nodes(terms: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
    """What the partial sums of a bad order add up to, of `[..., n, p]` over n, and two roundings of each term.

    The others, `[..., p]`, are terms that are finished.
    """
    all_terms = torch.cat([terms, *(other[..., None, :] for other in others)], dim=-2)
    ascending = all_terms.sort(dim=-2).values
    sums = [order.cumsum(dim=-2)[..., 1:, :].abs().sum(dim=-2) for order in (ascending, ascending.flip(-2))]
    return torch.maximum(*sums) + 2.0 * terms.abs().sum(dim=-2)


def worst_run(
    model: Model, contexts: np.ndarray, top: np.ndarray, other: np.ndarray, unit: float, exp_ulps: float
) -> tuple[np.ndarray, np.ndarray]:
    """The outputs without roundings, and those of the run that brings `top` down to `other`, `[T, outputs]` both."""
    roundings = _Roundings(unit, exp_ulps)
    exact = _forward(model, contexts, roundings)
    rows = torch.arange(len(contexts))
    (exact[rows, torch.tensor(top)] - exact[rows, torch.tensor(other)]).sum().backward()
    roundings.against()
    with torch.no_grad():
        return exact.detach().numpy(), _forward(model, contexts, roundings).numpy()


def _forward(model: Model, contexts: np.ndarray, roundings: _Roundings) -> torch.Tensor:
    off = roundings.off

    def mapped(x: torch.Tensor, W: np.ndarray, b: np.ndarray | None, skip: torch.Tensor | None = None) -> torch.Tensor:
        matrix = torch.tensor(W)
        y, terms = x @ matrix, x[..., None] * matrix
        shift = torch.zeros_like(y) if b is None else torch.tensor(b).expand(y.shape)
        others = ([] if b is None else [shift]) + ([] if skip is None else [skip])
        return off(y + sum(others), _nodes(terms, *others) + shift.abs())

    def normalized(x: torch.Tensor, norm: Normalization) -> torch.Tensor:
        width, products, away = x.shape[-1], torch.zeros_like(x), torch.zeros(())
        if norm.kind == "layer":
            mean = x.mean(dim=-1, keepdim=True)
            nodes = _nodes(x[..., None])[..., 0:1] - 2.0 * x.abs().sum(dim=-1, keepdim=True)
            away, products = nodes / width + 4.0 * mean.abs(), x.abs() + mean.abs()
            x = x - off(mean, away)
        squares = (x * x)[..., None]
        square = squares[..., 0].mean(dim=-1, keepdim=True)
        root = torch.sqrt(square + norm.epsilon)
        share = (_nodes(squares) / width + 3.0 * square) / (root * root) + 1.0
        y = x / off(root, root * (0.5 * share + 2.0) + away)
        y = off(y, products / root + 5.0 * y.abs()) * torch.tensor(norm.w)
        y = off(y, 2.0 * y.abs())
        return y if norm.b is None else off(y + torch.tensor(norm.b), (y + torch.tensor(norm.b)).abs())

    def activated(x: torch.Tensor, activation: str) -> torch.Tensor:
        if activation == "relu":
            return x.clamp(min=0.0)
        if activation == "gelu":
            # erf is off by 8 u, absolutely.
            return off(torch.nn.functional.gelu(x), 4.0 * x.abs())
        inner = x if activation == "silu" else 2.0 * math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
        share = torch.sigmoid(inner)
        y = x * share
        return off(y, 2.0 * roundings.exp_ulps * (y * (1.0 - share)).abs() + 5.0 * y.abs())

    positions = contexts.shape[1]
    x = torch.tensor(model.W_E)[torch.tensor(contexts)]
    if model.W_pos is not None:
        places = torch.tensor(model.W_pos)[:positions]
        x = off(x + places, x.abs() + places.abs() + (x + places).abs())
    for block in model.blocks:
        if isinstance(block, Normalization):
            x = normalized(x, block)
            continue
        read = x if block.norm is None else normalized(x, block.norm)
        if isinstance(block, FeedForward):
            hidden = mapped(read, block.W_in, block.b_in)
            if block.W_gate is None:
                hidden = activated(hidden, block.activation)
            else:
                gates = activated(mapped(read, block.W_gate, block.b_gate), block.activation)
                hidden = off(gates * hidden, (gates * hidden).abs())
            x = mapped(hidden, block.W_out, block.b_out, x if block.skip else None)
        else:
            assert isinstance(block, Attention)
            heads = []
            for h in range(block.n_heads):
                q, k, v = (
                    mapped(read, W[h], None if b is None else b[h])
                    for W, b in ((block.W_Q, block.b_Q), (block.W_K, block.b_K), (block.W_V, block.b_V))
                )
                terms = (q[:, :, None] * k[:, None])[..., None]
                scores = terms.sum(dim=(-2, -1))
                # Five for the scale, two for powers of 2.
                scores = off(scores, _nodes(terms)[..., 0] + 7.0 * scores.abs()) / math.sqrt(block.score_root)
                later = torch.ones(positions, positions, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(later, -math.inf) if block.attends == "causal" else scores
                below = scores - scores.amax(dim=-1, keepdim=True).detach()
                powers = torch.exp(below)
                powers = off(powers, powers * (2.0 * roundings.exp_ulps + below.abs().nan_to_num(posinf=0.0)))
                shares = powers / powers.sum(dim=-1, keepdim=True)
                shares = off(shares, (positions + 4.0) * shares)
                terms = shares[..., None] * v[:, None]
                heads.append(off(terms.sum(dim=-2), _nodes(terms)))
            skip = x if block.skip else None
            x = mapped(torch.cat(heads, dim=-1), block.W_O.reshape(-1, block.d_out), block.b_O, skip)
    return mapped(x[:, -1], model.W_U, model.b_U)
