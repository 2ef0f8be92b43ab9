"""The kernel's answer as a command shows it: what it proved, what it refuted, and what is for the prover alone."""

import shutil

import pytest

from byheart.facts import memorize
from byheart.terminal.kernel_report import check_by_kernel
from constructions.errors import FileFormatError
from tests.corpus.cases import GOOD_FOLDERS
from tests.corpus.forging import restated
from verify.certificates.certificate import Certificate
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


def test_the_first_line_says_nothing_that_only_the_provenance_says(tmp_path):
    made = memorize({("Peru", "capital"): "Lima", ("Peru", "river"): "Amazon"}, quick=True)
    made.save(tmp_path / "out")
    for name in ("summary.json", "report.html", "measured.json"):
        (tmp_path / "out" / name).unlink()
    made.certificate.beside("handshake", "in every float16 run too").save(tmp_path / "out")
    report = check_by_kernel(tmp_path / "out")
    assert report.said == made.certificate.headline() and "float16" not in report.said
