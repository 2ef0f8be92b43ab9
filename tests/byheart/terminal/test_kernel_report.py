"""The kernel's answer as a command shows it: what it proved, what it refuted, and what is for the prover alone."""

import shutil
from dataclasses import replace

import pytest

from byheart.checked_edit import check_edit_by_kernel
from byheart.facts import memorize
from byheart.terminal.kernel_report import check_by_kernel
from constructions.errors import FileFormatError
from tests.corpus.cases import GOOD_FOLDERS
from tests.corpus.forging import restated
from tests.edited_models import edited
from verify.certificates.certificate import Certificate
from verify.edits.certificate import EditRuns
from verify.provers.edit import save_edit
from verify.verdict import Verdict


def test_what_is_proved_has_the_first_line_of_the_certificate_and_a_proof_of_each_statement():
    folder = GOOD_FOLDERS / "text-whole"
    summary = check_by_kernel(folder).summary()
    certificate = Certificate.load(folder)
    assert (summary["verdict"], summary["headline"]) == ("PROVED", certificate.headline())
    assert [each["id"] for each in summary["statements"]] == [each.label for each in certificate.statements]
    assert all(each["verdict"] == "PROVED" and each["reason"] for each in summary["statements"])
    assert summary["statements"][1]["reason"].endswith("by sums that no run rounds")


@pytest.mark.parametrize("name", ["runs-of-soft-heads", "runs-of-norms"])
def test_what_is_for_the_prover_alone_is_never_proved_by_the_kernel(name):
    report = check_by_kernel(GOOD_FOLDERS / name)
    assert report.verdict is Verdict.UNDECIDED and report.summary()["statements"] == []
    assert report.said.startswith("UNDECIDED: the kernel has no proof of every float")
    assert report.said.endswith(" run, but the fast prover may have one (check --fast)")
    assert report.summary()["reason"].startswith("UNDECIDED: runs in float")


def test_what_is_false_is_refuted_with_the_context_or_the_number(tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(GOOD_FOLDERS / "labels-lookup", folder)
    restated(folder, "answers", margin_lower=4.0)
    report = check_by_kernel(folder)
    assert report.verdict is Verdict.REFUTED
    assert report.said.startswith("NOT PROVED: ") and "margin" in report.said


def test_a_file_that_is_none_is_named(tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(GOOD_FOLDERS / "labels-lookup", folder)
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(FileFormatError, match=r"^model\.safetensors: the header"):
        check_by_kernel(folder)


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


def test_the_first_line_says_nothing_that_only_the_provenance_says(tmp_path):
    made = memorize({("Peru", "capital"): "Lima", ("Peru", "river"): "Amazon"}, quick=True)
    made.save(tmp_path / "out")
    for name in ("summary.json", "report.html", "measured.json"):
        (tmp_path / "out" / name).unlink()
    made.certificate.beside("handshake", "in every float16 run too").save(tmp_path / "out")
    report = check_by_kernel(tmp_path / "out")
    assert report.said == made.certificate.headline() and "float16" not in report.said
