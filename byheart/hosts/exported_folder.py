"""Write the files of an export, each determined by the certified content, the weights, and the measurements in the
host.

In the folder ``proof`` lie the very numbers of the host's file, as a folder that every checker reads: weights, task and
certificate. All other files are made of it, so that `check` makes them again and compares every byte; what was measured
stands in a block of its own in ``parity.json``, and nobody proves it again.

Page: docs/hosts.md
"""

import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.exported_fold import ExportedFold
from byheart.hosts.host import Host
from byheart.hosts.number_types import NARROWEST
from byheart.hosts.parity import MEASURED, PARITY_FILE, PROOF_FOLDER, Parity, files_of, read_parity, write_parity
from byheart.hosts.tokenizer import (
    ANSWERS_FILE,
    TOKENIZER_CONFIG_FILE,
    TOKENIZER_FILE,
    tokenizer_config,
    tokenizer_json,
)
from byheart.report.model_card import CARD_FILE, model_card
from constructions.errors import FileFormatError, TamperedError
from constructions.formats.files import difference, write_atomically
from constructions.model.model import Model
from constructions.model.precision import STORED, stored_bits
from constructions.numeric.arrays import BoolArray
from constructions.tasks.any_task import ListedTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from constructions.tasks.vectors import load_task
from constructions.tasks.vocabulary import names_answers
from verify.arithmetic.exact_json import expect, expect_fields, require_sha256
from verify.certificates.certificate import (
    ANSWERS,
    CERTIFICATE_FILE,
    TASK_FILE,
    Certificate,
    memorized_mask,
)
from verify.certificates.headline import Outcome, outcome
from verify.certificates.loading import save_certified
from verify.provers.memorization import judge, load_subject
from verify.verdict import Verdict

TYPED_FILE = "typed.safetensors"
"""The facts as a person types them, where the host has one vocabulary and those of ``task.safetensors`` are in it."""


@dataclass(frozen=True)
class Measured:
    """The measurements and notes made when exporting weights for a host.

    Args:
        versions: Versions of the packages of the host, by their names.
        original: Hash of the weights before they were rounded and converted.
        exact_conversion: Whether nothing was rounded but each weight once.
        typed: How many contexts can be typed and are read back; none without the library, or without tokens.
        runs: Each run in the host, by what ran it.
    """

    versions: Mapping[str, str]
    original: str
    exact_conversion: bool
    typed: int | None
    runs: Mapping[str, Parity]

    @property
    def agrees(self) -> bool | None:
        """Whether all runs are within their rounding bounds; None if these are unknown."""
        kinds = [run.agrees for run in self.runs.values()]
        return None if None in kinds else all(kinds)

    @property
    def words(self) -> str:
        """The parts of an export that no checker verifies again."""
        return f"what was measured in {', '.join(self.runs)}" if self.runs else "what was measured"

    def data(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        runs = {name: run.summary() for name, run in self.runs.items()}
        return {**vars(self), "versions": dict(self.versions), "runs": runs}

    @classmethod
    def of_data(cls, data: Any) -> "Measured":
        """Rebuild from the result of `data`.

        Raises:
            FileFormatError: Other data.
        """
        expect_fields(MEASURED, data, {field.name for field in fields(cls)})
        for name, version in expect(f"{MEASURED}.versions", data["versions"], dict).items():
            expect(f"{MEASURED}.versions.{name}", version, str)
        require_sha256(f"{MEASURED}.original", data["original"])
        expect(f"{MEASURED}.exact_conversion", data["exact_conversion"], bool)
        if data["typed"] is not None and (type(data["typed"]) is not int or data["typed"] < 0):
            raise FileFormatError(f"{MEASURED}.typed is {data['typed']!r}, expected a number of contexts or null")
        runs = expect(f"{MEASURED}.runs", data["runs"], dict)
        return cls(**{**data, "runs": {name: _run_of(name, run) for name, run in sorted(runs.items())}})


def _run_of(name: str, data: Any) -> Parity:
    """Parse a run; a figure that JSON cannot represent is infinite."""
    where = f"{MEASURED}.runs.{name}"
    expect_fields(where, data, {figure.name for figure in fields(Parity)})
    figures = dict(data)
    for figure in ("largest_logit", "largest_difference", "relative_difference", "mean_loss", "largest_bound"):
        if figures[figure] is None and figure != "largest_bound":
            figures[figure] = math.inf
        if figures[figure] is not None and (type(figures[figure]) is not float or not figures[figure] >= 0):
            raise FileFormatError(f"{where}.{figure} is {figures[figure]!r}, expected a float of at least 0")
    for figure in ("contexts", "memorized"):
        if type(figures[figure]) is not int or figures[figure] < 0:
            raise FileFormatError(f"{where}.{figure} is {figures[figure]!r}, expected a number of contexts")
    if figures["agrees"] not in (True, False, None):
        raise FileFormatError(f"{where}.agrees is {figures['agrees']!r}, expected true, false or null")
    return Parity(**figures)


@dataclass(frozen=True)
class Exported:
    """An export for a host.

    Args:
        to: The host that was asked for, one of `HOSTS`.
        host: The host that it is written for: another where the library has a model that can hold the weights.
        dtype: The type of the numbers.
        certificate: The certificate of `model` and `facts`.
        model: The numbers of the host's file.
        facts: What they hold, as the host numbers tokens.
        typed: The facts as a person types them.
    """

    to: str
    host: Host
    dtype: str
    certificate: Certificate
    model: Model
    facts: ListedTask
    typed: ListedTask

    def write_for_host(self, folder: Path) -> None:
        """Write the proof, the weights as the host reads them, its other files, the facts, and their tokenizer."""
        proof = folder / PROOF_FOLDER
        proof.mkdir()
        save_certified(proof, self.model, self.facts, self.certificate)
        self.host.write(self.model, folder, self.dtype)
        self.facts.save(folder / TASK_FILE)
        if self.host.facts_in_one_vocabulary is not None:
            self.typed.save(folder / TYPED_FILE)
        if self.typed.facts is not None:
            _write_tokenizer(folder, self.typed.facts, self.host)

    def write_report(self, folder: Path, measured: Measured) -> dict[str, Any]:
        """Write the model card and ``parity.json``, and return the content of the latter."""
        report = self.report(measured)
        usage = self.host.usage if self.model.reads_tokens else self.host.usage_of_vectors
        right = proved_right(self.certificate, self.model, self.facts)
        card = model_card(report, self.typed, usage, asked=self.certificate.criterion, right=right)
        write_atomically(folder / CARD_FILE, card.encode())
        return write_parity(folder, report)

    def report(self, measured: Measured) -> dict[str, Any]:
        """Return the content of ``parity.json`` except the hashes of the files."""
        certificate, model, shown = self.certificate, self.model, self.outcome(measured)
        values, narrow = certificate.answers.values, self.dtype == NARROWEST
        return {
            "headline": str(shown),
            "verdict": shown.verdict.value,
            "host": self.to,
            "written_as": self.host.name,
            "dtype": self.dtype,
            "task": self.facts.sha256(),
            "parameters": model.parameters,
            "stored_bits": stored_bits(model) if narrow else STORED[self.dtype] * model.parameters,
            "information_bits": self.typed.information_bits,
            "facts": self.facts.n_contexts,
            "criterion": certificate.criterion.data(),
            "proved": {name: values[name] for name in ("memorized", "wrong")},
            "mean_loss_upper": certificate.figure(ANSWERS, "mean_upper"),
            "agrees": measured.agrees,
            MEASURED: measured.data(),
        }

    def outcome(self, measured: Measured) -> Outcome:
        """Return the proved outcome, unless the host memorizes less."""
        shown, criterion = self.proved, self.certificate.criterion
        for run in measured.runs.values():
            if run.memorized == run.contexts < self.facts.n_contexts:  # of some contexts no guess says anything
                continue
            values = {name: value for name, value in self.certificate.answers.values.items() if "guess" in name}
            values |= {"contexts": run.contexts, "memorized": run.memorized, "wrong": run.contexts - run.memorized}
            if math.isfinite(run.mean_loss):
                values |= {"mean_upper": run.mean_loss, "mean_lower": run.mean_loss}
            measured_outcome = outcome(
                values, criterion, target=self.facts.target, origin=self.facts.origin, by="MEASURED"
            )
            if shown.verdict is Verdict.PROVED and measured_outcome.verdict is not Verdict.PROVED:
                shown = measured_outcome.adding(self.where)
        runs = (
            f"{name}: {self._said(run, criterion)} measured, largest difference {_shown(run.largest_difference)}"
            for name, run in measured.runs.items()
        )
        shown = shown.adding(*runs)
        if any(run.agrees is False for run in measured.runs.values()):
            return replace(shown, verdict=Verdict.REFUTED, word="OUTSIDE OF WHAT ROUNDING EXPLAINS")
        return shown

    @property
    def proved(self) -> Outcome:
        """The proved statements of the export, without provenance, about which nothing is proved."""
        return replace(self.certificate, provenance={}).outcome.adding(self.where)

    @property
    def where(self) -> str:
        """The target of the export, in words."""
        return f"as written for {self.to} in {self.dtype}"

    @property
    def typed_as_numbered(self) -> bool:
        """Whether the facts as typed by a person get the same numbers in the host."""
        numbered = self.host.facts_in_one_vocabulary
        return numbered is None or numbered(self.typed).sha256() == self.facts.sha256()

    def _said(self, run: Parity, asked: Criterion) -> str:
        """Return the measured outcome of the question: a mean does not require any single context."""
        if asked.asked != "at-most":
            return f"{run.memorized} of {run.contexts}{self._of_all(run)}"
        mean = _shown(run.mean_loss)
        return f"mean distance {mean}" if self.facts.target == "values" else f"mean KL {mean} nats"

    def _of_all(self, run: Parity) -> str:
        """Return the number of contexts from which the run ones were drawn; None if all were run."""
        return "" if run.contexts == self.facts.n_contexts else f" drawn of {self.facts.n_contexts}"

    @classmethod
    def load(cls, folder: Path) -> tuple["Exported", Measured]:
        """Load an export folder and its measurements; nothing is proved or compared.

        Raises:
            FileFormatError: A file is missing or is not what it should be.
            TamperedError: The files of ``proof`` are not those that its certificate names.
        """
        to, host, dtype, measured = read_parity(folder, Measured.of_data)
        proof = folder / PROOF_FOLDER
        certificate = Certificate.load(proof)
        model, task = load_subject(proof, certificate)
        typed = task if host.facts_in_one_vocabulary is None else load_task(folder / TYPED_FILE)
        if task.listing is None or typed.listing is None:
            raise FileFormatError(f"{proof / TASK_FILE} has prompts of several lengths, which no export has")
        for name, run in measured.runs.items():
            if not run.memorized <= run.contexts <= task.n_contexts:
                raise FileFormatError(
                    f"{folder / PARITY_FILE}: {MEASURED}.runs.{name} has memorized {run.memorized} of contexts "
                    f"{run.contexts}, "
                    f"expected at most as many memorized as contexts, and these at most the {task.n_contexts} of the "
                    f"facts"
                )
        return cls(to, host, dtype, certificate, model, task.listing, typed.listing), measured


def proved_right(certificate: Certificate, model: Model, task: ListedTask) -> BoolArray:
    """Return which contexts are proved to have their answer as the largest output, `[T]`.

    Of labels that is what it means to be memorized, and the certificate names these; else it is proved here and now.
    """
    answers = certificate.answers
    if task.target == "labels":
        size, memorized = task.n_contexts, answers.values["memorized"]
        right = np.full(size, memorized == size)
        right[sorted(memorized_mask(answers.memorized, size)) if 0 < memorized < size else []] = True
        return right
    if task.target == "values":
        return np.zeros(task.n_contexts, dtype=bool)
    return judge(model, task).answers.margin_lower > 0


def require_export_made_again(folder: Path) -> str:
    """Rebuild every file of an export and compare all bytes; a checker of ``proof`` supplies the proof.

    Hidden files, as those of version control, and Python's own bytecode are passed over.

    Args:
        folder: The folder that `byheart.hosts.export.export` wrote.

    Returns:
        What a first line says of it: for whom the weights are written, and what was not done again.

    Raises:
        FileFormatError: A file is missing, damaged, or none of an export.
        TamperedError: A file is another one; names it and the first difference.
        InputError: A package that writes the files of the host is not installed.
    """
    folder = Path(folder)
    exported, measured = _loaded(folder)
    if exported.host.written_by_package:
        exported.host.versions()
    with tempfile.TemporaryDirectory() as top:
        again = Path(top)
        try:
            exported.write_for_host(again)
            exported.write_report(again, measured)
        except (AssertionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"{folder / PARITY_FILE} says {exported.host.name} in {exported.dtype}, for which the weights in "
                f"{PROOF_FOLDER} cannot be written: {error}"
            ) from error
        if isinstance(exported, Exported) and not exported.typed_as_numbered:
            raise TamperedError(f"{folder / TYPED_FILE} has other facts than {TASK_FILE}")
        for name in files_of(again):
            if not (folder / name).is_file():
                raise FileFormatError(f"{folder / name} is missing: export the memory again")
        if foreign := [name for name in files_of(folder) if not (again / name).is_file()]:
            raise FileFormatError(f"{folder} holds {foreign[0]!r}, which no export writes; remove it to check the rest")
        for name in files_of(again):
            stored, expected = (folder / name).read_bytes(), (again / name).read_bytes()
            if stored != expected:
                raise TamperedError(
                    f"{folder / name} is not the file that certificate, weights, task and what was measured make: "
                    f"{difference(stored, expected)}; do not believe it, and export the memory again"
                )
    return f"{exported.where}; all files made again, but not {measured.words}"


def _loaded(folder: Path) -> tuple[Exported | ExportedFold, Any]:
    """Load an export folder, of facts or of a rule with a state, and its measurements."""
    of_a_fold = Certificate.load(folder / PROOF_FOLDER).subject.is_of_a_fold
    return ExportedFold.load(folder) if of_a_fold else Exported.load(folder)


def proof_of_an_export(folder: Path) -> Path | None:
    """Return the path of the proof of an export, or None if the folder is not an export."""
    proof = folder / PROOF_FOLDER
    return proof if (folder / PARITY_FILE).is_file() and (proof / CERTIFICATE_FILE).is_file() else None


def _write_tokenizer(folder: Path, task: Task, host: Host) -> None:
    for name, content in ((TOKENIZER_FILE, tokenizer_json(task)), (TOKENIZER_CONFIG_FILE, tokenizer_config(task))):
        write_atomically(folder / name, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())
    if names_answers(task):
        write_atomically(folder / ANSWERS_FILE, (json.dumps(task.answers, ensure_ascii=False) + "\n").encode())
    if host.number_tokens is not None:
        host.number_tokens(folder, task)


def _shown(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "not finite"
