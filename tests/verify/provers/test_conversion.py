"""Folders of earlier programs are proved again and written in the words of this one, or not written at all."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from constructions.errors import FileFormatError, HypothesisError, InputError, TamperedError
from constructions.formats.tensor_file import save_tensors
from constructions.tasks.stored import read_stored
from constructions.tasks.vectors import load_task
from tests.corpus.cases import GOOD_FOLDERS
from tests.corpus.forging import certificate, edited
from verify.certificates.certificate import Certificate
from verify.kernel.check import outcome
from verify.provers.conversion import convert

EARLIER = Path(__file__).parents[2] / "earlier" / "text"
"""A text in every float32 run, of version 3 and in words of before: without the finer formats that a run may have."""

DISTRIBUTIONS = EARLIER.parent / "distributions"
"""Distributions of version 3, which called them laws."""


def test_a_folder_of_the_earlier_version_is_refused_and_converted(tmp_path):
    with pytest.raises(
        FileFormatError, match=r"version 3, expected 'byheart-certificate' version 4: .*byheart convert"
    ):
        Certificate.load(EARLIER)
    assert outcome(EARLIER)[0] == 2
    found = convert(EARLIER, tmp_path / "new")
    assert Certificate.load(tmp_path / "new") == found and outcome(tmp_path / "new")[0] == 0
    assert found.headline() == "BY HEART, PROVED: 5 of 5 characters, in every float32 run; 360 parameters"
    assert (tmp_path / "new" / "model.safetensors").read_bytes() == (EARLIER / "model.safetensors").read_bytes()


def test_laws_of_the_earlier_version_become_the_same_distributions(tmp_path):
    found = convert(DISTRIBUTIONS, tmp_path / "new")
    old, new = (
        read_stored(DISTRIBUTIONS / "task.safetensors", version=3),
        load_task(tmp_path / "new" / "task.safetensors"),
    )
    assert found.subject.target == new.target == "distributions" and old[1]["target"] == "laws"
    assert np.array_equal(new.distributions, old[2]["laws"]) and outcome(tmp_path / "new")[0] == 0
    values = json.loads((DISTRIBUTIONS / "certificate.json").read_text())["statements"][0]["values"]
    assert found.answers.values["memorized"] == values["held"]


@pytest.mark.parametrize(
    "name",
    (
        "labels-at-least distributions-own values-rank vectors-classification ranks-deficient "
        "divergence-of-distributions prompts-memorized "
        "rule-partly rule-sampled text-in-reals runs-of-soft-heads runs-of-a-rule"
    ).split(),
)
def test_every_kind_of_statement_is_stated_again(tmp_path, name):
    old, new = Certificate.load(GOOD_FOLDERS / name), convert(GOOD_FOLDERS / name, tmp_path / "new")
    assert (new.subject, new.criterion) == (old.subject, old.criterion)
    assert [(each.label, each.memorized) for each in new.statements] == [
        (each.label, each.memorized) for each in old.statements
    ]
    assert new.verdict is old.verdict and Certificate.load(tmp_path / "new") == new


@pytest.mark.parametrize("name", ["model.safetensors", "task.safetensors"])
def test_another_file_than_was_certified_is_refused_and_nothing_is_written(tmp_path, name):
    shutil.copytree(GOOD_FOLDERS / "labels-at-least", tmp_path / "old")
    shutil.copy(GOOD_FOLDERS / "labels-lookup" / name, tmp_path / "old" / name)
    with pytest.raises(TamperedError, match="its hash differs"):
        convert(tmp_path / "old", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_statement_that_is_not_proved_is_named_and_nothing_is_written(tmp_path):
    shutil.copytree(GOOD_FOLDERS / "runs-near-tie", tmp_path / "old")

    def in_bfloat16(data):
        data["statements"][1]["named"]["format"] = "bfloat16"

    edited(tmp_path / "old", in_bfloat16)
    with pytest.raises(HypothesisError, match=r"'runs \(bfloat16\)' is not"):
        convert(tmp_path / "old", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_no_number_is_believed(tmp_path):
    shutil.copytree(GOOD_FOLDERS / "labels-lookup", tmp_path / "old")
    edited(tmp_path / "old", lambda data: data["statements"][0]["values"].update(margin_lower="0x1.0p+9"))
    assert convert(tmp_path / "old", tmp_path / "new").answers.values["margin_lower"] < 3.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.update(version=2), "version 2, expected 'byheart-certificate' version 3 or 4"),
        (lambda data: data.update(subject=[]), "has no subject"),
        (lambda data: data.update(statements=[{"values": {}}]), "a statement without an id"),
        (lambda data: data["statements"][0].update(named=3), "whose names are no object"),
        (lambda data: data["criterion"].update(asked="more"), "criterion"),
        (lambda data: data["subject"].pop("model"), "has no hash of the model"),
        (lambda data: data["subject"].update(task=3), "has no hash of the task"),
        (lambda data: data["statements"].append({"id": "runs", "values": {}}), "states runs in 'None'"),
        (lambda data: data["statements"][1]["named"].update(format="float99"), "states runs in 'float99'"),
        (lambda data: data["statements"][0]["values"].update(memorized=6), "has both 'held' and 'memorized'"),
    ],
)
def test_what_is_no_certificate_of_this_format_is_refused(tmp_path, change, said):
    shutil.copytree(EARLIER, tmp_path / "old")
    data = certificate(tmp_path / "old")
    change(data)
    (tmp_path / "old" / "certificate.json").write_text(json.dumps(data))
    with pytest.raises(FileFormatError, match=said):
        convert(tmp_path / "old", tmp_path / "new")


def test_arrays_of_both_names_are_refused(tmp_path):
    shutil.copytree(DISTRIBUTIONS, tmp_path / "old")
    path = tmp_path / "old" / "task.safetensors"
    kind, words, arrays = read_stored(path, version=3)
    said = {"format": "byheart-task", "version": 3, "task": kind, **words}
    save_tensors(path, {**arrays, "distributions": arrays["laws"][:, ::-1].copy()}, metadata=said)
    with pytest.raises(FileFormatError, match="has both 'laws' and 'distributions'"):
        convert(tmp_path / "old", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_an_edit_and_a_place_that_is_taken_are_refused(tmp_path):
    with pytest.raises(InputError, match="is an edit"):
        convert(GOOD_FOLDERS / "edit", tmp_path / "new")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine").write_text("")
    with pytest.raises(InputError, match="new"):
        convert(EARLIER, tmp_path / "new", overwrite=True)
