"""What is stated of a text that a model says, and proved again."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from byheart.reciting import whole_text
from constructions.memories.probes.probe_memory import probe_memory
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import windows_task
from constructions.tasks.windows import END, Windows
from tests.by_kernel import check_by_kernel
from tests.verify.provers.test_runs import FACTS, TEXTS, changed, of_table, written
from verify.certificates.certificate import REALS, RUNS, TEXT, Certificate, Statement
from verify.provers.memorization import check_memorization
from verify.verdict import Verdict


def test_a_text_is_stated_by_what_every_run_holds_or_else_by_real_arithmetic(tmp_path):
    model = probe_memory(TEXTS).model
    made = written(tmp_path / "runs", model, TEXTS, "float32")
    assert made.statement(TEXT).named["format"] == "float32"
    assert [(each["title"], each["bytes"]) for each in made.statement(TEXT).named["texts"]] == [
        ("rose", 16),
        ("tiger", 12),
    ]
    assert [each.verdict for each in check_memorization(tmp_path / "runs").checks] == [Verdict.PROVED] * 3
    made = written(tmp_path / "reals", model, TEXTS)
    assert made.statement(TEXT).named["format"] == REALS
    assert [each.verdict for each in check_memorization(tmp_path / "reals").checks] == [Verdict.PROVED] * 2


def test_a_text_of_which_a_window_is_wrong_is_not_stated(tmp_path):
    spoilt = probe_memory(TEXTS).model.with_each(lambda name, x: 0.0 * x if name == "unembed.W_U" else x)
    made = written(tmp_path, spoilt, TEXTS, "float32", criterion=Criterion.at_least(1))
    assert made.statement(TEXT) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda texts: [{**texts[0], "sha256": "0" * 64}, *texts[1:]],
        lambda texts: [{**texts[0], "title": "lily"}, *texts[1:]],
        lambda texts: texts[::-1],
        lambda texts: [{**texts[0], "bytes": texts[0]["bytes"] + 1}, {**texts[1], "bytes": texts[1]["bytes"] - 1}],
    ],
)
def test_another_text_is_found_out(tmp_path, change):
    written(tmp_path, probe_memory(TEXTS).model, TEXTS, "float32")
    found = changed(tmp_path, TEXT, named=lambda named: {**named, "texts": change(list(named["texts"]))})
    assert found["text (float32)"] is Verdict.REFUTED and found["runs (float32)"] is Verdict.PROVED


def test_other_numbers_of_a_text_are_found_out(tmp_path):
    written(tmp_path, probe_memory(TEXTS).model, TEXTS, "float32")
    found = changed(tmp_path, TEXT, values=lambda values: {**values, "characters": values["characters"] - 1})
    assert found["text (float32)"] is Verdict.REFUTED


def test_a_text_whose_runs_are_not_proved_again_is_not_proved(tmp_path):
    written(tmp_path, probe_memory(TEXTS).model, TEXTS, "float32")
    certificate = Certificate.load(tmp_path)
    other = [
        replace(each, named={**each.named, "format": "float16"}) if each.id in (RUNS, TEXT) else each
        for each in certificate.statements
    ]
    replace(certificate, statements=tuple(other)).save(tmp_path)
    found = {check.id: check.verdict for check in check_memorization(tmp_path).checks}
    assert found["text (float16)"] is found["runs (float16)"]


def test_a_text_that_the_task_does_not_have_is_refuted(tmp_path):
    text = written(tmp_path / "texts", probe_memory(TEXTS).model, TEXTS, "float32").statement(TEXT)
    facts = tmp_path / "facts"
    written(facts, of_table(), FACTS, "float32").stating(text).save(facts)
    found = {check.id: check.verdict for check in check_memorization(facts).checks}
    assert found["text (float32)"] is Verdict.REFUTED


@pytest.mark.parametrize(
    ("texts", "dtypes", "said"),
    [
        ("abcab", ["float32"], "5 of 5 characters, in every float32 run; "),
        ({"rose": "ab", "tiger": "ba"}, ["float64", "float32"], "4 of 4 characters of 2 texts, in every float32 run; "),
        ({"1/2": "ab", "2/2": "cd"}, [], "4 of 4 characters in 2 parts, in real arithmetic; "),
        (b"a\xff", ["float16"], "2 of 2 bytes, in every float16 run; "),
    ],
)
def test_the_first_line_of_a_text_follows_from_its_certificate_and_from_a_check(tmp_path, texts, dtypes, said):
    task = whole_text(texts, "byte" if isinstance(texts, bytes) else "char")
    model = probe_memory(task).model
    made = written(tmp_path, model, task, *dtypes)
    line = f"BY HEART, PROVED: {said}{model.parameters:,} parameters"
    assert made.headline() == check_memorization(tmp_path).headline() == line
    assert made.beside("left out", "one file left out").headline() == f"{line}; one file left out"
    some = check_memorization(tmp_path, Criterion.at_least(1))
    assert some.headline().startswith("AS ASKED, PROVED: ")
    without = replace(made, statements=made.statements[:1])
    assert without.headline().startswith("MEMORIZED, PROVED: ")


def test_a_text_that_is_not_proved_again_is_not_in_the_first_line(tmp_path):
    written(tmp_path, probe_memory(TEXTS).model, TEXTS, "float32")
    changed(tmp_path, TEXT, values=lambda values: {**values, "characters": values["characters"] - 1})
    assert check_memorization(tmp_path).headline().startswith("THE CERTIFICATE IS FALSE: text (float32), ")


def test_a_text_whose_windows_go_on_in_two_ways_is_not_stated_and_refuted(tmp_path):
    """One token before each place: after a comes a, b or the end, and every run holds the most frequent one."""
    windows = Windows(np.array([0, 0, 1, 0, 0, 2]), np.array([2]), 1, 2)
    task = windows_task(windows, vocabulary=("a", "b", END))
    model = probe_memory(task).model
    made = written(tmp_path, model, task, "float32")
    assert made.in_every_run("float32").values["memorized"] == task.n_contexts and made.statement(TEXT) is None
    text = {"title": "", "bytes": 5, "sha256": hashlib.sha256(b"aabaa").hexdigest()}
    values = {"texts": 1, "parts": 1, "bytes": 5, "characters": 5}
    made.stating(Statement(TEXT, "a lie", values, named={"format": "float32", "texts": [text]})).save(tmp_path)
    for check in (check_memorization, check_by_kernel):
        found = {each.id: each.verdict for each in check(tmp_path).checks}
        assert found["text (float32)"] is Verdict.REFUTED and found["runs (float32)"] is Verdict.PROVED


def test_a_text_is_for_whom_its_runs_are(tmp_path):
    made = written(tmp_path, probe_memory(TEXTS).model, TEXTS, "float32")
    _, runs, text = made.statements
    assert (made.checker(runs), made.checker(text)) == ("kernel", "kernel")
    values, named = {**runs.values, "exp_ulps": 4.0}, {**runs.named, "hypotheses": "H1 H2 H3 H4"}
    soft = replace(made, statements=(made.answers, replace(runs, values=values, named=named), text))
    assert (soft.checker(text), "in every float32 run (fast prover only); " in soft.headline()) == ("prover", True)
    reals = replace(text, named={**text.named, "format": REALS})
    apart = replace(made, statements=(made.answers, soft.statements[1], reals))
    assert [apart.checker(each) for each in apart.statements] == ["kernel", "prover", "kernel"]
    count = runs.values["contexts"]
    assert apart.headline().endswith(f"; {count} of {count} contexts in every float32 run (fast prover only)")
