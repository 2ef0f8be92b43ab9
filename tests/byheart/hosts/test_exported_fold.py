"""An exported rule with a state has its proof beside it, and any other file than follows from that is refused."""

import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.hosts.exported_fold import ExportedFold, MeasuredDecoding, WrongSaid
from byheart.hosts.exported_folder import proof_of_an_export, require_export_made_again
from byheart.hosts.host import host_named
from constructions.errors import TamperedError
from constructions.folds.fold import addition
from constructions.memories.heads.adder import adder
from tests.byheart.hosts.test_exported_folder import fields, replaced, require_refused, taken
from tests.byheart.hosts.test_fold_export import damaged
from verify.certificates.certificate import Statement
from verify.provers.domain import certify_fold

MEASURED = MeasuredDecoding({"transformers": "5.0.0", "torch": "2.13.0"}, "a" * 64, 64, 64, 2.0**-20)


def exported(model, fold):
    """What is written of a model, whose numbers float32 holds."""
    host = host_named("huggingface")
    written = host.convert(model)
    certificate = certify_fold(written, fold, every_run="float32").certificate
    return ExportedFold(host, "float32", certificate, written, fold)


def write(made, folder, measured=MEASURED):
    folder.mkdir()
    made.write_for_host(folder)
    made.write_report(folder, measured)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Exports of an adder and of another one."""
    top = tmp_path_factory.mktemp("exports")
    write(exported(adder(2, base=2), addition(2, base=2)), top / "sums")
    write(exported(adder(1, base=3), addition(1, base=3)), top / "others")
    return top


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made / "sums", tmp_path / "sums")


def measured(**figures):
    return fields(lambda data: data["measured"].update(figures))


def generated(**figures):
    return fields(lambda data: data["measured"]["generated"].update(figures))


TAMPERED = {
    "the card says float16": ("README.md", replaced("README.md", "float32", "float16")),
    "the card counts more": ("README.md", replaced("README.md", "16 of 16", "17 of 17")),
    "the card says more": ("README.md", replaced("README.md", "Nothing is proved of", "It is also proved of")),
    "the card measured less": ("README.md", replaced("README.md", "right on 64 of", "right on 63 of")),
    "the report has another first line": (
        "parity.json",
        fields(lambda data: data.update(headline="MEMORIZED, PROVED")),
    ),
    "the report proves more": ("parity.json", fields(lambda data: data["proved"].update(memorized=17))),
    "the report has another rule": ("parity.json", fields(lambda data: data.update(rule="multiplication"))),
    "the report asks less": ("parity.json", fields(lambda data: data["criterion"].update(asked="at-least"))),
    "the report states no run": ("parity.json", fields(lambda data: data.update(every_run=None))),
    "the report has a field more": ("parity.json", fields(lambda data: data.update(facts=16))),
    "the report has spaces": ("parity.json", replaced("parity.json", ",", ", ")),
    "generate was right less often": ("README.md", generated(right=63)),
    "generate was wrong once": ("README.md", measured(wrong={"prompt": [0, 0, 0, 0, 0, 0], "said": [1, 0, 0]})),
    "the weights are of another rule": ("model.safetensors", taken("model.safetensors")),
    "the rule is another one": ("task.safetensors", taken("task.safetensors")),
    "generate says more": (
        "generation_config.json",
        replaced("generation_config.json", '"max_new_tokens":3', '"max_new_tokens":4'),
    ),
    "the tokenizer reads another token": ("tokenizer.json", replaced("tokenizer.json", '"0":0,"1":1', '"0":1,"1":0')),
    "the code is another one": (
        "modeling_byheart.py",
        replaced("modeling_byheart.py", "import torch", "# torch"),
    ),
    "the proof is of another rule": (".safetensors", taken("proof/certificate.json")),
    "the proof has other weights": ("model.safetensors", taken("proof/model.safetensors")),
    "the proof has another rule": ("task.safetensors", taken("proof/task.safetensors")),
}
REFUSED = {
    "no card": ("README.md", lambda folder: (folder / "README.md").unlink()),
    "no rule in the proof": ("task.safetensors", lambda folder: (folder / "proof" / "task.safetensors").unlink()),
    "another file": ("chat_template.jinja", lambda folder: (folder / "chat_template.jinja").write_text("")),
    "no JSON": ("parity.json", lambda folder: (folder / "parity.json").write_text("{")),
    "another host": ("parity.json", fields(lambda data: data.update(host="onnx", written_as="onnx"))),
    "a host that does not decode": ("parity.json", fields(lambda data: data.update(written_as="gpt2"))),
    "an unknown type": ("parity.json", fields(lambda data: data.update(dtype="float8"))),
    "nothing measured": ("parity.json", fields(lambda data: data.pop("measured"))),
    "a figure more": ("parity.json", measured(least_lead=9.0)),
    "a version that is a number": ("parity.json", measured(versions={"torch": 2})),
    "no hash": ("parity.json", measured(original="a")),
    "more right than asked": ("parity.json", generated(right=65)),
    "no count": ("parity.json", generated(right=64.0)),
    "a negative difference": ("parity.json", generated(largest_difference=-1.0)),
    "half of what is wrong": ("parity.json", measured(wrong={"prompt": [0, 0, 0, 0, 0, 0]})),
    "a wrong input that is none": ("parity.json", measured(wrong={"prompt": [0, 0, 1, 0, 0, 0], "said": [0]})),
    "a wrong input of two numbers": ("parity.json", measured(wrong={"prompt": [1, 1], "said": [0]})),
    "a token that is none": ("parity.json", measured(wrong={"prompt": [0, 0, 0, 0, 0, 0], "said": ["0"]})),
}


def test_an_export_is_checked_by_the_fast_prover_and_says_what_was_not_done_again(folder, capsys):
    assert proof_of_an_export(folder) == folder / "proof"
    assert main(["check", str(folder), "--fast", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("MEMORIZED, PROVED: 16 of 16 inputs") and "every float32 run (fast prover only)" in said
    assert "as written for huggingface in float32; all files made again, but not what was measured of generate" in said


def test_the_kernel_has_no_proof_and_says_so(folder, capsys):
    assert main(["check", str(folder), "--quiet"]) == 3
    said = capsys.readouterr().out
    assert said.startswith("UNDECIDED: ") and "the kernel has no proof of answers said token by token" in said
    assert "all files made again" in said


@pytest.mark.parametrize("name", TAMPERED)
def test_what_was_tampered_with_ends_with_1_and_names_the_file(name, folder, made, capsys):
    file, forge = TAMPERED[name]
    forge(folder, made / "others") if forge.__qualname__.startswith("taken") else forge(folder)
    require_refused(folder, 1, file, capsys, "--fast")


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_export_ends_with_2_and_names_the_file(name, folder, capsys):
    file, forge = REFUSED[name]
    forge(folder)
    require_refused(folder, 2, file, capsys, "--fast")


@pytest.mark.parametrize("wrong", [None, WrongSaid((0, 1, 0, 1, 1, 0), (1, 0, 1))])
@pytest.mark.parametrize("off", [0.25, math.inf])
def test_what_was_measured_is_read_as_it_was_written(off, wrong):
    given = replace(MEASURED, right=63, largest_difference=off, wrong=wrong)
    assert MeasuredDecoding.of_data(json.loads(json.dumps(given.data(), allow_nan=False))) == given


def test_a_host_that_says_something_else_takes_the_yes_away(made, tmp_path):
    sums, _ = ExportedFold.load(made / "sums")
    folder = write(sums, tmp_path / "out", replace(MEASURED, right=63))
    report = json.loads((folder / "parity.json").read_text())
    assert report["verdict"] == "REFUTED" and report["headline"].startswith("OUTSIDE OF WHAT ROUNDING EXPLAINS")
    require_export_made_again(folder)


def test_weights_that_are_wrong_are_exported_with_a_proof_that_they_are(tmp_path, capsys):
    wrong = WrongSaid((0, 0, 0, 1, 0, 0), (0, 0, 0))
    folder = write(exported(damaged(2, 2), addition(2, base=2)), tmp_path / "out", replace(MEASURED, wrong=wrong))
    card = (folder / "README.md").read_text()
    assert "NOT MEMORIZED" in card and "to 0 0 0 1 0 0, where the rule says 1 0 0, generate says 0 0 0" in card
    assert main(["check", str(folder), "--fast", "--quiet"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("NOT MEMORIZED") and "all files made again" in said.out and said.err == ""


def test_a_false_certificate_beside_files_that_follow_from_it_is_not_proved(tmp_path, capsys):
    """All files are made of it, so that its proof alone tells."""
    fold = addition(2, base=2)
    right, wrong = exported(adder(2, base=2), fold), exported(damaged(2, 2), fold)
    domain = right.certificate.answers
    forged = replace(wrong.certificate, statements=(Statement(domain.id, domain.method, domain.values),))
    folder = write(replace(wrong, certificate=forged), tmp_path / "out")
    assert "**MEMORIZED, PROVED: 16 of 16" in (folder / "README.md").read_text()
    require_export_made_again(folder)
    assert main(["check", str(folder), "--fast", "--quiet"]) == 1
    assert capsys.readouterr().out.startswith("THE CERTIFICATE IS FALSE: domain")


def test_an_export_without_its_proof_is_told_how_it_gets_one(folder, capsys):
    shutil.rmtree(folder / "proof")
    assert main(["check", str(folder), "--fast"]) == 2
    assert f"certify {folder} --rule {folder / 'task.safetensors'}" in capsys.readouterr().err


def test_one_weight_that_is_barely_another_is_refused(folder):
    other = adder(2, base=2)
    W_U = np.array(other.W_U, dtype=np.float64)
    W_U.flat[0] += 2.0**-20
    host = host_named("huggingface")
    host.write(host.convert(replace(other, W_U=W_U)), folder, "float32")
    with pytest.raises(TamperedError):
        require_export_made_again(folder)
