"""A model that memorizes facts, with its proof: ask, inspect, save.

Pages: docs/library.md, docs/commands.md
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from byheart.figures import Figures
from byheart.measured import Measured, summary_json
from constructions.errors import InputError
from constructions.formats.files import new_folder, write_atomically
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.plug_ins import plug_in, required_plug_in
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask
from verify.arithmetic.rounding import down
from verify.certificates.certificate import (
    CERTIFICATE_FILE,
    MEASURED_FILE,
    MODEL_FILE,
    REPORT_FILE,
    SUMMARY_FILE,
    TASK_FILE,
    Certificate,
)
from verify.certificates.loading import save_certified
from verify.forward.ladder import rising_precision
from verify.provers.answer_bounds import Answers
from verify.provers.fate import criterion_of_fact, fate
from verify.provers.kinds import prover_of
from verify.provers.memorization import load_subject
from verify.provers.proved import Proved

if TYPE_CHECKING:
    from byheart.explanation import Explanation
    from constructions.tasks.rule import RuleTask


@dataclass(frozen=True)
class Answer:
    """The answer of a model to one context.

    Args:
        token: The token with the largest logit; none where the proof cannot tell it from another.
        runner_up: The token with the next largest midpoint of its logit; none where there is one token only. A
            distribution may have several modes, whose logits should be equal: then it is often another of them.
        margin_lower: Lower bound of the lead of `token` over every other, in nats; at most 0 where `token` is none.
        probability: Of `token`, or of the likeliest one, in [0, 1]; measured, not proved.
        is_fact: Whether the context is one of the facts that were to be memorized.
        memorized: Whether it is proved, here and now, that this fact is memorized by the criterion of the certificate.
        refuted: Whether it is proved that it is not.
        read_as: The tokens of the vocabulary that the context was read as, `[S]`: ``<other>`` for what it lacks.
        ignored: How many words or characters before these were typed, and not read.
    """

    token: str | None
    runner_up: str | None
    margin_lower: float
    probability: float
    is_fact: bool
    memorized: bool
    refuted: bool
    read_as: tuple[str, ...]
    ignored: int


Context = str | tuple[str, ...]
"""A context: a text, cut as the vocabulary suggests, or its tokens."""


@dataclass(frozen=True, eq=False)
class Memory:
    """A model, its facts, and the certificate.

    Args:
        task: The facts.
        model: The weights.
        certificate: The certificate of the proved statements.

    Example:
        >>> from byheart import memorize
        >>> memory = memorize({("France", "capital"): "Paris", ("Peru", "capital"): "Lima"})
        >>> memory["Peru", "capital"], ("Peru", "river") in memory, str(memory)[:33]
        ('Lima', False, 'MEMORIZED, PROVED: 2 of 2 facts, ')
        >>> [answer.token for answer in memory.ask(["France, capital", "Peru, capital"])]
        ['Paris', 'Lima']
    """

    task: "AnyTask | RuleTask"
    model: Model
    certificate: Certificate

    def __str__(self) -> str:
        return self.certificate.headline()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        echo = self.task.echo()
        facts = f"<br><small>{escape(echo)}</small>" if echo else ""
        return f"<b>{escape(str(self))}</b>{facts}"

    def __getitem__(self, context: Context) -> str:
        """Return the proved answer to a memorized context.

        Raises:
            KeyError: The context is none of the facts, or its fact is not proved to be memorized.
        """
        try:
            answer = self.ask(context)
        except InputError as error:
            raise KeyError(str(error)) from error
        if answer.token is None or not answer.memorized:
            memorized = "is not proved to be memorized" if answer.is_fact else "is none of the facts"
            raise KeyError(f"{context!r} {memorized}; ask() says what the weights make of it")
        return answer.token

    def __contains__(self, context: object) -> bool:
        """Tell whether a context is a fact, and proved to be memorized."""
        try:
            self[context]  # pyright: ignore[reportArgumentType]
        except KeyError:
            return False
        return True

    __iter__ = None
    """The facts are those of `task`; without this, places would be asked for."""

    @overload
    def ask(self, context: Context) -> Answer: ...

    @overload
    def ask(self, context: list[str] | list[tuple[str, ...]]) -> list[Answer]: ...

    def ask(self, context: Context | list[str] | list[tuple[str, ...]]) -> Answer | list[Answer]:
        """Return the answer of the model to a context, or to each of a list of contexts; see `ask`."""
        if isinstance(context, list):
            return [self.ask(one_context) for one_context in context]
        task, words = self.task.looked_up(context, self.model)
        return ask(self.model, task, self.certificate, words)

    def explain(self, context: Context, *, entries: bool = False, progress: Progress = silent) -> "Explanation":
        """Which parts hold a fact; see `byheart.explanation.explain`."""
        task, words = self.task.looked_up(context, self.model)
        asked = self.certificate.criterion
        explain = required_plug_in("byheart.explanation").explain
        return explain(self.model, task, words, criterion=asked, entries=entries, progress=progress)

    def export(
        self,
        *,
        to: str,
        out: Path | str,
        dtype: str | None = None,
        allow_loss: bool = False,
        all_contexts: bool = False,
        overwrite: bool = False,
    ) -> dict[str, Any]:
        """Write the weights for another library, load them there, and compare; see `byheart.hosts.export.export`.

        The type is by default that of the weights and runs that the memory was made for.
        """
        listing = self.task.listing
        if listing is None:
            raise InputError("the memory", "is of a rule, or of prompts of several lengths", "one of facts")
        asked, hosts = self.certificate.criterion, required_plug_in("byheart.hosts.export")
        own = self.figures.dtype if isinstance(self, CertifiedMemory) else None
        dtype = dtype or own or hosts.own_dtype(self.model)
        return hosts.export(
            self.model, task=listing, criterion=asked, to=to, out=out, dtype=dtype, allow_loss=allow_loss,
            all_contexts=all_contexts, overwrite=overwrite,
        )  # fmt: skip


Ranks = tuple[Int64Array, Int64Array]
"""Certified bounds of a rank, from below and from above, with 0, 1, ... heads."""


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedMemory(Memory):
    """A newly built memory, with all results.

    Args:
        task: The facts.
        model: The weights.
        certificate: The certificate of the proved statements.
        proved: The certificate with the bounds of each context.
        ranks: What rank the features can have with 0, 1, ... heads, where it was found out.
        figures: The figures.
        source: The source of the task, in a few words.
    """

    task: AnyTask
    proved: Proved[Answers]
    ranks: Ranks | None
    figures: Figures
    source: str

    def save(self, out: Path | str, *, overwrite: bool = False) -> Figures:
        """Write the weights, the task, the certificate, the page and the figures into a folder, which appears whole.

        Args:
            out: The folder to write.
            overwrite: Replace a folder that byheart wrote.

        Returns:
            The figures, with the files and the time that they took.

        Raises:
            InputError: There is a folder, and it may not be replaced.
        """
        out, start = Path(out), time.perf_counter()
        with new_folder(out, overwrite=overwrite) as folder:
            figures = self._write(folder, out)
        return replace(figures, seconds={**figures.seconds, "files": round(time.perf_counter() - start, 3)})

    def _write(self, folder: Path, out: Path) -> Figures:
        save_certified(folder, self.model, self.task, self.proved)
        names = [MODEL_FILE, TASK_FILE, CERTIFICATE_FILE]
        task, pages, drawn = self.task.facts, plug_in("byheart.report.pages"), None
        if task is not None and pages is not None:
            drawn = pages.drawn(self.model, task, self.proved.answers, self.ranks)
        measured = Measured.of(self.figures.json(), self.certificate, source=self.source, drawn=drawn)
        measured.save(folder)
        written = [*names, MEASURED_FILE, SUMMARY_FILE]
        if pages is not None and drawn is not None:
            written.insert(-1, REPORT_FILE)
            text = pages.page(folder, self.certificate, self.model, task, measured)
            write_atomically(folder / REPORT_FILE, text.encode("utf-8"))
        write_atomically(folder / SUMMARY_FILE, summary_json(self.certificate, measured).encode("utf-8"))
        return replace(self.figures, files={name.split(".")[0]: str(out / name) for name in written})


def ask(model: Model, task: AnyTask, certificate: Certificate, context: str | Sequence[str]) -> Answer:
    """Return the answer of a model to one context, memorized or not, by greedy decoding.

    It says as many tokens as the answer of the fact has, or one. The answer is proved in real arithmetic on the weights
    as stored: the lower end of each of its logits is above the upper ends of all others.

    Args:
        model: The weights.
        task: What they were made to hold; it reads the context, and names the answers.
        certificate: Its criterion says when a fact is memorized; nothing else in it is believed.
        context: A text, or the tokens themselves.

    Returns:
        The answer.

    Raises:
        InputError: A context that the task could not have, or a task that brings vectors.
    """
    tokens, number = task.typed(context)
    wanted = () if number is None else task.answer(number)
    said_tokens: list[int] = []
    least, others, probability = np.inf, None, 1.0
    while len(said_tokens) < max(1, len(wanted)):
        best, runner_up, margin, share = _next(model, (*tokens, *said_tokens))
        said_tokens.append(best)
        probability *= share
        if margin < least:
            least, others = margin, runner_up
        if not margin > 0.0:
            break
    memorized = refuted = False
    if number is not None:
        fact_fate = fate(model, task.one(number), criterion_of_fact(task, certificate.criterion))
        memorized, refuted = fact_fate == "memorized", fact_fate == "lost"
    return Answer(
        token=task.said(tuple(said_tokens), number) if least > 0.0 else None,
        runner_up=None if others is None else task.answers[others],
        margin_lower=float(least),
        probability=probability,
        is_fact=number is not None,
        memorized=memorized,
        refuted=refuted,
        read_as=tuple(task.vocabulary[token] for token in tokens),
        ignored=task.unread(context),
    )


def _next(model: Model, tokens: Sequence[int]) -> tuple[int, int | None, float, float]:
    """Return the leading token, the second one, a lower bound of the margin, and the probability."""
    best, runner_up, margin, probability = 0, None, -np.inf, 0.0
    is_open = np.ones(1, dtype=bool)  # rising_precision goes on while the margin is not proved to be positive
    for _, _, _, logits in rising_precision(model, np.array([tokens]), is_open):
        lower, upper, middle = logits.lower()[0], logits.upper()[0], logits.midpoint[0]
        order = np.argsort(-middle, kind="stable")
        best = int(order[0])
        runner_up = int(order[1]) if len(order) > 1 else None
        other_upper = np.delete(upper, best)
        margin = float(down(lower[best] - other_upper).min(initial=np.inf))
        probability = float(1.0 / np.exp(middle - middle[best]).sum())
        is_open[0] = not margin > 0.0
    return best, runner_up, margin, probability


def load(folder: Path | str) -> Memory:
    """Load a memory written by `Memory.save` or by the command line.

    Nothing is proved again: `check_memorization` does that. What is asked is proved when it is asked.

    Args:
        folder: A folder that byheart wrote.

    Returns:
        The memory.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: The files are not those that the certificate names.
    """
    certificate = Certificate.load(Path(folder))
    read = getattr(prover_of(certificate.answers.id), "load_rule", load_subject)
    model, task = read(Path(folder), certificate)
    return Memory(task, model, certificate)
