"""The kernel's answer to each statement of a folder, in the form of a report of the prover, to compare the two."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from constructions.errors import FileFormatError, TamperedError
from constructions.tasks.criterion import Criterion
from verify.certificates.certificate import Certificate, StatementCheck
from verify.kernel.certificate import read_certificate
from verify.kernel.check import outcome
from verify.kernel.evaluation import FORMATS, Evaluation
from verify.kernel.kinds import find_statement
from verify.kernel.model import FILE as MODEL_FILE
from verify.kernel.model import Model, read_model
from verify.kernel.task import FILE as TASK_FILE
from verify.kernel.task import Task, read_task
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError
from verify.verdict import Verdict

VERDICTS = {0: Verdict.PROVED, 1: Verdict.REFUTED, 3: Verdict.UNDECIDED}
EXCHANGED = ("model.safetensors: ", "task.safetensors: ", "witness.safetensors: ", "certificate.json: ")


@dataclass(frozen=True)
class Report:
    """What the kernel says to a folder.

    Args:
        verdict: The answer to the question, if every statement is proved.
        said: What it prints.
        checks: Its answer to each statement alone; own numbers are in none.
    """

    verdict: Verdict
    said: str
    checks: tuple[StatementCheck, ...]


def check_by_kernel(folder: Path, criterion: Criterion | None = None) -> Report:
    """Let the kernel answer the question of a folder, or another, and look at each statement by itself.

    Raises:
        FileFormatError: A file is not what it should be.
        TamperedError: A file is another than was certified.
    """
    if criterion is not None:
        with TemporaryDirectory() as top:
            copied = Path(shutil.copytree(folder, Path(top) / "asked"))
            replace(Certificate.load(copied), criterion=criterion).save(copied)
            return check_by_kernel(copied)
    certificate = Certificate.load(folder)
    code, said = outcome(Path(folder))
    if code == 2:
        raise FileFormatError(said)
    if said.removeprefix("NOT PROVED: ").startswith(EXCHANGED):
        raise TamperedError(said)
    read, model, task = read_certificate(folder), read_model(folder), read_task(folder)
    formats = [record["named"]["format"] for record in read.statements if record["id"] == "runs"]
    assert set(formats) <= set(FORMATS)
    evaluation, checks = Evaluation(model, task, formats, lambda text: None), []
    for place, (record, stated) in enumerate(zip(read.statements, certificate.statements, strict=True)):
        kind = find_statement(record["id"])
        assert kind is not None, record["id"]
        try:
            reason = kind.check(kind.read(f"statements[{place}]", record, read), read, evaluation)
            verdict = Verdict.PROVED
        except NotProvedError as error:
            verdict, reason = Verdict.REFUTED, str(error)
        except UndecidedError as error:
            verdict, reason = Verdict.UNDECIDED, str(error)
        checks.append(StatementCheck(stated.label, verdict, reason, {}))
    return Report(VERDICTS[code], said, tuple(checks))


def read_model_file(path: Path) -> Model:
    """The model of a file of any name, by the kernel's reader.

    Raises:
        FileFormatError: It is none.
    """
    return _read(path, MODEL_FILE, read_model)


def read_task_file(path: Path, *, vectors: bool = False) -> Any:
    """The task of contexts of tokens, or of vectors, of a file of any name, by the kernel's reader.

    Raises:
        FileFormatError: It is none, or one of another kind.
    """
    task = _read(path, TASK_FILE, read_task)
    if not isinstance(task, Task) or task.asked is not None or (task.vectors is not None) != vectors:
        raise FileFormatError(f"{path} is a task of another kind")
    return task


def read_rule_file(path: Path) -> Any:
    """The rule of a file of any name, by the kernel's reader.

    Raises:
        FileFormatError: It is none.
    """
    rule = _read(path, TASK_FILE, read_task)
    if isinstance(rule, Task):
        raise FileFormatError(f"{path} is a task of another kind")
    return rule


def _read(path: Path, name: str, read: Callable[[Path], Any]) -> Any:
    """What a reader that expects a name makes of a file."""
    with TemporaryDirectory() as top:
        (Path(top) / name).symlink_to(Path(path).absolute())
        try:
            return read(Path(top))
        except (BadInputError, UndecidedError) as error:
            raise FileFormatError(str(error)) from error
