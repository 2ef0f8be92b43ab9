"""State which texts a model recites, and prove it again.

Page: docs/rigour/certificate.md
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from constructions.counted import counted
from constructions.tasks.recitation import recited_texts
from constructions.tasks.task import Task
from verify.arithmetic.exact_json import Number
from verify.certificates.certificate import ANSWERS, REALS, RUNS, TEXT, Statement, StatementCheck
from verify.provers.evaluation import OnContexts
from verify.verdict import Verdict

ID = TEXT


def state_text(task: Task, statements: Sequence[Statement]) -> Statement | None:
    """Return the statement of the texts a model recites, by the strongest statement that all of their windows are
    memorized.

    By induction: if the last tokens are those before a place of a text, they are a context of the task, and the largest
    logit is at the token of that place. Where a window goes on in two ways, no model is right about both.

    Args:
        task: Its contexts are the windows of whole texts; of others nothing is stated.
        statements: What is proved of the contexts: ``answers``, and perhaps ``runs``.
    """
    if task.windows is None or task.contradicted:
        return None
    whole = [
        statement
        for statement in statements
        if statement.id in (ANSWERS, RUNS) and statement.values["memorized"] == task.n_contexts
    ]
    if not whole:
        return None
    dtype = next((statement.named["format"] for statement in whole[::-1] if statement.id == RUNS), REALS)
    values, texts = _of_texts(task)
    return Statement(TEXT, "induction over the windows", values, named={"format": dtype, "texts": texts})


def check(statement: Statement, evaluation: OnContexts) -> StatementCheck:
    """Rebuild the texts, and rely on the repeated proof for their windows."""

    def checked(verdict: Verdict, reason: str) -> StatementCheck:
        return StatementCheck(statement.label, verdict, reason, {})

    facts = evaluation.task.facts
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
    rests_on = evaluation.certificate.rests_on(statement)
    assert rests_on is not None  # no certificate is without it
    known = evaluation.checks[rests_on.label]
    if known.verdict is not Verdict.PROVED:
        return checked(Verdict.UNDECIDED, f"it rests on {rests_on.label}, which was not proved again")
    return checked(Verdict.PROVED, f"{counted(values['bytes'], 'byte')}, every window of them memorized")


def _of_texts(task: Task) -> tuple[dict[str, Number], list[dict[str, Any]]]:
    """Return the numbers and the names of the texts of a task."""
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
