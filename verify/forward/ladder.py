r"""The ladder of precision: float64, double-double, then balls of as many bits as are predicted, until decided.

Page: docs/rigour/forward.md
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.tasks.vectors import Vectors
from verify.arithmetic.double_double import SLICES, DoubleDouble, added, inner_error
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats
from verify.forward.in_balls import InBalls, logit_chunks_in_balls, rounded_outwards
from verify.forward.in_double_double import InDoubleDouble
from verify.forward.in_float64 import InFloat64
from verify.forward.logits import logit_chunks
from verify.forward.map_norms import Norms
from verify.forward.rows.row_balls import logit_balls, row_width
from verify.forward.stem import Stem
from verify.forward.walk import Prefixes, part_of, passed, shares_prefixes, stream_of

Precision = Literal["float64", "double-double", "balls"]

_LEAST_BITS, _LARGEST_BITS = 53, 300
_FEWEST_BALL_BITS, _MOST_BALL_BITS = 128, 4096
_PROBED_BITS, _HOPELESS = 192, 16  # of short balls that are followed, and of those that say nothing any more
_SPARE_BITS = 32  # more than what is predicted of long balls
_ASKED = 8  # contexts from which it is predicted into how many slices products have to be cut
_LOGIT_ENTRIES = 2**22  # in double-double, that are worked on together: the unembedding is cut into slices each time
_BALLS_TOGETHER = 256  # contexts that share no prefixes, whose rows are balls at the same time
_BALL_ENTRIES = 2**18  # of the rows of others that are balls at the same time
_LOGIT_BALLS = 2**20  # of the logits


@dataclass(frozen=True, eq=False)
class DecidedArgmax:
    r"""Where the largest logit of each context is, as far as that is proved.

    Args:
        place: The place of the largest logit in exact real arithmetic, `[T]`; -1 where it is not decided.
        precision: What decided it, `[T]`: ``"float64"``, ``"double-double"``, ``"balls"``, or ``""``.
        bits: Precision of the balls that were used last; 0 without.
    """

    place: Int64Array
    precision: NDArray[np.str_]
    bits: int

    @property
    def undecided(self) -> Int64Array:
        """The contexts that are not decided."""
        return np.flatnonzero(self.place < 0)

    def summary(self) -> str:
        """How many contexts each precision decided, and which none did."""
        counts = Counter(str(name) for name in self.precision)
        parts = [f"{counts[name]} by {name}" for name in get_args(Precision) if counts[name]]
        left = ", ".join(map(str, self.undecided.tolist()))
        return "; ".join(parts + ([f"undecided: {left}"] if left else []))


def bits_needed(model: Model, inputs: Int64Array | Vectors, radius: float, *, norms: Norms | None = None) -> int | None:
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

    Example:
        >>> one = np.ones((1, 1))
        >>> bits_needed(Model(blocks=(), W_U=one, W_E=one, W_pos=one), np.array([[0]]), 1e-3)
        53
    """
    if not 0.0 < radius < np.inf:
        raise InputError("radius", f"= {radius}", "a number above 0")
    norms = Norms(model) if norms is None else norms

    def widest(bits: int) -> float:
        numbers = InFloat64(2.0**-bits)
        radii = [part.max(initial=0.0) for _, _, part in logit_balls(model, inputs, numbers=numbers, norms=norms)]
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


def bits_of_balls(model: Model, inputs: Int64Array | Vectors, radius: float) -> int:
    r"""Predict the bits with which balls of these outputs would have at most this radius; nothing is proved by it.

    Balls grow by about as many bits with each block. So short ones are followed as far as they say anything, and what
    all blocks and the readout would add is told from the blocks that were passed.

    Args:
        model: The weights.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors; a few tell enough.
        radius: The largest radius that is wanted, above 0.

    Example:
        >>> one = np.ones((1, 1))
        >>> bits_of_balls(Model(blocks=(), W_U=one, W_E=one, W_pos=one), np.array([[0]]), 2.0**-10)
        42
    """
    grown, passed_by = 0.0, 0
    with ctx.workprec(_PROBED_BITS):
        arithmetic = InBalls(model)
        stream = stream_of(arithmetic, model, inputs)
        for passed_by in range(1, len(model.blocks) + 1):
            stream = passed(arithmetic, model, stream, [passed_by - 1])
            mantissa, exponent = max(x.rad() for x in stream.rows.entries()).man_exp()
            grown = max(grown, float(_PROBED_BITS + int(mantissa).bit_length() + int(exponent))) if mantissa else grown
            if grown > _PROBED_BITS - _HOPELESS:
                break
    of_all = grown * (len(model.blocks) + 1) / max(1, passed_by)
    return int(np.ceil(of_all - np.log2(radius))) + _SPARE_BITS


def rising_precision(
    model: Model,
    inputs: Int64Array | Vectors,
    is_open: BoolArray,
    *,
    precisions: Sequence[Precision] = get_args(Precision),
    most_bits: int = _MOST_BALL_BITS,
    norms: Norms | None = None,
) -> Iterator[tuple[Precision, int, Int64Array, Enclosure]]:
    r"""Enclose the outputs of the contexts that are still open, a few at a time, in one precision after the other.

    The caller closes, in `is_open`, the contexts that it has decided; the next precision sees only what is open then.
    Balls start at twice the bits that are predicted for a radius of a quarter of the least gap between two logits, at
    least 128, and double them. Where that needs more than 300 bits, double-double is left out, and balls start at what
    `bits_of_balls` predicts.

    Behind float64 the enclosure is one of the outputs of a model of tokens less one number of each row,
    the largest midpoint, so that float64 holds the differences to their last bits. No softmax and no margin depends on
    that number. Why it is rigorous: the number is itself exact, a double-double or the middle of a ball.

    Args:
        model: The weights, in float64.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        is_open: The contexts that are to be enclosed, `[T]`; read anew before each precision.
        precisions: Which precisions are used.
        most_bits: Precision of the last balls, at most; twice the predicted one where that is more than 300.
        norms: The norms of the maps of the same model, to be shared by several calls.

    Returns:
        Iterator of the precision, its bits, the contexts and the enclosure of their outputs, `[contexts, d_vocab_out]`.

    Raises:
        InputError: Inputs that do not fit the model, a rational model, or an unknown precision.
        BlasError: The arithmetic of this machine does not keep what the proofs need.
    """
    rising = rising_of_parts(model, [inputs], [is_open], precisions=precisions, most_bits=most_bits, norms=norms)
    return ((precision, bits, rows, part) for precision, bits, _, rows, part in rising)


def rising_of_parts(
    model: Model,
    parts: Sequence[Int64Array | Vectors],
    is_open: Sequence[BoolArray],
    *,
    precisions: Sequence[Precision] = get_args(Precision),
    most_bits: int = _MOST_BALL_BITS,
    norms: Norms | None = None,
    stem: Stem | None = None,
) -> Iterator[tuple[Precision, int, int, Int64Array, Enclosure]]:
    """Yield the same, of contexts of several lengths: all lengths in one precision, and then in the next.

    Balls of contexts that begin alike, whatever their lengths, share the rows of what they begin with, and few contexts
    come first, so that the first answer does not wait for all.

    Args:
        model: As for `rising_precision`.
        parts: The contexts of each length, the longest last.
        is_open: Of each part, as for `rising_precision`.
        precisions: As for `rising_precision`.
        most_bits: As for `rising_precision`.
        norms: As for `rising_precision`.
        stem: Rows in balls that the model begins with, which are read before any are walked; what is walked is kept
            there.

    Returns:
        Iterator of the precision, its bits, the number of the part, its contexts and the enclosure of their outputs.

    Raises:
        InputError: As for `rising_precision`.
    """
    if unknown := [name for name in precisions if name not in get_args(Precision)]:
        raise InputError("precisions", f"names {unknown[0]!r}", f"some of {', '.join(map(repr, get_args(Precision)))}")
    if stem is not None and not stem.belongs_to(model):
        raise InputError("stem", "is of a model that begins otherwise")
    return _rising_of_parts(model, parts, is_open, precisions, most_bits, norms, stem)


def _rising_of_parts(
    model: Model,
    parts: Sequence[Int64Array | Vectors],
    is_open: Sequence[BoolArray],
    precisions: Sequence[Precision],
    most_bits: int,
    norms: Norms | None,
    stem: Stem | None,
) -> Iterator[tuple[Precision, int, int, Int64Array, Enclosure]]:
    gaps, hopeless = [np.zeros(len(each)) for each in is_open], False
    for number, inputs in enumerate(parts):
        left = np.flatnonzero(is_open[number])
        if "float64" not in precisions or not len(left):
            continue
        whole = len(left) == len(is_open[number])
        for start, part in logit_chunks(model, inputs if whole else part_of(inputs, left), norms=norms):
            chosen = left[start : start + len(part)]
            gaps[number][chosen] = _gaps(part.midpoint)
            yield "float64", 53, number, chosen, part
    # The last part first, of the longest contexts: what is hopeless for them is left to balls of all lengths.
    for number, inputs in reversed(list(enumerate(parts))):
        if "double-double" not in precisions or not is_open[number].any():
            continue
        norms = Norms(model) if norms is None else norms
        chunk = max(1, _LOGIT_ENTRIES // model.d_vocab_out)
        needed = () if hopeless else _slices_needed(model, inputs, is_open[number], gaps[number], norms)
        hopeless = not needed
        for slices in needed:
            left, numbers = np.flatnonzero(is_open[number]), InDoubleDouble(slices)
            if not len(left):
                break
            some = part_of(inputs, left)
            for start, value, radius in logit_balls(model, some, numbers=numbers, norms=norms, chunk=chunk):
                chosen = left[start : start + len(radius)]
                part = _less_largest(value, radius, isinstance(inputs, Vectors))
                gaps[number][chosen] = _gaps(part.midpoint)
                yield "double-double", 20 * slices, number, chosen, part
    if stem is not None and "balls" in precisions:
        yield from _balls_behind(model, parts, is_open, stem)
    if "balls" in precisions and any(each.any() for each in is_open):
        # Where not even double-double tells two logits apart, they may be equal, and the gap says nothing.
        left = np.concatenate([gap[each] for gap, each in zip(gaps, is_open, strict=True)])
        radius = float(max(left[left > 0.0].min(initial=1.0) / 4.0, 2.0**-200))
        number = max(number for number, each in enumerate(is_open) if each.any())
        some = part_of(parts[number], np.flatnonzero(is_open[number])[:_ASKED])
        predicted = None if hopeless else bits_needed(model, some, radius, norms=norms)
        bits = bits_of_balls(model, part_of(some, np.arange(1)), radius) if predicted is None else 2 * predicted
        bits = max(min(bits, most_bits) if predicted else bits, _FEWEST_BALL_BITS)
        most_bits = max(most_bits, 2 * bits if predicted is None else bits)
        while any(each.any() for each in is_open) and bits <= most_bits:
            yield from _balls_of_parts(model, parts, is_open, bits, radius, stem)
            bits = 2 * bits


def _balls_behind(
    model: Model, parts: Sequence[Int64Array | Vectors], is_open: Sequence[BoolArray], stem: Stem
) -> Iterator[tuple[Precision, int, int, Int64Array, Enclosure]]:
    """The contexts that are open and whose rows are known before the blocks that are left."""
    for number, inputs in enumerate(parts):
        left = np.flatnonzero(is_open[number])
        contexts = [tuple(row) for row in np.asarray(inputs)[left].tolist()]
        known = stem.known(contexts)
        for start, bits, balls in stem.outputs(model, [contexts[place] for place in known]):
            rows = left[known[start : start + balls.nrows()]]
            yield "balls", bits, number, rows, _rounded_less_largest(balls, bits, not model.reads_tokens)


def _balls_of_parts(
    model: Model,
    parts: Sequence[Int64Array | Vectors],
    is_open: Sequence[BoolArray],
    bits: int,
    radius: float,
    stem: Stem | None,
) -> Iterator[tuple[Precision, int, int, Int64Array, Enclosure]]:
    """All contexts that are open, in balls of at most so many bits; of those that are walked together part by part.

    Where a group has balls far below the radius that is wanted, the next one has fewer bits; but one short context,
    which comes first, tells nothing of long ones.
    """
    for together in _together(model, parts, is_open):
        numbers = sorted({number for number, _ in together})
        rows = {number: np.array([row for other, row in together if other == number]) for number in numbers}
        inputs = [part_of(parts[number], rows[number]) for number in numbers]
        walked = inputs[0] if len(inputs) == 1 else Prefixes.of([np.asarray(each) for each in inputs])
        every = [(number, row) for number in numbers for row in rows[number].tolist()]
        step, unused = max(1, _LOGIT_BALLS // model.d_vocab_out), bits
        if stem is None:
            chunks = logit_chunks_in_balls(model, walked, bits, rows=step)
        else:
            contexts = [tuple(row) for part in inputs for row in np.asarray(part).tolist()]
            chunks = logit_chunks_in_balls(model, walked, bits, rows=step, seen=stem.keeper(contexts))
        for start, balls in chunks:
            unused = min(unused, _bits_unused(balls, radius))
            part = _rounded_less_largest(balls, bits, not model.reads_tokens)
            some = every[start : start + len(part)]
            for number in sorted({number for number, _ in some}):
                places = [i for i, (other, _) in enumerate(some) if other == number]
                yield "balls", bits, number, np.array([some[i][1] for i in places]), part[places]
        if len(every) > 1:
            bits = max(min(bits, bits - unused + _SPARE_BITS), min(bits, _FEWEST_BALL_BITS))


def _bits_unused(balls: arb_mat, radius: float) -> int:
    """How many bits fewer would do, roughly, for balls of at most this radius; 0 if more are wanted."""
    widest = max((x.rad() for x in balls.entries()), default=arb(0))
    if not (widest.is_finite() and widest > 0):
        return 0
    mantissa, exponent = widest.man_exp()
    return max(0, int(np.floor(np.log2(radius))) - int(mantissa).bit_length() - int(exponent))


def _together(
    model: Model, parts: Sequence[Int64Array | Vectors], is_open: Sequence[BoolArray]
) -> Iterator[list[tuple[int, int]]]:
    """Yield the contexts that are open, by part and row, in groups that are walked together.

    Prefixes are shared within a group, so that contexts that begin alike stand together, and groups grow; the first is
    one of the shortest, for the first answer; contexts of one token, whose balls are known better than others
    (`verify.forward.in_balls.bits_worth`), are a group of theirs.
    """
    every = [(number, row) for number, each in enumerate(is_open) for row in np.flatnonzero(each).tolist()]
    if not shares_prefixes(model):
        for number in range(len(parts)):
            own = [place for place in every if place[0] == number]
            for start in range(0, len(own), _BALLS_TOGETHER):
                yield own[start : start + _BALLS_TOGETHER]
        return
    tokens = {place: tuple(np.asarray(parts[place[0]])[place[1]].tolist()) for place in every}
    most = max(1, _BALL_ENTRIES // max(row_width(block, 1) for block in model.blocks))
    for some in ([p for p in every if len(tokens[p]) > 1], [p for p in every if len(tokens[p]) == 1]):
        some.sort(key=lambda place: tokens[place])
        if some:
            shortest = min(some, key=lambda place: len(tokens[place]))
            some.remove(shortest)
            yield [shortest]
        start, size = 0, 4
        while start < len(some):
            rows, end = 0, start
            while end < min(len(some), start + size) and (end == start or rows + len(tokens[some[end]]) <= most):
                rows += len(tokens[some[end]]) - (
                    _shared(tokens[some[end - 1]], tokens[some[end]]) if end > start else 0
                )
                end += 1
            yield some[start:end]
            start, size = end, 4 * size


def _shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """With how many equal tokens two contexts begin."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _slices_needed(
    model: Model, inputs: Int64Array | Vectors, is_open: BoolArray, gap: Floats, norms: Norms
) -> tuple[int, ...]:
    """Into how many slices double-double products are cut: as few as a prediction asks for, and then the most.

    None where it asks for far more bits than there are.
    """
    known = gap[is_open & (gap > 0.0)]
    with np.errstate(all="ignore"):
        radius = float(np.median(known)) / 4.0 if len(known) else 0.0
    if not 0.0 < radius < np.inf:  # a quarter of a gap may underflow, and a median overflow
        return (SLICES,)
    some = part_of(inputs, np.flatnonzero(is_open)[:_ASKED])
    if (bits := bits_needed(model, some, radius, norms=norms)) is None:
        return ()
    for slices in range(2, SLICES):
        # A sum of products in float64 is off by 2^8 units.
        if inner_error(model.d_model, slices) * 2.0**12 <= 2.0**-bits:
            return slices, SLICES
    return (SLICES,)


def decide_argmax(
    model: Model,
    inputs: Int64Array | Vectors,
    *,
    precisions: Sequence[Precision] = get_args(Precision),
    norms: Norms | None = None,
) -> DecidedArgmax:
    r"""Decide where the largest logit of each context is, in exact real arithmetic, with as few bits as it takes.

    A context goes on to the next precision only where those before left it open (`rising_precision`); balls end at 4096
    bits, and a tie stays open whatever they are.

    Why it is rigorous: a place counts as decided only if the lower end of its logit is proved to be above the upper
    ends of all others.

    Args:
        model: The weights, in float64.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        precisions: Which precisions are used.
        norms: The norms of the maps of the same model, to be shared by several calls.

    Returns:
        The places, and which precision decided each.

    Raises:
        InputError: Inputs that do not fit the model, a rational model, or an unknown precision.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> tokens = np.array([[1.0, 0.0], [1.0, 2.0**-80], [1.0, 1.0]])
        >>> model = Model(blocks=(), W_U=np.array([[1.0, 1.0], [0.0, 1.0]]), W_E=tokens, W_pos=np.zeros((1, 2)))
        >>> decided = decide_argmax(model, np.array([[2], [1], [0]]), precisions=("float64", "double-double"))
        >>> decided.place.tolist(), decided.summary()
        ([1, 1, -1], '1 by float64; 1 by double-double; undecided: 2')
    """
    count = len(inputs)
    place, precision, last = np.full(count, -1), np.full(count, "", dtype="U13"), 0
    is_open = np.ones(count, dtype=bool)
    for name, bits, contexts, part in rising_precision(model, inputs, is_open, precisions=precisions, norms=norms):
        best, lead = leads(part)
        proved = lead > 0.0
        chosen = contexts[proved]
        place[chosen], precision[chosen], is_open[chosen] = best[proved], name, False
        last = bits if name == "balls" else 0
    return DecidedArgmax(place, precision, last)


def leads(logits: Enclosure) -> tuple[Int64Array, Floats]:
    """Return the place of the logit with the largest lower end, `[T]`, and a lower bound of its lead over all others.

    The bound is above 0 if and only if the enclosure says that the place leads: floats that differ do so by the least
    number above 0 at least.

    Example:
        >>> leads(Enclosure(np.array([[1.0, 3.0, 2.0], [1.0, 1.0, 0.0]])))[0].tolist()
        [1, 0]
        >>> leads(Enclosure(np.array([[1.0, 3.0, 2.0], [1.0, 1.0, 0.0]])))[1].round(9).tolist()
        [1.0, -1.0]
    """
    lower, upper = logits.lower(), np.array(logits.upper())
    place = lower.argmax(axis=1)[:, None]
    least = np.take_along_axis(lower, place, 1)[:, 0]
    np.put_along_axis(upper, place, -np.inf, 1)
    others = upper.max(axis=1)
    with np.errstate(all="ignore"):
        lead = np.maximum(np.nextafter(least - others, -np.inf), np.nextafter(0.0, 1.0))
    return place[:, 0], np.where(least > others, lead, -1.0)


def _gaps(values: Floats) -> Floats:
    """Between the two largest of each row, roughly."""
    if values.shape[1] < 2:
        return np.full(len(values), np.inf)
    two = np.partition(values, -2, axis=1)[:, -2:]
    with np.errstate(all="ignore"):
        return two[:, 1] - two[:, 0]


def _less_largest(value: DoubleDouble, radius: Floats, absolute: bool) -> Enclosure:
    """Return what these values with these radii are less the largest value of their row, as float64."""
    with np.errstate(all="ignore"):
        if not absolute:
            # Of equal high words the low ones decide.
            high = value.high.max(axis=1, keepdims=True)
            best = np.where(value.high == high, value.low, -np.inf).argmax(axis=1)[:, None]
            top = (np.take_along_axis(part, best, 1) for part in (value.high, value.low))
            value = added(value, -DoubleDouble(*(np.broadcast_to(part, value.shape) for part in top)))
        # The sum is within 2^-52 of the exact one, relatively, and its low word no larger than that.
        return Enclosure(value.high, (radius + 2.0**-51 * np.abs(value.high)) * (1.0 + 2.0**-40))


def _rounded_less_largest(balls: arb_mat, bits: int, absolute: bool) -> Enclosure:
    if absolute:
        return rounded_outwards(balls)
    with ctx.workprec(2 * bits):
        rows = balls.tolist()
        for row in rows:
            finite = [x.mid() for x in row if x.is_finite()]
            top = max(finite) if finite else arb(0)
            row[:] = [x - top for x in row]
        return rounded_outwards(arb_mat(rows))
