r"""Judge an edited model on the edited contexts, the kept ones, and all contexts outside the caps of its new neurons.

Page: docs/claims/editing.md
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from constructions.model.appended_neurons import appended, editable, without_neurons
from constructions.model.blocks import Activation
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.progress import Progress, silent
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import UNIT, Floats
from verify.edits.before import Before
from verify.edits.contexts import by_length, lengths_of, rising
from verify.edits.leak import leak
from verify.edits.moved_logits import moved_behind, moved_logits
from verify.forward.in_balls import rounded_outwards
from verify.forward.in_double_double import InDoubleDouble
from verify.forward.ladder import bits_of_balls, leads
from verify.forward.logits import enclose_logits, logit_chunks
from verify.forward.map_norms import SLACK, Norms, row_norms
from verify.forward.stem import Stem

_BITS = 320  # of the balls where float64 knows a preactivation too badly
_WIDE = 1.0  # such a radius
_FAR = 8.0  # below the highest preactivation of a context
_TOGETHER = 4096  # contexts in balls at the same time
_LEAST = float(np.nextafter(0.0, 1.0))  # covers what underflows


@dataclass(frozen=True, eq=False)
class KeptContexts:
    """The proved results for contexts that an edit should not change, one entry each.

    Args:
        answer: The place of the largest logit of the original model, `[T]`; -1 where it was not decided.
        same: Whether the edited model is proved to have it there too, `[T]`.
        changed: Whether the edited model is proved to have it elsewhere, `[T]`.
        moved: Upper bounds of the move of any logit, nats, `[T]`; infinite where none is known.
    """

    answer: Int64Array
    same: BoolArray
    changed: BoolArray
    moved: Floats


def judge_kept(
    original: Model,
    edited: Model,
    edits: int,
    contexts: Int64Array,
    *,
    layer: int | None = None,
    everywhere: bool = False,
    before: Before | None = None,
    progress: Progress = silent,
) -> KeptContexts:
    """Prove which contexts keep the original answer, which change it, and bound how far their logits move.

    Where the edited model without its new neurons is the original, their leak bounds the move (`bounded_by_leak`), and
    the edited model is evaluated only where the lead is too small for that bound. Where it is another one, because its
    weights were rounded as well, both models are evaluated at every context.

    Args:
        original: The model before.
        edited: A model one of whose feed-forward blocks ends with the new neurons.
        edits: How many they are.
        contexts: Tokens, `[T, S]`, of several lengths as `verify.edits.contexts` has them.
        layer: Which feed-forward block; the last one by default.
        everywhere: Whether the other blocks have as many neurons of zeros.
        before: What is known of the original.
        progress: Called with the stage and the finished share of it.

    Returns:
        The bounds.

    Raises:
        InputError: No such models, or contexts that they cannot read.
        BlasError: The arithmetic of this machine does not keep what the proofs need.
    """
    before = Before.of(original, editable(edited, layer).place, before)
    is_rounded = True
    if without_neurons(edited, edits, layer=layer, everywhere=everywhere).sha256() == original.sha256():
        answer, same, moved = bounded_by_leak(
            original, edited, edits, contexts, layer=layer, before=before, progress=progress
        )
        is_rounded = False
    else:
        progress("kept contexts", None, "in the original, whose weights were rounded")
        answer, same = np.full(len(contexts), -1), np.zeros(len(contexts), dtype=bool)
        moved = _apart(original, edited, contexts)
    open_ones, changed = np.flatnonzero(~same), np.zeros(len(contexts), dtype=bool)
    if len(open_ones):
        progress("kept contexts", None, f"{len(open_ones)} in both models")
        old, new = before.leads(contexts[open_ones])[0], before.decided(edited, contexts[open_ones], is_rounded)
        known = (old >= 0) & (new >= 0)
        answer[open_ones] = old
        same[open_ones], changed[open_ones] = known & (old == new), known & (old != new)
    return KeptContexts(answer, same, changed, moved)


def _apart(original: Model, edited: Model, contexts: Int64Array) -> Floats:
    """Return upper bounds of the largest distance between the logits of two models, `[T]`.

    Why it is rigorous: two numbers in two balls are at most the distance of the middles and both radii apart. Balls of
    320 bits follow where float64 leaves more than the largest distance that it proves.
    """
    below, above = np.zeros(len(contexts)), np.full(len(contexts), np.inf)

    def enclose(chosen: Int64Array, precision: int | None) -> None:
        for places, some in by_length(contexts[chosen]):
            for start in range(0, len(places), _TOGETHER):
                rows, part = chosen[places[start : start + _TOGETHER]], some[start : start + _TOGETHER]
                before, after = (enclose_logits(model, part, precision=precision) for model in (original, edited))
                least, most = _between(before, after)
                below[rows], above[rows] = np.maximum(below[rows], least), np.minimum(above[rows], most)

    enclose(np.arange(len(contexts)), None)
    enclose(np.flatnonzero(~(above <= (1.0 + 2.0**-10) * below.max(initial=0.0))), _BITS)
    return above


def _between(before: Enclosure, after: Enclosure) -> tuple[Floats, Floats]:
    """Return a lower and an upper bound of the largest distance in each row."""
    with np.errstate(all="ignore"):
        middle, radius = np.abs(before.midpoint - after.midpoint), before.radius + after.radius
        below = ((middle - radius * SLACK) * (1.0 - 2.0**-50)).max(axis=1)
        above = ((middle + radius) * SLACK + _LEAST).max(axis=1)
    return np.where(below > 0.0, below, 0.0), np.where(np.isnan(above), np.inf, above)


def bounded_by_leak(
    original: Model,
    edited: Model,
    edits: int,
    contexts: Int64Array,
    *,
    layer: int | None = None,
    before: Before | None = None,
    progress: Progress = silent,
) -> tuple[Int64Array, BoolArray, Floats]:
    r"""Prove which contexts keep their answer, and bound how far their logits move, from the leak of the new neurons.

    The edited model is the original and `edits` more neurons, so the streams behind their block differ by at most
    $D = \sum_j \sup_{u \le u_j} |\varphi(u)|\,|o_j|$, with $u_j$ an upper bound of what neuron j reads at this
    context and $o_j$ what it writes. Theorem N3 turns D into a bound of the logits, Lemma N5 where other blocks come
    behind; there every position counts, each of which reads a prefix of the context. The answer is unchanged where the
    original's proved lead is above twice that bound, or where nothing moves at all. In the last block the edited model
    itself need not be evaluated, and no two enclosures are subtracted.

    Args:
        original: The model without the new neurons (`without_neurons`).
        edited: A model one of whose feed-forward blocks ends with the new neurons.
        edits: How many they are.
        contexts: As for `judge_kept`.
        layer: Which feed-forward block; the last one by default.
        before: What is known of the original.
        progress: Called with the stage and the finished share of it.

    Returns:
        The answer of the original, -1 where it was not decided; whether it is proved to stay; and the bounds of the
        move, infinite where a new neuron may fire. `[T]` each.

    Raises:
        InputError: No such model, or contexts that it cannot read.
        BlasError: The arithmetic of this machine does not keep what the proofs need.
    """
    size, site, norms = len(contexts), editable(edited, layer), Norms(original)
    before = Before.of(original, site.place, before)
    answer, lead = before.leads(contexts, progress=progress)
    same, is_open = np.zeros(size, dtype=bool), np.ones(size, dtype=bool)
    if site.is_last:
        apart = _distances(edited, edits, contexts, layer, progress, before)
        moved = moved_logits(original, apart, norms=norms)
    else:
        apart = _rows_apart(edited, edits, contexts, layer, progress)
        moved = np.full(size, np.inf)
    for numbers in (None,) if site.is_last else (None, InDoubleDouble()):
        if not site.is_last:
            left = np.flatnonzero(is_open)
            for places, rows in by_length(contexts[left]):
                own, apart_there = left[places], apart[left[places], : rows.shape[1]]
                bound = moved_behind(original, site.place, rows, apart_there, numbers=numbers, norms=norms)
                moved[own] = np.minimum(moved[own], bound)
        same |= (answer >= 0) & ((moved == 0.0) | (lead > 2.0 * moved))
        is_open &= ~same
        tried = is_open & np.isfinite(moved)
        precisions = before.precisions(contexts)
        for precision, chosen, logits in rising(
            original, contexts, tried, precisions=precisions, norms=norms, stem=before.stem
        ):
            place, lead = leads(logits)
            known = lead > 0.0
            answer[chosen[known]] = place[known]
            done = known & ((moved[chosen] == 0.0) | (lead > 2.0 * moved[chosen]))
            same[chosen[done]], is_open[chosen[done]], tried[chosen[done]] = True, False, False
            if precision != "float64":  # the lead is as good as exact
                tried[chosen[known]] = False
            progress(f"kept contexts, {precision}", (chosen[-1] + 1) / size, f"{chosen[-1] + 1} of {size}")
    return answer, same, moved


def _rows_apart(edited: Model, edits: int, contexts: Int64Array, layer: int | None, progress: Progress) -> Floats:
    """How far the rows behind an earlier block are apart at most, `[T, S]`; 0 behind the end of a context."""
    apart, lengths = np.zeros(contexts.shape), lengths_of(contexts)
    for length in range(1, contexts.shape[1] + 1):
        there = lengths >= length
        prefixes, which = np.unique(contexts[there, :length], axis=0, return_inverse=True)
        distance = _distances(edited, edits, prefixes, layer, progress)
        apart[there, length - 1] = distance[which.reshape(-1)]
    return apart


def _distances(
    edited: Model,
    edits: int,
    contexts: Int64Array,
    layer: int | None,
    progress: Progress,
    before: Before | None = None,
) -> Floats:
    """How far the last rows behind the block are apart at most, `[T]`."""
    size, block = len(contexts), editable(edited, layer).neurons
    writes = row_norms(appended(edited, edits, layer).writes)
    distance, done = np.empty(size), 0
    for places, inside in preactivations(edited, edits, contexts, layer=layer, before=before):
        distance[places] = _leaked(block.activation, inside.upper(), writes)
        done += len(places)
        progress("new neurons", done / size, f"{done} of {size} contexts")
    return np.where(np.isnan(distance), np.inf, distance)


def _leaked(activation: Activation, above: Floats, writes: Floats) -> Floats:
    """Return upper bounds of how far the stream moves if the preactivations are at most `above`, `[T, edits]`.

    A leak falls with its threshold, so the neurons that lie far below the highest one of their row share one bound.
    """
    highest = np.where(np.isnan(above), np.inf, above).max(axis=1)
    near = ~(above < highest[:, None] - _FAR)
    row, neuron = np.nonzero(near)
    moved = np.bincount(row, _written(leak(activation, -above[near]), writes[neuron]), minlength=len(above))
    rest = _written(leak(activation, np.maximum(_FAR - highest, 1.28)), writes.sum() * SLACK)
    rest = np.where(near.all(axis=1), 0.0, np.where(_FAR - highest >= 1.28, rest, np.inf))
    return np.asarray((moved + rest) * (SLACK + len(writes) * 2.0 * UNIT), dtype=np.float64)


def _written(off: Floats, writes: Floats) -> Floats:
    """Return upper bounds of the products, which underflow to 0 only if the neuron outputs nothing."""
    return off * writes + np.nextafter(0.0, 1.0) * (off > 0.0)


def preactivations(
    edited: Model, edits: int, contexts: Int64Array, *, layer: int | None = None, before: Before | None = None
) -> Iterator[tuple[Int64Array, Enclosure]]:
    r"""Enclose what the last `edits` neurons read at the last position, a few contexts at a time.

    They are the logits of the model that ends behind the normalization of these neurons and reads out with their
    weights and shifts. Where float64 leaves a radius above 1, balls take its place: of 320 bits, or of more where
    deep models need them (`verify.forward.ladder.bits_of_balls`).

    Args:
        edited: As for `judge_kept`.
        edits: How many neurons.
        contexts: As for `judge_kept`.
        layer: As for `judge_kept`.
        before: What is known of the original, if that is the model without these neurons.

    Returns:
        Iterator of the places of some contexts and the enclosures, `[places, edits]`.
    """
    reader, stem = reading_model(edited, edits, layer), None
    if before is not None and before.stem is not None:
        reader, stem = before.reader(editable(edited, layer), appended(edited, edits, layer)), before.stem
    in_floats = before is None or "float64" in before.precisions(contexts)
    for places, rows in by_length(contexts):
        for start, inside in logit_chunks(reader, rows) if in_floats else _unknown(len(rows), edits):
            middle, radius = inside.midpoint.copy(), inside.radius.copy()
            wide = np.flatnonzero(~(radius.max(axis=1) <= _WIDE))
            for chosen, exact in _in_balls(reader, rows[start + wide], stem):
                middle[wide[chosen]], radius[wide[chosen]] = exact.midpoint, exact.radius
            yield places[start : start + len(inside)], Enclosure(middle, radius)


def _unknown(contexts: int, edits: int) -> Iterator[tuple[int, Enclosure]]:
    """Enclose what is read of so many contexts by all numbers, where float64 would say no more."""
    for start in range(0, contexts, _TOGETHER):
        shape = min(_TOGETHER, contexts - start), edits
        yield start, Enclosure(np.zeros(shape), np.full(shape, np.inf))


def _in_balls(reader: Model, contexts: Int64Array, stem: Stem | None) -> Iterator[tuple[Int64Array, Enclosure]]:
    """Enclose what is read, in balls: those of the stem, and where these are too wide or none, others."""
    left = np.arange(len(contexts))
    if stem is not None:
        rows = list(map(tuple, contexts.tolist()))
        known = np.array(stem.known(rows), dtype=np.int64)
        for start, _, balls in stem.outputs(reader, [rows[place] for place in known]):
            inside = rounded_outwards(balls)
            narrow = inside.radius.max(axis=1) <= _WIDE
            chosen = known[start : start + len(inside)][narrow]
            left = np.setdiff1d(left, chosen)
            yield chosen, inside[narrow]
    if len(left):
        bits = max(_BITS, bits_of_balls(reader, contexts[left[:1]], _WIDE))
        yield left, enclose_logits(reader, contexts[left], precision=bits)


def reading_model(model: Model, neurons: int, layer: int | None = None) -> Model:
    """Return the model whose logits are the preactivations of the last neurons of a feed-forward block."""
    site, own = editable(model, layer), appended(model, neurons, layer)
    return replace(model, blocks=(*site.reads, site.norm), W_U=own.weights, b_U=own.shifts)


@dataclass(frozen=True)
class Caps:
    r"""The regions where the new neurons may fire: outside of all caps, any context of any length moves by at most
    `moved`.

    The cap of neuron j is $\{ n : \langle a_j, n \rangle + \beta_j > -t \}$ of the normalized rows, with
    the weights and shifts as they are stored.

    Args:
        threshold: t.
        moved: Upper bound of the move of any logit of any context outside of all caps, nats; infinite if none is known.
        radii: About how far a row in the cap is from the point $\sqrt d\, a_j/|a_j|$ at most, `[edits]`; information
            only, since the cap itself is what is proved of.
    """

    threshold: float
    moved: float
    radii: Floats


def caps(edited: Model, edits: int, *, layer: int | None = None, threshold: float) -> Caps:
    r"""Bound the changes of an edit outside of its caps, for every context.

    There every $u_j \le -t$, so $D = \sum_j \mathrm{leak}(t) |o_j|$. A row n has $|n|^2 \le d$, and in the cap
    $\langle a, n \rangle > -t - \beta$, so its distance r from $\sqrt d\, a/|a|$ fulfils
    $r^2 < 2d + 2 \sqrt d\,(t + \beta)/|a|$.

    Args:
        edited: As for `judge_kept`.
        edits: How many neurons.
        layer: As for `judge_kept`. In an earlier block outside of the caps means that no position is in one, and
            nothing is known of neurons that leak.
        threshold: t, at least 0.

    Returns:
        The bound, infinite where nothing is known, and how large the caps are.
    """
    site, own = editable(edited, layer), appended(edited, edits, layer)
    off = leak(site.neurons.activation, np.full(edits, threshold))
    distance = float(_written(off, row_norms(own.writes)).sum()) * SLACK
    moved = float(moved_logits(edited, np.array([distance]))[0]) if site.is_last or distance == 0.0 else np.inf
    normals = own.weights * site.norm.w[:, None]
    shifts = own.shifts + (0.0 if site.norm.b is None else site.norm.b @ own.weights)
    lengths, d = np.linalg.norm(normals, axis=0), float(len(normals))
    with np.errstate(all="ignore"):
        squares = 2.0 * d + 2.0 * np.sqrt(d) * (threshold + shifts) / lengths
    return Caps(threshold, moved, np.sqrt(np.clip(squares, 0.0, 4.0 * d)) * (1.0 + 2.0**-30))
