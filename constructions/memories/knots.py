"""Number the contexts by attention, and interpolate the targets with one layer of ReLU neurons.

Page: docs/claims/knots.md
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError, InputError
from constructions.memories.codes.mixed_radix_code import mixed_radix_code
from constructions.memories.codes.positional_code import PositionalCode, positional_code
from constructions.memories.codes.scalar_label_code import MOST
from constructions.model.blocks import Attention, FeedForward
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import SIGNIFICAND, Precision, require_precision, rounded_model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.arrays import array_task
from constructions.tasks.random_facts import random_contexts, random_facts
from constructions.tasks.task import Task

_CLAIM = "The memory of knots"
_ROOM = {
    "labels": 2.0**-2,
    "distributions": 2.0**-3,
}  # what roundings may move an output by, as far as they are foreseen
_STEEP, _MANY = 4.0, 2.0**-7  # measured: what the steepest slope, and what the jumps of T neurons do
_MISS = 2.0**-3  # by which an output may miss its label where that saves a neuron
_GUARD = 64  # bits of an output beyond those of a code
_FRONT_END = 7  # entries of the attention: queries, keys and values of two coordinates, an output of one


class _Wanted(NamedTuple):
    """The required outputs of the neurons per context, `[T, D]`, and how they are decoded."""

    outputs: Float64Array
    W_U: Float64Array
    b_U: Float64Array
    room: float
    miss: float


def knots_memory(
    task: Task, *, dtype: Precision = "float64", digits: int | None = None, seed: int = 0
) -> Construction[Task]:
    r"""Memorize any distinct contexts, with labels or distributions, by one position-only head and T - 1 ReLU neurons.

    The head gives the position s the attention $A_s / \sum_r A_r$, so that the stream becomes the integer
    $z(t) = \sum_s A_s e(t_s)$ of `positional_code`. Sort the codes. From the middle one on to the right, the
    neuron i is off up to the code $z_i$ and from there on adds $c_i (z - z_i)$, the change of slope that makes the sum
    go through the next context's output; and in the same way to the left. Outputs are points of a grid that name the
    label (`mixed_radix_code`), or the logits of a distribution, of which the last is 0.

    The jumps $c_i$ are chosen one after the other, in integers, each rounded to the precision that is asked for and the
    next corrected for it; so in real arithmetic the outputs miss what is wanted by next to nothing, however many
    contexts there are. A neuron that would change an output by at most 1/8 of a label is omitted.

    Args:
        task: Contexts and labels, or distributions.
        dtype: The precision that every weight is rounded to, and that the codes are long enough for.
        digits: Coordinates that name a label; by default as few as leave room for the rounding of the codes.
        seed: Seed of the codes; equal arguments give equal bits.

    Returns:
        The model. `W_E`, `W_pos` have two columns, the stream has one coordinate after the head, D after the neurons.

    Raises:
        InputError: A precision or a number of digits that is none.
        CapacityError: The codes are too long for the precision.

    Source: Zhang, Bengio, Hardt, Recht, Vinyals (2017), Theorem 1, reconstructed; Madden, Fox, Thrampoulidis (2024) for
    distributions.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> xor = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
        >>> model = knots_memory(xor).model
        >>> model.blocks[1].W_out.T.tolist(), model.parameters
        ([[-1.0, -1.0]], 26)
    """
    require_precision(dtype)
    code = positional_code(task.contexts, task.d_vocab, seed=seed)
    order = np.argsort(code.codes)
    codes = code.codes[order]
    precision = SIGNIFICAND[dtype]
    wanted = _wanted(task, code, order, precision, digits, dtype)
    knots = _knots(codes, wanted.outputs[order], precision, wanted.miss)
    # Only scores, and logits of distributions, are not numbers of this precision already.
    model = rounded_model(_model(code, wanted, knots), dtype)
    summary = (
        f"{counted(task.n_contexts, 'context')}, {code.bits}-bit codes, one ReLU layer "
        f"({counted(len(knots.places), 'neuron')}, {counted(wanted.outputs.shape[1], 'output')}), "
        f"{model.parameters} parameters"
    )
    return Construction(task, model, summary)


def knots_parameters(*, d_vocab: int, n_ctx: int, answers: int, digits: int, neurons: int) -> int:
    r"""Count the entries of all tensors of `knots_memory`.

    Args:
        d_vocab: N.
        n_ctx: S.
        answers: K, the columns of the unembedding.
        digits: D, the coordinates of an output.
        neurons: M.

    Returns:
        $2 N + (1 + D) K + 2 S + 7 + D + (2 + D) M$.

    Example:
        >>> knots_parameters(d_vocab=2, n_ctx=2, answers=2, digits=1, neurons=2)
        26
    """
    return 2 * (d_vocab + n_ctx) + _FRONT_END + (1 + digits) * answers + digits + (2 + digits) * neurons


def most_parameters(task: Task, *, dtype: Precision = "float64", seed: int = 0) -> int:
    """Return an upper bound of the parameters of `knots_memory` for these contexts, whatever label each of them has.

    T - 1 neurons, and as many digits as leave room for the steepest slopes that there are between labels.

    Args:
        task: What is to be memorized; its distributions do not matter.
        dtype: The precision of the weights.
        seed: Seed of the codes.

    Returns:
        The number of entries.

    Raises:
        CapacityError: The codes are too long for the precision.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> xor = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
        >>> most_parameters(xor), knots_memory(xor).model.parameters
        (29, 26)
    """
    code = positional_code(task.contexts, task.d_vocab, seed=seed)
    for digits in _digits(kinds := len(np.unique(task.labels))):
        steepest = float(np.ptp(mixed_radix_code(kinds, digits).points, axis=0).max())
        moved = _moved(steepest, 2.0 * steepest, task.n_contexts)
        if moved * 2.0 ** (code.bits - SIGNIFICAND[dtype]) <= _ROOM["labels"]:
            return knots_parameters(
                d_vocab=task.d_vocab,
                n_ctx=task.n_ctx,
                answers=task.n_answers,
                digits=digits,
                neurons=max(1, task.n_contexts - 1),
            )
    raise _too_long(code, dtype)


def random_distribution_knots(*, d_vocab: int, n_ctx: int, facts: int, seed: int) -> Construction[Task]:
    """Memorize random distributions of random contexts by attention that numbers them and one layer of ReLU neurons.

    Args:
        d_vocab: N.
        n_ctx: S.
        facts: T, of the $N^S$ contexts.
        seed: Of contexts, distributions and codes.

    Returns:
        The weights, rounded to float64, and the distributions as the task.

    Raises:
        CapacityError: Distributions that are too steep, or codes that are too long.
        InputError: More facts than contexts.

    Source: Madden, Fox, Thrampoulidis (2024), with other neurons.

    Example:
        >>> random_distribution_knots(d_vocab=4, n_ctx=3, facts=32, seed=0).task.target
        'distributions'
    """
    contexts = random_contexts(d_vocab=d_vocab, n_ctx=n_ctx, facts=facts, seed=seed)
    distributions = np.random.default_rng([seed, 1]).standard_exponential((facts, d_vocab)) + 2.0**-8
    distributions /= distributions.sum(axis=1, keepdims=True)
    return knots_memory(array_task(contexts, distributions=distributions, vocabulary=d_vocab), seed=seed)


def random_label_knots(*, d_vocab: int, n_ctx: int, facts: int, seed: int) -> Construction[Task]:
    """Memorize random labels of random contexts by attention that numbers them and ReLU neurons through the labels.

    Args:
        d_vocab: N.
        n_ctx: S.
        facts: T, of the $N^S$ contexts.
        seed: Of contexts, labels and codes.

    Returns:
        The weights, rounded to float64, and the labels as the task.

    Raises:
        InputError: More facts than contexts.
        CapacityError: Codes that are too long.

    Source: Zhang, Bengio, Hardt, Recht, Vinyals (2017), Theorem 1.

    Example:
        >>> random_label_knots(d_vocab=4, n_ctx=3, facts=32, seed=0).task.n_contexts
        32
    """
    return knots_memory(random_facts(d_vocab=d_vocab, n_ctx=n_ctx, facts=facts, seed=seed), seed=seed)


def _digits(kinds: int) -> range:
    """Return the possible numbers of coordinates that name one of the labels."""
    return range(1 if kinds <= MOST else 2, max(1, (kinds - 1).bit_length()) + 1)


def _moved(steepest: float, jump: float, n_contexts: int) -> float:
    """Return how far rounding moves an output, in units of those of a code."""
    # Roundings of the attention move a code by a few units, and those of sums over the neurons move an output by
    # more the more neurons there are. The two factors are measured: they choose the digits and prove nothing.
    return _STEEP * steepest + _MANY * jump * n_contexts


def _wanted(
    task: Task, code: PositionalCode, order: Int64Array, precision: int, digits: int | None, dtype: Precision
) -> _Wanted:
    gaps = np.diff(code.codes[order])[:, None]

    def fits(wanted: _Wanted) -> bool:
        slopes = np.diff(wanted.outputs[order], axis=0) / gaps
        jumps = np.diff(slopes, axis=0)
        typical = math.sqrt(float((jumps**2).mean(axis=0).max(initial=0.0))) if jumps.size else 0.0
        moved = _moved(float(np.abs(slopes).max(initial=0.0)), typical, task.n_contexts)
        return moved * 2.0 ** (code.bits - precision) <= wanted.room

    if task.distributions is not None:
        if digits is not None:
            raise InputError("digits", f"= {digits}", "none for a task of distributions")
        logarithms = np.log(task.distributions)
        size = task.n_answers
        outputs = logarithms[:, :-1] - logarithms[:, -1:] if size > 1 else np.zeros((len(logarithms), 1))
        W_U = np.eye(max(1, size - 1), size) if size > 1 else np.zeros((1, 1))
        choices = [_Wanted(outputs, W_U, np.zeros(size), _ROOM["distributions"], 0.0)]
    else:
        answers, labels = np.unique(task.labels, return_inverse=True)
        if digits is not None:
            return _named(task, answers, labels, digits)
        choices = (_named(task, answers, labels, count) for count in _digits(len(answers)))
    for wanted in choices:
        if fits(wanted):
            return wanted
    raise _too_long(code, dtype)


def _named(task: Task, answers: Int64Array, labels: Int64Array, digits: int) -> _Wanted:
    grid = mixed_radix_code(len(answers), digits)
    W_U, b_U = np.zeros((digits, task.n_answers)), np.full(task.n_answers, -float(digits))
    W_U[:, answers], b_U[answers] = grid.columns, grid.shifts  # of the nearest point the logit is -digits / 8 or more
    return _Wanted(grid.points[labels], W_U, b_U, _ROOM["labels"], _MISS)


class _Knots(NamedTuple):
    """Neurons: the numbers where they start, whether they act to the right (1) or the left (-1), and their jumps."""

    places: Int64Array
    signs: Int64Array
    jumps: Float64Array
    middle: Float64Array


def _knots(codes: Int64Array, outputs: Float64Array, precision: int, miss: float) -> _Knots:
    """Return neurons for sorted codes, from the middle one outwards, so that fewer are active, over shorter
    distances.
    """
    middle = len(codes) // 2
    scale = int(codes[-1]).bit_length() + _GUARD
    parts = []
    for sign, chosen in ((1, slice(middle, None)), (-1, slice(middle, None, -1))):
        numbers = (sign * codes[chosen]).tolist()
        columns = [_jumps(numbers, _integers(y, scale), precision, int(miss * 2**scale)) for y in outputs[chosen].T]
        places = sorted({i for column in columns for i in column})
        jumps = [[math.ldexp(column.get(i, 0), -scale) for column in columns] for i in places]
        parts += [(sign * numbers[i], sign, row) for i, row in zip(places, jumps, strict=True)]
    parts = parts or [(int(codes[middle]), 1, [0.0] * outputs.shape[1])]
    places, signs, jumps = zip(*parts, strict=True)
    return _Knots(np.array(places), np.array(signs), np.array(jumps), outputs[middle])


def _integers(column: Float64Array, scale: int) -> list[int]:
    known: dict[float, int] = {}
    for y in column.tolist():
        if y not in known:
            known[y] = round(Fraction(y) * 2**scale)
    return [known[y] for y in column.tolist()]


def _jumps(codes: Sequence[int], outputs: list[int], precision: int, miss: int) -> dict[int, int]:
    """Return the integer jumps of one output, by the contexts where they occur."""
    value, slope = outputs[0], 0
    jumps: dict[int, int] = {}
    for i in range(len(codes) - 1):
        gap = codes[i + 1] - codes[i]
        lacking = outputs[i + 1] - value - slope * gap
        if abs(lacking) > miss:
            jump = _rounded((2 * lacking + gap) // (2 * gap), precision)
            if jump:
                jumps[i] = jump
                slope += jump
        value += slope * gap
    return jumps


def _rounded(n: int, bits: int) -> int:
    """Return the integer nearest to n with a given number of significant bits."""
    excess = n.bit_length() - bits
    return n if excess <= 0 else (n + (1 << excess - 1) >> excess) << excess


def _model(code: PositionalCode, wanted: _Wanted, knots: _Knots) -> Model:
    size, n_ctx = len(code.values), len(code.weights)
    W_E, W_pos = np.zeros((size, 2)), np.zeros((n_ctx, 2))
    W_E[:, 0] = code.values
    W_pos[:, 1] = 1.0 + np.log(code.weights / code.weights[-1])  # 1 at the last position, which asks with it
    score, value = np.array([[[0.0], [1.0]]]), np.array([[[1.0], [0.0]]])
    total = np.array([[[float(code.weights.sum())]]])
    attention = Attention(W_Q=score, W_K=score, W_V=value, W_O=total, skip=False, attends="last")
    neurons = FeedForward(
        W_in=knots.signs[None].astype(np.float64),
        b_in=-(knots.signs * knots.places).astype(np.float64),
        W_out=knots.jumps,
        b_out=knots.middle,
        activation="relu",
        skip=False,
    )
    return Model(blocks=(attention, neurons), W_U=wanted.W_U, b_U=wanted.b_U, W_E=W_E, W_pos=W_pos)


def _too_long(code: PositionalCode, dtype: Precision) -> CapacityError:
    wider = "take float64" if dtype == "float32" else "take fewer contexts"
    return CapacityError(
        _CLAIM,
        f"codes and slopes that {dtype} tells apart",
        f"{len(code.codes)} contexts have codes of {code.bits} bits: {wider}, or other contexts",
    )
