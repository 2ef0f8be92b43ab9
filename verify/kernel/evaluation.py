"""Evaluate a model on the contexts of a task: margins and losses in balls, and the answers of every run of a format.

Exact columns come first, for models that they fit; balls of more and more bits for what they leave open.

Page: docs/rigour/kernel.md
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

from flint import arb, ctx

from verify.kernel import balls
from verify.kernel.accounts import Account, Reals, Runs
from verify.kernel.columns import RADIUS, Column, column_of
from verify.kernel.model import Model
from verify.kernel.task import Context, Task
from verify.kernel.walk import UnfitError, Walk, fits

FORMATS = {
    "float64": (53, -1022, 1023),
    "float32": (24, -126, 127),
    "bfloat16": (8, -126, 127),
    "float16": (11, -14, 15, 11),
}
"""By name p, the exponents of the least normal number and of the largest power of two, and P if it is not 64."""

_BITS = 256  # of balls of logits that are exact integers
_CELLS = 2**22  # tokens of the contexts that are walked together
_LONG = 60.0  # seconds of which one is told beforehand
_FEW = 16  # contexts that are evaluated first, to know how long the others take
_CLOSE = RADIUS - 40  # exact columns say nothing of real arithmetic where it may be further off than 2^-40


@dataclass(frozen=True)
class Found:
    """The result for one context.

    Args:
        gap: The least logit of a mode less the largest of the others; none where there are no others, and for values.
        loss: The divergence of the target from the prediction, nats; of values the largest distance of an output.
    """

    gap: arb | None
    loss: arb

    def is_memorized(self, target: str, tolerance: arb) -> bool | None:
        """Tell whether the context is memorized: True or False if proved, otherwise None."""
        right, close = self.gap is None or self.gap > 0, target == "labels" or self.loss <= tolerance
        if right and close:
            return True
        wrong = (self.gap is not None and self.gap <= 0) or (target != "labels" and self.loss > tolerance)
        return False if wrong else None


@dataclass
class Evaluation:
    """A model on a task.

    Args:
        model: The model.
        task: The task.
        formats: Names of the formats whose runs are followed.
        tell: Told how long it takes, where that is more than a minute.
    """

    model: Model
    task: Task
    formats: Sequence[str]
    tell: Callable[[str], None] = lambda text: None
    in_runs: dict[str, dict[int, Found]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    @cached_property
    def in_reals(self) -> list[Found | None]:
        """Judge each context in real arithmetic by exact columns; fill `in_runs` and `reasons` as well."""
        count = len(self.task.contexts)
        self.reasons = dict.fromkeys(self.formats, "the model reads vectors, normalizes, has smooth neurons or more")
        if not fits(self.model):  # which those that read vectors do not
            return [None] * count
        runs = [Runs(*FORMATS[name]) for name in self.formats]
        reals: list[Found | None] = [None] * count
        memorized: list[dict[int, Found]] = [{} for _ in runs]
        try:
            for i, found, known in self._walked([Reals(), *runs]):
                reals[i] = found[0] if known else None
                for own, judgement in zip(memorized, found[1:], strict=True):
                    own[i] = judgement
        except UnfitError as error:
            self.reasons = dict.fromkeys(self.formats, str(error))
            return [None] * count
        self.reasons = {name: account.overflow for name, account in zip(self.formats, runs, strict=True)}
        self.in_runs = dict(zip(self.formats, memorized, strict=True))
        return reals

    def parts(self) -> Iterator["Evaluation"]:
        """Yield the model on each part of the task, if it has several."""
        begun, first = time.process_time(), True
        for part in self.task.parts():
            yield self if part is self.task else Evaluation(self.model, part, self.formats)
            if first:
                self.announce((time.process_time() - begun) * (self.task.sizes()["contexts"] / len(part.facts) - 1))
            first = False

    def follow(self) -> None:
        """Make sure that `in_runs` and `reasons` are filled."""
        _ = self.in_reals

    def _walked(self, accounts: list[Account]) -> Iterator[tuple[int, list[Found], bool]]:
        """Return each account's result for each context, and whether it is close to real arithmetic; length by
        length.
        """
        contexts, walk = self.task.contexts, Walk(self.model, accounts)
        begun, done = time.process_time(), 0
        for numbers in _by_length(contexts):
            walk.plan([contexts[i] for i in numbers])
            step = max(1, _CELLS // len(contexts[numbers[0]]))
            for start in range(0, len(numbers), step):
                chunk = numbers[start : start + step]
                yield from self._chunk(walk, chunk)
                if done == 0 and len(chunk) < len(contexts):
                    self.announce((time.process_time() - begun) * (len(contexts) / len(chunk) - 1))
                done += len(chunk)

    def _chunk(self, walk: Walk, numbers: Sequence[int]) -> Iterator[tuple[int, list[Found], bool]]:
        """Yield the results of `_walked` for some contexts of one length."""
        rows, places = _distinct_rows(walk.run([self.task.contexts[i] for i in numbers]), len(numbers))
        read = [walk.mapped(walk.out, j, rows) for j in range(self.model.outputs)]
        off = [max(column.off[a] for column in read) for a in range(len(walk.accounts))]
        known: dict[tuple[int, object], list[Found]] = {}
        logits = _Logits(read)
        with ctx.workprec(_BITS):
            errors = [arb((r, -RADIUS)) for r in off]
            for i, place in zip(numbers, places, strict=True):
                key = place, self.task.labels[i] if self.task.distributions is None else i
                if key not in known:
                    row = logits.of(place)
                    in_runs = [judged(self.task, i, row, error, is_run=True) for error in errors[1:]]
                    known[key] = [judged(self.task, i, row, errors[0]), *in_runs]
                yield i, known[key], off[0] < 1 << _CLOSE

    def announce(self, seconds: float) -> None:
        """Announce the expected time if it is more than a minute."""
        tell_if_long(self.tell, seconds)

    def in_balls(self, contexts: Sequence[int], bits: int) -> Iterator[tuple[int, Found]]:
        """Yield the results of balls for some contexts."""
        with ctx.workprec(bits):
            for i, row in zip(contexts, self.logits([self.task.contexts[i] for i in contexts], bits), strict=True):
                yield i, judged(self.task, i, row, arb(0))

    def logits(self, contexts: Sequence[Context], bits: int) -> Iterator[list[arb]]:
        """Yield the logits after some contexts, in balls."""
        begun, first = time.process_time(), True
        for some in balls.batches(contexts, _FEW):
            yield from balls.logits(self.model, some, bits, self.task.vectors)
            if first:
                self.announce((time.process_time() - begun) * (len(contexts) / len(some) - 1))
            first = False


def tell_if_long(tell: Callable[[str], None], seconds: float) -> None:
    """Announce the expected time if it is more than a minute."""
    if seconds > _LONG:
        tell(f"about {seconds / 60:.0f} minutes more")


class _Logits:
    """The logits of distinct rows as balls; the last row is cached."""

    def __init__(self, columns: list[Column]) -> None:
        self.columns, self.last, self.row = columns, -1, list[arb]()

    def of(self, place: int) -> list[arb]:
        """Return the logits of a row, exact."""
        if place != self.last:
            numbers = [(c.numbers or [])[place if len(c.numbers or []) > 1 else 0] for c in self.columns]
            self.row = [arb((n, -c.scale)) for n, c in zip(numbers, self.columns, strict=True)]
            self.last = place
        return self.row


def _by_length(contexts: Sequence[Context]) -> list[list[int]]:
    """Group the context numbers by length."""
    by_length: dict[int, list[int]] = {}
    for i, context in enumerate(contexts):
        by_length.setdefault(len(context), []).append(i)
    return list(by_length.values())


def _distinct_rows(row: list[Column], count: int) -> tuple[list[Column], list[int]]:
    """Return the distinct last rows of some contexts by columns, and the index of each context's row."""
    long = [column for column in row if not column.is_constant and column.numbers is not None]
    if not long:
        return row, [0] * count
    row_numbers: dict[tuple[int, ...], int] = {}
    places = [
        row_numbers.setdefault(key, len(row_numbers)) for key in zip(*(c.numbers or [] for c in long), strict=True)
    ]
    narrow = dict(zip(long, zip(*row_numbers, strict=True), strict=True))
    return [column_of(list(narrow[c]), c.scale, c.off) if c in narrow else c for c in row], places


def judged(task: Task, i: int, logits: list[arb], error: arb, *, is_run: bool = False) -> Found:
    r"""Return the gap and the loss of a context whose logits are within an error of these balls.

    An error $\varepsilon$ moves a gap by at most $2 \varepsilon$, and a distance from a value by at most $\varepsilon$.
    Of a label in runs no loss is asked.
    """
    if task.target == "values" and task.vectors is not None:
        distances = [abs(x - arb(y)) for x, y in zip(logits, task.vectors.values.row(i), strict=True)]
        return Found(None, reduce(_largest, distances) + arb(0, error))
    modes = task.modes(i)
    others = [z for j, z in enumerate(logits) if j not in modes]
    gap = reduce(_least, [logits[j] for j in modes]) - reduce(_largest, others) + arb(0, 2 * error) if others else None
    if task.distributions is None and is_run:
        return Found(gap, arb(0))
    masses = {modes[0]: 1} if task.distributions is None else dict(enumerate(task.distributions[i]))
    return Found(gap, divergence(masses, logits, error))


def whole(parts: Sequence[Found]) -> Found:
    """Combine the contexts of a fact: the least of their gaps, and the sum of their losses."""
    gaps = [part.gap for part in parts if part.gap is not None]
    return Found(reduce(_least, gaps) if gaps else None, sum((part.loss for part in parts[1:]), parts[0].loss))


def divergence(masses: Mapping[int, float], logits: list[arb], error: arb) -> arb:
    r"""Return the divergence of the distribution with these positive masses, of any common unit, from the prediction,
    nats.

    The logits are within an error $\varepsilon$ of these balls. Of one label $l$ it is
    $\log(1 + \sum_{j \ne l} e^{z_j - z_l})$, where the error multiplies the sum by at most $e^{2 \varepsilon}$; of a
    distribution p it is $\log \sum_j e^{z_j} - \sum_j p_j z_j - h(p)$ with the entropy h, whose gradient in the logits,
    the prediction less the distribution, has a 1-norm of at most 2.
    """
    if len(masses) == 1:
        (label,) = masses
        others = sum(((z - logits[label]).exp() for j, z in enumerate(logits) if j != label), arb(0))
        return (others * arb(0, 2 * error).exp()).log1p()
    top = reduce(_largest, logits).mid()
    distribution = {place: arb(mass) for place, mass in masses.items()}
    log_sum = sum(((z - top).exp() for z in logits), arb(0)).log()
    cross = sum((mass * (logits[place] - top) for place, mass in distribution.items()), arb(0)) / sum(
        distribution.values(), arb(0)
    )
    return log_sum - cross - entropy(list(distribution.values())) + arb(0, 2 * error)


def _least(a: arb, b: arb) -> arb:
    """Return the smaller of two; if the order is certain, return that one itself, so that exact numbers stay exact."""
    return a if a <= b else b if b <= a else a.min(b)


def _largest(a: arb, b: arb) -> arb:
    return a if a >= b else b if b >= a else a.max(b)


def entropy(masses: list[arb]) -> arb:
    """Return the entropy of the distribution with these positive masses, of any common unit, nats."""
    total = sum(masses, arb(0))
    return total.log() - sum((mass * mass.log() for mass in masses), arb(0)) / total


def guess(task: Task) -> tuple[arb, int | None]:
    r"""Return the least mean loss of a guess that ignores the context, and the count of the most frequent label.

    The mean of $d_{KL}(\pi_t \| q)$ over the contexts is $h(\bar\pi) - \frac1T \sum_t h(\pi_t) + d_{KL}(\bar\pi \| q)$,
    so it is least for the mean $\bar\pi$ of the distributions; a label is a distribution without entropy. A row c of
    values is further from each row than its coordinate j is, $\max_j |c_j - y_{tj}| \ge |c_j - y_{tj}|$, and the sum of
    these over t is least at a median: what is above it less what is below. So the largest of these means bounds every
        guess.

    A guess of answers of several tokens knows what it has said so far: after each beginning its loss is least for the
    frequencies of what follows, and it holds all answers with which the one that it says begins.
    """
    if task.target == "values" and task.vectors is not None:
        rows, half = [task.vectors.values.row(i) for i in range(len(task.contexts))], len(task.contexts) // 2
        columns = [[arb(y) for y in sorted(column)] for column in zip(*rows, strict=True)]
        sums = [sum(c[len(c) - half :], arb(0)) - sum(c[:half], arb(0)) for c in columns]
        return reduce(_largest, sums) / len(rows), None
    if task.distributions is None:
        answers = Counter(tuple([task.labels[i] for i in fact]) for fact in task.facts)
        following: dict[tuple[int, ...], Counter[int]] = {}
        for answer, times in answers.items():
            for i, token in enumerate(answer):
                following.setdefault(answer[:i], Counter())[token] += times
        counts = [list(after.values()) for after in following.values()]
        loss = sum(
            (sum(token_counts) * entropy([arb(count) for count in token_counts]) for token_counts in counts), arb(0)
        ) / len(task.facts)
        return loss, max(sum(answers[answer[: i + 1]] for i in range(len(answer))) for answer in answers)
    mean, own = [arb(0)] * task.width, arb(0)
    for distribution in task.distributions:
        masses = [arb(mass) for mass in distribution]
        total = sum(masses, arb(0))
        mean = [m + mass / total for m, mass in zip(mean, masses, strict=True)]
        own += entropy(masses)
    return entropy(mean) - own / len(task.distributions), None
