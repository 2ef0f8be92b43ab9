"""The page of a folder, ``report.html``: a function of its certificate, its weights, its task and what was measured.

Page: docs/rigour/certificate.md
"""

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from byheart.figures import Figures, Finding, RunFigures, Tried
from byheart.measured import Measured, proved_figures
from byheart.report.facts_page import FactsDetails, Margin, facts_page
from byheart.report.fold_page import FoldDetails, Lead, fold_page
from byheart.report.page import Details, drawn_numbers, report_html
from constructions.errors import ByheartError, FileFormatError
from constructions.folds.fold import Fold
from constructions.model.entries import Entries
from constructions.model.model import Model
from constructions.tasks.any_task import AnyTask
from constructions.tasks.task import Task
from verify.certificates.certificate import (
    CERTIFICATE_FILE,
    MEASURED_FILE,
    MODEL_FILE,
    REPORT_FILE,
    RUNS,
    TASK_FILE,
    Certificate,
    Statement,
    file_sha256,
    memorized_mask,
)
from verify.provers.answer_bounds import Answers
from verify.provers.domain import load_fold
from verify.provers.memorization import load_subject
from verify.runs.formats import FORMATS, JUDGED


def drawn(model: Model, task: Task, answers: Answers, ranks: tuple[Any, Any] | None) -> dict[str, Any]:
    """Return what the page of a memory draws, as data for JSON.

    Args:
        model: The weights.
        task: The task that they hold.
        answers: The bounds of each context.
        ranks: Certified bounds of the rank with 0, 1, ... heads, from below and from above, where they are known.
    """
    lower, upper = (None, None) if ranks is None else ranks
    details = Details(
        divergence_upper=answers.loss_upper,
        margin_lower=answers.margin_lower,
        ranks_lower=lower,
        ranks_upper=upper,
    )
    return drawn_numbers(model, task, details, answers.outputs)


def page(folder: Path, certificate: Certificate, model: Model, task: Task, measured: Measured) -> str:
    """Return the text of ``report.html``.

    Args:
        folder: The folder of the certificate's files, whose hashes the page names.
        certificate: The certificate of the proved statements.
        model: The weights.
        task: The task that they hold.
        measured: The measured figures.

    Raises:
        FileFormatError: The measured numbers make no page.
    """
    statements = [certificate.words(each) for each in certificate.statements]
    try:
        details = Details.of_drawn(
            measured.drawn or {}, source=measured.source, statements=statements, digests=_digests(folder, measured),
            provenance=dict(sorted(certificate.provenance.items())),
        )  # fmt: skip
        return report_html(_figures(certificate, measured), model, task, details)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, ByheartError) as error:
        raise FileFormatError(f"{folder / MEASURED_FILE} makes no page: {error}") from error


def page_of_fold(folder: Path, certificate: Certificate, model: Model, fold: Fold, measured: Measured) -> str:
    """Return the text of ``report.html`` of a rule with a state.

    Args:
        folder: The folder of the certificate's files, whose hashes the page names.
        certificate: The certificate of the proved statements.
        model: The weights.
        fold: The rule.
        measured: What was found beside: ``leads``, and in the figures ``wrong_input``.

    Raises:
        FileFormatError: The measured numbers make no page.
    """
    stated = _stated(folder, certificate, measured)
    try:
        details = FoldDetails(
            leads=[Lead(**each) for each in (measured.drawn or {})["leads"]],
            wrong=measured.figures["wrong_input"],
            **stated,
        )
        return fold_page(fold, Entries.of(model), details)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, ByheartError) as error:
        raise FileFormatError(f"{folder / MEASURED_FILE} makes no page: {error}") from error


def page_of_facts(folder: Path, certificate: Certificate, task: AnyTask, measured: Measured) -> str:
    """Return the text of ``report.html`` of facts of which it is proved whether a model holds them.

    Args:
        folder: The folder of the certificate's files, whose hashes the page names.
        certificate: The certificate of the proved statements.
        task: The facts.
        measured: What was computed beside: ``margins``, and in the figures ``every_run`` where that was asked.

    Raises:
        FileFormatError: The measured numbers make no page.
    """
    stated = _stated(folder, certificate, measured)
    try:
        margins = [
            Margin(-math.inf if lower is None else lower, math.inf if upper is None else upper)
            for lower, upper in (measured.drawn or {})["margins"]
        ]
        details = FactsDetails(
            memorized=_memorized(certificate.answers),
            wrong=int(certificate.answers.values["wrong"]),
            runs=_runs(certificate, measured),
            margins=margins,
            parameters=certificate.subject.sizes["parameters"],
            **stated,
        )
        return facts_page(task.rows(np.arange(task.n_contexts)), details)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, ByheartError) as error:
        raise FileFormatError(f"{folder / MEASURED_FILE} makes no page: {error}") from error


def _stated(folder: Path, certificate: Certificate, measured: Measured) -> dict[str, Any]:
    """Return what the pages of facts and of a rule with a state take from the certificate and its files."""
    return {
        "verdict": certificate.verdict.value,
        "headline": certificate.headline(),
        "statements": [(certificate.words(each), certificate.checker(each)) for each in certificate.statements],
        "digests": _digests(folder, measured),
        "provenance": dict(sorted(certificate.provenance.items())),
    }


def _digests(folder: Path, measured: Measured) -> dict[str, str]:
    """Return the hash of each file that a page is made from, by its name."""
    digests = {name: file_sha256(folder / name) for name in (MODEL_FILE, TASK_FILE, CERTIFICATE_FILE)}
    return {**digests, MEASURED_FILE: measured.sha256()}


def _memorized(statement: Statement) -> set[int]:
    """Return the facts that a statement names."""
    size = int(statement.values["contexts"])
    if statement.memorized:
        return memorized_mask(statement.memorized, size)
    return set(range(size)) if statement.values["memorized"] else set()


def _runs(certificate: Certificate, measured: Measured) -> tuple[str, set[int]] | None:
    """Return the number format whose every run was asked about, and the facts that the certificate says are memorized
    there.

    Where that is no fact the certificate states nothing, and only the figures say that somebody asked.
    """
    asked = measured.figures.get("every_run")
    if (stated := certificate.statement(RUNS)) is not None:
        return stated.named["format"], _memorized(stated)
    if asked is None:
        return None
    if asked["dtype"] not in JUDGED:
        raise ValueError(f"every_run is of {asked['dtype']!r}")
    return asked["dtype"], set()


def _figures(certificate: Certificate, measured: Measured) -> Figures:
    known = {each.name for each in fields(Figures)}
    given = {name: value for name, value in measured.figures.items() if name in known and value is not None}
    if given.get("memories") is not None:
        given["memories"] = tuple(Tried(**each) for each in given["memories"])
    if given.get("findings") is not None:
        given["findings"] = tuple(Finding(**each) for each in given["findings"])
    if given.get("torch") is not None:
        runs = [(name, RunFigures.of(name, run)) for name, run in given["torch"].items()]
        given["torch"] = dict(sorted(runs, key=lambda each: [*FORMATS].index(each[1].dtype)))
    return Figures(**given, **proved_figures(certificate))


def page_again(folder: Path, certificate: Certificate, measured: Measured) -> str:
    """Return the text of the page of a folder, made again.

    Args:
        folder: The folder.
        certificate: Its certificate.
        measured: The measured figures.

    Raises:
        FileFormatError: There is nothing to draw, or the measured numbers make no page.
    """
    if certificate.subject.is_of_a_fold and measured.drawn is not None:
        return page_of_fold(folder, certificate, *load_fold(folder, certificate), measured)
    if not certificate.subject.is_of_a_rule and measured.drawn is not None:
        model, task = load_subject(folder, certificate)
        if "margins" in measured.drawn:
            return page_of_facts(folder, certificate, task, measured)
        if task.facts is not None:
            return page(folder, certificate, model, task.facts, measured)
    raise FileFormatError(f"{folder / REPORT_FILE} is a page, but {MEASURED_FILE} has nothing to draw: remove it")
