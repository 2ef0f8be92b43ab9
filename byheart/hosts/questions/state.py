"""Ask a trained model about a rule with a state, whose answers have several tokens.

Page: docs/folds.md
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.conversion import require_tokens
from byheart.hosts.handshake import HostAnswer, host_answer
from byheart.hosts.questions.given import Given
from byheart.hosts.questions.question import Page, Question
from byheart.measured import Measured
from byheart.report.pages import page_of_fold
from constructions.folds.fold import Fold
from constructions.model.construction import require_fit
from constructions.model.entries import Entries
from constructions.model.model import Model
from constructions.progress import Progress
from constructions.tasks.criterion import Criterion
from verify.folds.fold_answers import WrongInput, require_one_attention
from verify.folds.least_leads import least_leads
from verify.provers.domain import OF_PATHS, certify_fold
from verify.provers.proved import Proved

_ASKED = 64  # inputs, drawn; the host is run on them


@dataclass
class State(Question):
    """A rule with a state that a model reads.

    Args:
        model: The weights.
        task: The rule.
        inputs: Some inputs with what is said behind them.
        drawn: How many these are.
        read_as: How the tensors were read.
        every_run: The type of the runs that are judged too.
        by_host: What the host says to an input that is answered wrongly, once it was asked.
    """

    model: Model
    task: Fold
    inputs: Sequence[Any]
    drawn: int | None
    read_as: str
    every_run: str | None
    by_host: HostAnswer | None = None
    said = ""
    judges_runs = True

    @property
    def target(self) -> str:
        """A token at a time is wanted."""
        return "labels"

    def decoding(self) -> tuple[list[Any], set[int]]:
        """Return an answer, and all tokens that are read on the way to it."""
        (contexts,) = self.inputs
        answer = self.task.answers(self.task.drawn(_ASKED))[0]
        return [(self.task.length, tuple(answer.tolist()))], set(np.unique(contexts).tolist())

    def prove(self, criterion: Criterion | None, every_run: str | None, progress: Progress) -> Proved[Any]:
        """Prove that the model answers every input, also in every run if requested."""
        return certify_fold(self.model, self.task, criterion, every_run=every_run, progress=progress)

    def asides(self, proved: Proved[Any], asked: tuple[Any, Any]) -> list[str]:
        """Return an input with a wrong answer, the host's answer, and notes on how the tensors were read."""
        if (wrong := proved.answers.wrong) is None:
            return [self.read_as]
        self.by_host = host_answer(*asked, self.model, wrong.prompt, len(wrong.answer))
        said = (wrong.words(), self.by_host and self.by_host.words(wrong.decoded))
        return ["; ".join(filter(None, said)), self.read_as]

    def figures(self, proved: Proved[Any]) -> dict[str, Any]:
        """Return on how many inputs the answer is right, and an input on which it is wrong."""
        found, wrong = proved.answers, proved.answers.wrong
        every_run = None
        if self.every_run is not None:
            in_all = proved.certificate.in_every_run(self.every_run) is not None
            every_run = {"dtype": self.every_run, "proved": in_all}
        return {
            "entries": asdict(Entries.of(self.model)),
            "rule": self.task.name,
            "layout": self.task.layout,
            "inputs": found.inputs,
            "right": found.inputs - found.left,
            "wrong": int(wrong is not None),
            "undecided": found.left - int(wrong is not None),
            "guess_right": proved.certificate.answer_figures()["guess_right"],
            "wrong_input": None if wrong is None else _wrong_figures(wrong, self.by_host),
            "every_run": every_run,
            "cells": found.cells,
            "boxes": found.boxes,
            "method": OF_PATHS,
        }

    def page(self, proved: Proved[Any], progress: Progress) -> tuple[Page | None, dict[str, Any] | None]:
        """Return the page, with the margin of each answer token."""

        def page(folder: Path, measured: Measured) -> str:
            return page_of_fold(folder, proved.certificate, self.model, self.task, measured)

        return page, {"leads": _leads(self.model, self.task, progress) if proved.answers.left == 0 else []}


def state_of(given: Given, fold: Fold, *, every_run: str | None) -> State:
    """Return the rule, after a look at whether the model can read it.

    Raises:
        HypothesisError: A model to which the theorem does not apply; names the hypothesis.
        InputError: One that cannot read the rule.
    """
    model = given.model
    require_tokens(model)
    require_fit(model, fold)
    require_one_attention(model)
    inputs = fold.drawn(_ASKED)
    contexts = np.concatenate([fold.prompts(inputs), fold.answers(inputs)[:, :-1]], axis=1)
    return State(model, fold, [contexts], len(contexts), given.said, every_run)


def _leads(model: Model, fold: Fold, progress: Progress) -> list[dict[str, Any]]:
    """Return the margin of each answer token for the page; JSON has no infinity."""
    found = least_leads(model, fold, progress=progress)
    return [
        {"lower": each.lower if np.isfinite(each.lower) else None, "found": each.found, "prompt": list(each.prompt)}
        for each in found
    ]


def _wrong_figures(wrong: WrongInput, by_host: HostAnswer | None) -> dict[str, Any]:
    return {
        "prompt": list(wrong.prompt),
        "answer": list(wrong.answer),
        "place": wrong.place + 1,
        "said": wrong.said,
        "decoded": list(wrong.decoded),
        "host": None if by_host is None else by_host.host,
        "host_decoded": None if by_host is None else list(by_host.said),
    }
