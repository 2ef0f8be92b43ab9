"""Folders that were changed and whose hashes were all made to fit again: nothing but the proof can refuse them."""

import hashlib
import json
import shutil

import numpy as np
import pytest

from byheart.coq.compiled import check_by_coq
from constructions.errors import TamperedError
from constructions.formats.files import canonical_json
from tests.machine_checked import needs_coq, rose
from verify.kernel.model import read_model
from verify.kernel.task import read_task
from verify.verdict import Verdict

MODEL, TASK = "model.safetensors", "task.safetensors"
CHANGES = {
    "a wrong character": (TASK, "text", "<i8", 3, 5),
    "another character before the end": (TASK, "text", "<i8", 17, 7),
    "a shift of the readout": (MODEL, "unembed.b_U", "<f8", 0, 2.0**20),
    "an entry of an embedding": (MODEL, "embed.W_E", "<f8", 7, 3.0),
    "a weight that no short integer is": (MODEL, "unembed.b_U", "<f8", 0, 1 / 3),
    "a weight above the largest float32 number": (MODEL, "unembed.b_U", "<f8", 0, 2.0**140),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return rose(tmp_path_factory.mktemp("forged"))


def changed(folder, out, file, name, kind, place, value):
    """A copy in which one number of a tensor is another one."""
    shutil.copytree(folder, out)
    data = bytearray((out / file).read_bytes())
    body = 8 + int.from_bytes(data[:8], "little")
    start, end = json.loads(data[8:body])[name]["data_offsets"]
    numbers = np.frombuffer(bytes(data[body + start : body + end]), kind).copy()
    assert numbers[place] != value
    numbers[place] = value
    data[body + start : body + end] = numbers.tobytes()
    (out / file).write_bytes(data)
    return out


def forge(folder, *, statements):
    """Make the certificate one of the files that are there now, with the statements of these names."""
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    certificate["subject"] |= {
        "model": read_model(folder).sha256,
        "task": read_task(folder).sha256,
    }
    certificate["statements"] = [each for each in certificate["statements"] if each["id"] in statements]
    del certificate["digest"]
    certificate["digest"] = hashlib.sha256(canonical_json(certificate).encode()).hexdigest()
    (folder / "certificate.json").write_text(canonical_json(certificate) + "\n", encoding="utf-8")


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_the_proof_refuses_a_forged_folder(folder, tmp_path, name):
    forged = changed(folder, tmp_path / "forged", *CHANGES[name])
    forge(forged, statements={"answers"})
    assert check_by_coq(forged, number_format="float32", workers=1).verdict is Verdict.UNDECIDED


@needs_coq
@pytest.mark.slow
def test_a_certificate_that_is_written_again_is_accepted(folder, tmp_path):
    """So that it is the change that is refused above."""
    shutil.copytree(folder, tmp_path / "same")
    forge(tmp_path / "same", statements={"answers"})
    assert check_by_coq(tmp_path / "same", workers=1).verdict is Verdict.PROVED


@needs_coq
def test_a_text_that_the_certificate_does_not_state_is_refused_before_it_is_compiled(folder, tmp_path):
    forged = changed(folder, tmp_path / "forged", *CHANGES["a wrong character"])
    forge(forged, statements={"answers", "runs", "text"})
    with pytest.raises(TamperedError, match=r"text: named\.texts"):
        check_by_coq(forged, number_format="float32", workers=1)


@needs_coq
@pytest.mark.parametrize("name", CHANGES)
def test_files_that_are_not_those_of_the_certificate_are_refused(folder, tmp_path, name):
    forged = changed(folder, tmp_path / "forged", *CHANGES[name])
    with pytest.raises(TamperedError, match="not what the certificate is about"):
        check_by_coq(forged, number_format="float32", workers=1)
