"""Files that say something else than they did, with every hash right: for whoever attacks a checker."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from constructions.files import canonical_json
from constructions.models.model import Model
from constructions.tasks.task import Task
from tests import task_files
from verify.certificates.certificate import Certificate, Statement
from verify.certificates.memorization import subject_of


def certificate(folder: Path) -> dict[str, Any]:
    """The fields of ``certificate.json``."""
    return json.loads((folder / "certificate.json").read_text())


def rewrite(folder: Path, data: dict[str, Any], name: str = "certificate.json") -> None:
    """Write a certificate whose digest is right, in the one form that is read."""
    data.pop("digest", None)
    data["digest"] = hashlib.sha256(canonical_json(data).encode()).hexdigest()
    (folder / name).write_text(canonical_json(data) + "\n")


def edited(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Write the certificate with an edit, and the digest that goes with it."""
    data = certificate(folder)
    edit(data)
    rewrite(folder, data)


def restated(folder: Path, id: str, mask: str | None = None, **values: Any) -> None:
    """Put other numbers into a statement, with the sentence and the digest that go with them; none takes one out."""
    found = Certificate.load(folder)
    assert found.statement(id) is not None, f"{folder} states no {id}"
    statements: list[Statement] = []
    for each in found.statements:
        if each.id == id:
            numbers = {name: value for name, value in {**each.values, **values}.items() if value is not None}
            each = replace(each, values=numbers, held=each.held if mask is None else mask)
        statements.append(each)
    replace(found, statements=tuple(statements)).save(folder)


def rehash(folder: Path, *, network: Model | None = None, task: Any = None) -> None:
    """Put another model or task into the folder, and everything that names its hash or its sizes right."""
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
    """The task made of these words and arrays."""
    with TemporaryDirectory() as name:
        task_files.write(Path(name) / "task.safetensors", arrays)
        return Task.load(Path(name) / "task.safetensors")


def spoil_task(folder: Path, arrays: dict[str, Any]) -> None:
    """Words and arrays that no Task accepts, under the hash that they would have."""
    task_files.write(folder / "task.safetensors", arrays)

    def named(data: dict[str, Any]) -> None:
        data["subject"] |= {"task": task_files.sha256(arrays), "origin": arrays["origin"]}

    edited(folder, named)
