import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from constructions.errors import FileFormatError
from tests.edited_models import edited
from verify.edits.certificate import EDIT_FILE, Asked, EditCertificate
from verify.edits.proof import check_edit, save_edit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, done = tmp_path_factory.mktemp("edit"), edited(activation="silu", flat=1)
    save_edit(path, done.model, done.edit, done.certificate)
    return path


def forged(folder: Path, target: Path, **changes: Any) -> Path:
    """The folder with other numbers in its certificate, and a digest that fits."""
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    certificate = EditCertificate.load(folder)
    values = {**certificate.values, **{name: changes.pop(name) for name in list(changes) if name in certificate.values}}
    replace(certificate, values=values, **changes).save(target)
    return target


@pytest.mark.parametrize("text", ["", "{}", '{"format":"byheart-edit"}\n'])
def test_what_is_no_certificate_is_refused(folder: Path, tmp_path: Path, text: str) -> None:
    path = forged(folder, tmp_path)
    (path / EDIT_FILE).write_text(text)
    with pytest.raises(FileFormatError):
        check_edit(path)


def test_contexts_that_are_no_contexts_are_refused(tmp_path: Path) -> None:
    good = {"contexts": [[0, 1]], "answers": [1], "kept": [[1, 1]], "domain": None}
    for change in (
        {"contexts": [[0, 9]]}, {"contexts": [[True, 1]]}, {"contexts": []}, {"answers": [7]}, {"answers": [-2]},
        {"answers": [1, 1]}, {"kept": [[0, 1]]}, {"kept": [[1, 1], [1, 1]]}, {"kept": [[1], [1, 1]]}, {"domain": 2},
        {"domain": 0, "kept": []}, {"domain": 10**9, "kept": []}, {"more": 1},
    ):  # fmt: skip
        path = tmp_path / "contexts.json"

        path.write_text(json.dumps({**good, **change}, sort_keys=True, separators=(",", ":")) + "\n")
        with pytest.raises(FileFormatError):
            Asked.read(path, d_vocab=2, d_vocab_out=2)
