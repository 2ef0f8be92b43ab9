"""Find which parts of a model a fact depends on: those without which it is proved to be lost.

Page: docs/commands.md
"""

from collections.abc import Sequence
from dataclasses import dataclass

from byheart.result import Field, Result, Section
from constructions.errors import InputError
from constructions.model.ablation import parts, without
from constructions.model.model import Model
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.vocabulary import visible
from verify.arithmetic.enclosure import Enclosure
from verify.certificates.headline import Outcome, outcome_of_fact
from verify.forward.ladder import decide_argmax, leads
from verify.provers.answer_bounds import judge_answers
from verify.provers.fate import Fate, criterion_of_fact, fate, fate_of


@dataclass(frozen=True)
class Ablation:
    """The fate of a fact when one part of the model is set to 0.

    Args:
        part: The part, as `constructions.model.ablation.Part` names it.
        kind: ``"head"``, ``"neuron"`` or ``"entry"``.
        fate: ``"memorized"`` or ``"lost"``, where that is proved, else ``"undecided"``.
        token: What the model then answers, where the fact is lost and that is proved.
    """

    part: str
    kind: str
    fate: Fate
    token: str | None = None


@dataclass(frozen=True)
class Explanation:
    """The parts of a model on which a fact depends.

    Args:
        context: The tokens of the context.
        token: What follows it; of a distribution with several modes all of these.
        fate: Fate of the fact in the model as it is.
        ablations: Its fate without each part.
        typed: The context as it stands in a text that was learned whole.
    """

    context: tuple[str, ...]
    token: str
    fate: Fate
    ablations: tuple[Ablation, ...]
    typed: str | None = None

    @property
    def holding(self) -> list[str]:
        """The parts without which the fact is proved to be lost."""
        return [ablation.part for ablation in self.ablations if ablation.fate == "lost"]

    @property
    def undecided(self) -> list[str]:
        """Parts for which nothing is proved."""
        return [ablation.part for ablation in self.ablations if ablation.fate == "undecided"]

    @property
    def outcome(self) -> Outcome:
        """The outcome: for a memorized fact, open while one part is undecided."""
        return outcome_of_fact("undecided" if self.fate == "memorized" and self.undecided else self.fate)

    def headline(self) -> str:
        """Return the answer in a line."""
        of_entries = any(ablation.kind == "entry" for ablation in self.ablations)
        what = "nonzero entries" if of_entries else "heads and neurons"
        parts, needed = f"{len(self.ablations)} {what}", len(self.holding)
        summary = f"none of {parts} is needed alone"
        if needed:
            summary = (
                f"{needed} of {parts} {'is' if needed == 1 else 'are'} needed: the fact is lost if one is set to 0"
            )
        left = f", {len(self.undecided)} undecided" if self.undecided else ""
        context = ", ".join(map(visible, self.context)) if self.typed is None else visible(self.typed)
        memorized = " is proved" if self.fate == "memorized" and self.undecided else ""
        return f"{self.outcome.word}: {context} -> {visible(self.token)}{memorized}; {summary}{left}"

    def result(self) -> Result:
        """Return the data that a command prints, first the parts that the fact depends on."""
        order = {"lost": 0, "undecided": 1, "memorized": 2}
        ablations = sorted(self.ablations, key=lambda ablation: order[ablation.fate])
        fields = (
            Field("context", list(self.context), "the context", shown=False),
            Field("token", self.token, "what follows the context", shown=False),
            Field("fact", self.fate, "the fact in the model as it is: `memorized`, `lost` or `undecided`", shown=False),
            Field("parts", len(self.ablations), "parts that were set to zero, one at a time"),
            Field("holding", self.holding, "parts without which the fact is lost", shown=False),
            Field("undecided", self.undecided, "parts of which it is not known whether the fact needs them"),
            Field(
                "ablations",
                [vars(ablation) for ablation in ablations],
                "the fact without each part",
                columns={"part": "part", "kind": "kind", "fate": "the fact is", "token": "the answer is"},
            ),
        )
        return Result(self.headline(), self.outcome.verdict, (Section("Set to zero, one at a time", fields),))


def explain(
    model: Model,
    task: AnyTask,
    context: str | Sequence[str],
    *,
    criterion: Criterion | None = None,
    entries: bool = False,
    progress: Progress = silent,
) -> Explanation:
    """Find the parts that a fact depends on: set each to 0 in turn, and judge the remaining model on that fact.

    The judgement is the certificate's own (`verify/provers/answer_bounds.py:judge_answers`), of the very weights in
    real arithmetic: a fact is lost without a part only if that is proved, and memorized only if that is. What a fact
    survives without each of two parts it may not survive without both.

    Args:
        model: The weights.
        task: The task that they were made to hold.
        context: Of a fact of the task: a text, cut as `tokens_of` says, or the tokens themselves.
        criterion: When a fact is memorized: of it the tolerance of distributions matters.
        entries: Set single entries to 0, all that are not, instead of heads and neurons; so it is too where there are
            none of these.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The fate of the fact without each part.

    Raises:
        InputError: A token that is not in the vocabulary, a context that is none of the facts, or a task that brings
            vectors.

    Example:
        >>> from byheart import memorize
        >>> memory = memorize({("France", "capital"): "Paris", ("Peru", "capital"): "Lima"}, n_heads=1)
        >>> found = explain(memory.model, memory.task, "Peru, capital")
        >>> found.fate, [each.part for each in found.ablations]
        ('memorized', ['head 0 of blocks.0.attn'])
    """
    fact, words, answer, written, fact_criterion = _fact(task, context, criterion or Criterion())
    whole = fate(model, fact, fact_criterion)
    chosen, ablations = list(parts(model, entries=entries)) or list(parts(model, entries=True)), []
    for number, part in enumerate(chosen):
        left = without(model, part)
        answers = judge_answers(left, fact, fact_criterion, keep_outputs=True, progress=silent)
        fate_now = fate_of(answers, fact, fact_criterion)
        token = _said_instead(left, fact, answers.outputs) if fate_now == "lost" else None
        ablations.append(Ablation(str(part), part.kind, fate_now, token))
        progress("parts", (number + 1) / len(chosen), f"{number + 1} of {len(chosen)}")
    return Explanation(words, answer, whole, tuple(ablations), written)


def _fact(
    task: AnyTask, context: str | Sequence[str], criterion: Criterion
) -> tuple[AnyTask, tuple[str, ...], str, str | None, Criterion]:
    """Return the task of the single fact, its context and answer in words, the typed context, and its criterion."""
    place = task.typed(context)[1]
    if place is None:
        raise InputError("context", f"is {context!r}", f"one of the {task.n_contexts} facts that were to be memorized")
    return task.one(place), *task.in_words(place), criterion_of_fact(task, criterion)


def _said_instead(model: Model, fact: AnyTask, outputs: Enclosure | None) -> str | None:
    """Return the first token that is proved to lead where another one should; for a distribution, the leading one."""
    if outputs is not None:
        (place,), (lead,) = leads(outputs)
        if lead > 0.0:
            return fact.answers[place]
    for part_task in [part.task for part in fact.parts]:
        place = int(decide_argmax(model, part_task.contexts).place[0])
        if place >= 0 and (part_task is fact or place != part_task.labels[0]):
            return fact.answers[place]
    return None
