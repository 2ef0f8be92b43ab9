import json
from pathlib import Path

import pytest

from constructions.errors import FileFormatError
from tests.edited_models import forged
from verify.edits.certificate import EDIT_FILE, EditRequest
from verify.provers.edit import check_edit


@pytest.mark.parametrize("text", ["", "{}", '{"format":"byheart-edit"}\n'])
def test_what_is_no_certificate_is_refused(saved: Path, tmp_path: Path, text: str) -> None:
    path = forged(saved, tmp_path)
    (path / EDIT_FILE).write_text(text)
    with pytest.raises(FileFormatError):
        check_edit(path)


def test_contexts_that_are_no_contexts_are_refused(tmp_path: Path) -> None:
    good = {"contexts": [[0, 1]], "answers": [1], "kept": [[1, 1]], "domain": None}
    for change in (
        {"contexts": [[0, 9]]}, {"contexts": [[True, 1]]}, {"contexts": []}, {"answers": [7]}, {"answers": [-2]},
        {"answers": [1, 1]}, {"kept": [[0, 1]]}, {"kept": [[1, 1], [1, 1]]}, {"kept": [[], [1, 1]]}, {"domain": 2},
        {"domain": 0, "kept": []}, {"domain": 10**9, "kept": []}, {"more": 1},
    ):  # fmt: skip
        path = tmp_path / "contexts.json"

        path.write_text(json.dumps({**good, **change}, sort_keys=True, separators=(",", ":")) + "\n")
        with pytest.raises(FileFormatError):
            EditRequest.read(path, d_vocab=2, d_vocab_out=2)
