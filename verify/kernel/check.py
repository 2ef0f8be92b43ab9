"""Check a folder: read it, prove each statement by the module of its kind, and answer the question.

Page: docs/rigour/kernel.md
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from verify.kernel import runs
from verify.kernel.certificate import FILE, Certificate, read_certificate
from verify.kernel.edit import check_edit
from verify.kernel.evaluation import Evaluation
from verify.kernel.files import read_bytes
from verify.kernel.kinds import find_statement
from verify.kernel.model import FILE as MODEL_FILE
from verify.kernel.model import Model, read_model
from verify.kernel.question import require_yes
from verify.kernel.statements import Known, group_of, read_statements
from verify.kernel.task import FILE as TASK_FILE
from verify.kernel.task import Task, read_task
from verify.kernel.verdicts import BadInputError, CheckError, NotProvedError, UndecidedError

_FOR_PEOPLE = {"report.html", "summary.json", "measured.json", "wrong.csv", "other_runs.csv"}
"""Files that no proof reads: nothing is said about them."""

_WITNESS = "witness.safetensors"


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
    _require_kinds(certificate, task, kinds)
    statements = read_statements(certificate, kinds)
    open_ones = [
        f"the kernel has no proof of statements {known_or_id!r}"
        for known_or_id in statements
        if isinstance(known_or_id, str)
    ]
    known = [known_or_id for known_or_id in statements if isinstance(known_or_id, Known)]
    evaluation = Evaluation(model, task, _formats(certificate), tell)
    proved, decided = list[str](), set[str]()
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
    """Refuse unnamed files that a person could mistake for a part of the folder, and a witness other than the named
    one.
    """
    if certificate.witness and all(record["id"] != "feature-rank" for record in certificate.statements):
        raise BadInputError(FILE, "witness", "is named, but no rank is stated that it could help to prove")
    own = {FILE, MODEL_FILE, TASK_FILE, *_FOR_PEOPLE} | ({_WITNESS} if certificate.witness else set())
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in own)
    if foreign:
        raise BadInputError(foreign[0], "the file", "belongs to nothing that the certificate names")
    if certificate.witness and hashlib.sha256(read_bytes(folder, _WITNESS)).hexdigest() != certificate.witness:
        raise NotProvedError(f"{_WITNESS}: the hash of the file differs from the one in the certificate")


def _require_subject(certificate: Certificate, model: Model, task: Task) -> None:
    """Require that the files are those of the certificate, and that the model fits the task."""
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


def _require_kinds(certificate: Certificate, task: Task, kinds: Sequence[Any]) -> None:
    """Require one statement that answers the question, and no kinds that a task of this kind does not have."""
    ids = [record["id"] for record in certificate.statements]
    if [id for id in ids if group_of(id, kinds) == 0] != [task.first]:
        raise BadInputError(FILE, "statements", f"do not begin with {task.first!r}, or have another such statement")
    own = {id for id in ids if find_statement(id)}  # what a kind from elsewhere is about, it says itself
    if task.statements and own - task.statements:
        raise BadInputError(FILE, "statements", f"are others than {sorted(task.statements)}, which such a task has")


def _formats(certificate: Certificate) -> list[str]:
    return [record["named"]["format"] for record in certificate.statements if record["id"] == runs.ID]


def outcome(
    folder: Path, kinds: Sequence[Any] = (), tell: Callable[[str], None] = lambda text: None
) -> tuple[int, str]:
    """Return the exit code and the output of a check; the first line is the answer.

    Args:
        folder: The folder.
        kinds: More kinds of statement, which are believed.
        tell: Told how long it takes, where that is more than a minute.
    """
    try:
        proved = check_folder(folder, kinds, tell)
    except CheckError as error:
        return error.exit_code, _on_one_line(f"{error.word}: {error}")
    except (OSError, MemoryError, RecursionError) as error:
        text = f"{BadInputError.word}: {folder}: the folder cannot be checked: {error}"
        return BadInputError.exit_code, _on_one_line(text)
    believed = [_on_one_line(f"Believed beside the kernel: {kind.__file__}") for kind in kinds]
    return 0, "\n  ".join(["PROVED", *proved, *believed])


def _on_one_line(text: str) -> str:
    """Escape unprintable characters, so that no name in a file begins a line or moves the cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
