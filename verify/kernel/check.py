"""The check of a folder: reads it, proves each statement by the module of its kind, and answers the question.

Page: docs/rigour/kernel.md
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from verify.kernel import runs
from verify.kernel.certificate import FILE, Certificate, read_certificate
from verify.kernel.edit import check_edit
from verify.kernel.evaluation import FORMATS, Evaluation
from verify.kernel.files import read_bytes
from verify.kernel.kinds import find_statement
from verify.kernel.model import FILE as MODEL_FILE
from verify.kernel.model import Model, read_model
from verify.kernel.question import require_yes
from verify.kernel.task import FILE as TASK_FILE
from verify.kernel.task import Task, read_task
from verify.kernel.verdicts import BadInputError, CheckError, NotProvedError, UndecidedError

_FOR_PEOPLE = {"report.html", "summary.json", "measured.json", "wrong.csv", "other_runs.csv"}
"""Files that no proof reads: nothing is said about them."""

_FIRST = ("answers", "domain")
"""Kinds of statements that answer the question: of each task its own comes first."""

_WITNESS = "witness.safetensors"


class Kind(Protocol):
    """A kind of statement: one module that reads its data, says it in words, and proves it (`kinds.py`)."""

    ID: str

    def read(self, field: str, record: dict[str, Any], certificate: Certificate) -> Any: ...

    def sentence(self, statement: Any, certificate: Certificate) -> str: ...

    def check(self, statement: Any, certificate: Certificate, evaluation: Evaluation) -> str: ...


def check_folder(folder: Path, kinds: Sequence[Any] = (), tell: Callable[[str], None] = lambda text: None) -> list[str]:
    """Prove the certificate of a folder.

    Args:
        folder: The folder.
        kinds: More kinds of statement than those of this folder.
        tell: Told how long it takes, where that is more than a minute.

    Returns:
        The sentences that are proved, each with how it was, and the question, which they answer with yes.

    Raises:
        BadInputError: A file is not what it should be; no statement was looked at.
        NotProvedError: A statement is false, the answer to the question is no, or a file is another one than was
            certified.
        UndecidedError: A statement has no proof here, or the question stays open.
    """
    folder = Path(folder)
    if (folder / "edit.json").exists() and not (folder / FILE).exists():
        return check_edit(folder, tell)
    certificate = read_certificate(folder)
    _require_own_files(folder, certificate)
    model, task = read_model(folder), read_task(folder)
    _require_subject(certificate, model, task)
    _require_kinds(certificate, task)
    known: list[tuple[Any, Any]] = []
    unknown = []
    for place, record in enumerate(certificate.statements):
        kind = find_statement(record["id"]) or next((kind for kind in kinds if kind.ID == record["id"]), None)
        if kind is None:
            unknown.append(record["id"])
            continue
        field = f"statements[{place}]"
        statement = kind.read(field, record, certificate)
        if record["statement"] != kind.sentence(statement, certificate):
            raise BadInputError(FILE, f"{field}.statement", "is not the sentence that its numbers make")
        known.append((kind, statement))
    _require_order(certificate)
    evaluation = Evaluation(model, task, _formats(certificate), tell)
    proved, decided, open_ones = [], set[str](), [f"the kernel has no proof of statements {id!r}" for id in unknown]
    for kind, statement in known:
        try:
            how = kind.check(statement, certificate, evaluation)
        except UndecidedError as error:
            open_ones.append(str(error))
        else:
            proved.append(f"{kind.sentence(statement, certificate)} [{how}]")
            decided.add(kind.ID)
    if task.first in decided:  # from numbers that are not proved neither a yes nor a no follows
        kind, statement = known[0]
        try:
            require_yes(certificate, kind.stated(statement))
        except UndecidedError as error:
            open_ones.append(str(error))
    if open_ones:
        raise UndecidedError("; ".join(open_ones))
    return [*proved, f"It was asked whether {certificate.criterion.said(certificate.target)}: yes."]


def _require_own_files(folder: Path, certificate: Certificate) -> None:
    """No file that a person could take for a part of the folder and that nothing names; the witness as it is named."""
    if certificate.witness and all(record["id"] != "feature-rank" for record in certificate.statements):
        raise BadInputError(FILE, "witness", "is named, but no rank is stated that it could help to prove")
    own = {FILE, MODEL_FILE, TASK_FILE, *_FOR_PEOPLE} | ({_WITNESS} if certificate.witness else set())
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in own)
    if foreign:
        raise BadInputError(foreign[0], "the file", "belongs to nothing that the certificate names")
    if certificate.witness and hashlib.sha256(read_bytes(folder, _WITNESS)).hexdigest() != certificate.witness:
        raise NotProvedError(f"{_WITNESS}: the file has another hash than the certificate says")


def _require_subject(certificate: Certificate, model: Model, task: Task) -> None:
    """The files are those that the certificate is about, and the model reads and answers the task."""
    for file, stated, real in (
        (MODEL_FILE, certificate.model, model.sha256),
        (TASK_FILE, certificate.task, task.sha256),
    ):
        if stated != real:
            raise NotProvedError(f"{file}: the file has the hash {real}, the certificate is about {stated}")
    sizes = {**task.sizes(), "outputs": model.outputs, "parameters": model.parameters}
    if (certificate.target, certificate.origin) != (task.target, task.origin) or certificate.sizes != sizes:
        raise NotProvedError(f"{FILE}: subject has another target, origin or other sizes than {sizes}")
    if why := task.misfit(model):
        raise BadInputError(MODEL_FILE, "the model", why)


def _require_kinds(certificate: Certificate, task: Task) -> None:
    """One statement that answers the question, and no other kinds than a task of this kind has."""
    ids = [record["id"] for record in certificate.statements]
    if [id for id in ids if id in _FIRST] != [task.first]:
        raise BadInputError(FILE, "statements", f"do not begin with {task.first!r}, or have another such statement")
    if task.statements and set(ids) - task.statements:
        raise BadInputError(FILE, "statements", f"are others than {sorted(task.statements)}, which such a task has")


def _require_order(certificate: Certificate) -> None:
    """First what answers the question, once; runs and texts by format, each format once; then the other kinds."""
    formats = ("real arithmetic", *FORMATS)
    order = []
    for record in certificate.statements:
        group = {"answers": 0, "domain": 0, "runs": 1, "text": 2}.get(record["id"], 3)
        name = record["named"]["format"] if group in (1, 2) else formats[0]
        order.append((group, formats.index(name), record["id"] if group == 3 else ""))
    if [each[:2] for each in order] != sorted(each[:2] for each in order):
        raise BadInputError(FILE, "statements", "stand in another order")
    if len(set(order)) != len(order):
        raise BadInputError(FILE, "statements", "state the same twice")


def _formats(certificate: Certificate) -> list[str]:
    return [record["named"]["format"] for record in certificate.statements if record["id"] == runs.ID]


def outcome(
    folder: Path, kinds: Sequence[Any] = (), tell: Callable[[str], None] = lambda text: None
) -> tuple[int, str]:
    """The exit code of a check, and what it prints: the first line is the answer."""
    try:
        proved = check_folder(folder, kinds, tell)
    except CheckError as error:
        return error.exit_code, _on_one_line(f"{error.word}: {error}")
    except (OSError, MemoryError, RecursionError) as error:
        text = f"{BadInputError.word}: {folder}: the folder cannot be checked: {error}"
        return BadInputError.exit_code, _on_one_line(text)
    return 0, "\n  ".join(["PROVED", *proved])


def _on_one_line(text: str) -> str:
    """The text with what does not print escaped: no name in a file begins a line or moves the cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
