"""Any model evaluated in balls, entry by entry and straight from its definition, for tests alone; and random models."""

from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from constructions.model.blocks import Attention, Block, FeedForward, Normalization
from constructions.model.model import Model
from constructions.tasks.vectors import VectorTask

Row = list[arb]


def plain_logits(model: Model, inputs: Any, bits: int = 400) -> list[Row]:
    """The logits of each context or example, as balls."""
    with ctx.workprec(bits):
        return [_logits(model, *example) for example in _examples(model, inputs)]


def holds(value: np.ndarray, radius: np.ndarray, exact: list[Row], bits: int = 400) -> bool:
    """Whether every ball lies within the radius of its value; a radius that is not a number holds nothing."""
    with ctx.workprec(bits):
        return all(
            bool(abs(x - arb(m)) <= arb(r)) or r == np.inf
            for row, values, radii in zip(exact, value.tolist(), radius.tolist(), strict=True)
            for x, m, r in zip(row, values, radii, strict=True)
        )


def random_norm(rng: np.random.Generator, width: int) -> Normalization:
    kind: Any = str(rng.choice(["layer", "rms"]))
    b = rng.normal(size=width) if rng.integers(2) else None
    return Normalization(kind, w=rng.normal(1.0, 0.5, width), b=b, epsilon=float(10.0 ** -rng.integers(1, 12)))


def random_block(rng: np.random.Generator, width: int, *, last: bool = False, spread: float = 1.0) -> Block:
    """A block of any kind and options on rows of this width; `last` closes a stream that is to stay a sequence."""
    kind = rng.integers(5)
    if kind == 0:
        return random_norm(rng, width)
    norm = random_norm(rng, width) if rng.integers(2) else None
    skip = bool(rng.integers(2))
    shifted = bool(rng.integers(2))

    activation: Any = str(rng.choice(["relu", "gelu", "gelu-tanh", "gelu-bloom", "silu"]))
    attends: Any = "last" if last else str(rng.choice(["causal", "all"]))

    def tensor(*shape: int) -> np.ndarray:
        return rng.normal(0.0, spread, shape)

    if kind in (1, 2):
        neurons = int(rng.integers(1, 9))
        return FeedForward(
            tensor(width, neurons), tensor(neurons, width),
            b_in=tensor(neurons) if shifted else None, b_out=tensor(width) if shifted else None,
            activation=activation, norm=norm, skip=skip,
        )  # fmt: skip
    heads, d_qk, d_head = (int(n) for n in rng.integers(1, 4, 3))
    return Attention(
        tensor(heads, width, d_qk), tensor(heads, width, d_qk),
        tensor(heads, width, d_head), tensor(heads, d_head, width),
        b_Q=tensor(heads, d_qk) if shifted else None, b_K=tensor(heads, d_qk) if shifted else None,
        b_V=tensor(heads, d_head) if shifted else None, b_O=tensor(width) if shifted else None,
        norm=norm, skip=skip, attends=attends,
        score_root=int(rng.choice([1, d_qk])),
    )  # fmt: skip


def random_model(
    rng: np.random.Generator, *, spread: float = 1.0, blocks: int | None = None
) -> tuple[Model, np.ndarray]:
    """A small model of random blocks over tokens, and contexts for it."""
    width, tokens, length = (int(n) for n in rng.integers(1, 6, 3))
    outputs = int(rng.integers(1, 5))
    count = int(rng.integers(0, 5)) if blocks is None else blocks
    chosen = tuple(random_block(rng, width, spread=spread) for _ in range(count))
    model = Model(
        chosen,
        W_U=rng.normal(size=(width, outputs)),
        b_U=rng.normal(size=outputs) if rng.integers(2) else None,
        W_E=rng.normal(0.0, spread, (tokens, width)),
        W_pos=rng.normal(0.0, spread, (length, width)),
    )
    return model, rng.integers(0, tokens, (3, int(rng.integers(1, length + 1))))


def _examples(model: Model, inputs: Any) -> list[tuple[list[Row], Row | None]]:
    if isinstance(inputs, VectorTask):
        return [(_rows(inputs.context(t)), _rows(inputs.queries[t : t + 1])[0]) for t in range(inputs.n_examples)]
    return [
        (
            [
                [arb(e) + arb(p) for e, p in zip(model.W_E[t], model.W_pos[s], strict=True)]
                for s, t in enumerate(context)
            ],
            None,
        )
        for context in np.asarray(inputs).tolist()
    ]


def _logits(model: Model, stream: list[Row], query: Row | None) -> Row:
    for block in model.blocks:
        if isinstance(block, Normalization):
            stream = [_normalized(row, block) for row in stream]
        elif isinstance(block, FeedForward):
            stream = [_neurons(row, block) for row in stream]
        else:
            stream = _attention(stream, block, query)
    return _shifted(_times(stream[-1], model.W_U), model.b_U)


def _rows(x: np.ndarray) -> list[Row]:
    return [[arb(entry) for entry in row] for row in x.tolist()]


def _times(row: Row, matrix: np.ndarray) -> Row:
    entries = [arb(x) for x in matrix.ravel().tolist()]
    product = arb_mat(1, len(row), row) * arb_mat(matrix.shape[0], matrix.shape[1], entries)
    return product.entries()


def _shifted(row: Row, shift: np.ndarray | None) -> Row:
    return row if shift is None else [x + arb(b) for x, b in zip(row, shift.tolist(), strict=True)]


def _normalized(row: Row, norm: Normalization) -> Row:
    mean = sum(row, arb(0)) / len(row) if norm.kind == "layer" else arb(0)
    centred = [x - mean for x in row]
    root = (sum((x * x for x in centred), arb(0)) / len(row) + arb(norm.epsilon)).sqrt()
    return _shifted([x / root * arb(w) for x, w in zip(centred, norm.w.tolist(), strict=True)], norm.b)


def _activated(x: arb, activation: str) -> arb:
    if activation == "relu":
        return x.max(arb(0))
    if activation == "gelu":
        return x * (1 + (x / arb(2).sqrt()).erf()) / 2
    t = -x
    if activation.startswith("gelu-"):
        root = (2 / arb.pi()).sqrt() if activation == "gelu-tanh" else arb(79788456) / 10**8
        t = -2 * root * (x + arb(fmpq(44715, 10**6)) * x * x * x)
    # The exponential of what is far above 0 would be no finite ball.
    return x * (-t).exp() / (1 + (-t).exp()) if t > 0 else x / (1 + t.exp())


def _neurons(row: Row, block: FeedForward) -> Row:
    read = row if block.norm is None else _normalized(row, block.norm)
    hidden = [_activated(x, block.activation) for x in _shifted(_times(read, block.W_in), block.b_in)]
    y = _shifted(_times(hidden, block.W_out), block.b_out)
    return [a + b for a, b in zip(row, y, strict=True)] if block.skip else y


def _attention(stream: list[Row], block: Attention, query: Row | None) -> list[Row]:
    read = stream if block.norm is None else [_normalized(row, block.norm) for row in stream]
    places = range(len(stream)) if block.attends != "last" else [len(stream) - 1]
    result = []
    for i in places:
        asking = query if query is not None and block.queries == "task" else read[i]
        seen = i + 1 if block.attends == "causal" else len(stream)
        y = [arb(0)] * block.d_out
        for h in range(block.n_heads):
            part = [None if b is None else b[h] for b in (block.b_Q, block.b_K, block.b_V)]
            q = _shifted(_times(asking, block.W_Q[h]), part[0])
            scores = []
            for row in read[:seen]:
                k = _shifted(_times(row, block.W_K[h]), part[1])
                scores.append(sum((a * b for a, b in zip(q, k, strict=True)), arb(0)) / arb(block.score_root).sqrt())
            top = max(score.mid() for score in scores)
            powers = [(score - top).exp() for score in scores]
            mass = sum(powers, arb(0))
            mixed = [arb(0)] * block.d_head
            for power, row in zip(powers, read[:seen], strict=True):
                v = _shifted(_times(row, block.W_V[h]), part[2])
                mixed = [m + power / mass * x for m, x in zip(mixed, v, strict=True)]
            y = [a + b for a, b in zip(y, _times(mixed, block.W_O[h]), strict=True)]
        y = _shifted(y, block.b_O)
        result.append([a + b for a, b in zip(stream[i], y, strict=True)] if block.skip else y)
    return result
