"""Files are read as those of a certificate only if they are, whatever the certificate is about."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from constructions.errors import FileFormatError, TamperedError
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.rule import rule_task
from verify.certificates.certificate import MODEL_FILE, TASK_FILE, Certificate
from verify.provers.domain import certify_domain, load_rule
from verify.provers.memorization import certify_memorization, load_subject

ECHO = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((2, 3)))
TASK = array_task(np.array([[0, 1], [1, 2]]), next_tokens=np.array([1, 2]), vocabulary=3, target="labels")
RULE = rule_task("last", d_vocab=3, n_ctx=2)
KINDS = {
    "task": (TASK, certify_memorization(ECHO, TASK).certificate, load_subject),
    "rule": (RULE, certify_domain(ECHO, RULE).certificate, load_rule),
}


@pytest.fixture(params=sorted(KINDS))
def stored(request, tmp_path):
    """A folder of each kind, its certificate, what reads it, and the word for what is asked."""
    asked, certificate, load = KINDS[request.param]
    ECHO.save(tmp_path / MODEL_FILE)
    asked.save(tmp_path / TASK_FILE)
    return tmp_path, certificate, load, request.param


def test_what_the_certificate_is_about_is_read(stored) -> None:
    folder, certificate, load, _ = stored
    model, asked = load(folder, certificate)
    assert (model.sha256(), asked.sha256()) == (certificate.subject.model, certificate.subject.task)


def test_other_files_and_other_sizes_are_told_apart(stored) -> None:
    folder, certificate, load, kind = stored
    other = replace(certificate.subject, sizes={**certificate.subject.sizes, "parameters": 1})
    with pytest.raises(TamperedError, match=r"and the sizes .* the files have"):
        load(folder, _of(certificate, other))
    with pytest.raises(TamperedError, match=rf"{TASK_FILE} is not the {kind}"):
        load(folder, _of(certificate, replace(certificate.subject, task="0" * 64)))
    Model(blocks=(), W_U=2 * np.eye(3), W_E=np.eye(3), W_pos=np.zeros((2, 3))).save(folder / MODEL_FILE)
    with pytest.raises(TamperedError, match=rf"{MODEL_FILE} is not the model"):
        load(folder, certificate)


def test_arrays_that_ask_for_more_memory_than_there_is_are_a_damaged_file(stored, monkeypatch) -> None:
    folder, certificate, load, _ = stored

    def huge(path: Path) -> None:
        raise MemoryError

    monkeypatch.setattr(Model, "load", huge)
    with pytest.raises(FileFormatError, match="more memory than there is"):
        load(folder, certificate)


def test_a_model_that_cannot_read_what_its_certificate_names_is_refused(stored, monkeypatch) -> None:
    folder, certificate, load, _ = stored
    narrow = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((2, 2)))
    narrow.save(folder / MODEL_FILE)
    sizes = {**certificate.subject.sizes, "outputs": 2, "parameters": narrow.parameters}
    named = replace(certificate.subject, model=narrow.sha256(), sizes=sizes)
    with pytest.raises(FileFormatError, match="do not fit each other"):
        load(folder, _of(certificate, named))


def _of(certificate: Certificate, subject) -> Certificate:
    return replace(certificate, subject=subject)
