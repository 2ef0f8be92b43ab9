r"""Evaluate in integers a model whose head reads only positions and whose ReLU neurons read one number.

Page: docs/claims/knots.md
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward
from constructions.model.construction import require_fit
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import Task
from verify.arithmetic.enclosure import Enclosure
from verify.divergence.kullback_leibler import argmax_margin, quadratic_divergence_bound
from verify.forward.walk import contexts_of

_SCALE = 192  # binary digits of an attention weight after the point
_PRECISION = 512  # of the balls that enclose it
_LOGITS = 2**22  # that are looked at together


@dataclass(frozen=True, eq=False)
class KnotsProof:
    """The proved results for each context, in real arithmetic with the exact float64 weights.

    Args:
        margin_lower: By how much every largest logit of the target is above every other, at least, `[T]`, nats.
        divergence_upper: For distributions, how far the predicted distribution is from it, at most, `[T]`, nats; none
            for labels.
    """

    margin_lower: Float64Array
    divergence_upper: Float64Array | None

    @property
    def right(self) -> int:
        """Contexts whose argmax is proved."""
        return int((self.margin_lower > 0).sum())


def prove_knots(model: Model, task: Task) -> KnotsProof:
    r"""Bound the margins and divergences of a model of knots, in about $T (\log T + D + S) + T N$ operations.

    Args:
        model: One head that looks at positions alone, ReLU neurons that read one number; see `stream_of_knots`.
        task: The contexts and their targets.

    Returns:
        The bounds.

    Raises:
        InputError: The model is of another shape or does not fit the task.

    Example:
        >>> from constructions.memories.knots import knots_memory
        >>> from constructions.tasks.arrays import enumerated_task
        >>> task = enumerated_task(4, 3)
        >>> prove_knots(knots_memory(task).model, task).right
        64
    """
    require_fit(model, task)
    stream = stream_of_knots(model, task.contexts)
    margins = np.empty(task.n_contexts)
    divergences = None if task.distributions is None else np.empty(task.n_contexts)
    rows = max(1, _LOGITS // model.d_vocab_out)
    for start in range(0, task.n_contexts, rows):
        part = slice(start, min(start + rows, task.n_contexts))
        logits = stream[part] @ model.W_U
        if model.b_U is not None:
            logits = logits + model.b_U
        margins[part] = argmax_margin(logits, task.modes(part))
        if divergences is not None and task.distributions is not None:
            divergences[part] = quadratic_divergence_bound(logits, task.distributions[part])
    return KnotsProof(margins, divergences)


def stream_of_knots(model: Model, contexts: Int64Array) -> Enclosure:
    r"""Enclose the stream after the neurons: the outputs of a piecewise linear function of one number.

    No score depends on a token: each product of an entry of an embedding with one of $W_Q$ or $W_K$ is 0. So the
    attention weights are the same in all contexts, and balls enclose them, S in all; they are rounded outwards to
    multiples of $2^{-192}$. From there on all is integers: the number $z = \sum_s a_s v_s(t_s)$ of a context
    between two bounds, the value and the slope of the outputs at every knot, exactly, and the least and the largest
    value between the bounds, which a piecewise linear function takes at the ends or at knots between them.

    Args:
        model: Its blocks are an attention of one head without a skip connection, whose output is one number, and ReLU
            neurons without a skip connection whose input weights are 1 or -1.
        contexts: Tokens, `[T, S]`.

    Returns:
        Enclosure `[T, D]`; each end is rounded once.

    Raises:
        InputError: A model of another shape.

    Example:
        >>> from constructions.memories.knots import knots_memory
        >>> from constructions.tasks.arrays import enumerated_task
        >>> xor = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
        >>> stream_of_knots(knots_memory(xor).model, xor.contexts).midpoint.round(9).T.tolist()
        [[-0.5, 0.5, 0.5, -0.5]]
    """
    head, neurons = _blocks(model)
    contexts = contexts_of(model, contexts)
    low, high, scale = _numbers(model, head, contexts)
    knots, columns = _pieces(neurons, scale)
    lower, upper = np.empty((len(contexts), neurons.d_out)), np.empty((len(contexts), neurons.d_out))
    befores = [bisect_right(knots, z) for z in low]
    afters = [bisect_left(knots, z) for z in high]
    for j, piece in enumerate(columns):
        for t, (a, b, before, after) in enumerate(zip(low, high, befores, afters, strict=True)):
            ends = [piece.at(a, before), piece.at(b, after), *piece.values[before:after]]
            lower[t, j], upper[t, j] = min(ends) / piece.unit, max(ends) / piece.unit
    # A quotient of integers is rounded to nearest: the neighbours hold the number.
    return Enclosure.between(np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf))


def _blocks(model: Model) -> tuple[Attention, FeedForward]:
    expected = "a head without a skip connection that writes one number, and ReLU neurons that read it"
    if not model.reads_tokens or model.is_rational or len(model.blocks) != 2:
        raise InputError("the model", f"has the options {model.options()}", f"{expected}, in float64")
    head, neurons = model.blocks
    if not (isinstance(head, Attention) and isinstance(neurons, FeedForward)):
        raise InputError("the model", f"has the options {model.options()}", expected)
    plain = head.b_Q is None and head.b_K is None and head.b_V is None and head.b_O is None and head.norm is None
    if not plain or head.skip or head.n_heads != 1 or head.d_out != 1 or head.score_root != 1:
        raise InputError("block 0", f"has {head.n_heads} heads and the options {head.options()}", expected)
    if neurons.skip or neurons.norm is not None or neurons.activation != "relu" or (np.abs(neurons.W_in) != 1.0).any():
        raise InputError("block 1", f"has the options {neurons.options()}", f"{expected} with the weight 1 or -1")
    for name, maps in (("W_Q", head.W_Q[0]), ("W_K", head.W_K[0])):
        reads, written = (maps != 0.0).any(axis=1), (model.W_E != 0.0).any(axis=0)
        if (reads & written).any():
            raise InputError(name, f"reads the coordinate {int((reads & written).argmax())}, in which tokens differ")
    return head, neurons


def _numbers(model: Model, head: Attention, contexts: Int64Array) -> tuple[list[int], list[int], int]:
    """Bound the number of each context, times 2 to the scale."""
    tokens, ranks = np.unique(contexts, return_inverse=True)
    ranks = ranks.reshape(contexts.shape)

    def product(row: list[float], column: Sequence[float | Fraction]) -> Fraction:
        pairs = zip(row, column, strict=True)
        return sum((Fraction(x) * Fraction(w) for x, w in pairs if x and w), Fraction(0))

    output_map = head.W_O[0, :, 0].tolist()
    value_map = [product(row, output_map) for row in head.W_V[0].tolist()]  # W_V W_O: a row writes one number
    of_tokens = [product(row, value_map) for row in model.W_E[tokens].tolist()]
    of_positions = [product(row, value_map) for row in model.W_pos[: contexts.shape[1]].tolist()]
    finest = max(v.denominator.bit_length() - 1 for v in [*of_tokens, *of_positions])
    least, most = np.zeros(len(contexts), dtype=object), np.zeros(len(contexts), dtype=object)
    for s, (a, b) in enumerate(_shares(model, head, contexts.shape[1])):
        written = [int((of_positions[s] + v) * 2**finest) for v in of_tokens]
        products = [(min(a * v, b * v), max(a * v, b * v)) for v in written]
        least += np.array([p[0] for p in products], dtype=object)[ranks[:, s]]
        most += np.array([p[1] for p in products], dtype=object)[ranks[:, s]]
    return least.tolist(), most.tolist(), _SCALE + finest


def _shares(model: Model, head: Attention, length: int) -> list[tuple[int, int]]:
    """Return bounds of the attention weights, times 2^192."""
    with ctx.workprec(_PRECISION):

        def mapped(s: int, maps: Float64Array) -> list[arb]:
            return [sum((arb(x) * arb(w) for x, w in zip(model.W_pos[s].tolist(), column, strict=True)), arb(0))
                    for column in maps.T.tolist()]  # fmt: skip

        query = mapped(length - 1, head.W_Q[0])
        scores = [
            sum((q * k for q, k in zip(query, mapped(s, head.W_K[0]), strict=True)), arb(0)) for s in range(length)
        ]
        powers = [(score - max(x.mid() for x in scores)).exp() for score in scores]
        mass = sum(powers, arb(0))
        shares = [power / mass * arb(2) ** _SCALE for power in powers]
        if not all(share.is_finite() for share in shares):
            raise InputError("W_pos", "holds scores whose attention weights are not known to 192 bits")
        return [(_integer(x.lower().floor()), _integer(x.upper().ceil())) for x in shares]


def _integer(x: arb) -> int:
    whole = x.unique_fmpz()
    assert whole is not None
    return int(whole)


@dataclass(frozen=True)
class _Pieces:
    """One output as a piecewise linear function: its value at every knot, and the slopes between them.

    All are integers: numbers count in units of 2 to the minus scale, values in units of 1 / `unit`.
    """

    knots: list[int]
    values: list[int]
    slopes: list[int]
    unit: int

    def at(self, z: int, passed: int) -> int:
        """Return the output times the unit, at a number that lies above all but `index` of the knots."""
        near = max(passed - 1, 0)
        return self.values[near] + self.slopes[passed] * (z - self.knots[near])


def _pieces(neurons: FeedForward, scale: int) -> tuple[list[int], list[_Pieces]]:
    """Return the knots, sorted, and the outputs. A neuron to the left is a line and a jump, $(b - z) + (z - b)_+$."""
    signs = [int(w) for w in neurons.W_in[0].tolist()]
    shifts = [0.0] * neurons.d_mlp if neurons.b_in is None else neurons.b_in.tolist()
    places = [-sign * Fraction(b) for sign, b in zip(signs, shifts, strict=True)]
    order = sorted(range(neurons.d_mlp), key=places.__getitem__)
    finest = max((place.denominator.bit_length() - 1 for place in places), default=0)
    if finest > scale:
        raise InputError("b_in", f"has entries of {finest} binary digits after the point", f"at most {scale}")
    knots = [int(places[i] * 2**scale) for i in order] or [0]
    firsts = [0.0] * neurons.d_out if neurons.b_out is None else neurons.b_out.tolist()
    columns = []
    for column, first in zip(neurons.W_out.T.tolist(), firsts, strict=True):
        exact = [Fraction(x) for x in column]
        digits = max(x.denominator.bit_length() - 1 for x in [*exact, Fraction(first)])
        jumps = [int(exact[i] * 2**digits) for i in order]
        value, slope = int(Fraction(first) * 2**digits) << scale, 0
        for i, knot, jump in zip(order, knots, jumps, strict=False):
            if signs[i] < 0:
                value += jump * (knot - knots[0])
                slope -= jump
        values, slopes, before = [], [slope], knots[0]
        for knot, jump in zip(knots, jumps or [0], strict=True):
            value += slope * (knot - before)
            slope += jump
            before = knot
            values.append(value)
            slopes.append(slope)
        columns.append(_Pieces(knots, values, slopes, 2 ** (scale + digits)))
    return knots, columns
