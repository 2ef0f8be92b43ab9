"""The folder of a layer: written whole, checked, run, and refused when it is not what it was."""

import json
from contextlib import contextmanager

import pytest

from byheart import layer_job
from byheart.job import build_claim, run_summary
from byheart.layer_job import is_layer_folder, run_layer_summary, write_layer_folder
from constructions.claims.claim import Claim
from constructions.errors import InputError, TamperedError
from constructions.models.construction import Construction
from constructions.models.model import Model
from tests.layers import changed_layer, memory_layer, random_layer_task
from verify.certificates.layer_certificate import LAYER_FILE
from verify.certificates.layer_memorization import check_layer


def construction(kind="regression", examples=5):
    task = random_layer_task(examples=examples, tokens=4, d_model=4, kind=kind)
    return Construction(task, memory_layer(task, heads=3), "random heads")


def claim(**options):
    return Claim(
        "x.model", "A layer", "Source", "", "holds", "", "docs/layer.md", parameters={"examples": 5},
        build=lambda *, examples: construction(examples=examples, **options),
    )  # fmt: skip


def written(out, built, **options):
    seconds = {}

    @contextmanager
    def stage(name):
        yield
        seconds[name] = 0.0

    return write_layer_folder(out, built, figures={"claim": "x.model"}, stage=stage, seconds=seconds, **options)


def test_a_claim_about_a_layer_becomes_a_folder(tmp_path):
    told = []
    out = tmp_path / "out"
    summary = build_claim(claim(), out=out, parameters={"examples": 4}, progress=lambda *news: told.append(news[0]))
    assert summary["verdict"] == summary["rank_verdict"] == "PROVED" and summary["examples"] == 4
    assert summary["claim"] == "x.model" and summary["construction"] == {"examples": 4}
    assert summary["label_error_upper"] < 1e-9 and summary["margin_lower"] is None
    assert summary["saturated_pairs"] <= summary["pairs"] == 12
    assert summary["torch"]["float32"]["within_bound"] is True
    assert set(summary["seconds"]) == {"weights", "certificate", "torch", "files"} <= set(told)
    names = {"layer.safetensors", "layer_task.npz", "certificate.json", "witness.npz", "summary.json"}
    assert {path.name for path in out.iterdir()} == names
    stored = json.loads((out / "summary.json").read_text())
    assert stored["files"] == summary["files"] and stored["condition"] == summary["condition"]
    assert check_layer(out).verdict.value == "PROVED"


def test_a_classification_has_a_margin_instead_of_an_error(tmp_path):
    summary = written(tmp_path / "out", construction("classification"))
    assert summary["margin_lower"] > 0 and summary["classes_proved"] == 5 and summary["label_error_upper"] is None
    assert summary["torch"]["float64"]["accuracy"] == 1.0


def test_both_kinds_of_run_lead_to_the_same_figures(tmp_path):
    out = tmp_path / "out"
    written(out, construction())
    assert is_layer_folder(out) and not is_layer_folder(tmp_path)
    own, shared = (run(out, device="cpu", dtype="float64") for run in (run_layer_summary, run_summary))
    assert own["dtype"] == shared["dtype"] == "float64" and own["within_bound"] is shared["within_bound"] is True
    assert own["max_label_error"] == shared["max_label_error"]


def test_a_changed_layer_is_not_run(tmp_path):
    out = tmp_path / "out"
    written(out, construction())
    layer = Model.load(out / LAYER_FILE)
    changed_layer(layer, W_D=2 * layer.W_U).save(out / LAYER_FILE)
    with pytest.raises(TamperedError, match="layer"):
        run_summary(out, device="cpu", dtype="float32")


def test_nothing_is_overwritten_or_left_half_written(tmp_path, monkeypatch):
    out = tmp_path / "out"
    written(out, construction())
    with pytest.raises(InputError, match="exists"):
        written(out, construction())
    written(out, construction("classification"), overwrite=True)
    assert json.loads((out / "summary.json").read_text())["kind"] == "classification"

    def fails(*_):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(layer_job, "write_atomically", fails)
    with pytest.raises(RuntimeError):
        written(out, construction(), overwrite=True)
    assert json.loads((out / "summary.json").read_text())["kind"] == "classification"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_without_torch_the_folder_is_written_and_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(layer_job.importlib.util, "find_spec", lambda name: None)
    assert written(tmp_path / "out", construction())["torch"] is None
    with pytest.raises(InputError, match="torch"):
        run_layer_summary(tmp_path / "out", device="cpu", dtype="float32")
