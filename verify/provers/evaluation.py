"""A model on a task, as the provers of all kinds share it: what takes long is computed once.

Page: docs/rigour/certificate.md
"""

from dataclasses import dataclass, field
from functools import cached_property

from constructions.errors import FileFormatError, HypothesisError
from constructions.folds.fold import Fold
from constructions.model.model import Model
from constructions.model.shapes import is_dana_network, is_heads_alone, is_mahdavi_layer
from constructions.progress import Progress
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.rule import RuleTask
from verify.arithmetic.enclosure import Enclosure
from verify.certificates.certificate import SAMPLE, Certificate, StatementCheck
from verify.domains.rule_answers import ONE_BY_ONE, VISITS, RuleAnswers, judge_rule
from verify.domains.sample import drawn
from verify.folds.fold_answers import FoldAnswers, judge_fold
from verify.forward.heads import AttendedVectors, enclose_features, enclose_layer
from verify.provers.answer_bounds import Answers, ArgmaxProof, judge_answers

OF_PATHS = "longest paths through the states, and boxes of what the heads write"


@dataclass(eq=False, kw_only=True)
class Evaluation:
    """A model, what its certificate says, and what came of it so far.

    Args:
        certificate: What is proved again.
        model: The weights.
        asked: What is asked: what the certificate asks, or something else.
        progress: Called with the stage and the finished share of it.
        checks: What came of the statements before, by their labels.
    """

    certificate: Certificate
    model: Model
    asked: Criterion
    progress: Progress
    checks: dict[str, StatementCheck] = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class OnContexts(Evaluation):
    """A model on contexts and their targets.

    Args:
        task: The contexts.
        lower_losses: Whether losses are bounded from below too.
        beyond: As for `verify.provers.answer_bounds.judge_answers`.
    """

    task: AnyTask
    lower_losses: bool = False
    beyond: ArgmaxProof | None = None

    @property
    def path(self) -> str:
        """The arithmetic that was used, in words."""
        return f"proved bounds: {self.answers.decided_by()}"

    @property
    def asides(self) -> tuple[str, ...]:
        """What was found beside the numbers."""
        return ()

    @cached_property
    def answers(self) -> Answers:
        """The bounds of each context; from below where a mean is asked for, by whichever of the two."""
        either = self.asked if self.asked.asked == "at-most" else self.certificate.criterion
        return judge_answers(
            self.model,
            self.task,
            either,
            two_sided=self.lower_losses,
            beyond=self.beyond,
            progress=self.progress,
        )

    @cached_property
    def heads(self) -> AttendedVectors | None:
        """What the heads of a layer make of the vectors they read; none of other models."""
        return attended(self.model, self.task, self.progress)

    @cached_property
    def features(self) -> Enclosure | None:
        """What the heads of a model of one attention read from the contexts, `[T, columns]`; none of other models."""
        return self.heads.mixed if self.heads is not None else features(self.model, self.task, self.progress)


@dataclass(eq=False, kw_only=True)
class OnDomain(Evaluation):
    """A model on the whole domain of a rule, or on inputs that are drawn from it.

    Args:
        task: The rule.
        seed: With which inputs are drawn, where the certificate speaks of a sample.
    """

    task: RuleTask
    seed: str = ""

    @property
    def path(self) -> str:
        """The arithmetic that was used, in words."""
        return f"proved bounds: {self.answers.method}"

    @property
    def asides(self) -> tuple[str, ...]:
        """What was found beside the numbers."""
        return ()

    @cached_property
    def answers(self) -> RuleAnswers:
        """How many inputs are right, and how many wrong: of as many as the certificate speaks of, or as it would.

        Raises:
            KeyboardInterrupt: The rest was not looked at, so this is not an answer.
        """
        stored, sample, numbers = self.certificate.answers.values, self.certificate.statement(SAMPLE), None
        if sample is not None:
            subject, count = self.certificate.subject, int(sample.values["drawn"])
            numbers = drawn(subject.model, subject.task, self.task.n_contexts, count, self.seed)
        counted = int(stored["memorized"] + stored["wrong"])
        found = judge_rule(
            self.model,
            self.task,
            numbers=numbers,
            visits=max(VISITS, counted),
            one_by_one=max(ONE_BY_ONE, counted),
            progress=self.progress,
        )
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    @property
    def counts(self) -> tuple[int, int, int, str]:
        """Inputs that are right, that are wrong, those with the most frequent answer, and how it was found."""
        return self.answers.right, self.answers.wrong, self.task.guess_right, self.answers.method


@dataclass(eq=False, kw_only=True)
class OnFold(Evaluation):
    """A model on all inputs of a rule whose answers are said token by token.

    Args:
        task: The rule.
    """

    task: Fold

    @property
    def path(self) -> str:
        """The arithmetic that was used, in words."""
        return f"proved bounds: {OF_PATHS}"

    @property
    def asides(self) -> tuple[str, ...]:
        """An input that is answered wrongly, if one was found."""
        wrong = self.answers.wrong
        return () if wrong is None else (wrong.words(),)

    @cached_property
    def answers(self) -> FoldAnswers:
        """What was proved of the inputs.

        Raises:
            FileFormatError: A model to which the theorem does not apply.
        """
        try:
            return judge_fold(self.model, self.task, progress=self.progress)
        except HypothesisError as error:
            raise FileFormatError(f"the folder holds a model to which the theorem does not apply: {error}") from error

    @property
    def counts(self) -> tuple[int, int, int, str]:
        """Inputs that are right, that are wrong, a bound of those with one answer, and how it was found."""
        found = self.answers
        return found.inputs - found.left, int(found.wrong is not None), self.task.guess_most, OF_PATHS


def is_one_attention(model: Model) -> bool:
    """Whether a model has features of which it is stated that they are independent, or heads that are saturated."""
    return is_dana_network(model) or is_mahdavi_layer(model)


def has_features(model: Model) -> bool:
    """Whether what its heads read has a rank of which a certificate may speak."""
    return is_one_attention(model) or is_heads_alone(model)


def attended(model: Model, task: AnyTask, progress: Progress) -> AttendedVectors | None:
    """Return what the heads of a layer make of the vectors they read; none of other models."""
    listing = task.listing
    if listing is None or model.reads_tokens or not has_features(model):
        return None
    return enclose_layer(model, listing.inputs, progress=progress)


def features(model: Model, task: AnyTask, progress: Progress) -> Enclosure | None:
    """Return what the heads of a model of one attention read from contexts of tokens, `[T, columns]`; none of other
    models.
    """
    listing = task.listing
    if listing is None or not model.reads_tokens or not has_features(model):
        return None
    progress("features", None, f"{task.n_contexts} x {model.n_heads * model.d_head}")
    return enclose_features(model, listing.inputs)
