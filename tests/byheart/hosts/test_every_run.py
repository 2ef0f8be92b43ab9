"""`certify --every-run`: which contexts have one answer in all runs, and which are left open, as a user sees them."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from byheart import certify
from byheart.cli.main import main
from byheart.hosts.certify import certify_rule
from constructions.errors import InputError
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.prompts import PromptTask
from tests.by_kernel import check_by_kernel
from tests.layers import memory_layer, random_layer_task
from verify.certificates.certificate import Certificate
from verify.provers.memorization import check_memorization
from verify.runs.formats import every_run_is
from verify.verdict import Verdict

# Token 2 is answered by 0 and 1 alike but for 2^-40, which no float32 run sees.
NEARLY = Model(
    blocks=(), W_U=np.eye(3), W_pos=np.zeros((1, 3)), W_E=np.array([[1.0, 0, 0], [0, 1, 0], [1, 1 - 2.0**-40, 0]])
)
FACTS = array_task(np.array([[0], [1], [2]]), next_tokens=np.array([0, 0, 0]), vocabulary=3, answers=3, target="labels")


def test_a_fact_is_proved_and_still_some_runs_may_differ(tmp_path):
    out = tmp_path / "out"
    figures = certify(NEARLY, FACTS, every_run="float32", out=out)
    assert figures["memorized"] == 2 and figures["wrong_facts"] == [["1", "0"]]
    assert figures["every_run"] == {
        "dtype": "float32", "means": every_run_is("float32"), "contexts": 3, "one_answer": 2, "right": 1,
        "left_open": [["2", "0"]],
    }  # fmt: skip
    summary = json.loads((out / "summary.json").read_text())
    assert summary["headline"] == figures["headline"] and summary["measured"]["every_run"] == figures["every_run"]
    assert [each["id"] for each in summary["statements"]] == ["answers", "runs (float32)"]
    assert (out / "other_runs.csv").read_text() == "2,0\n"
    assert "other_runs.csv" in figures["files"]
    runs = Certificate.load(out).in_every_run("float32")
    assert (runs.values["memorized"], runs.memorized, runs.named["hypotheses"]) == (1, "8", "H1 H2 H3 H4")
    for check in (check_memorization, check_by_kernel):
        assert [each.id for each in check(out).checks] == ["answers", "runs (float32)"]
    assert check_memorization(out).checks[1].verdict is Verdict.PROVED
    finer = certify(NEARLY, FACTS, every_run="float64")
    assert finer["every_run"]["one_answer"] == 3 and finer["every_run"]["left_open"] == []
    assert "every_run" not in certify(NEARLY, FACTS)


def test_all_inputs_of_a_rule_are_named(tmp_path, capsys):
    figures = certify_rule(NEARLY, "max", every_run="float32", out=tmp_path / "out")
    assert figures["every_run"]["left_open"] == [[2]] and figures["every_run"]["right"] == 2
    assert (tmp_path / "out" / "other_runs.csv").read_text() == "2\n"
    certificate = Certificate.load(tmp_path / "out")
    assert [each.label for each in certificate.statements] == ["domain", "runs (float32)"]
    assert (certificate.statements[1].values["memorized"], certificate.statements[1].memorized) == (2, "c")
    assert [each.verdict for each in check_memorization(tmp_path / "out").checks] == [Verdict.PROVED] * 2
    more = replace(certificate.statements[1], memorized="", values={**certificate.statements[1].values, "memorized": 3})
    (tmp_path / "false").mkdir()
    for name in ("model.safetensors", "task.safetensors"):
        shutil.copy(tmp_path / "out" / name, tmp_path / "false")
    replace(certificate, statements=(certificate.statements[0], more)).save(tmp_path / "false")
    assert check_memorization(tmp_path / "false").checks[1].verdict is not Verdict.PROVED
    NEARLY.save(tmp_path / "model.safetensors")
    line = ["certify", str(tmp_path / "out"), "--rule", "max", "--every-run", "float32", "--no-handshake"]
    main(line)
    shown = " ".join(capsys.readouterr().out.split())
    assert "Every float32 run contexts 3 contexts with one answer in all runs, proved 2" in shown
    assert "contexts where it is the right one 2" in shown
    assert "left open 1: 2" in shown and "(no TF32)" in shown and "docs/rigour/runs.md" in shown
    main([*line, "--json"])
    assert json.loads(capsys.readouterr().out)["every_run"]["one_answer"] == 2


def test_an_answer_of_several_tokens_needs_all_of_them():
    model = Model(blocks=(), W_U=NEARLY.W_U, W_E=NEARLY.W_E, W_pos=np.zeros((2, 3)))
    task = PromptTask(
        ("a", "b", "c"), ((0,), (1, 1), (2,)), ((0, 0), (0,), (1,)), (("a", "a a"), ("b b", "a"), ("c", "b"))
    )
    found = certify(model, task, every_run="float32")["every_run"]
    assert (found["contexts"], found["one_answer"], found["right"]) == (3, 2, 1) and len(found["left_open"]) == 1


def test_what_cannot_be_asked_is_refused_before_the_proof():
    for dtype in ("bfloat16", "float16"):
        with pytest.raises(InputError, match=f"every_run = '{dtype}': of this type nothing is proved.*'float32'"):
            certify(NEARLY, FACTS, every_run=dtype)
    with pytest.raises(InputError, match="every_run"):
        certify(NEARLY, FACTS, every_run="float8")
    wide = Model(blocks=(), W_U=np.eye(2), W_E=np.ones((2**11, 2)), W_pos=np.zeros((2, 2)))
    with pytest.raises(InputError, match="every_run"):
        certify_rule(wide, "first", every_run="float32")
    task = random_layer_task()
    with pytest.raises(InputError, match="vectors"):
        certify(memory_layer(task, n_heads=2), task, every_run="float32")
