"""The proof of an edit, checked by the kernel: what it proves, refutes, and leaves to the fast prover."""

from dataclasses import replace

import pytest

from byheart.terminal.edit_report import check_edit_by_kernel
from constructions.errors import FileFormatError
from tests.edited_models import edited
from verify.edits.certificate import EditRuns
from verify.provers.edit import save_edit
from verify.verdict import Verdict


def proved_edit(folder):
    done = edited(edits=2)
    save_edit(folder, done.model, done.edit, done.certificate)
    return done.certificate


def test_an_edit_has_the_first_line_of_its_certificate_if_every_number_is_proved(tmp_path):
    certificate = proved_edit(tmp_path)
    summary = check_edit_by_kernel(tmp_path).summary()
    assert (summary["verdict"], summary["headline"]) == ("PROVED", certificate.headline())
    assert (summary["path"], summary["kept"]) == ("the kernel", certificate.values["kept"])


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [({"before": 2}, "REFUTED"), ({"outside": 1e-300}, "UNDECIDED")],
)
def test_an_edit_of_which_a_number_is_not_proved_names_it(tmp_path, changes, verdict):
    certificate = proved_edit(tmp_path)
    replace(certificate, values={**certificate.values, **changes}).save(tmp_path)
    summary = check_edit_by_kernel(tmp_path).summary()
    assert summary["verdict"] == verdict
    [name] = changes
    word = "UNDECIDED" if summary["verdict"] == "UNDECIDED" else "NOT PROVED AGAIN"
    assert summary["headline"].startswith(f"{word}: edit: {name} ")


def test_runs_of_an_edit_are_never_proved_by_the_kernel(tmp_path):
    certificate = proved_edit(tmp_path)
    replace(certificate, runs=EditRuns("float32", "H1 H2 H3 H4", 4.0, 1, 0)).save(tmp_path)
    summary = check_edit_by_kernel(tmp_path).summary()
    assert summary["verdict"] == "UNDECIDED" and "every float32 run" in summary["headline"]
    assert "--fast" in summary["headline"]


def test_a_file_of_an_edit_that_is_none_is_named(tmp_path):
    proved_edit(tmp_path)
    (tmp_path / "contexts.json").write_text("{}\n")
    assert check_edit_by_kernel(tmp_path).verdict is Verdict.REFUTED  # another file than was certified
    (tmp_path / "model.safetensors").write_bytes(b"")
    (tmp_path / "contexts.json").unlink()
    with pytest.raises(FileFormatError, match=r"^contexts\.json: "):
        check_edit_by_kernel(tmp_path)
