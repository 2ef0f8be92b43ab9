"""Compute in which contexts every run of a model in a format has the same answer.

Page: docs/hosts.md
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from constructions.errors import InputError, require_one_of
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.progress import Progress
from verify.certificates.certificate import Statement
from verify.provers.runs import MOST_INPUTS, state_runs
from verify.runs.every_run import every_run
from verify.runs.formats import JUDGED, every_run_is
from verify.runs.hypotheses import OF_BOUNDS
from verify.runs.memorized_runs import HeldInRuns

_MOST_NAMED = 100


class Part(NamedTuple):
    """Contexts of one length `[T, S]`, their next tokens `[T]`, and facts with the indices of their contexts."""

    contexts: Int64Array
    labels: Int64Array
    facts: Int64Array
    places: Int64Array


class EveryRun(NamedTuple):
    """The proved results for every run.

    Args:
        figures: The figures.
        left: The rows of all contexts that are left open.
        statement: What the certificate states of it; none where no label is proved.
    """

    figures: dict[str, Any]
    left: list[list[Any]]
    statement: Statement | None


def require_every_run(dtype: str, model: Model, count: int) -> None:
    """Refuse unsupported arguments of `in_every_run` before any long computation.

    Raises:
        InputError: An unknown type, too many contexts, or a model that reads vectors.
    """
    if dtype in ("bfloat16", "float16"):
        why = "of this type nothing is proved, since the roundings of one layer may exceed the leads of trained models"
        raise InputError("every_run", f"= {dtype!r}: {why}", " or ".join(map(repr, JUDGED)))
    require_one_of(tuple(JUDGED), every_run=dtype)
    if not model.reads_tokens:
        raise InputError("every_run", "is requested for a model that reads vectors", "a model of tokens")
    if count > MOST_INPUTS:
        raise InputError("every_run", f"is requested for {count} inputs", f"at most {MOST_INPUTS}")


def in_every_run(
    model: Model,
    parts: Sequence[Part],
    count: int,
    rows: Callable[[Int64Array], Sequence[Sequence[Any]]],
    *,
    dtype: str,
    labelled: bool = True,
    progress: Progress,
) -> EveryRun:
    """Return for how many facts every run gives one answer, for how many the right one, and which facts are open.

    A fact whose answer has several tokens has one answer if each of its contexts has.

    Args:
        model: The model.
        parts: The contexts of each length, and the facts that have them.
        count: How many facts there are.
        rows: The rows that name facts at some places.
        dtype: A key of `verify.runs.formats.JUDGED`.
        labelled: Whether a label says what is right.
        progress: Called with the stage and the finished share of it.
    """
    one, right = np.ones(count, dtype=bool), np.ones(count, dtype=bool)
    for part in parts:
        place = every_run(model, part.contexts, number_format=JUDGED[dtype], progress=progress).place[part.places]
        one[part.facts[place < 0]] = False
        right[part.facts[place != part.labels[part.places]]] = False
    left = [list(row) for row in rows(np.flatnonzero(~one))]
    figures = {
        "dtype": dtype,
        "means": every_run_is(dtype),
        "contexts": count,
        "one_answer": int(one.sum()),
        "right": int(right.sum()) if labelled else None,
        "left_open": left[:_MOST_NAMED],
    }
    statement = state_runs(dtype, HeldInRuns(right, one & ~right, OF_BOUNDS)) if labelled else None
    return EveryRun({"every_run": figures}, left, statement)
