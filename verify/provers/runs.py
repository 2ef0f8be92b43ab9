"""What every run of a model holds, and which texts it says: stated, and proved again.

Page: docs/rigour/certificate.md
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from constructions.arrays import BoolArray
from constructions.counted import counted
from constructions.models.model import Model
from constructions.tasks.any_task import AnyTask
from constructions.tasks.recitation import recited_texts
from constructions.tasks.rule import RuleTask
from constructions.tasks.task import Task
from verify.arithmetic.exact_json import Number
from verify.certificates.certificate import (
    ANSWERS,
    REALS,
    RUNS,
    TEXT,
    Certificate,
    Statement,
    StatementCheck,
    held_mask,
    mask_text,
)
from verify.progress import Progress, silent
from verify.runs.formats import EXP_ULPS, FORMATS
from verify.runs.held_runs import HeldInRuns, held_in_every_run
from verify.runs.hypotheses import ALL, OF_BOUNDS, OF_EXACT_SUMS
from verify.verdict import Verdict

MOST_INPUTS = 2**20
"""Inputs of a domain of which it is proved, and proved again, what every run answers."""

_TOGETHER = 2**14  # inputs of a domain
_METHODS = {
    OF_EXACT_SUMS: "sums that no run rounds",
    OF_BOUNDS: "bounds of what runs round",
    ALL: "sums that no run rounds, and bounds of what runs round",
}


def state_runs(dtype: str, found: HeldInRuns, *, exp_ulps: float = EXP_ULPS) -> Statement | None:
    """The statement of what was proved of every run in a type; none where that is nothing.

    Args:
        dtype: A key of `verify.runs.formats.FORMATS`.
        found: What was proved.
        exp_ulps: The accuracy of the exponential that the proofs assumed.

    Example:
        >>> found = HeldInRuns(np.array([True, False]), np.array([False, True]), "H1 H2 H5")
        >>> state_runs("float32", found).held
        '8'
    """
    if not found.held.any():
        return None
    values: dict[str, Number] = {"contexts": len(found.held), "held": int(found.held.sum())}
    if found.hypotheses != OF_EXACT_SUMS:
        values["exp_ulps"] = exp_ulps
    named = {"format": dtype, "hypotheses": found.hypotheses}
    return Statement(RUNS, _METHODS[found.hypotheses], values, mask_text(found.held.tolist()), named)


def prove_runs(
    model: Model, task: AnyTask, dtype: str, *, tolerance: float, progress: Progress = silent
) -> Statement | None:
    """Prove what every run in a type holds, in seconds, and state it; nothing where nothing is proved.

    Args:
        model: The weights.
        task: The contexts and their targets.
        dtype: A key of `verify.runs.formats.FORMATS`.
        tolerance: What the divergence of a held law may be, nats: that of the certificate.
        progress: Called with the stage and the finished share of it.
    """
    return state_runs(dtype, held_in_every_run(model, task, FORMATS[dtype], tolerance=tolerance, progress=progress))


def state_text(task: Task, statements: Sequence[Statement]) -> Statement | None:
    """The statement of which texts a model says, by the strongest statement that holds all of their windows.

    By induction: if the last tokens are those before a place of a text, they are a context of the task, and the largest
    logit is at the token of that place. Where a window goes on in two ways, no model is right about both.

    Args:
        task: Its contexts are the windows of whole texts; of others nothing is stated.
        statements: What is proved of the contexts: ``answers``, and perhaps ``runs``.
    """
    if task.windows is None or task.contradicted:
        return None
    whole = [each for each in statements if each.id in (ANSWERS, RUNS) and each.values["held"] == task.n_contexts]
    if not whole:
        return None
    dtype = next((each.named["format"] for each in whole[::-1] if each.id == RUNS), REALS)
    values, texts = _of_texts(task)
    return Statement(TEXT, "induction over the windows", values, named={"format": dtype, "texts": texts})


def check_runs(
    statement: Statement,
    model: Model,
    task: AnyTask,
    *,
    tolerance: float,
    progress: Progress = silent,
) -> StatementCheck:
    """Prove the statement again, by no other proofs than those that rest on the hypotheses it names."""
    if not model.reads_tokens:
        return StatementCheck(
            statement.label, Verdict.REFUTED, "the model reads vectors, of which no runs are judged", {}
        )
    named = _named_contexts(statement)
    found = _proved_again(statement, model, task, named, tolerance, progress)
    return _judged(statement, found.held, found.lost)


def check_runs_of_rule(
    statement: Statement, model: Model, rule: RuleTask, *, tolerance: float, progress: Progress = silent
) -> StatementCheck:
    """The same of the inputs of a domain, some at a time."""
    if rule.n_contexts > MOST_INPUTS:
        reason = f"not attempted: runs of more than {MOST_INPUTS} inputs take long"
        return StatementCheck(statement.label, Verdict.UNDECIDED, reason, {})
    named = _named_contexts(statement)
    held, lost = np.zeros((2, rule.n_contexts), dtype=bool)
    for start in range(0, rule.n_contexts, _TOGETHER):
        some = np.arange(start, min(start + _TOGETHER, rule.n_contexts))
        facts = rule.facts(rule.contexts_at(some), vocabulary=model.d_vocab, answers=model.d_vocab_out)
        found = _proved_again(statement, model, facts, named[some], tolerance, progress)
        held[some], lost[some] = found.held, found.lost
    return _judged(statement, held, lost)


def _proved_again(
    statement: Statement,
    model: Model,
    task: AnyTask,
    wanted: BoolArray,
    tolerance: float,
    progress: Progress,
) -> HeldInRuns:
    """What every run holds of the wanted contexts, by the proofs that the statement allows."""
    given = {
        "tolerance": tolerance,
        "hypotheses": statement.named["hypotheses"],
        "exp_ulps": float(statement.values.get("exp_ulps", EXP_ULPS)),
        "progress": progress,
    }
    number_format = FORMATS[statement.named["format"]]
    found = held_in_every_run(model, task, number_format, wanted=wanted, **given)
    left = wanted & ~found.held & ~found.lost
    if left.any() and not found.lost.any():  # what takes long is tried only where it is needed
        more = held_in_every_run(model, task, number_format, wanted=left, quick=False, **given)
        found = HeldInRuns(found.held | more.held, found.lost | more.lost, found.hypotheses)
    return found


def _judged(statement: Statement, held: BoolArray, lost: BoolArray) -> StatementCheck:
    """The verdict on the statement, from the contexts that every run is proved to hold, and those that none holds."""
    named = _named_contexts(statement)
    values: dict[str, Number] = {"contexts": len(held), "held": int((held & named).sum())}

    def checked(verdict: Verdict, reason: str) -> StatementCheck:
        return StatementCheck(statement.label, verdict, reason, values)

    if (false := np.flatnonzero(named & lost)).size:
        return checked(
            Verdict.REFUTED, f"it names {counted(len(false), 'context')} that no run holds, first context {false[0]}"
        )
    if (missing := np.flatnonzero(named & ~held)).size:
        rest = statement.named["hypotheses"]
        return checked(
            Verdict.UNDECIDED,
            f"context {missing[0]}, which it names, was not proved to be held by what rests on {rest}",
        )
    return checked(Verdict.PROVED, f"{values['held']} of {counted(len(held), 'context')}, {statement.method}")


def check_text(
    statement: Statement,
    certificate: Certificate,
    task: AnyTask,
    checks: Mapping[str, StatementCheck],
) -> StatementCheck:
    """Make the texts again, and rest on what was proved again of their windows.

    Args:
        statement: What is to be proved.
        certificate: Where it stands.
        task: Its contexts are the windows.
        checks: What came of the statements before it, by their labels.
    """

    def checked(verdict: Verdict, reason: str) -> StatementCheck:
        return StatementCheck(statement.label, verdict, reason, {})

    facts = task.facts
    if facts is None or facts.windows is None:
        return checked(Verdict.REFUTED, "the task is of no whole texts")
    if facts.contradicted:
        return checked(Verdict.REFUTED, "a window of the texts goes on in two ways")
    values, texts = _of_texts(facts)
    for own, stored in zip(texts, statement.named["texts"], strict=False):
        if own != stored:
            return checked(Verdict.REFUTED, f"the text {own['title']!r} is another one: its hash is {own['sha256']}")
    if values != dict(statement.values) or texts != list(statement.named["texts"]):
        return checked(Verdict.REFUTED, f"the texts of the task are {values}, not {dict(statement.values)}")
    rests_on = certificate.rests_on(statement)
    assert rests_on is not None  # no certificate is without it
    known = checks[rests_on.label]
    if known.verdict is not Verdict.PROVED:
        return checked(Verdict.UNDECIDED, f"it rests on {rests_on.label}, which was not proved again")
    return checked(Verdict.PROVED, f"{counted(values['bytes'], 'byte')}, every window of them held")


def _named_contexts(statement: Statement) -> BoolArray:
    """Which contexts a statement says are held, `[T]`."""
    contexts = int(statement.values["contexts"])
    if not statement.held:
        return np.ones(contexts, dtype=bool)
    named = np.zeros(contexts, dtype=bool)
    named[sorted(held_mask(statement.held, contexts))] = True
    return named


def _of_texts(task: Task) -> tuple[dict[str, Number], list[dict[str, Any]]]:
    """The numbers and the names of the texts of a task."""
    assert task.windows is not None
    texts = recited_texts(task)
    values: dict[str, Number] = {
        "texts": len(texts),
        "parts": len(task.windows.titles),
        "bytes": sum(len(text.data) for text in texts),
    }
    characters = [text.characters for text in texts if text.characters is not None]
    if characters:
        values["characters"] = sum(characters)
    named = [
        {"title": text.title, "bytes": len(text.data), "sha256": hashlib.sha256(text.data).hexdigest()}
        for text in texts
    ]
    return values, named
