"""Runs of a model that sum in any order: sequential, backwards, by random trees, in blocks, with fused multiply-add.

Each sum is one list of all its terms: products, the shift and the skip row, of an attention and the neurons beside it
together. Normalizations stand between blocks, not in them, and neurons are ReLU.
The softmax subtracts the maximum, at once or block by block with rescaling.
"""

from collections.abc import Callable

import numpy as np

from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model

Terms = list[tuple[np.ndarray, np.ndarray | None]]
Summed = Callable[[Terms, np.dtype, np.random.Generator], np.ndarray]


def _product(term, dtype):
    return term[0] if term[1] is None else (term[0] * term[1]).astype(dtype)


def sequential(terms: Terms, dtype, rng) -> np.ndarray:
    total = _product(terms[0], dtype)
    for term in terms[1:]:
        total = (total + _product(term, dtype)).astype(dtype)
    return total


def backwards(terms: Terms, dtype, rng) -> np.ndarray:
    return sequential(terms[::-1], dtype, rng)


def fused(terms: Terms, dtype, rng) -> np.ndarray:
    """The product is exact in a longer format, and the sum is rounded once (twice at most)."""
    wide = np.float64 if dtype != np.float64 else np.longdouble
    total = _product(terms[0], dtype)
    for x, w in (terms[i] for i in rng.permutation(np.arange(1, len(terms)))):
        total = (total.astype(wide) + x.astype(wide) * (1.0 if w is None else w.astype(wide))).astype(dtype)
    return total


def random_tree(terms: Terms, dtype, rng) -> np.ndarray:
    parts = [_product(term, dtype) for term in terms]
    while len(parts) > 1:
        i, j = rng.choice(len(parts), 2, replace=False)
        one, two = parts[max(i, j)], parts[min(i, j)]
        parts = [part for k, part in enumerate(parts) if k not in (i, j)] + [(one + two).astype(dtype)]
    return parts[0]


def largest_first(terms: Terms, dtype, rng) -> np.ndarray:
    """What is small is lost one by one against what is large, wherever it stands."""
    parts = np.stack(np.broadcast_arrays(*(_product(term, dtype) for term in terms)))
    parts = np.take_along_axis(parts, np.argsort(-np.abs(parts), axis=0, kind="stable"), 0)
    return sequential([(part, None) for part in parts], dtype, rng)


def blocked(terms: Terms, dtype, rng) -> np.ndarray:
    sums = [sequential(terms[i : i + 4], dtype, rng) for i in range(0, len(terms), 4)]
    return sequential([(part, None) for part in sums], dtype, rng)


ORDERS = (sequential, backwards, largest_first, fused, random_tree, blocked)


def hostile_run(
    model: Model,
    contexts: np.ndarray,
    dtype,
    summed: Summed,
    *,
    online: bool = False,
    maximum: bool = True,
    early: bool = False,
    seed: int = 0,
) -> np.ndarray:
    """The logits of one run, `[T, d_vocab_out]`, as float64; `early` divides queries, not scores, by the root."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)

    def terms_of(x, matrix, shift, j) -> Terms:
        terms: Terms = [(x[..., i], matrix[i, j].astype(dtype)) for i in range(matrix.shape[0])]
        return terms + ([] if shift is None else [(np.full(x.shape[:-1], shift[j]).astype(dtype), None)])

    def mapped(x, matrix, shift=None, skip=None, beside=()):
        columns = []
        for j in range(matrix.shape[1]):
            terms = terms_of(x, matrix, shift, j)
            for other in beside:
                terms += terms_of(*other, j)
            terms += [] if skip is None else [(skip[..., j], None)]
            columns.append(summed(terms or [(np.zeros(x.shape[:-1], dtype), None)], dtype, rng))
        return np.stack(columns, -1) if columns else np.zeros((*x.shape[:-1], 0), dtype)

    def rounded(x):
        return x.astype(dtype)

    def weights(scores):
        if not maximum:
            powers = np.exp(scores)
            return powers / powers.sum(-1, keepdims=True)
        powers = rounded(np.exp(rounded(scores - scores.max(-1, keepdims=True))))
        mass = sequential([(powers[..., i], None) for i in range(powers.shape[-1])], dtype, rng)
        return rounded(powers / mass[..., None])

    def mixed(scores, allowed, value):
        scores = rounded(np.where(allowed, scores, -np.inf))
        places = range(value.shape[1])
        if not online:
            share = weights(scores)
            entries = ([(share[..., s], value[:, None, s, j]) for s in places] for j in range(value.shape[2]))
            return np.stack([summed(terms, dtype, rng) for terms in entries], -1)
        top = np.full(scores.shape[:-1], -np.inf, dtype)
        mass, total = np.zeros_like(top), np.zeros((*scores.shape[:-1], value.shape[2]), dtype)
        for s in rng.permutation(places):
            above = np.maximum(top, scores[..., s])
            with np.errstate(invalid="ignore"):
                old = rounded(np.where(np.isinf(top), 0.0, np.exp(rounded(top - above))))
                new = rounded(np.where(np.isinf(scores[..., s]), 0.0, np.exp(rounded(scores[..., s] - above))))
            mass = rounded(rounded(mass * old) + new)
            total = rounded(rounded(total * old[..., None]) + rounded(new[..., None] * value[:, None, s]))
            top = above
        return rounded(total / mass[..., None])

    length = contexts.shape[1]

    def mean(x):
        total = summed([(x[..., i], None) for i in range(x.shape[-1])], dtype, rng)
        return rounded(total / dtype.type(x.shape[-1]))[..., None]

    def normalized(norm, x):
        if norm is None:
            return x
        centred = rounded(x - mean(x)) if norm.kind == "layer" else x
        root = rounded(np.sqrt(rounded(mean(rounded(centred * centred)) + dtype.type(norm.epsilon))))
        row = rounded(rounded(centred / root) * norm.w.astype(dtype))
        return row if norm.b is None else rounded(row + norm.b.astype(dtype))

    with np.errstate(over="ignore", invalid="ignore"):
        x = model.W_E.astype(dtype)[contexts]
        x = x if model.W_pos is None else (x + model.W_pos.astype(dtype)[:length]).astype(dtype)
        before, beside = x, ()
        for place, block in enumerate(model.blocks):
            if isinstance(block, Normalization):
                x = normalized(block, x)
                continue
            if isinstance(block, FeedForward):
                read = before if block.parallel else x
                hidden = mapped(read, block.W_in, block.b_in)
                if block.W_gate is None:
                    hidden = np.maximum(hidden, dtype.type(0))
                else:
                    gates = np.maximum(mapped(read, block.W_gate, block.b_gate), dtype.type(0))
                    hidden = (gates * hidden).astype(dtype)
                x = mapped(hidden, block.W_out, block.b_out, read if block.skip else None, beside)
                beside = ()
                continue
            assert isinstance(block, Attention)
            asks = x[:, -1:] if block.attends == "last" else x
            allowed = np.ones((asks.shape[1], x.shape[1]), bool)
            if block.attends == "causal":
                allowed = np.tri(x.shape[1], dtype=bool)
            heads = []
            for h in range(block.n_heads):
                q, k, v = (
                    mapped(rows, W[h], None if b is None else b[h])
                    for rows, W, b in (
                        (asks, block.W_Q, block.b_Q),
                        (x, block.W_K, block.b_K),
                        (x, block.W_V, block.b_V),
                    )
                )
                if block.score_root != 1 and early:
                    q = (q / dtype.type(np.sqrt(block.score_root))).astype(dtype)
                terms: Terms = [(q[:, :, None, e], k[:, None, :, e]) for e in range(q.shape[-1])]
                if block.slopes is not None:
                    bias = (block.slopes[h].astype(dtype) * np.arange(length, dtype=dtype)).astype(dtype)
                    terms.append((np.broadcast_to(bias, terms[0][0].shape[:2] + bias.shape), None))
                scores = summed(terms, dtype, rng)
                if block.score_root != 1 and not early:
                    scores = (scores / dtype.type(np.sqrt(block.score_root))).astype(dtype)
                heads.append(mixed(scores, allowed, v))
            joined, before = np.concatenate([np.zeros((*asks.shape[:2], 0), dtype), *heads], -1), asks
            following = model.blocks[place + 1] if place + 1 < len(model.blocks) else None
            if isinstance(following, FeedForward) and following.parallel:
                beside = ((joined, block.W_O.reshape(-1, block.d_out), block.b_O),)
                continue
            x = mapped(joined, block.W_O.reshape(-1, block.d_out), block.b_O, asks if block.skip else None)
        return mapped(x[:, -1], model.W_U, model.b_U).astype(np.float64)
