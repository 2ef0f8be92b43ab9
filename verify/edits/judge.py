r"""What an edited model does: the asked contexts, the kept ones, and any context outside the caps of its new neurons.

Page: docs/claims/editing.md
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from constructions.arrays import BoolArray, Int64Array
from constructions.models.appended_neurons import editable
from constructions.models.blocks import Activation
from constructions.models.model import Model
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import UNIT, Floats
from verify.edits.leak import leak
from verify.edits.moved_logits import moved_logits
from verify.forward.ladder import climb, leads
from verify.forward.logits import enclose_logits, logit_chunks
from verify.forward.map_norms import SLACK, Norms, row_norms
from verify.progress import Progress, silent

_BITS = 320  # of the balls where float64 knows a preactivation too badly
_WIDE = 1.0  # such a radius
_FAR = 8.0  # below the highest preactivation of a context


@dataclass(frozen=True, eq=False)
class KeptContexts:
    """What is proved of contexts that an edit should leave alone, one entry each.

    Args:
        answer: The place of the largest logit of the original model, `[T]`; -1 where it was not decided.
        same: Whether the edited model is proved to have it there too, `[T]`.
        moved: Upper bounds of the move of any logit, nats, `[T]`; infinite where a new neuron may fire.
        highest: Upper bounds of the largest preactivation of the new neurons, `[T]`.
    """

    answer: Int64Array
    same: BoolArray
    moved: Floats
    highest: Floats


def judge_kept(
    original: Model, edited: Model, edits: int, contexts: Int64Array, *, progress: Progress = silent
) -> KeptContexts:
    r"""Prove which contexts keep their answer, and by how much their logits move at most.

    The edited model is the original and `edits` more neurons, so the streams before the last normalization differ by at
    most $D = \sum_j \sup_{u \le u_j} |\varphi(u)|\,|o_j|$, with $u_j$ an upper bound of what neuron j reads at this
    context and $o_j$ what it writes. Theorem N3 turns D into a bound of the logits. The answer is unchanged where
    the original's proved lead is above twice that bound, or where nothing moves at all. The edited model itself need
    not be evaluated, and no two enclosures are subtracted.

    Args:
        original: The model without the new neurons (`without_neurons`).
        edited: A model whose last feed-forward block ends with the new neurons.
        edits: How many they are.
        contexts: Tokens, `[T, S]`.
        progress: Called with the stage and the finished share of it.

    Returns:
        The bounds.

    Raises:
        InputError: No such model, or contexts that it cannot read.
        BlasError: The arithmetic of this machine does not keep what the proofs need.
    """
    size = len(contexts)
    neurons, _ = editable(edited)
    writes = row_norms(neurons.W_out[-edits:])
    distance, highest = np.empty(size), np.empty(size)
    for start, inside in preactivations(edited, edits, contexts):
        rows = slice(start, start + len(inside))
        above = inside.upper()
        highest[rows] = above.max(axis=1)
        distance[rows] = _leaked(neurons.activation, above, writes)
        progress("new neurons", rows.stop / size, f"{rows.stop} of {size} contexts")
    norms = Norms(original)
    moved = moved_logits(original, np.where(np.isnan(distance), np.inf, distance), norms=norms)
    answer, same, is_open = np.full(size, -1), np.zeros(size, dtype=bool), np.isfinite(moved)
    for rung, _, rows, logits in climb(original, contexts, is_open, norms=norms):
        place, lead = leads(logits)
        known = lead > 0.0
        answer[rows[known]] = place[known]
        done = known & ((moved[rows] == 0.0) | (lead > 2.0 * moved[rows]))
        same[rows[done]], is_open[rows[done]] = True, False
        progress(f"kept contexts, {rung}", (rows[-1] + 1) / size, f"{rows[-1] + 1} of {size}")
    return KeptContexts(answer, same | ((moved == 0.0) & (answer >= 0)), moved, highest)


def _leaked(activation: Activation, above: Floats, writes: Floats) -> Floats:
    """Upper bounds of how far the stream moves, where the neurons read at most `above`, `[T, edits]`.

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
    """Upper bounds of the products, which underflow to 0 only where the neuron puts out nothing."""
    return off * writes + np.nextafter(0.0, 1.0) * (off > 0.0)


def preactivations(edited: Model, edits: int, contexts: Int64Array) -> Iterator[tuple[int, Enclosure]]:
    r"""Enclose what the last `edits` neurons read at the last position, a few contexts at a time.

    They are the logits of the model that ends behind the normalization of these neurons and reads out with their
    weights and shifts. Where float64 leaves a radius above 1, balls of 320 bits take its place.

    Args:
        edited: As for `judge_kept`.
        edits: How many neurons.
        contexts: Tokens, `[T, S]`.

    Returns:
        Iterator of the first context and the enclosures, `[rows, edits]`.
    """
    reader = reading_model(edited, edits)
    for start, inside in logit_chunks(reader, contexts):
        wide = np.flatnonzero(~(inside.radius.max(axis=1) <= _WIDE))
        if len(wide):
            exact = enclose_logits(reader, contexts[start + wide], precision=_BITS)
            middle, radius = inside.midpoint.copy(), inside.radius.copy()
            middle[wide], radius[wide] = exact.midpoint, exact.radius
            inside = Enclosure(middle, radius)
        yield start, inside


def reading_model(model: Model, neurons: int) -> Model:
    """The model whose logits are what the last neurons of the last feed-forward block of `model` read."""
    block, _ = editable(model)
    assert block.norm is not None and block.b_in is not None
    return replace(
        model, blocks=(*model.blocks[:-2], block.norm), W_U=block.W_in[:, -neurons:], b_U=block.b_in[-neurons:]
    )


@dataclass(frozen=True)
class Caps:
    r"""Where the new neurons may fire: outside of all caps any context of any length moves by at most `moved`.

    The cap of neuron j is $\{ n : \langle a_j, n \rangle + \beta_j > -t \}$ of the normalized rows, with
    the weights and shifts as they are stored.

    Args:
        threshold: t.
        moved: Upper bound of the move of any logit of any context outside of all caps, nats.
        radii: About how far a row in the cap is from the point $\sqrt d\, a_j/|a_j|$ at most, `[edits]`; information
            only, since the cap itself is what is proved of.
    """

    threshold: float
    moved: float
    radii: Floats


def caps(edited: Model, edits: int, *, threshold: float) -> Caps:
    r"""Bound what an edit changes outside of its caps, whatever the context.

    There every $u_j \le -t$, so $D = \sum_j \mathrm{leak}(t) |o_j|$. A row n has $|n|^2 \le d$, and in the cap
    $\langle a, n \rangle > -t - \beta$, so its distance r from $\sqrt d\, a/|a|$ fulfils
    $r^2 < 2d + 2 \sqrt d\,(t + \beta)/|a|$.

    Args:
        edited: As for `judge_kept`.
        edits: How many neurons.
        threshold: t, at least 0.

    Returns:
        The bound, and how large the caps are.
    """
    block, _ = editable(edited)
    norm = block.norm
    assert norm is not None and block.b_in is not None
    off = leak(block.activation, np.full(edits, threshold))
    distance = float(_written(off, row_norms(block.W_out[-edits:])).sum()) * SLACK
    moved = float(moved_logits(edited, np.array([distance]))[0])
    normals = block.W_in[:, -edits:] * norm.w[:, None]
    shifts = block.b_in[-edits:] + (0.0 if norm.b is None else norm.b @ block.W_in[:, -edits:])
    lengths, d = np.linalg.norm(normals, axis=0), float(block.d_model)
    with np.errstate(all="ignore"):
        squares = 2.0 * d + 2.0 * np.sqrt(d) * (threshold + shifts) / lengths
    return Caps(threshold, moved, np.sqrt(np.clip(squares, 0.0, 4.0 * d)) * (1.0 + 2.0**-30))
