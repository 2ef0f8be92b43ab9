"""A run in float32 that adds the terms of each sum, bias and skip row among them, in an order drawn for each."""

import numpy as np

from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model

SINGLE = np.float32


def added(terms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The sum over the last axis in float32, one term after the other in a random order."""
    order = rng.permutation(terms.shape[-1])
    total = np.zeros(terms.shape[:-1], SINGLE)
    for place in order:
        total = total + terms[..., place]
    return total


def mapped(x, W, rng, *others):
    """x W and more rows, every product and every sum rounded to float32."""
    W = W.astype(SINGLE)
    terms = [x[..., i, None] * W[i] for i in range(len(W))]
    shape = (*x.shape[:-1], W.shape[1])
    terms += [np.broadcast_to(other.astype(SINGLE), shape) for other in others if other is not None]
    return added(np.stack([np.broadcast_to(term, shape) for term in terms], axis=-1), rng)


def logits(model: Model, contexts: np.ndarray, seed: int) -> np.ndarray:
    """The logits of such a run, `[T, K]`, of a model of attention and ReLU neurons without normalization."""
    rng = np.random.default_rng(seed)
    x = model.W_E.astype(SINGLE)[contexts] + model.W_pos.astype(SINGLE)[: contexts.shape[1]]
    for block in model.blocks:
        if isinstance(block, FeedForward):
            hidden = np.maximum(mapped(x, block.W_in, rng, block.b_in), SINGLE(0))
            x = mapped(hidden, block.W_out, rng, block.b_out, x if block.skip else None)
            continue
        assert isinstance(block, Attention) and block.score_root == 1
        asks = x if block.attends == "all" else x[:, -1:]
        rows = [asks] if block.skip else []
        for h in range(block.n_heads):
            q = mapped(asks, block.W_Q[h], rng, None if block.b_Q is None else block.b_Q[h])
            k, v = mapped(x, block.W_K[h], rng), mapped(x, block.W_V[h], rng)
            scores = added(q[:, :, None, :] * k[:, None, :, :], rng)
            powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
            shares = powers / added(powers, rng)[..., None]
            z = added((shares[..., None] * v[:, None]).swapaxes(-1, -2), rng)
            rows += list(np.moveaxis(z[..., None] * block.W_O[h].astype(SINGLE), -2, 0))
        shape = np.broadcast_shapes(*(row.shape for row in rows))
        x = added(np.stack([np.broadcast_to(row, shape) for row in rows], axis=-1), rng)
    return mapped(x[:, -1], model.W_U, rng, model.b_U)
