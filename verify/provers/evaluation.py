"""Share the evaluation of a model on a task between the provers of all kinds; each slow result is computed once.

Page: docs/rigour/certificate.md
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from constructions.model.model import Model
from constructions.progress import Progress
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from verify.certificates.certificate import Certificate, Statement, StatementCheck
from verify.provers.answer_bounds import Answers, ArgmaxProof, Decided, judge_answers


@dataclass(eq=False, kw_only=True)
class JudgedModel:
    """A model on contexts and their targets, of which statements are made, or proved again.

    Args:
        model: The weights.
        task: The contexts.
        criterion: The criterion that they are to meet.
        progress: Called with the stage and the finished share of it.
        lower_losses: Whether losses are bounded from below too.
        keep_outputs: Whether the enclosed outputs are kept; 16 T N bytes.
        beyond: As for `verify.provers.answer_bounds.judge_answers`.
        decided: As for `verify.provers.answer_bounds.judge_answers`.
        known: What provers of several kinds need, by a name that they agree on (`once`).
    """

    model: Model
    task: AnyTask
    criterion: Criterion
    progress: Progress
    lower_losses: bool = False
    keep_outputs: bool = False
    beyond: ArgmaxProof | None = None
    decided: Decided | None = None
    known: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def answers(self) -> Answers:
        """The bounds of each context."""
        return judge_answers(
            self.model,
            self.task,
            self.criterion,
            keep_outputs=self.keep_outputs,
            two_sided=self.lower_losses,
            beyond=self.beyond,
            decided=self.decided,
            progress=self.progress,
        )

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return what provers of several kinds need, computed when the first of them asks for it."""
        if name not in self.known:
            self.known[name] = compute()
        return self.known[name]


@dataclass(eq=False, kw_only=True)
class Evaluation:
    """A model, its certificate, and the results so far.

    Args:
        certificate: The certificate to prove again.
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

    @property
    def path(self) -> str:
        """The arithmetic that was used, in words."""
        raise NotImplementedError

    @property
    def asides(self) -> tuple[str, ...]:
        """What was found beside the numbers."""
        return ()

    def check_runs(self, statement: Statement) -> StatementCheck | None:
        """Judge a statement about every run in a way of one's own; none where contexts are judged one by one."""
        del statement
        return None


@dataclass(eq=False, kw_only=True)
class OnContexts(JudgedModel, Evaluation):
    """A certificate about a model on contexts; `criterion` is a mean where either question is one."""

    @property
    def path(self) -> str:
        """The arithmetic that was used, in words."""
        return f"proved bounds: {self.answers.decided_by()}"
