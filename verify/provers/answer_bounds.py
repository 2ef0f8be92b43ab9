r"""What a model answers to each context of a task: proved bounds of margins and losses.

The loss of a context is the divergence of the prediction from the target, nats; for values the largest distance of an
output from its value.

Page: docs/rigour/certificate.md
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from constructions.arrays import BoolArray, Float64Array, Int64Array
from constructions.counted import counted
from constructions.models.model import Model
from constructions.tasks.any_task import AnyTask, Listing
from constructions.tasks.criterion import Criterion
from verify.arithmetic.elementary import log
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import down, up
from verify.arithmetic.sums import lower_sum, total
from verify.divergence.kullback_leibler import (
    argmax_margin,
    divergence,
    empirical_divergence,
    entropy,
    label_divergence,
    mean_upper_bound,
    quadratic_divergence_bound,
)
from verify.forward.ladder import Precision, rising_precision
from verify.forward.walk import contexts_of
from verify.progress import Progress
from verify.runs.exact_sums import InReals
from verify.runs.integer_rows import known_logits

Bounds = Float64Array | tuple[Float64Array, Float64Array]  # from below and above, each `[T]`

ArgmaxProof = Callable[[Model, Int64Array], tuple[Int64Array, Float64Array]]
"""Proves where the largest logit of some contexts is, `[T]`, -1 where it does not; and by how much it leads, `[T]`."""

_SMALL_DIVERGENCE = 2.0**-20  # nats; the quadratic bound of less is sharp enough
_SHORT = ("integers", "float64")  # the arithmetics that enclose outputs as they are
_BEYOND = "every float64 run"
_PRECISIONS = ("integers", *get_args(Precision), _BEYOND)
_MOST_BITS = 512  # of the balls; two logits that these do not tell apart are taken for a tie that stays open


@dataclass(frozen=True, eq=False)
class Answers:
    """What was proved about each context, one entry each.

    Args:
        margin_lower: Of the least logit of a mode minus the largest of the others, `[T]`; infinite where every token is
            a mode, and everywhere for values.
        margin_upper: The same from above, `[T]`.
        loss_lower: Of the loss, `[T]`; for laws 0 where the loss is surely within the tolerance.
        loss_upper: The same from above, `[T]`; may be infinite.
        empirical: Enclosure of KL(counts || softmax) of the memorized contexts, nats, `[T]`; none for vectors.
        outputs: Enclosure of the logits or outputs in float64, `[T, d_vocab_out]`, if it was asked for.
        precision: The arithmetic of the bounds, `[T]`: ``"integers"``, or a `verify.forward.ladder.Precision`.
    """

    margin_lower: Float64Array
    margin_upper: Float64Array
    loss_lower: Float64Array
    loss_upper: Float64Array
    empirical: Enclosure | None
    outputs: Enclosure | None
    precision: NDArray[np.str_]

    def held(self, target: str, tolerance: float) -> BoolArray:
        """Which contexts are surely held (`Criterion`), `[T]`."""
        return _held((self.margin_lower, self.margin_upper), (self.loss_lower, self.loss_upper), target, tolerance)

    def wrong(self, target: str, tolerance: float) -> BoolArray:
        """Which contexts are surely not held, `[T]`."""
        return _wrong((self.margin_lower, self.margin_upper), (self.loss_lower, self.loss_upper), target, tolerance)

    def decided_by(self) -> str:
        """How many contexts each arithmetic had the last word on."""
        found = Counter(str(name) for name in self.precision)
        return ", ".join(
            f"{found[name]} of {counted(len(self.precision), 'context')} in {name}"
            for name in _PRECISIONS
            if found[name]
        )

    def mean_loss(self) -> tuple[float, float]:
        """Lower and upper bound of the mean loss."""
        lower = float(down(lower_sum(self.loss_lower) / len(self.loss_lower)))
        # A mean is no larger than the largest, whatever its rounding.
        return max(0.0, lower), min(mean_upper_bound(self.loss_upper), float(self.loss_upper.max()))


def judge_answers(
    model: Model,
    task: AnyTask,
    criterion: Criterion,
    *,
    keep_outputs: bool = False,
    two_sided: bool = False,
    beyond: ArgmaxProof | None = None,
    progress: Progress,
) -> Answers:
    """Bound margins and losses of every context.

    Models that work on integers are judged in integers (`verify/runs/integer_rows.py`). A context of which these and
    float64 prove neither that it is held nor that it is not goes on to double-double and to balls
    (`verify/forward/ladder.py:rising_precision`).

    Args:
        model: The weights: any model of blocks.
        task: The contexts and their targets.
        criterion: What is asked; of it the tolerance and whether a mean must be known from below matter.
        keep_outputs: Return the outputs.
        two_sided: Enclose the divergences of laws themselves, also where a bound from above would do.
        beyond: What is asked of labels that all these leave open, such as every run in float64: real arithmetic is a
            run whose roundings are 0, so that what holds in every run holds exactly.
        progress: Called with the stage and the finished share of it.

    Returns:
        The bounds.
    """
    if task.listing is None:
        return _whole_answers(model, task, criterion, beyond, progress)
    return _listed_answers(model, task.listing, criterion, keep_outputs, two_sided, beyond, progress)


def _listed_answers(
    model: Model,
    task: Listing,
    criterion: Criterion,
    keep_outputs: bool,
    two_sided: bool,
    beyond: ArgmaxProof | None,
    progress: Progress,
) -> Answers:
    """The bounds of contexts that stand in one list."""
    size = task.n_contexts
    margins, losses, empirical = (np.zeros((2, size)) for _ in range(3))
    margins[:] = np.inf
    kept = [np.empty((size if keep_outputs else 0, model.d_vocab_out)) for _ in range(2)]
    precisions, is_open = np.full(size, "", dtype="U17"), np.ones(size, dtype=bool)
    for precision, contexts, like, outputs in _enclosures(model, task, is_open):
        rows = np.zeros(len(outputs), dtype=np.int64)
        rows[like] = contexts  # one context of each kind is judged
        if task.values is not None:
            distance = abs(outputs - task.values[rows])
            losses[0, rows] = np.maximum(0.0, distance.lower().max(axis=1))
            losses[1, rows] = distance.upper().max(axis=1)
        else:
            modes = task.modes(rows)
            margins[0, rows], margins[1, rows] = argmax_margin(outputs, modes), margin_upper(outputs, modes)
            losses[:, rows] = _divergences(outputs, task, rows, criterion, two_sided=two_sided)
        if task.observed is not None:
            found = empirical_divergence(outputs, task.observed.take(rows))
            empirical[0, rows], empirical[1, rows] = found.midpoint, found.radius
        if keep_outputs and precision in _SHORT:
            radius = np.broadcast_to(outputs.radius, outputs.shape)  # one number where all have it
            kept[0][contexts], kept[1][contexts] = outputs.midpoint[like], radius[like]
        for bounds in (margins, losses, empirical):
            bounds[:, contexts] = bounds[:, rows[like]]
        precisions[contexts] = precision
        parts = margins[:, contexts], losses[:, contexts]
        decided = _held(*parts, task.target, criterion.tolerance) | _wrong(*parts, task.target, criterion.tolerance)
        is_open[contexts[decided]] = False
        stage, done = "answers" if precision in _SHORT else f"answers, {precision}", int(contexts.max()) + 1
        progress(stage, done / size, f"{done} of {size} contexts")
    if beyond is not None and model.reads_tokens and task.target == "labels" and is_open.any():
        rows = np.flatnonzero(is_open)
        contexts, labels = contexts_of(model, task.inputs)[rows], task.classes[rows]
        progress(f"answers, {_BEYOND}", None, f"{len(rows)} of {size} contexts")
        place, lead = beyond(model, contexts)
        is_right = place == labels
        is_wrong = ~is_right & (place >= 0)
        # Where another output is ahead of all others, that of the label is behind by as much.
        margins[0, rows[is_right]], margins[1, rows[is_wrong]] = lead[is_right], -lead[is_wrong]
        precisions[rows[place >= 0]] = _BEYOND
    return Answers(
        margin_lower=margins[0],
        margin_upper=margins[1],
        loss_lower=losses[0],
        loss_upper=losses[1],
        empirical=None if task.observed is None else Enclosure(empirical[0], empirical[1]),
        outputs=Enclosure(kept[0], kept[1]) if keep_outputs else None,
        precision=precisions,
    )


def _whole_answers(
    model: Model, task: AnyTask, criterion: Criterion, beyond: ArgmaxProof | None, progress: Progress
) -> Answers:
    """The bounds of each fact: the least margin of the tokens of its answer, and the sum of their losses.

    The sum is the divergence of the law of whole answers from the answer: minus the logarithm of its probability.
    """
    size = task.n_contexts
    margins, losses, last = np.full((2, size), np.inf), np.zeros((2, size)), np.zeros(size, dtype=np.int64)
    for part in task.parts:
        found = judge_answers(model, part.task, criterion, beyond=beyond, progress=progress)
        at, of = part.facts, part.places  # a fact has at most one context of a length
        margins[:, at] = np.minimum(margins[:, at], np.stack([found.margin_lower, found.margin_upper])[:, of])
        losses[0, at] = np.maximum(0.0, down(losses[0, at] + found.loss_lower[of]))
        losses[1, at] = up(losses[1, at] + found.loss_upper[of])
        ranks = np.array([_PRECISIONS.index(str(name)) for name in found.precision])
        last[at] = np.maximum(last[at], ranks[of])
    return Answers(*margins, *losses, empirical=None, outputs=None, precision=np.array(_PRECISIONS)[last])


def _enclosures(
    model: Model, task: Listing, is_open: BoolArray
) -> Iterator[tuple[str, Int64Array, Int64Array, Enclosure]]:
    """The precision, contexts, which outputs each has, and their enclosure; of all contexts, then of those still open.

    Contexts that share outputs are of one kind: the same is asked of them.
    """
    if model.reads_tokens:
        for part in known_logits(model, contexts_of(model, task.inputs), InReals()):
            for contexts, like, outputs in part.judged(task.kinds):
                yield "integers", contexts, like, outputs
    for precision, _, rows, outputs in rising_precision(model, task.inputs, is_open, most_bits=_MOST_BITS):
        yield precision, rows, np.arange(len(rows)), outputs


def _held(margins: Bounds, losses: Bounds, target: str, tolerance: float) -> BoolArray:
    right = margins[0] > 0.0
    return right if target == "labels" else right & (losses[1] <= tolerance)


def _wrong(margins: Bounds, losses: Bounds, target: str, tolerance: float) -> BoolArray:
    wrong = margins[1] <= 0.0
    return wrong if target == "labels" else wrong | (losses[0] > tolerance)


def _divergences(
    outputs: Enclosure, task: Listing, rows: Int64Array, criterion: Criterion, *, two_sided: bool
) -> Float64Array:
    """Lower and upper bounds of the divergence of a few contexts, `[2, rows]`."""
    laws = task.laws
    if laws is None:
        exact = label_divergence(outputs, task.classes[rows])
        return np.stack([np.maximum(0.0, exact.lower()), exact.upper()])
    above = quadratic_divergence_bound(outputs, laws[rows])
    below = np.zeros_like(above)
    # The quadratic bound is sharp where it is small; elsewhere the divergence itself is enclosed.
    wanted = two_sided or criterion.asked == "at-most"
    if wanted or not bool((above < min(_SMALL_DIVERGENCE, criterion.tolerance)).all()):
        exact = divergence(outputs, laws[rows])
        above, below = np.minimum(above, exact.upper()), np.maximum(0.0, exact.lower())
    return np.stack([below, above])


def margin_upper(outputs: Enclosure, modes: BoolArray) -> Float64Array:
    """Upper bound of the least logit of a mode minus the largest of the others; infinite where there are no others.

    Args:
        outputs: Logits, `[T, N]`.
        modes: Which tokens are modes of the target, `[T, N]`.

    Returns:
        The bounds, `[T]`.
    """
    least_mode = np.where(modes, outputs.upper(), np.inf).min(axis=1)
    largest_other = np.where(modes, -np.inf, outputs.lower()).max(axis=1)
    with np.errstate(all="ignore"):
        gap = up(least_mode - largest_other)
    # A difference of float64 is 0 only if they are equal, so the comparison itself is exact.
    return np.where(least_mode <= largest_other, np.minimum(0.0, gap), gap)


def guess_loss(task: AnyTask) -> Enclosure:
    r"""The mean loss of the best guess that does not look at the context; for values no more than that.

    Over all laws q the mean of $d_{KL}(\pi_t \Vert q)$ is least for $q = \bar\pi$, the mean of the $\pi_t$, where it is
    $h(\bar\pi) - \frac1T \sum_t h(\pi_t)$; for labels the second term is 0. For values the largest distance from one
    output is at least the distance of any entry, whose mean is least at the median. Of answers of several tokens it may
    see those before: the sum of the first term over all beginnings of answers, each times the share of its facts.

    Args:
        task: The contexts, each of the same weight, and their targets.

    Returns:
        Enclosure of a number, nats or the unit of the values.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> guess = guess_loss(table_task("a,x\nb,y\n", target="labels"))
        >>> bool(guess.lower() <= np.log(2) <= guess.upper())
        True
    """
    listing = task.listing
    if listing is None:
        times = [np.array([*each.values()], dtype=np.float64) for each in task.following.values()]
        parts = [entropy(each[np.newaxis])[0] * float(each.sum()) for each in times]
        return sum(parts[1:], parts[0]) / float(task.n_contexts)
    if listing.values is not None:
        ordered = np.sort(listing.values, axis=0)
        half = len(ordered) // 2
        apart = Enclosure.exact(ordered[::-1][:half]) - Enclosure.exact(ordered[:half])
        sums = total(apart, 0) / float(len(ordered))
        return sums[int(sums.midpoint.argmax())]
    laws = listing.laws
    if laws is None:
        return entropy(np.bincount(listing.classes).astype(np.float64)[np.newaxis])[0]
    exact = Enclosure.exact(laws)
    shares = exact / total(exact, 1)[:, np.newaxis]
    mean = total(shares, 0) / float(len(laws))
    return -total(mean * log(mean), 0) - total(entropy(laws), 0) / float(len(laws))
