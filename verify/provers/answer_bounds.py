"""Prove bounds of the margin and the loss of each context of a task.

The loss of a context is the divergence of the prediction from the target, nats; for values the largest distance of an
output from its value.

Page: docs/rigour/certificate.md
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from constructions.counted import counted
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.progress import Progress
from constructions.tasks.any_task import AnyTask, Listing
from constructions.tasks.criterion import Criterion
from verify.arithmetic.elementary import log
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import down, up
from verify.arithmetic.sums import lower_sum, total
from verify.divergence.kullback_leibler import (
    argmax_margin,
    divergence,
    entropy,
    label_divergence,
    mean_upper_bound,
    quadratic_divergence_bound,
)
from verify.forward.ladder import Precision, rising_of_parts
from verify.forward.walk import contexts_of
from verify.runs.in_reals import InReals
from verify.runs.integer_rows import known_logits

Bounds = Float64Array | tuple[Float64Array, Float64Array]  # from below and above, each `[T]`

ArgmaxProof = Callable[[Model, Int64Array], tuple[Int64Array, Float64Array]]
"""Proves where the largest logit of some contexts is, `[T]`, -1 where it does not; and by how much it leads, `[T]`."""

Decided = Callable[[int, bool, float, str], None]
"""Called with each fact once it is decided: its place, whether it is memorized, its margin at least, or at most where
it is
not memorized, and the arithmetic that decides."""

_SMALL_DIVERGENCE = 2.0**-20  # nats; the quadratic bound of less is sharp enough
_SHORT = ("integers", "float64")  # the arithmetics that enclose outputs as they are
_BEYOND = "every float64 run"
_PRECISIONS = ("integers", *get_args(Precision), _BEYOND)
_MOST_BITS = 512  # of the balls; two logits that these do not tell apart are taken for a tie that stays open


@dataclass(frozen=True, eq=False)
class Answers:
    """The proved bounds of each context, one entry each.

    Args:
        margin_lower: Of the least logit of a mode minus the largest of the others, `[T]`; infinite where every token is
            a mode, and everywhere for values.
        margin_upper: The same from above, `[T]`.
        loss_lower: Lower bounds of the loss, `[T]`; for distributions 0 where the loss is surely within the tolerance.
        loss_upper: The same from above, `[T]`; may be infinite.
        outputs: Enclosure of the logits or outputs in float64, `[T, d_vocab_out]`, if it was asked for.
        precision: The arithmetic of the bounds, `[T]`: ``"integers"``, or a `verify.forward.ladder.Precision`.
    """

    margin_lower: Float64Array
    margin_upper: Float64Array
    loss_lower: Float64Array
    loss_upper: Float64Array
    outputs: Enclosure | None
    precision: NDArray[np.str_]

    def memorized(self, target: str, tolerance: float) -> BoolArray:
        """Return which contexts are proved to be memorized (`Criterion`), `[T]`."""
        return _memorized((self.margin_lower, self.margin_upper), (self.loss_lower, self.loss_upper), target, tolerance)

    def wrong(self, target: str, tolerance: float) -> BoolArray:
        """Return which contexts are proved not to be memorized, `[T]`."""
        return _wrong((self.margin_lower, self.margin_upper), (self.loss_lower, self.loss_upper), target, tolerance)

    def decided_by(self) -> str:
        """Return how many contexts each precision decided."""
        counts = Counter(str(name) for name in self.precision)
        return ", ".join(
            f"{counts[name]} of {counted(len(self.precision), 'context')} in {name}"
            for name in _PRECISIONS
            if counts[name]
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
    decided: Decided | None = None,
    progress: Progress,
) -> Answers:
    """Bound margins and losses of every context.

    Models that work on integers are judged in integers (`verify/runs/integer_rows.py`). A context of which these and
    float64 prove neither that it is memorized nor that it is not goes on to double-double and to balls
    (`verify/forward/ladder.py:rising_of_parts`), where contexts of several lengths share the rows of what they begin
    with.

    Args:
        model: The weights: any model of blocks.
        task: The contexts and their targets.
        criterion: What is asked; of it the tolerance and whether a mean must be known from below matter.
        keep_outputs: Return the outputs.
        two_sided: Enclose the divergences of distributions themselves, also where a bound from above would do.
        beyond: What is asked of labels that all these leave open, such as every run in float64: real arithmetic is a
            run whose roundings are 0, so that what holds in every run holds exactly.
        decided: Called with each prompt once its answer is decided.
        progress: Called with the stage and the finished share of it.

    Returns:
        The bounds.
    """
    if task.listing is not None:
        [answers] = _of_parts(model, [task.listing], criterion, keep_outputs, two_sided, beyond, None, progress)
        return answers
    return _whole_answers(model, task, criterion, beyond, decided, progress)


class _Bounds:
    """The current bounds of the contexts of one length.

    Args:
        model: The weights.
        task: The contexts and their targets.
        criterion: As for `judge_answers`.
        keep_outputs: As for `judge_answers`.
        two_sided: As for `judge_answers`.
    """

    def __init__(self, model: Model, task: Listing, criterion: Criterion, keep_outputs: bool, two_sided: bool) -> None:
        size = task.n_contexts
        self.task, self.criterion, self.keep_outputs, self.two_sided = task, criterion, keep_outputs, two_sided
        self.margins, self.losses = np.zeros((2, size)), np.zeros((2, size))
        self.margins[:] = np.inf
        self.kept = [np.empty((size if keep_outputs else 0, model.d_vocab_out)) for _ in range(2)]
        self.precisions, self.is_open = np.full(size, "", dtype="U17"), np.ones(size, dtype=bool)

    def take(self, precision: str, contexts: Int64Array, like: Int64Array, outputs: Enclosure) -> None:
        """Judge contexts by their outputs; those that share outputs have the same target.

        Args:
            precision: The precision that computed the outputs.
            contexts: Indices of the contexts.
            like: Indices of the outputs of each.
            outputs: Their enclosure.
        """
        task, criterion = self.task, self.criterion
        rows = np.zeros(len(outputs), dtype=np.int64)
        rows[like] = contexts  # one context of each kind is judged
        if task.values is not None:
            distance = abs(outputs - task.values[rows])
            self.losses[0, rows] = np.maximum(0.0, distance.lower().max(axis=1))
            # The upper end: that no distance is larger than the lower one is not known.
            self.losses[1, rows] = distance.upper().max(axis=1)
        else:
            modes = task.modes(rows)
            self.margins[0, rows], self.margins[1, rows] = argmax_margin(outputs, modes), margin_upper(outputs, modes)
            self.losses[:, rows] = _divergences(outputs, task, rows, criterion, two_sided=self.two_sided)
        # Of longer precisions the outputs are known less their largest alone: these are no logits.
        if self.keep_outputs and precision in _SHORT:
            radius = np.broadcast_to(outputs.radius, outputs.shape)  # one number where all have it
            self.kept[0][contexts], self.kept[1][contexts] = outputs.midpoint[like], radius[like]
        for bounds in (self.margins, self.losses):
            bounds[:, contexts] = bounds[:, rows[like]]
        self.precisions[contexts] = precision
        parts = self.margins[:, contexts], self.losses[:, contexts]
        surely_right = _memorized(*parts, task.target, criterion.tolerance)
        surely_wrong = _wrong(*parts, task.target, criterion.tolerance)
        decided = surely_right | surely_wrong
        self.is_open[contexts[decided]] = False

    def ask(self, model: Model, beyond: ArgmaxProof) -> None:
        """Judge the open contexts by another proof of where the largest output is."""
        rows = np.flatnonzero(self.is_open)
        labels = self.task.classes[rows]
        place, lead = beyond(model, contexts_of(model, self.task.inputs)[rows])
        is_right = place == labels
        is_wrong = ~is_right & (place >= 0)
        # Where another output is ahead of all others, that of the label is behind by as much.
        self.margins[0, rows[is_right]], self.margins[1, rows[is_wrong]] = lead[is_right], -lead[is_wrong]
        self.precisions[rows[place >= 0]] = _BEYOND

    def answers(self) -> Answers:
        """Return the current bounds."""
        return Answers(
            margin_lower=self.margins[0],
            margin_upper=self.margins[1],
            loss_lower=self.losses[0],
            loss_upper=self.losses[1],
            outputs=Enclosure(self.kept[0], self.kept[1]) if self.keep_outputs else None,
            precision=self.precisions,
        )


def _of_parts(
    model: Model,
    tasks: Sequence[Listing],
    criterion: Criterion,
    keep_outputs: bool,
    two_sided: bool,
    beyond: ArgmaxProof | None,
    judged: Callable[[int, str, "list[_Bounds]"], None] | None,
    progress: Progress,
) -> list[Answers]:
    """Return the bounds of contexts given as one list per length; `judged` is called after each step."""
    parts = [_Bounds(model, task, criterion, keep_outputs, two_sided) for task in tasks]
    size = sum(task.n_contexts for task in tasks)
    for precision, number, contexts, like, outputs in _enclosures(model, parts):
        parts[number].take(precision, contexts, like, outputs)
        if precision in _SHORT:
            stage = "answers"
            done = sum(task.n_contexts for task in tasks[:number]) + int(contexts.max()) + 1
        else:
            stage, done = f"answers, {precision}", size - sum(int(part.is_open.sum()) for part in parts)
        progress(stage, done / size, f"{done} of {size} contexts")
        if judged is not None:
            judged(number, precision, parts)
    if beyond is not None and model.reads_tokens:
        for number, part in enumerate(parts):
            if part.task.target == "labels" and part.is_open.any():
                progress(f"answers, {_BEYOND}", None, f"{int(part.is_open.sum())} of {size} contexts")
                part.ask(model, beyond)
                if judged is not None:
                    judged(number, _BEYOND, parts)
    return [part.answers() for part in parts]


def _whole_answers(
    model: Model,
    task: AnyTask,
    criterion: Criterion,
    beyond: ArgmaxProof | None,
    decided: Decided | None,
    progress: Progress,
) -> Answers:
    """Return the bounds of each fact: the least margin of its answer tokens, and the sum of their losses.

    The sum is the divergence of the distribution of whole answers from the answer: minus the logarithm of its
        probability.
    """
    size = task.n_contexts
    margins, losses, last = np.full((2, size), np.inf), np.zeros((2, size)), np.zeros(size, dtype=np.int64)
    listings = [part.task for part in task.parts]
    told = None if decided is None else _Telling(task, decided).tell
    every = _of_parts(model, listings, criterion, False, False, beyond, told, progress)
    for part, part_answers in zip(task.parts, every, strict=True):
        at, of = part.facts, part.places  # a fact has at most one context of a length
        part_margins = np.stack([part_answers.margin_lower, part_answers.margin_upper])
        margins[:, at] = np.minimum(margins[:, at], part_margins[:, of])
        losses[0, at] = np.maximum(0.0, down(losses[0, at] + part_answers.loss_lower[of]))
        losses[1, at] = up(losses[1, at] + part_answers.loss_upper[of])
        ranks = np.array([_PRECISIONS.index(str(name)) for name in part_answers.precision])
        last[at] = np.maximum(last[at], ranks[of])
    return Answers(*margins, *losses, outputs=None, precision=np.array(_PRECISIONS)[last])


class _Telling:
    """Reports each fact once, when all contexts of its answer are memorized or one is not.

    Args:
        task: The facts.
        decided: What is called.
    """

    def __init__(self, task: AnyTask, decided: Decided) -> None:
        self.task, self.decided, self.told = task, decided, np.zeros(task.n_contexts, dtype=bool)

    def tell(self, number: int, precision: str, parts: list[_Bounds]) -> None:
        """Report the facts that a step on the part with this number decided."""
        margins = np.full((2, len(self.told)), np.inf)
        for part, bounds in zip(self.task.parts, parts, strict=True):
            known = np.where(bounds.precisions != "", bounds.margins, [[-np.inf], [np.inf]])
            margins[:, part.facts] = np.minimum(margins[:, part.facts], known[:, part.places])
        for fact in np.unique(self.task.parts[number].facts).tolist():
            memorized, wrong = margins[0, fact] > 0.0, margins[1, fact] <= 0.0
            if not self.told[fact] and (memorized or wrong):
                self.told[fact] = True
                self.decided(fact, bool(memorized), float(margins[0 if memorized else 1, fact]), precision)


def _enclosures(model: Model, parts: Sequence[_Bounds]) -> Iterator[tuple[str, int, Int64Array, Int64Array, Enclosure]]:
    """Yield precision, part, contexts, output index of each, and enclosed outputs; first for all contexts, then for
    open ones.
    """
    if model.reads_tokens:
        for number, part in enumerate(parts):
            for known in known_logits(model, contexts_of(model, part.task.inputs), InReals()):
                for contexts, like, outputs in known.judged(part.task.kinds):
                    yield "integers", number, contexts, like, outputs
    inputs, is_open = [part.task.inputs for part in parts], [part.is_open for part in parts]
    for precision, _, number, rows, outputs in rising_of_parts(model, inputs, is_open, most_bits=_MOST_BITS):
        yield precision, number, rows, np.arange(len(rows)), outputs


def _memorized(margins: Bounds, losses: Bounds, target: str, tolerance: float) -> BoolArray:
    # The ends that prove it: the least margin, above 0 because a tie is no answer, and of a distribution the largest
    # loss, which its mode says nothing of.
    right = margins[0] > 0.0
    return right if target == "labels" else right & (losses[1] <= tolerance)


def _wrong(margins: Bounds, losses: Bounds, target: str, tolerance: float) -> BoolArray:
    # The ends that prove it: the largest margin, where a tie is wrong too, or the least loss of a distribution. The
    # others leave it open.
    wrong = margins[1] <= 0.0
    return wrong if target == "labels" else wrong | (losses[0] > tolerance)


def _divergences(
    outputs: Enclosure, task: Listing, rows: Int64Array, criterion: Criterion, *, two_sided: bool
) -> Float64Array:
    """Lower and upper bounds of the divergence of a few contexts, `[2, rows]`."""
    distributions = task.distributions
    if distributions is None:
        exact = label_divergence(outputs, task.classes[rows])
        # The upper end from above: the lower one bounds nothing.
        return np.stack([np.maximum(0.0, exact.lower()), exact.upper()])
    above = quadratic_divergence_bound(outputs, distributions[rows])
    below = np.zeros_like(above)
    # The quadratic bound is sharp where it is small; elsewhere the divergence itself is enclosed.
    wanted = two_sided or criterion.asked == "at-most"
    if wanted or not bool((above < min(_SMALL_DIVERGENCE, criterion.tolerance)).all()):
        exact = divergence(outputs, distributions[rows])
        # The upper end from above: the lower one bounds nothing.
        above, below = np.minimum(above, exact.upper()), np.maximum(0.0, exact.lower())
    return np.stack([below, above])


def margin_upper(outputs: Enclosure, modes: BoolArray) -> Float64Array:
    """Return an upper bound of the least mode's logit minus the largest other one; infinite if there is no other.

    Args:
        outputs: Logits, `[T, N]`.
        modes: Whether each token is a mode of the target, `[T, N]`.

    Returns:
        The bounds, `[T]`.
    """
    # The least of all modes: one that wins is not enough for a distribution of several.
    least_mode = np.where(modes, outputs.upper(), np.inf).min(axis=1)
    largest_other = np.where(modes, -np.inf, outputs.lower()).max(axis=1)
    with np.errstate(all="ignore"):
        # Without `up` the bound is below the margin where the difference was rounded down.
        gap = up(least_mode - largest_other)
    # A difference of float64 is 0 only if they are equal, so the comparison itself is exact.
    return np.where(least_mode <= largest_other, np.minimum(0.0, gap), gap)


def guess_loss(task: AnyTask) -> Enclosure:
    r"""Return the mean loss of the best guess that does not look at the context; for values no more than that.

    Over all distributions q the mean of $d_{KL}(\pi_t \Vert q)$ is least for $q = \bar\pi$, the mean of the $\pi_t$,
    where it is $h(\bar\pi) - \frac1T \sum_t h(\pi_t)$; for labels the second term is 0. For values the largest distance
    from one output is at least the distance of any entry, whose mean is least at the median. Of answers of several
    tokens it may see those before: the sum of the first term over all beginnings of answers, each times the share of
        its facts.

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
        times = [np.array([*counts.values()], dtype=np.float64) for counts in task.following.values()]
        parts = [entropy(counts[np.newaxis])[0] * float(counts.sum()) for counts in times]
        return sum(parts[1:], parts[0]) / float(task.n_contexts)
    if listing.values is not None:
        ordered = np.sort(listing.values, axis=0)
        half = len(ordered) // 2
        apart = Enclosure.exact(ordered[::-1][:half]) - Enclosure.exact(ordered[:half])
        sums = total(apart, 0) / float(len(ordered))
        return sums[int(sums.midpoint.argmax())]
    distributions = listing.distributions
    if distributions is None:
        return entropy(np.bincount(listing.classes).astype(np.float64)[np.newaxis])[0]
    exact = Enclosure.exact(distributions)
    shares = exact / total(exact, 1)[:, np.newaxis]
    mean = total(shares, 0) / float(len(distributions))
    return -total(mean * log(mean), 0) - total(entropy(distributions), 0) / float(len(distributions))
