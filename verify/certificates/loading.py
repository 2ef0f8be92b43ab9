"""Load the files of a folder if they are those of its certificate.

Page: docs/rigour/certificate.md
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from constructions.errors import FileFormatError, InputError, TamperedError
from constructions.model.construction import require_fit
from constructions.model.model import Model
from constructions.tasks.any_task import AnyTask
from constructions.tasks.stored import Stored
from verify.certificates.certificate import MODEL_FILE, TASK_FILE, Certificate, Subject

AnyLoaded = TypeVar("AnyLoaded", bound=AnyTask | Stored)


class _Saved(Protocol):
    """An object that can be saved to a file or, like a certificate, into a folder."""

    def save(self, path: Path, /) -> object: ...


def save_certified(folder: Path, model: Model, task: _Saved, certificate: _Saved) -> None:
    """Write a model, its task or rule, and the certificate about them into a folder.

    Args:
        folder: Where ``model.safetensors`` and ``task.safetensors`` will lie.
        model: The weights.
        task: The task that they hold.
        certificate: What is proved of the two, perhaps with its witness.
    """
    model.save(folder / MODEL_FILE)
    task.save(folder / TASK_FILE)
    certificate.save(folder)


def load_certified(
    folder: Path,
    certificate: Certificate,
    *,
    read: Callable[[Path], AnyLoaded],
    subject_of: Callable[[Model, AnyLoaded], Subject],
    kind: str,
) -> tuple[Model, AnyLoaded]:
    """Return the model and the task, or rule, in `folder`.

    Args:
        folder: Where ``model.safetensors`` and ``task.safetensors`` lie.
        certificate: The certificate that they have to match.
        read: Reads ``task.safetensors``.
        subject_of: What a certificate about the two is about.
        kind: What ``task.safetensors`` holds, in a word.

    Raises:
        FileFormatError: A file is missing, is not what it should be, or asks for more memory than there is; or the two
            do not fit each other.
        TamperedError: A hash or a size differs.
    """
    try:
        model, task = Model.load(folder / MODEL_FILE), read(folder / TASK_FILE)
    except MemoryError as error:
        raise FileFormatError(f"{folder} holds arrays that ask for more memory than there is") from error
    actual, named = subject_of(model, task), certificate.subject
    if actual.model != named.model:
        raise TamperedError(f"{MODEL_FILE} is not the model that the certificate is about: its hash differs")
    if actual.task != named.task:
        raise TamperedError(f"{TASK_FILE} is not the {kind} that the certificate is about: its hash differs")
    if actual != named:
        raise TamperedError(
            f"the certificate is about {named.target} ({named.origin}) and the sizes {dict(named.sizes)}, the files "
            f"have {actual.target} ({actual.origin}) and {dict(actual.sizes)}"
        )
    try:
        require_fit(model, task)
    except InputError as error:
        raise FileFormatError(f"{MODEL_FILE} and {TASK_FILE} do not fit each other: {error}") from error
    return model, task
