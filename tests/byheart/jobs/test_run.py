"""Tests of runs of a folder."""

from dataclasses import replace

import numpy as np
import pytest

from byheart.jobs.run import run_summary
from constructions.errors import InputError
from constructions.tasks.criterion import Criterion
from tests.exports import MODELS, task_of
from tests.small_texts import memorize_into, small_text
from verify.certificates.certificate import MODEL_FILE, TASK_FILE
from verify.forward.logits import enclose_logits
from verify.provers.memorization import certify_memorization


def test_a_stored_folder_runs_within_its_bound(tmp_path):
    memorize_into(tmp_path / "out", small_text(), d_model=11)
    result = run_summary(tmp_path / "out", device="cpu", dtype="float32")
    assert result["within_bound"] is True and result["accuracy"] == 1.0 and result["dtype"] == "float32"
    again = run_summary(tmp_path / "out", device="cpu", dtype="float32", threads=1)
    assert again["max_output_error"] <= again["largest_bound"] and again["within_bound"] is True
    with pytest.raises(InputError, match="threads = 0"):
        run_summary(tmp_path / "out", device="cpu", dtype="float32", threads=0)


def values_off_by_their_number(folder):
    """The layer of values for targets that its outputs are off by 0, 1, 2, ... from."""
    layer, task = MODELS["layer of values"], task_of("layer of values")
    shift = np.arange(task.n_examples, dtype=float)
    outputs = enclose_logits(layer, task).midpoint
    shifted = replace(task, labels=outputs + shift[:, np.newaxis])
    asked = Criterion.at_most(float(task.n_examples))
    proved = certify_memorization(layer, shifted, asked)
    folder.mkdir()
    layer.save(folder / MODEL_FILE)
    shifted.save(folder / TASK_FILE)
    proved.save(folder)
    return shift


def test_a_run_of_values_says_their_mean_and_their_largest_distance(tmp_path):
    pytest.importorskip("torch")
    shift = values_off_by_their_number(tmp_path / "out")
    found = run_summary(tmp_path / "out", device="cpu", dtype="float64")
    assert found["mean_label_error"] == pytest.approx(shift.mean())
    assert found["max_label_error"] == pytest.approx(shift.max())
    assert f": mean distance {shift.mean():.4g} over 4 contexts; " in found["headline"]
