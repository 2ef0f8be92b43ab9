"""What outputs in balls say about the contexts of a task: the gaps of their modes and their losses.

Page: docs/rigour/certificate.md
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from flint import arb

from verify.arithmetic.integers import Integers
from verify.independent.ball_divergence import LogSoftmax, entropy, gap
from verify.independent.plain.plain_task import PlainTask, PlainVectorTask


@dataclass(frozen=True)
class Answer:
    """What was found out about one context.

    Args:
        margin: A ball of the gap between the modes and the others; nothing where there are no others, and for values.
        loss: A ball of the divergence in nats, or of the largest distance from the values; never below 0.
        empirical: For tokens a ball of the divergence of the law of the counts.
    """

    margin: arb | None
    loss: arb
    empirical: arb | None = None

    def held(self, target: str, tolerance: arb) -> bool:
        """Whether the context is surely held (`constructions.tasks.criterion.Criterion`)."""
        right = self.margin is None or self.margin > 0
        return right if target == "labels" else right and self.loss <= tolerance

    def wrong(self, target: str, tolerance: arb) -> bool:
        """Whether it surely is not."""
        wrong = self.margin is not None and self.margin <= 0
        return wrong if target == "labels" else wrong or self.loss > tolerance


@dataclass
class Targets:
    """The targets of a task, with what its laws and counts need more than once."""

    task: PlainTask | PlainVectorTask

    @cached_property
    def _laws(self) -> list[int]:
        """The laws as integers of one unit, which falls out of a law divided by its sum."""
        assert isinstance(self.task, PlainTask) and self.task.laws is not None
        return Integers.exact(self.task.laws.values).values

    def answers(
        self, examples: Sequence[int], outputs: list[arb], error: arb, logarithms: dict[int, arb]
    ) -> list[Answer]:
        """What the outputs that some contexts share say about each of them.

        Args:
            examples: The contexts.
            outputs: Balls of the outputs; of logits, up to a common constant.
            error: What each of them may be off beside its radius.
            logarithms: Of masses, kept from call to call at one precision.
        """
        task = self.task
        if task.target == "values":
            assert isinstance(task, PlainVectorTask)
            rows = ([abs(x - arb(y)) for x, y in zip(outputs, task.labels.row(i), strict=True)] for i in examples)
            return [Answer(None, _largest(row) + arb(0, error)) for row in rows]
        softmax, known, result = LogSoftmax.of(outputs, error), dict[object, Answer](), []
        for i in examples:
            key: object = i
            if task.target == "labels" and isinstance(task, PlainTask):
                key = task.labels[i], *sorted(task.counts[i].items())
            if key not in known:
                known[key] = self._answer(i, outputs, error, softmax, logarithms)
            result.append(known[key])
        return result

    def _answer(self, i: int, outputs: list[arb], error: arb, row: LogSoftmax, logarithms: dict[int, arb]) -> Answer:
        task = self.task
        modes = task.modes(i)
        margin = gap(outputs, modes)
        margin = None if margin is None else margin + arb(0, 2 * error)
        if task.target == "laws":
            width = task.n_outputs
            loss = row.divergence(dict(enumerate(self._laws[i * width : (i + 1) * width])), logarithms)
        else:
            loss = row.label_divergence(next(iter(modes)))
        empirical = row.divergence(task.counts[i], logarithms) if isinstance(task, PlainTask) else None
        return Answer(margin, loss, empirical)

    def most_frequent(self) -> int | None:
        """How many contexts have the label that most have; for labels alone."""
        return max(self._labels.values()) if self.task.target == "labels" else None

    @cached_property
    def _labels(self) -> Counter[int]:
        return Counter(chain.from_iterable(map(self.task.modes, range(self.task.sizes()["contexts"]))))

    def guess(self) -> arb:
        """The mean loss of the best guess that does not look at the context; for values no more than that."""
        task = self.task
        size = task.sizes()["contexts"]
        if task.target == "values":
            assert isinstance(task, PlainVectorTask)
            columns = (sorted(column) for column in zip(*map(task.labels.row, range(size)), strict=True))
            # The sum of the distances from a median, which is least: what is above it less what is below.
            sums = (sum(map(arb, c[-(size // 2) :]), arb(0)) - sum(map(arb, c[: size // 2]), arb(0)) for c in columns)
            return _largest([each / size for each in sums]) if size > 1 else arb(0)
        if task.target == "labels":
            return entropy(map(arb, self._labels.values()))
        width = task.n_outputs
        laws = [self._laws[i * width : (i + 1) * width] for i in range(size)]
        shares = [[arb(mass) / sum(law) for mass in law] for law in laws]
        mean = entropy(sum(column, arb(0)) for column in zip(*shares, strict=True))
        return mean - sum((entropy(map(arb, law)) for law in laws), arb(0)) / size


def mean_loss(answers: list[Answer]) -> arb:
    """The mean of the losses."""
    return sum((each.loss for each in answers), arb(0)) / len(answers)


def _largest(balls: list[arb]) -> arb:
    result = balls[0]
    for each in balls[1:]:
        result = result.max(each)
    return result
