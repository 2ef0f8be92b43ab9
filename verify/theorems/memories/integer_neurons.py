r"""Evaluate a model of one attention and many blocks of ReLU neurons in Python's integers.

Page: docs/claims/bits.md
"""

from collections.abc import Iterable

import numpy as np
from flint import fmpq

from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward, Tensor
from constructions.model.construction import require_fit
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array, ObjectArray
from constructions.tasks.task import Task
from verify.forward.in_rationals import exact_network_logits

_TOGETHER = 2048  # contexts whose attention is rational at the same time


def integer_margins(model: Model, task: Task) -> ObjectArray:
    """Return the exact margin of each label over the largest other logit.

    The stream after the attention is what `verify/forward/in_rationals.py:exact_network_logits` says, and has to
    consist of integers, as has every tensor of the neurons; from there on all is additions and products of integers,
    entry by entry, without those that are 0. So the time is that of $T$ integers for each entry that is not 0.

    Args:
        model: A rational model: an attention, then ReLU neurons without normalization.
        task: Contexts and labels, of two answers or more.

    Returns:
        The margins, Python integers, `[T]`; a label is memorized if its margin is above 0.

    Raises:
        InputError: A model of another shape, one that is not of integers, or a task of distributions or of a single
            token.

    Example:
        >>> from constructions.memories.keyed_words import keyed_words_memory
        >>> from constructions.tasks.arrays import enumerated_task
        >>> xor = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
        >>> integer_margins(keyed_words_memory(xor).model, xor).tolist()
        [1, 1, 1, 1]
    """
    require_fit(model, task)
    if task.target != "labels" or task.n_answers < 2:
        raise InputError("task", f"has the target {task.target!r} and {task.n_answers} answers", "labels of 2")
    expected = "a rational attention and ReLU neurons behind it"
    if not (model.is_rational and model.blocks and isinstance(model.blocks[0], Attention)):
        raise InputError("the model", f"has the options {model.options()}", expected)
    stream = _after(model.blocks[0], model, task)
    for place, block in enumerate(model.blocks[1:], start=1):
        if not isinstance(block, FeedForward) or block.activation != "relu" or block.norm is not None:
            raise InputError(f"block {place}", f"has the options {block.options()}", expected)
        fired = [np.maximum(column, 0) for column in _mapped(stream, block.W_in, block.b_in, task.n_contexts)]
        written = _mapped(fired, block.W_out, block.b_out, task.n_contexts)
        stream = [x + y for x, y in zip(stream, written, strict=True)] if block.skip else written
    return _ahead(_mapped(stream, model.W_U, model.b_U, task.n_contexts), task.labels)


def _after(attention: Attention, model: Model, task: Task) -> list[ObjectArray]:
    """Return the stream at the last position after the attention, by coordinate."""
    identity = np.array([[fmpq(int(i == j)) for j in range(attention.d_out)] for i in range(attention.d_out)])
    first = Model(blocks=(attention,), W_U=identity, W_E=model.W_E, W_pos=model.W_pos)
    rows: list[list[int]] = []
    for start in range(0, task.n_contexts, _TOGETHER):
        exact = exact_network_logits(first, task.contexts[start : start + _TOGETHER])
        rows += [[_integer(x, "the stream after the attention") for x in row] for row in exact.tolist()]
    return [np.array(column, dtype=object) for column in zip(*rows, strict=True)]


def _mapped(columns: list[ObjectArray], matrix: Tensor, shift: Tensor | None, count: int) -> list[ObjectArray]:
    """Return the product of rows, given by coordinate, with a matrix, plus a shift."""
    results = []
    for j in range(matrix.shape[1]):
        total: ObjectArray = np.full(count, 0 if shift is None else _integer(shift[j], "a shift"), dtype=object)
        for column, entry in zip(columns, matrix[:, j], strict=True):
            if entry != 0:
                total = total + column * _integer(entry, "a tensor")
        results.append(total)
    return results


def _integer(x: fmpq, where: str) -> int:
    if x.q != 1:
        raise InputError(where, f"has the number {x}", "integers")
    return int(x.p)


def _ahead(logits: Iterable[ObjectArray], labels: Int64Array) -> ObjectArray:
    """Return the logit of the label minus the largest other one."""
    right: ObjectArray = np.zeros(len(labels), dtype=object)
    others: list[ObjectArray] = []
    least = None
    for token, column in enumerate(logits):
        own = labels == token
        right[own] = column[own]
        least = column if least is None else np.minimum(least, column)
        others.append(column)
    assert least is not None
    for token, column in enumerate(others):
        others[token] = np.where(labels == token, least - 1, column)
    largest = others[0]
    for column in others[1:]:
        largest = np.maximum(largest, column)
    return right - largest
