"""Change what files say and keep every hash right, to attack a checker."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from constructions.formats.files import canonical_json
from constructions.model.model import Model
from constructions.tasks.task import Task
from tests import task_files
from verify.certificates.certificate import Certificate, Statement
from verify.provers.memorization import subject_of


def certificate(folder: Path) -> dict[str, Any]:
    """Read the fields of ``certificate.json``."""
    return json.loads((folder / "certificate.json").read_text())


def rewrite(folder: Path, data: dict[str, Any], name: str = "certificate.json") -> None:
    """Write a certificate in canonical form with the right digest."""
    data.pop("digest", None)
    data["digest"] = hashlib.sha256(canonical_json(data).encode()).hexdigest()
    (folder / name).write_text(canonical_json(data) + "\n")


def edited(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Edit the fields of the certificate, and write it with the right digest."""
    data = certificate(folder)
    edit(data)
    rewrite(folder, data)


def restated(folder: Path, id: str, mask: str | None = None, **values: Any) -> None:
    """Replace numbers of a statement, or remove those that are None, and write the sentence and digest that follow."""
    found = Certificate.load(folder)
    assert found.statement(id) is not None, f"{folder} states no {id}"
    statements: list[Statement] = []
    for each in found.statements:
        if each.id == id:
            numbers = {name: value for name, value in {**each.values, **values}.items() if value is not None}
            each = replace(each, values=numbers, memorized=each.memorized if mask is None else mask)
        statements.append(each)
    replace(found, statements=tuple(statements)).save(folder)


def rehash(folder: Path, *, network: Model | None = None, task: Any = None) -> None:
    """Replace the model or the task, and write the hashes and sizes that follow into the certificate."""
    if network is not None:
        network.save(folder / "model.safetensors")
    if task is not None:
        task.save(folder / "task.safetensors")
    subject = subject_of(
        network or Model.load(folder / "model.safetensors"), task or Task.load(folder / "task.safetensors")
    )

    def named(data: dict[str, Any]) -> None:
        data["subject"] |= {"model": subject.model, "task": subject.task, "origin": subject.origin}
        data["subject"]["sizes"] = dict(subject.sizes)

    edited(folder, named)


def task_of(arrays: dict[str, Any]) -> Task:
    """Return the task made of these words and arrays."""
    with TemporaryDirectory() as name:
        task_files.write(Path(name) / "task.safetensors", arrays)
        return Task.load(Path(name) / "task.safetensors")


def spoil_task(folder: Path, arrays: dict[str, Any]) -> None:
    """Write words and arrays that no `Task` accepts, with the hash that they would have."""
    task_files.write(folder / "task.safetensors", arrays)

    def named(data: dict[str, Any]) -> None:
        data["subject"] |= {"task": task_files.sha256(arrays), "origin": arrays["origin"]}

    edited(folder, named)
