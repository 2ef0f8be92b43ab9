r"""The logits, or outputs, of any model in exact real arithmetic: enclosed, and the largest of them decided.

The bounds that are used depend on the shape of the model: those of one attention from the last position over tokens
(`verify/forward/float64.py`), those of one attention with queries of the task (`verify/forward/layer_forward.py`), and
for all other models one ball for each row (`verify/forward/token_balls.py`).

Where float64 is too little, a ladder is climbed: pairs of float64, then balls of the precision that is predicted.

Page: docs/rigour/depth.md
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from flint import arb_mat, ctx
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.models.model import Model
from constructions.models.shapes import is_dana_network, is_mahdavi_layer
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.enclosure import Enclosure, Floats
from verify.arithmetic.pairs import Pairs, added
from verify.forward import float64
from verify.forward.in_balls import logits_in_balls, rounded_outwards
from verify.forward.layer_forward import enclose_outputs
from verify.forward.map_norms import Norms
from verify.forward.pair_rows import InPairs
from verify.forward.rows import InFloat64
from verify.forward.token_balls import logit_balls

Int64Array = NDArray[np.int64]
Rung = Literal["float64", "pairs", "balls"]

_LEAST_BITS, _LARGEST_BITS = 53, 300
_MOST_BALL_BITS = 4096


@dataclass(frozen=True, eq=False)
class DecidedArgmax:
    r"""Where the largest logit of each context is, as far as that is proved.

    Args:
        place: The place of the largest logit in exact real arithmetic, `[T]`; -1 where it is not decided.
        rung: What decided it, `[T]`: ``"float64"``, ``"pairs"``, ``"balls"``, or ``""``.
        bits: Precision of the balls that were used last; 0 without.

    Page: docs/rigour/depth.md
    """

    place: Int64Array
    rung: NDArray[np.str_]
    bits: int

    @property
    def undecided(self) -> Int64Array:
        """The contexts that are not decided."""
        return np.flatnonzero(self.place < 0)

    def summary(self) -> str:
        """How many contexts each rung decided, and which none did."""
        counts = Counter(str(name) for name in self.rung)
        parts = [f"{counts[name]} by {name}" for name in get_args(Rung) if counts[name]]
        left = ", ".join(map(str, self.undecided.tolist()))
        return "; ".join(parts + ([f"undecided: {left}"] if left else []))


def enclose_logits(
    model: Model,
    inputs: Int64Array | VectorTask,
    *,
    features: Enclosure | None = None,
    precision: int | None = None,
) -> Enclosure:
    r"""Enclose the logits, or outputs, of any model.

    For many contexts over a large vocabulary use `logit_chunks`, which never holds them all.

    Args:
        model: The weights.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        features: For a model of one attention over tokens, what `enclose_features` returned, if it is known already.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, d_vocab_out]`.

    Raises:
        InputError: Inputs that do not fit the model, features of another shape or model, or no such precision.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Page: docs/rigour/depth.md

    Example:
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> enclose_logits(network, np.array([[0, 1], [1, 1]])).midpoint.tolist()
        [[1.0, 2.0], [1.0, 2.0]]
    """
    if is_dana_network(model):
        return float64.enclose_logits(model, _tokens(inputs), features=features, precision=precision)
    _require_no_features(features)
    if is_mahdavi_layer(model):
        return enclose_outputs(model, _vectors(inputs), precision=precision)
    if precision is not None:
        return rounded_outwards(logits_in_balls(model, inputs, precision))  # pyright: ignore[reportArgumentType]
    parts = [part for _, part in logit_chunks(model, inputs)]
    if not parts:
        return Enclosure(np.zeros((0, model.d_vocab_out)))
    return Enclosure(np.concatenate([p.midpoint for p in parts]), np.concatenate([p.radius for p in parts]))


def logit_chunks(
    model: Model,
    inputs: Int64Array | VectorTask,
    *,
    rows: int | None = None,
    features: Enclosure | None = None,
    norms: Norms | None = None,
) -> Iterator[tuple[int, Enclosure]]:
    """Enclose the logits of a few contexts at a time, in their order, in bounded memory.

    Args:
        model: The weights, in float64.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        rows: Largest number of contexts in one chunk; by default as many as suit the memory.
        features: For a model of one attention over tokens, what `enclose_features` returned, if it is known already.
        norms: The norms of the maps of the same model, for the models that need them, to be shared by several calls.

    Returns:
        Iterator of the index of the first context of the chunk, and the enclosure of its logits `[rows, d_vocab_out]`.

    Raises:
        InputError: As `enclose_logits`, or `rows` below 1.

    Page: docs/rigour/depth.md

    Example:
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> [(start, part.shape) for start, part in logit_chunks(network, np.array([[0, 1], [1, 1], [0, 0]]), rows=2)]
        [(0, (2, 2)), (2, (1, 2))]
    """
    if is_dana_network(model):
        return float64.logit_chunks(model, _tokens(inputs), rows=rows, features=features)
    _require_no_features(features)
    if rows is not None and rows < 1:
        raise InputError(f"rows = {rows}, expected at least 1")
    if is_mahdavi_layer(model):
        outputs = enclose_outputs(model, _vectors(inputs))
        step = rows or max(1, len(outputs))
        return ((start, outputs[start : start + step]) for start in range(0, len(outputs), step))
    balls = logit_balls(model, inputs, norms=norms, chunk=rows)
    return ((start, Enclosure(value, radius)) for start, value, radius in balls)


def bits_needed(
    model: Model, inputs: Int64Array | VectorTask, radius: float, *, norms: Norms | None = None
) -> int | None:
    r"""Predict the bits with which the balls of all logits would have at most this radius; nothing is proved by it.

    The radius is proportional to the unit of the roundings while it is small, so one pass in float64 with a very small
    unit tells the factor, and a second one confirms it.

    Args:
        model: The weights, in float64.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        radius: The largest radius that is wanted, above 0.
        norms: The norms of the maps of the same model, to be shared by several calls.

    Returns:
        From 53 to 300, or `None` where 300 are too few.

    Raises:
        InputError: Inputs that do not fit the model, or no such radius.

    Page: docs/rigour/depth.md

    Example:
        >>> one = np.ones((1, 1))
        >>> bits_needed(Model(blocks=(), W_U=one, W_E=one, W_pos=one), np.array([[0]]), 1e-3)
        53
    """
    if not 0.0 < radius < np.inf:
        raise InputError(f"radius = {radius}, expected a number above 0")
    norms = Norms(model) if norms is None else norms

    def widest(bits: int) -> float:
        rows = InFloat64(2.0**-bits)
        radii = [part.max(initial=0.0) for _, _, part in logit_balls(model, inputs, rows=rows, norms=norms)]
        return float(np.max(radii, initial=0.0))

    if widest(_LEAST_BITS) <= radius:
        return _LEAST_BITS
    least = widest(_LARGEST_BITS)
    if not least <= radius:
        return None
    bits = max(_LEAST_BITS + 1, _LARGEST_BITS + int(np.ceil(np.log2(least) - np.log2(radius))))
    while bits < _LARGEST_BITS and not widest(bits) <= radius:
        bits += 1
    return min(bits, _LARGEST_BITS)


def decide_argmax(
    model: Model,
    inputs: Int64Array | VectorTask,
    *,
    rungs: Sequence[Rung] = get_args(Rung),
    norms: Norms | None = None,
) -> DecidedArgmax:
    r"""Decide where the largest logit of each context is, in exact real arithmetic, with as few bits as it takes.

    A context climbs to the next rung only where the rungs before left it open. Balls start at twice the bits that are
    predicted for a radius of a quarter of the gap, and double them up to 4096; a tie stays open whatever they are.

    Why it is rigorous: a place counts as decided only if the lower end of its logit is proved to be above the upper
    ends of all others.

    Args:
        model: The weights, in float64.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        rungs: Which rungs are climbed.
        norms: The norms of the maps of the same model, to be shared by several calls.

    Returns:
        The places, and which rung decided each.

    Raises:
        InputError: Inputs that do not fit the model, a rational model, or an unknown rung.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Page: docs/rigour/depth.md

    Example:
        >>> tokens = np.array([[1.0, 0.0], [1.0, 2.0**-80], [1.0, 1.0]])
        >>> model = Model(blocks=(), W_U=np.array([[1.0, 1.0], [0.0, 1.0]]), W_E=tokens, W_pos=np.zeros((1, 2)))
        >>> decided = decide_argmax(model, np.array([[2], [1], [0]]), rungs=("float64", "pairs"))
        >>> decided.place.tolist(), decided.summary()
        ([1, 1, -1], '1 by float64; 1 by pairs; undecided: 2')
    """
    if unknown := [name for name in rungs if name not in get_args(Rung)]:
        raise InputError(f"rungs names {unknown[0]!r}, expected some of {', '.join(map(repr, get_args(Rung)))}")
    norms = Norms(model) if norms is None else norms
    count = inputs.n_examples if isinstance(inputs, VectorTask) else len(inputs)
    place, rung, gap = np.full(count, -1), np.full(count, "", dtype="U7"), np.zeros(count)
    if "float64" in rungs:
        for start, part in logit_chunks(model, inputs, norms=norms):
            radius = np.broadcast_to(part.radius, part.shape)
            _decide(
                Pairs.exact(part.midpoint), radius, np.arange(start, start + len(part)), "float64", place, rung, gap
            )
    if "pairs" in rungs:
        left = np.flatnonzero(place < 0)
        for start, value, radius in _in_pairs(model, inputs, left, norms):
            _decide(value, radius, left[start : start + len(radius)], "pairs", place, rung, gap)
    bits = 0
    left = np.flatnonzero(place < 0)
    if "balls" in rungs and len(left):
        # Where not even the pairs tell two logits apart, they may be equal, and the gap says nothing.
        known = gap[left][gap[left] > 0.0].min(initial=1.0)
        bits = 2 * (bits_needed(model, _part(inputs, left), float(max(known / 4.0, 2.0**-200)), norms=norms) or 300)
        bits = max(bits, 128)
        while len(left) and bits <= _MOST_BALL_BITS:
            balls = logits_in_balls(model, _part(inputs, left), bits)  # pyright: ignore[reportArgumentType]
            for t, found in zip(left.tolist(), _largest(balls, bits), strict=True):
                if found >= 0:
                    place[t], rung[t] = found, "balls"
            left, bits = np.flatnonzero(place < 0), 2 * bits
        bits //= 2
    return DecidedArgmax(place, rung, bits)


def _decide(
    value: Pairs,
    radius: Floats,
    contexts: Int64Array,
    name: Rung,
    place: Int64Array,
    rung: NDArray[np.str_],
    gap: Floats,
) -> None:
    """Write down the places that these values with these radii prove, and the gaps between the two largest values."""
    with np.errstate(all="ignore"):
        # Of equal high words the low ones decide.
        high = value.high.max(axis=1, keepdims=True)
        best = np.where(value.high == high, value.low, -np.inf).argmax(axis=1)[:, None]
        top = Pairs(np.take_along_axis(value.high, best, 1), np.take_along_axis(value.low, best, 1))
        shape = value.shape
        lead = added(Pairs(*(np.broadcast_to(x, shape) for x in (top.high, top.low))), -value).high
        doubt = (np.take_along_axis(radius, best, 1) + radius) * (1.0 + 2.0**-40)
        # The difference is within 2^-52 of the exact one, relatively.
        surely = lead * (1.0 - 2.0**-40) - doubt > 0.0
        np.put_along_axis(surely, best, True, 1)
        np.put_along_axis(lead, best, np.inf, 1)
        proved = surely.all(axis=1) & np.isfinite(value.high).all(axis=1)
        place[contexts[proved]], rung[contexts[proved]] = best[proved, 0], name
        gap[contexts] = lead.min(axis=1)


def _largest(balls: arb_mat, bits: int) -> list[int]:
    """The place of the entry of each row that is surely above all others, or -1."""
    with ctx.workprec(bits):
        found = []
        for row in balls.tolist():
            best = max(range(len(row)), key=lambda j: float(row[j].mid()) if row[j].is_finite() else -np.inf)
            # Midpoints that agree as floats are told apart as balls.
            for j, x in enumerate(row):
                best = j if x.is_finite() and x.mid() > row[best].mid() else best
            wins = all(bool(row[best] > x) for j, x in enumerate(row) if j != best)
            found.append(best if wins and row[best].is_finite() else -1)
        return found


def _in_pairs(
    model: Model, inputs: Int64Array | VectorTask, left: Int64Array, norms: Norms
) -> Iterator[tuple[int, Pairs, Floats]]:
    if len(left):
        yield from logit_balls(model, _part(inputs, left), rows=InPairs(), norms=norms)


def _part(inputs: Int64Array | VectorTask, chosen: Int64Array) -> Int64Array | VectorTask:
    """Some of the contexts, or examples."""
    if not isinstance(inputs, VectorTask):
        return np.asarray(inputs)[chosen]
    contexts = inputs.contexts if inputs.shared else inputs.contexts[chosen]
    return VectorTask(contexts=contexts, queries=inputs.queries[chosen], labels=inputs.labels[chosen])


def _tokens(inputs: Int64Array | VectorTask) -> Int64Array:
    if isinstance(inputs, VectorTask):
        raise InputError("inputs is a task that brings vectors, expected tokens [T, S]: the model reads tokens")
    return inputs


def _vectors(inputs: Int64Array | VectorTask) -> VectorTask:
    if not isinstance(inputs, VectorTask):
        raise InputError(f"inputs is {type(inputs).__name__}, expected a VectorTask: the model reads vectors")
    return inputs


def _require_no_features(features: Enclosure | None) -> None:
    if features is not None:
        raise InputError("features are given, which only a model of one attention over tokens has")
