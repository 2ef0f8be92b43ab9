"""Small models with their whole domains, and what is true of every input of them, from balls or from fractions."""

from fractions import Fraction

import numpy as np

from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.tasks.rule import RULES, rule_task
from verify.forward.in_balls import logits_in_balls


def quiet(stage, share, detail):
    pass


def one_attention(rng, *, n_heads=1, largest_tokens=5, largest_length=4, scale=None):
    """A random model of one attention with or without shifts, skip connection and scale, and a rule for it."""
    tokens, n_ctx = int(rng.integers(1, largest_tokens + 1)), int(rng.integers(1, largest_length + 1))
    width, inner = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    skip = bool(rng.integers(2))
    out = width if skip else int(rng.integers(1, 4))
    scale = float(rng.choice([0.3, 1.0, 3.0, 30.0])) if scale is None else scale

    def numbers(*shape):
        return rng.normal(size=shape) * scale

    def perhaps(*shape):
        return numbers(*shape) if rng.random() < 0.5 else None

    block = Attention(
        W_Q=numbers(n_heads, width, inner),
        W_K=numbers(n_heads, width, inner),
        W_V=numbers(n_heads, width, inner),
        W_O=numbers(n_heads, inner, out),
        b_Q=perhaps(n_heads, inner),
        b_K=perhaps(n_heads, inner),
        b_V=perhaps(n_heads, inner),
        b_O=perhaps(out),
        skip=skip,
        attends=str(rng.choice(["last", "causal", "all"])),
        score_root=int(rng.integers(1, 4)),
    )
    outputs = tokens + int(rng.integers(0, 2))
    model = Model(
        blocks=(block,),
        W_U=numbers(out, outputs),
        b_U=perhaps(outputs),
        W_E=numbers(tokens, width),
        W_pos=numbers(n_ctx + 1, width),
    )
    return model, rule_task(str(rng.choice(RULES)), d_vocab=tokens, n_ctx=n_ctx)


def max_of_four(rng=None, *, tokens=8, sharpness=2.0):
    """A network that attends to the largest token and copies it, with a few errors if `rng` disturbs it."""
    from constructions.model.shapes import dana_network

    values = np.arange(tokens, dtype=np.float64)
    width = tokens + 2
    embedding = np.zeros((tokens, width))
    embedding[:, :tokens] = np.eye(tokens)
    embedding[:, tokens] = values
    embedding[:, tokens + 1] = 1.0
    query, key = np.zeros((1, width, 1)), np.zeros((1, width, 1))
    query[0, tokens + 1], key[0, tokens] = sharpness, 1.0
    value = np.zeros((1, width, tokens))
    value[0, :tokens] = 3.0 * np.eye(tokens)
    output = np.zeros((1, tokens, width))
    output[0, :, :tokens] = np.eye(tokens)
    readout = np.zeros((width, tokens))
    readout[:tokens] = np.eye(tokens)
    if rng is not None:
        readout = readout + 0.2 * rng.normal(size=readout.shape)
    positions = np.zeros((4, width))
    return dana_network(W_E=embedding, W_pos=positions, W_Q=query, W_K=key, W_V=value, W_O=output, W_U=readout)


def truth(model, task, least=0.0):
    """The inputs that are answered right and wrong, by more than `least`, as far as balls of 256 bits decide."""
    contexts = task.contexts_at(np.arange(task.n_contexts))
    right, wrong = set(), set()
    rows = logits_in_balls(model, contexts, 256).table()
    for context, label, row in zip(contexts.tolist(), task.labels_of(contexts).tolist(), rows, strict=True):
        others = [x for place, x in enumerate(row) if place != label]
        if all(row[label] - x > least for x in others):
            right.add(tuple(context))
        elif any(row[label] - x <= -least for x in others):
            wrong.add(tuple(context))
    return right, wrong


def uniform_attention(rng, *, tokens, n_ctx):
    """A network whose one head attends to all positions alike, with integer weights: ties are frequent."""
    model, _ = one_attention(rng, largest_tokens=1, largest_length=1, scale=1.0)
    width = model.d_model
    block = Attention(
        W_Q=np.zeros((1, width, 1)),
        W_K=np.zeros((1, width, 1)),
        W_V=rng.integers(-2, 3, size=(1, width, 2)).astype(np.float64),
        W_O=rng.integers(-2, 3, size=(1, 2, width)).astype(np.float64),
    )
    return Model(
        blocks=(block,),
        W_U=rng.integers(-2, 3, size=(width, tokens)).astype(np.float64),
        W_E=rng.integers(-2, 3, size=(tokens, width)).astype(np.float64),
        W_pos=rng.integers(-2, 3, size=(n_ctx, width)).astype(np.float64),
    )


def fraction_logits(model, context):
    """The logits of `uniform_attention`, in fractions."""
    rows = [
        [Fraction(a) + Fraction(b) for a, b in zip(model.W_E[token], model.W_pos[s], strict=True)]
        for s, token in enumerate(context)
    ]
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    moved = _times(_times(mean, model.W_V[0]), model.W_O[0])
    return _times([a + b for a, b in zip(rows[-1], moved, strict=True)], model.W_U)


def _times(row, matrix):
    return [sum((x * Fraction(w) for x, w in zip(row, column, strict=True)), Fraction(0)) for column in matrix.T]
