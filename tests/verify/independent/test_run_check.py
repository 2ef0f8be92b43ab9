"""The second checker proves statements about runs and texts by itself, and finds out false ones."""

from dataclasses import replace

import numpy as np
import pytest
from tests.verify.certificates.test_runs import FACTS, TEXTS, of_table, written

from constructions.models.model import Model
from constructions.probes.probe_memory import probe_memory
from constructions.tasks.criterion import Criterion
from constructions.tasks.rule import rule_task
from verify.certificates.certificate import REALS, RUNS, TEXT, Certificate
from verify.independent.checker import check_independently
from verify.provers.domain import certify_domain
from verify.provers.runs import state_runs
from verify.runs.held_runs import HeldInRuns
from verify.verdict import Verdict


def verdicts(folder, **given):
    return {check.id: check.verdict for check in check_independently(folder, **given).checks}


def changed(folder, id, **changes):
    certificate = Certificate.load(folder)

    def put(statement):
        return replace(statement, **{name: change(getattr(statement, name)) for name, change in changes.items()})

    replace(certificate, statements=tuple(put(x) if x.id == id else x for x in certificate.statements)).save(folder)
    return verdicts(folder)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("wrong", [0, 1, 3])
def test_runs_of_integers_are_proved_again(tmp_path, wrong, dtype):
    written(tmp_path, of_table(wrong), FACTS, dtype, criterion=Criterion.at_least(1))
    assert verdicts(tmp_path) == {"answers": Verdict.PROVED, f"runs ({dtype})": Verdict.PROVED}


def test_runs_of_smooth_neurons_are_left_to_the_prover(tmp_path):
    written(tmp_path, of_table(smooth=True), FACTS, "float32")
    report = check_independently(tmp_path)
    assert report.checks[1].verdict is Verdict.UNDECIDED and "ReLU" in report.checks[1].reason
    assert report.verdict is Verdict.UNDECIDED
    assert report.headline().startswith("NOT DECIDED: ") and "not proved again: runs (float32)" in report.headline()


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"values": lambda values: {**values, "held": 4}, "held": lambda mask: ""}, Verdict.REFUTED),
        ({"held": lambda mask: "e"}, Verdict.REFUTED),
        ({"named": lambda named: {**named, "format": "float64"}}, Verdict.PROVED),
    ],
)
def test_other_contexts_are_found_out(tmp_path, changes, verdict):
    written(tmp_path, of_table(1), FACTS, "float32", criterion=Criterion.at_least(1))
    found = changed(tmp_path, RUNS, **changes)
    assert [each for id, each in found.items() if id.startswith("runs")] == [verdict]


def test_a_shorter_format_does_not_follow(tmp_path):
    """Of leads that float32 tells apart, and bfloat16 does not."""
    logits = np.full((4, 4), 2.0**10)
    logits[np.arange(4), FACTS.labels] += 1.0
    model = Model(blocks=(), W_U=np.eye(4), W_E=logits, W_pos=np.zeros((1, 4)))
    written(tmp_path, model, FACTS, "float32")
    found = changed(tmp_path, RUNS, named=lambda named: {**named, "format": "bfloat16"})
    assert found == {"answers": Verdict.PROVED, "runs (bfloat16)": Verdict.UNDECIDED}


def test_a_text_is_proved_again(tmp_path):
    for name, dtypes in (("runs", ["float32"]), ("reals", [])):
        made = written(tmp_path / name, probe_memory(TEXTS).model, TEXTS, *dtypes)
        text = made.statement(TEXT)
        assert text.named["format"] == (dtypes[0] if dtypes else REALS)
        assert set(verdicts(tmp_path / name).values()) == {Verdict.PROVED}


@pytest.mark.parametrize(
    "change",
    [
        lambda texts: [{**texts[0], "sha256": "0" * 64}, *texts[1:]],
        lambda texts: [{**texts[0], "title": "lily"}, *texts[1:]],
        lambda texts: texts[::-1],
    ],
)
def test_another_text_is_found_out(tmp_path, change):
    written(tmp_path, probe_memory(TEXTS).model, TEXTS, "float32")
    found = changed(tmp_path, TEXT, named=lambda named: {**named, "texts": change(list(named["texts"]))})
    assert found["text (float32)"] is Verdict.REFUTED


def test_other_numbers_of_a_text_are_found_out(tmp_path):
    written(tmp_path, probe_memory(TEXTS).model, TEXTS, "float32")
    found = changed(tmp_path, TEXT, values=lambda values: {**values, "characters": values["characters"] - 1})
    assert found["text (float32)"] is Verdict.REFUTED


def test_a_text_that_the_task_does_not_have_is_refuted(tmp_path):
    text = written(tmp_path / "texts", probe_memory(TEXTS).model, TEXTS, "float32").statement(TEXT)
    facts = tmp_path / "facts"
    written(facts, of_table(), FACTS, "float32").stating(text).save(facts)
    assert verdicts(facts)["text (float32)"] is Verdict.REFUTED


def rule_folder(folder, held):
    """The rule "last" on a model that echoes the last token, with a statement of every run of its domain."""
    folder.mkdir()
    model = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((2, 3)))
    task = rule_task("last", d_vocab=3, n_ctx=2)
    found = HeldInRuns(np.arange(9) < held, np.zeros(9, dtype=bool), "H1 H2 H5")
    model.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    certify_domain(model, task).certificate.stating(state_runs("float32", found)).save(folder)


def test_runs_of_a_domain_are_proved_again(tmp_path):
    for held in (9, 4):
        rule_folder(tmp_path / str(held), held)
        assert set(verdicts(tmp_path / str(held)).values()) == {Verdict.PROVED}
