"""Ask a trained model about a list of facts.

Page: docs/hosts.md
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.every_run import Part
from byheart.hosts.facts.numbered_facts import Reading, facts_of_rows, read_facts
from byheart.hosts.facts.prompt_texts import tokenizer_of_gguf
from byheart.hosts.families import is_of_transformer_lens
from byheart.hosts.questions.given import Given
from byheart.hosts.questions.question import MOST_NAMED, Page, Question
from byheart.hosts.reading import is_gguf
from byheart.measured import Measured
from byheart.report.pages import page_of_facts
from constructions.model.construction import require_fit
from constructions.model.model import Model
from constructions.progress import Progress
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from verify.provers.answer_bounds import Answers, Decided
from verify.provers.memorization import certify_memorization
from verify.provers.proved import Proved
from verify.runs.every_run import argmax_of_every_run

Told = Callable[[Sequence[Any], bool, float, str], None]
"""Called with each fact once it is decided: its row, whether it is memorized, its margin, and the arithmetic."""

_MOST_DRAWN = 2**18  # facts, whose margins take 12 MB


@dataclass
class Facts(Question):
    """Facts that were read for a model.

    Args:
        model: The weights.
        task: The facts.
        inputs: All of their contexts.
        said: How they and the tensors were read.
        aside: What of the reading stands in the first line.
        told: Called with each fact once it is decided.
    """

    model: Model
    task: AnyTask
    inputs: Sequence[Any]
    said: str
    aside: str
    told: Told | None
    drawn: int | None = None

    def prove(self, criterion: Criterion | None, every_run: str | None, progress: Progress) -> Proved[Answers]:
        """Prove which facts the model memorizes."""
        beyond = None if every_run is None else argmax_of_every_run
        decided = None if self.told is None else _told(self.task, self.told)
        question = criterion or Criterion()
        return certify_memorization(self.model, self.task, question, beyond=beyond, decided=decided, progress=progress)

    def least_margin(self, proved: Proved[Answers]) -> float | None:
        """Return the least margin of the decided facts; None if no fact is decided by a margin."""
        answers = proved.answers
        apart = np.maximum(answers.margin_lower, -answers.margin_upper)
        known = apart[(answers.margin_lower > 0.0) | (answers.margin_upper <= 0.0)]
        return float(known.min()) if len(known) and np.isfinite(known.min()) else None

    def parts(self) -> list[Part]:
        """Return the contexts of the facts; vectors have none."""
        return _parts(self.task) if self.model.reads_tokens else []

    def asides(self, proved: Proved[Answers], asked: tuple[Any, Any]) -> list[str]:
        """Return notes on how the facts were read."""
        del proved, asked
        return [self.aside]

    def figures(self, proved: Proved[Answers]) -> dict[str, Any]:
        """Return how many facts are memorized, wrong and undecided, with the first of them."""
        memorized, wrong = self._judged(proved)
        lost, undecided = np.flatnonzero(wrong), np.flatnonzero(~memorized & ~wrong)
        return {
            "facts": len(memorized),
            "memorized": int(memorized.sum()),
            "wrong": len(lost),
            "undecided": len(undecided),
            **proved.certificate.answer_figures(),
            "wrong_contexts": lost[:MOST_NAMED].tolist(),
            "wrong_facts": self.task.rows(lost[:MOST_NAMED]),
            "undecided_contexts": undecided[:MOST_NAMED].tolist(),
            "undecided_facts": self.task.rows(undecided[:MOST_NAMED]),
            "decided_by": proved.answers.decided_by(),
        }

    def rows(self, places: Any) -> list[list[Any]]:
        """Return facts as a table has them."""
        return self.task.rows(places)

    def wrong(self, proved: Proved[Answers]) -> list[list[Any]]:
        """Return all facts that are proved wrong."""
        return self.task.rows(np.flatnonzero(self._judged(proved)[1]))

    def page(self, proved: Proved[Answers], progress: Progress) -> tuple[Page | None, dict[str, Any] | None]:
        """Return the page of all margins, of labels."""
        del progress
        drawn = _margins(self.model, self.task, proved.answers)

        def page(folder: Path, measured: Measured) -> str:
            return page_of_facts(folder, proved.certificate, self.task, measured)

        return (page, drawn) if drawn else (None, drawn)

    def _judged(self, proved: Proved[Answers]) -> tuple[Any, Any]:
        target, tolerance = self.task.target, proved.certificate.criterion.tolerance
        return proved.answers.memorized(target, tolerance), proved.answers.wrong(target, tolerance)


def facts_of(given: Given, source: Any, task: Any, how: Reading, *, told: Told | None) -> Facts:
    """Return the facts of a file, of rows, or of a task, numbered as the model numbers its tokens.

    Args:
        given: The model.
        source: What it was read from: next to it may lie a tokenizer.
        task: The facts.
        how: How they are read.
        told: Called with each fact once it is decided.
    """
    model, folder = given.model, Path(source) if isinstance(source, Path | str) else None
    if how.tokenizer is None and how.cells != "tokens" and folder is not None and is_gguf(folder):
        how = replace(how, tokenizer=tokenizer_of_gguf(folder))
    prepends = bool(given.options.get("default_prepend_bos", True)) if is_of_transformer_lens(given.options) else None
    how, reading_note, aside = replace(how, prepends_bos=prepends), "", ""
    if isinstance(task, Path | str):
        facts, reading_note, aside = read_facts(Path(task), model, folder, how)
    elif isinstance(task, AnyTask):
        facts = task
    else:
        facts, reading_note, aside = facts_of_rows(task, model, folder, how)
    require_fit(model, facts)
    inputs = [part.task.inputs for part in facts.parts] if facts.listing is None else [facts.listing.inputs]
    reading = "; ".join(text for text in (facts.echo(), reading_note, given.said) if text)
    return Facts(model, facts, inputs, reading, aside, told)


def _margins(model: Model, facts: AnyTask, answers: Answers) -> dict[str, Any] | None:
    """Return the bounds of the margin of each fact for the page; JSON has no infinity.

    There is no page of vectors, which have no texts, of distributions and values, which are not memorized by a margin
    alone, of models with one output, nor of so many facts that nobody would look at them.
    """
    lower, upper = answers.margin_lower, answers.margin_upper
    if not model.reads_tokens or facts.target != "labels" or len(lower) > _MOST_DRAWN or (lower == np.inf).any():
        return None
    bounds = np.stack([lower, upper], axis=1).tolist()
    return {"margins": [[bound if np.isfinite(bound) else None for bound in pair] for pair in bounds]}


def _told(facts: AnyTask, decided: Callable[[Sequence[Any], bool, float, str], None]) -> Decided:
    """Wrap a callback that expects a row in one that is called with the number of a fact."""
    return lambda fact, *how: decided(facts.rows(np.array([fact]))[0], *how)


def _parts(facts: AnyTask) -> list[Part]:
    """Return the contexts of facts, by their lengths."""
    return [
        Part(
            part.task.contexts,
            part.task.labels if facts.target == "labels" else np.zeros_like(part.task.labels),
            part.facts,
            part.places,
        )
        for part in facts.parts
    ]
