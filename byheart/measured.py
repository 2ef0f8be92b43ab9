"""What stands beside a certificate: measured, or computed when a folder was made; nobody proves it again.

The summary and the page of a folder are functions of its certificate, its weights, its task and these numbers, so that
`check` makes them again and compares every byte.

Page: docs/rigour/certificate.md
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from byheart.figures import Figures, Finding, RunFigures, Tried
from byheart.report.facts_page import FactsDetails, Margin, facts_page
from byheart.report.fold_page import FoldDetails, Lead, fold_page
from byheart.report.page import Details, report_html
from constructions.errors import ByheartError, FileFormatError, TamperedError
from constructions.folds.fold import Fold
from constructions.formats.files import (
    canonical_json,
    parse_json,
    read_text,
    require_canonical,
    require_regular_file,
    write_atomically,
)
from constructions.model.entries import Entries
from constructions.model.model import Model
from constructions.tasks.any_task import AnyTask
from constructions.tasks.task import Task
from verify.arithmetic.exact_json import expect, expect_fields
from verify.certificates.certificate import (
    CERTIFICATE_FILE,
    FEATURE_RANK,
    MEASURED_FILE,
    MODEL_FILE,
    REPORT_FILE,
    RUNS,
    SATURATION,
    SUMMARY_FILE,
    TASK_FILE,
    TEXT_DIVERGENCE,
    Certificate,
    Statement,
    file_sha256,
    memorized_mask,
)
from verify.provers.domain import load_fold
from verify.provers.memorization import load_subject
from verify.runs.formats import FORMATS, JUDGED

_FORMAT, _VERSION = "byheart-measured", 1
_LARGEST_FILE = 2**26  # bytes
_NEVER = ("files", "statements", "measured")  # of no figure of these names anything is kept


@dataclass(frozen=True)
class Measured:
    """What a maker measured, or computed beside the proofs.

    Args:
        figures: Figures by their names, none of which a certificate says.
        source: What the task was made from, in a few words.
        drawn: What the page draws (`byheart.report.page.drawn_numbers`); none where there is no page.
    """

    figures: Mapping[str, Any]
    source: str = ""
    drawn: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls, figures: Mapping[str, Any], certificate: Certificate, *, source: str = "", drawn: Any = None
    ) -> "Measured":
        """Return what of all figures no certificate says."""
        said = {*proved_figures(certificate), *_NEVER}
        kept = {name: value for name, value in figures.items() if name not in said}
        return cls(*json.loads(canonical_json([kept, source, drawn])))  # in the order in which they are read

    def to_json(self) -> str:
        """Return the one text of it."""
        data = {"figures": dict(self.figures), "source": self.source, "drawn": self.drawn}
        return canonical_json({"format": _FORMAT, "version": _VERSION, **data}) + "\n"

    def sha256(self) -> str:
        """Return the hash of that text: the page names it, so that not a digit of it can change unseen."""
        return hashlib.sha256(self.to_json().encode("ascii")).hexdigest()

    def save(self, folder: Path) -> None:
        """Write ``measured.json`` into `folder`, atomically."""
        write_atomically(folder / MEASURED_FILE, self.to_json().encode("ascii"))

    @classmethod
    def load(cls, folder: Path, certificate: Certificate) -> "Measured":
        """Read ``measured.json`` of `folder`.

        Raises:
            FileFormatError: It is missing, damaged, or has a figure that only a certificate may say.
        """
        path = folder / MEASURED_FILE
        text = read_text(path, _LARGEST_FILE)
        found = parse_json(path, text)
        expect_fields(MEASURED_FILE, found, {"format", "version", "figures", "source", "drawn"})
        if (found["format"], found["version"]) != (_FORMAT, _VERSION):
            raise FileFormatError(f"{path} is of the format {found['format']!r}, expected {_FORMAT!r} {_VERSION}")
        figures = expect(f"{MEASURED_FILE}: figures", found["figures"], dict)
        if strange := sorted({*proved_figures(certificate), *_NEVER} & set(figures)):
            raise FileFormatError(f"{path} has the figure {strange[0]!r}, which only the certificate may say")
        drawn = None if found["drawn"] is None else expect(f"{MEASURED_FILE}: drawn", found["drawn"], dict)
        measured = cls(figures, expect(f"{MEASURED_FILE}: source", found["source"], str), drawn)
        require_canonical(path, text, measured.to_json)
        return measured


def proved_figures(certificate: Certificate) -> dict[str, Any]:
    """Return the figures that a certificate says, by their names in `Figures`; `None` where it does not say them."""
    figure, subject = certificate.figure, certificate.subject
    return {
        "verdict": certificate.verdict.value,
        "headline": certificate.headline(),
        "asked": certificate.criterion.describe(subject.target),
        "target": subject.target,
        "origin": subject.origin,
        "contexts": subject.sizes["all_contexts"],
        "facts": subject.sizes["contexts"],
        "n_ctx": subject.sizes["context_length"],
        "outputs": subject.sizes["outputs"],
        "parameters": subject.sizes["parameters"],
        "memorized": certificate.answers.values["memorized"],
        "wrong": certificate.answers.values["wrong"],
        **certificate.answer_figures(),
        "text_kl": [figure(TEXT_DIVERGENCE, "lower"), figure(TEXT_DIVERGENCE, "upper")],
        "condition": figure(FEATURE_RANK, "condition_upper"),
        "rank_proved": certificate.statement(FEATURE_RANK) is not None,
        "pairs": figure(SATURATION, "pairs"),
        "saturated_pairs": figure(SATURATION, "saturated_lower"),
        "saturation_delta": figure(SATURATION, "delta"),
    }


def summary_json(certificate: Certificate, measured: Measured) -> str:
    """Return the text of ``summary.json``: what the certificate says, and in a block of its own what was measured."""
    statements = [
        {"id": each.label, "statement": certificate.words(each), "checker": certificate.checker(each)}
        for each in certificate.statements
    ]
    beside = {**measured.figures, "source": measured.source}
    return canonical_json({**proved_figures(certificate), "statements": statements, "measured": beside}) + "\n"


def page(folder: Path, certificate: Certificate, model: Model, task: Task, measured: Measured) -> str:
    """Return the text of ``report.html``.

    Args:
        folder: Where the files of the certificate lie, whose hashes the page names.
        certificate: What is proved.
        model: The weights.
        task: What they hold.
        measured: What was measured.

    Raises:
        FileFormatError: The measured numbers make no page.
    """
    names = [MODEL_FILE, TASK_FILE, CERTIFICATE_FILE]
    statements = [certificate.words(each) for each in certificate.statements]
    digests = {**{name: file_sha256(folder / name) for name in names}, MEASURED_FILE: measured.sha256()}
    try:
        details = Details.of_drawn(
            measured.drawn or {}, source=measured.source, statements=statements, digests=digests,
            provenance=dict(sorted(certificate.provenance.items())),
        )  # fmt: skip
        return report_html(_figures(certificate, measured), model, task, details)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, ByheartError) as error:
        raise FileFormatError(f"{folder / MEASURED_FILE} makes no page: {error}") from error


def page_of_fold(folder: Path, certificate: Certificate, model: Model, fold: Fold, measured: Measured) -> str:
    """Return the text of ``report.html`` of a rule with a state.

    Args:
        folder: Where the files of the certificate lie, whose hashes the page names.
        certificate: What is proved.
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
        folder: Where the files of the certificate lie, whose hashes the page names.
        certificate: What is proved.
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
    digests = {name: file_sha256(folder / name) for name in (MODEL_FILE, TASK_FILE, CERTIFICATE_FILE)}
    return {
        "verdict": certificate.verdict.value,
        "headline": certificate.headline(),
        "statements": [(certificate.words(each), certificate.checker(each)) for each in certificate.statements],
        "digests": {**digests, MEASURED_FILE: measured.sha256()},
        "provenance": dict(sorted(certificate.provenance.items())),
    }


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


def require_made_again(folder: Path, kinds: Sequence[Any] = ()) -> None:
    """Make the summary and the page of a folder again, and compare every byte.

    What a certificate proves is for `check_memorization` or the kernel; this is for what people read beside it.

    Args:
        folder: What a command wrote; nothing is compared where none of these files is there.
        kinds: Modules of kinds of statement that lie elsewhere.

    Raises:
        FileFormatError: They lie there without the numbers that they are made of, or a file is damaged.
        TamperedError: A file is another one.
    """
    folder = Path(folder)
    made = [name for name in (SUMMARY_FILE, REPORT_FILE) if (folder / name).exists()]
    if not made and not (folder / MEASURED_FILE).exists():
        return
    if not (folder / MEASURED_FILE).exists():
        raise FileFormatError(
            f"{folder / made[0]} lies there without {MEASURED_FILE}, from which it is made: remove it to check the "
            "rest, or make the folder again"
        )
    certificate = Certificate.load(folder, kinds)
    measured = Measured.load(folder, certificate)
    for name in made:
        text = (
            summary_json(certificate, measured) if name == SUMMARY_FILE else _page_again(folder, certificate, measured)
        )
        require_regular_file(folder / name)
        if (folder / name).read_bytes() != text.encode("utf-8"):
            raise TamperedError(
                f"{folder / name} is not the file that certificate, weights, task and {MEASURED_FILE} make: do not "
                "believe it; remove it to check the rest, or make the folder again"
            )


def _page_again(folder: Path, certificate: Certificate, measured: Measured) -> str:
    """Return the page of a folder, of whose kind there is one."""
    if certificate.subject.is_of_a_fold and measured.drawn is not None:
        return page_of_fold(folder, certificate, *load_fold(folder, certificate), measured)
    if not certificate.subject.is_of_a_rule and measured.drawn is not None:
        model, task = load_subject(folder, certificate)
        if "margins" in measured.drawn:
            return page_of_facts(folder, certificate, task, measured)
        if task.facts is not None:
            return page(folder, certificate, model, task.facts, measured)
    raise FileFormatError(f"{folder / REPORT_FILE} is a page, but {MEASURED_FILE} has nothing to draw: remove it")
