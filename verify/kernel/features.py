r"""Enclose in balls the features that the heads of one attention read from the contexts, whose rank is stated.

With the attention weights $a^h_s$ of head h for the rows $x_s$ of a context, and the values $V_h$,

- of tokens the row of a context is $y = [\sum_s a^1_s x_s V_1, \dots, \sum_s a^H_s x_s V_H]$, or $[x_S, y]$;
- of vectors it is $z = [\sum_s a^1_s x_s, \dots, \sum_s a^H_s x_s]$.

Page: docs/rigour/kernel.md
"""

from collections.abc import Sequence

from flint import arb, ctx

from verify.kernel import balls
from verify.kernel.balls import Row
from verify.kernel.model import Model
from verify.kernel.task import Task

NETWORK, HEADS_ALONE, LAYER = "a network with a skip connection", "heads alone", "a layer of vectors"
_TENSORS = {"W_Q", "W_K", "W_V", "W_O"}


def shape(model: Model, task: Task) -> str | None:
    """Return the kind of a model of one attention from the last position, without norm, shifts and root; None for
    others.

    Contexts of which a rank is stated are vectors, or contexts of one length with counts of what follows them.
    """
    counted = len(task.counts) == len(task.contexts) + len(task.tail)
    if len(model.blocks) != 1 or model.ends or "b_U" in model.tensors or not (counted or task.vectors is not None):
        return None
    block = model.blocks[0]
    options = {name: value for name, value in block.options.items() if name not in ("skip", "queries")}
    plain = {"kind": "attention", "attends": "last", "score_root": 1, "norm": None}
    if options != plain or set(block.tensors) != _TENSORS:
        return None
    if block.options["queries"] == "task":  # which only models of vectors have, without a skip connection
        return LAYER
    if not model.reads_tokens:
        return None
    return NETWORK if block.options["skip"] else HEADS_ALONE


def columns(model: Model, *, with_skip: bool) -> int:
    """Return the length of a row."""
    heads, width, _ = model.blocks[0].shape("W_Q")
    head_width = model.blocks[0].shape("W_V")[2] if model.reads_tokens else width
    return heads * head_width + (width if with_skip else 0)


def features(model: Model, task: Task, bits: int, *, with_skip: bool) -> list[Row]:
    """Return the rows of the features in balls of `bits` bits, one per context."""
    with ctx.workprec(bits):
        rows, cells, places = _places(model, task)
        feature_rows = [list(rows[cell[-1]]) if with_skip else [] for cell in cells]
        position = {row: s for cell in cells for s, row in enumerate(cell)}
        for looked in balls.heads(model.blocks[0], rows, places, position, mix_rows=not model.reads_tokens):
            for row, (_, read) in zip(feature_rows, looked, strict=True):
                row.extend(read)
        return feature_rows


def largest_weights(model: Model, task: Task, bits: int) -> list[arb]:
    """Return the largest attention weight of each head and context, in balls of `bits` bits."""
    with ctx.workprec(bits):
        rows, cells, places = _places(model, task)
        position = {row: s for cell in cells for s, row in enumerate(cell)}
        largest = []
        for looked in balls.heads(model.blocks[0], rows, places, position):
            largest.extend(_largest(weights) for weights, _ in looked)
        return largest


def _places(model: Model, task: Task) -> tuple[list[Row], list[balls.Cell], list[tuple[int, balls.Cell]]]:
    """Return the rows that are read, their indices for each context, and the query of each."""
    rows, cells, queries = balls.embedded(model, task.contexts, task.vectors)
    asking = [cell[-1] for cell in cells] if model.reads_tokens else queries
    return rows, cells, list(zip(asking, cells, strict=True))


def _largest(weights: Sequence[arb]) -> arb:
    largest = weights[0]
    for weight in weights[1:]:
        largest = largest.max(weight)
    return largest
