"""Ask a trained model about a rule on all inputs of a domain, or on a sample of them.

Page: docs/commands.md
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.conversion import require_tokens
from byheart.hosts.every_run import Part
from byheart.hosts.questions.given import Given
from byheart.hosts.questions.question import MOST_NAMED, Question
from constructions.errors import InputError, require_at_least
from constructions.model.model import Model
from constructions.progress import Progress
from constructions.tasks.criterion import Criterion
from constructions.tasks.rule import RuleTask, rule_task
from verify.domains.rule_answers import ONE_BY_ONE
from verify.domains.sample import drawn
from verify.provers.domain import certify_domain
from verify.provers.proved import Proved
from verify.workers import Workers

_INPUTS_ASKED = 512  # drawn; the host is run on them


@dataclass(frozen=True, kw_only=True)
class RuleOptions:
    """The rule, its domain, and how it is judged: the arguments of `byheart.hosts.certify.certify_rule`."""

    rule: str | Callable[..., Any]
    length: int | None = None
    tokens: int | None = None
    modulus: int | None = None
    before: Sequence[int] = ()
    after: Sequence[int] = ()
    sample: int | None = None
    seed: str = ""
    one_by_one: int = ONE_BY_ONE
    workers: Workers | None = None
    keep: Path | None = None

    def read(self, given: Given) -> "Rule":
        """Return the rule on the largest domain that the model can read.

        Raises:
            InputError: A model that reads no tokens, or a rule or domain that it cannot read.
        """
        model = given.model
        require_at_least(1, length=self.length, tokens=self.tokens)
        require_tokens(model)
        room = model.n_ctx - len(self.before) - len(self.after)
        if room < 1:
            raise InputError(
                "before and after", f"are {model.n_ctx - room} tokens", f"fewer than n_ctx = {model.n_ctx}"
            )
        sizes = ("length", self.length, room, "room"), ("tokens", self.tokens, model.d_vocab, "tokens")
        for name, value, most, what in sizes:
            if value is not None and value > most:
                raise InputError(name, f"= {value}", f"at most {most}: the model has no more {what}")
        task = rule_task(
            self.rule,
            d_vocab=model.d_vocab if self.tokens is None else self.tokens,
            n_ctx=room if self.length is None else self.length,
            modulus=self.modulus,
            before=self.before,
            after=self.after,
        )
        numbers = drawn(model.sha256(), task.sha256(), task.n_contexts, min(_INPUTS_ASKED, task.n_contexts), "")
        some = len(numbers) if len(numbers) < task.n_contexts else None
        return Rule(model, task, [task.contexts_at(np.array(numbers))], some, given.said, self)


@dataclass
class Rule(Question):
    """A rule on a domain for a particular model.

    Args:
        model: The weights.
        task: The rule on the domain.
        inputs: Some of the domain.
        drawn: How many these are, where they are drawn of more.
        read_as: How the tensors were read.
        options: How it is judged.
    """

    model: Model
    task: RuleTask
    inputs: Sequence[Any]
    drawn: int | None
    read_as: str
    options: RuleOptions
    said = ""

    @property
    def domain_size(self) -> int:
        """Inputs of the domain."""
        return self.task.n_contexts

    def prove(self, criterion: Criterion | None, every_run: str | None, progress: Progress) -> Proved[Any]:
        """Prove on how many inputs the model computes the rule; where it is kept, earlier pieces count."""
        del every_run
        asked = self.options
        if asked.keep is not None:
            asked.keep.parent.mkdir(parents=True, exist_ok=True)
        return certify_domain(
            self.model,
            self.task,
            criterion or Criterion(),
            sample=asked.sample,
            seed=asked.seed,
            one_by_one=asked.one_by_one,
            keep=asked.keep,
            workers=asked.workers,
            progress=progress,
        )

    def parts(self) -> list[Part]:
        """Return all inputs with the answers of the rule."""
        every = np.arange(self.task.n_contexts)
        inputs = self.task.contexts_at(every)
        return [Part(inputs, self.task.labels_of(inputs), every, every)]

    def rows(self, places: Any) -> list[list[Any]]:
        """Return inputs by their numbers."""
        return self.task.contexts_at(np.asarray(places)).tolist()

    def asides(self, proved: Proved[Any], asked: tuple[Any, Any]) -> list[str]:
        """Return how the tensors were read."""
        del proved, asked
        return [self.read_as]

    def figures(self, proved: Proved[Any]) -> dict[str, Any]:
        """Return on how many inputs the model is right and wrong, with examples."""
        found = proved.answers
        return {
            "rule": self.task.rule,
            "inputs": found.inputs,
            "right": found.right,
            "wrong": found.wrong,
            "undecided": found.undecided,
            "guess_right": proved.certificate.answer_figures()["guess_right"],
            "wrong_inputs": [list(each) for each in found.wrong_examples[:MOST_NAMED]],
            "open_inputs": [list(each) for each in found.open_examples[:MOST_NAMED]],
            "one_by_one": found.one_by_one,
            "interrupted": found.interrupted,
            "earlier": found.earlier,
            "method": found.method,
        }

    def wrong(self, proved: Proved[Any]) -> list[list[Any]]:
        """Return the inputs that are proved wrong, followed by the answers of the rule."""
        listed = np.array(proved.answers.wrong_examples, dtype=np.int64).reshape(-1, self.task.n_ctx)
        return np.column_stack([listed, self.task.labels_of(listed)]).tolist()
