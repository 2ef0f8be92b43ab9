"""Statements about every run and about texts: what is stated is proved again, and what is false is found out."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from byheart.reciting import whole_text
from constructions.models.blocks import FeedForward
from constructions.models.model import Model
from constructions.probes.probe_memory import probe_memory
from constructions.tasks.criterion import Criterion
from constructions.tasks.prompts import PromptTask
from constructions.tasks.table import table_task
from constructions.tasks.task import windows_task
from constructions.tasks.windows import END, Windows
from tests.by_kernel import check_by_kernel
from verify.certificates.certificate import REALS, RUNS, TEXT, Certificate, Statement, held_mask
from verify.provers.memorization import certify_memorization, check_memorization
from verify.provers.runs import prove_runs
from verify.provers.text import state_text
from verify.verdict import Verdict

FACTS = table_task("a,b\nb,a\nc,a\nd,b\n", target="labels").in_one_vocabulary()


def of_table(wrong: int = 0, *, smooth: bool = False) -> Model:
    """A model of the facts, of which the first are wrong; with neurons that no sum without rounding is known of."""
    logits = np.zeros((4, 4))
    logits[np.arange(4), FACTS.labels] = 1.0
    for fact in range(wrong):
        logits[fact] = np.roll(logits[fact], 1)
    blocks = (FeedForward(np.eye(4), np.eye(4) * 0.5, np.zeros(4), np.zeros(4), activation="gelu", skip=True),) * smooth
    return Model(blocks=blocks, W_U=np.eye(4), W_E=logits, W_pos=np.zeros((1, 4)))


def written(folder, model, task, *dtypes, texts=True, criterion=None):
    """A folder with the certificate that states all that is proved of these runs."""
    made = certify_memorization(model, task, criterion)
    certificate = made.certificate
    for dtype in dtypes:
        statement = prove_runs(model, task, dtype, tolerance=made.certificate.criterion.tolerance)
        certificate = certificate if statement is None else certificate.stating(statement)
    text = state_text(task, certificate.statements) if texts and not isinstance(task, PromptTask) else None
    certificate = certificate if text is None else certificate.stating(text)
    folder.mkdir(exist_ok=True)
    model.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    certificate.save(folder)
    return certificate


def changed(folder, id, **changes):
    """Put something else into a statement of the folder, its digest included, and check it."""
    certificate = Certificate.load(folder)
    statements = tuple(
        replace(each, **{name: change(getattr(each, name)) for name, change in changes.items()})
        if each.id == id
        else each
        for each in certificate.statements
    )
    replace(certificate, statements=statements).save(folder)
    return {check.id: check.verdict for check in check_memorization(folder).checks}


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("wrong", [0, 1, 3])
def test_what_is_stated_of_every_run_is_proved_again(tmp_path, smooth, wrong):
    made = written(
        tmp_path, of_table(wrong, smooth=smooth), FACTS, "float32", "float64", criterion=Criterion.at_least(1)
    )
    runs = [each for each in made.statements if each.id == RUNS]
    assert [each.named["format"] for each in runs] == ["float64", "float32"]
    for each in runs:
        assert each.values["held"] == 4 - wrong
        named = held_mask(each.held, 4) if each.held else {0, 1, 2, 3}
        assert named == set(range(wrong, 4))
        assert each.named["hypotheses"] == ("H1 H2 H3 H4" if smooth else "H1 H2 H5")
    checks = check_memorization(tmp_path).checks
    assert [each.id for each in checks] == ["answers", "runs (float64)", "runs (float32)"]
    assert all(each.verdict is Verdict.PROVED for each in checks)


def test_where_no_run_is_known_nothing_is_stated(tmp_path):
    made = written(tmp_path, of_table(smooth=True), FACTS, "float16", "bfloat16")
    assert [each.id for each in made.statements] == ["answers"]
    assert prove_runs(of_table(4), FACTS, "float32", tolerance=0.1) is None


@pytest.mark.parametrize(
    ("smooth", "verdict"),
    [(False, Verdict.REFUTED), (True, Verdict.REFUTED)],
)
def test_one_context_more_than_every_run_holds_is_found_out(tmp_path, smooth, verdict):
    written(tmp_path, of_table(1, smooth=smooth), FACTS, "float32", criterion=Criterion.at_least(1))
    found = changed(tmp_path, RUNS, values=lambda values: {**values, "held": 4}, held=lambda mask: "")
    assert found == {"answers": Verdict.PROVED, "runs (float32)": verdict}


def test_another_mask_of_as_many_contexts_is_found_out(tmp_path):
    written(tmp_path, of_table(1), FACTS, "float32", criterion=Criterion.at_least(1))
    assert changed(tmp_path, RUNS, held=lambda mask: "e")["runs (float32)"] is Verdict.REFUTED


def test_a_shorter_format_does_not_follow(tmp_path):
    written(tmp_path, of_table(smooth=True), FACTS, "float32")
    found = changed(tmp_path, RUNS, named=lambda named: {**named, "format": "float16"})
    assert found["runs (float16)"] is Verdict.UNDECIDED


def test_a_hypothesis_that_is_left_out_is_not_used(tmp_path):
    written(tmp_path, of_table(smooth=True), FACTS, "float32")
    without = {"contexts": 4, "held": 4}
    found = changed(
        tmp_path, RUNS, named=lambda named: {**named, "hypotheses": "H1 H2 H5"}, values=lambda values: without
    )
    assert found["runs (float32)"] is Verdict.UNDECIDED


def test_what_rests_on_more_than_it_needs_is_true(tmp_path):
    written(tmp_path, of_table(), FACTS, "float32")
    found = changed(
        tmp_path,
        RUNS,
        named=lambda named: {**named, "hypotheses": "H1 H2 H3 H4 H5"},
        values=lambda values: {**values, "exp_ulps": 4.0},
    )
    assert found["runs (float32)"] is Verdict.PROVED


def test_an_exponential_of_no_accuracy_proves_nothing(tmp_path):
    written(tmp_path, of_table(smooth=True), FACTS, "float32")
    found = changed(tmp_path, RUNS, values=lambda values: {**values, "exp_ulps": 1e30})
    assert found["runs (float32)"] is Verdict.UNDECIDED


def test_facts_of_several_tokens_have_their_runs(tmp_path):
    task = PromptTask(("a", "b"), ((0,),), ((1, 0),), (("a", "ba"),))
    model = Model(blocks=(), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((3, 2)))
    made = written(tmp_path, model, task, "float32")
    assert made.in_every_run("float32").values["held"] == 1
    assert [each.verdict for each in check_memorization(tmp_path).checks] == [Verdict.PROVED] * 2


TEXTS = whole_text({"rose": "a rose is a rose", "tiger": "tiger, tiger"})


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
    assert without.headline().startswith("HELD, PROVED: ")


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
    assert made.in_every_run("float32").values["held"] == task.n_contexts and made.statement(TEXT) is None
    text = {"title": "", "bytes": 5, "sha256": hashlib.sha256(b"aabaa").hexdigest()}
    values = {"texts": 1, "parts": 1, "bytes": 5, "characters": 5}
    made.stating(Statement(TEXT, "a lie", values, named={"format": "float32", "texts": [text]})).save(tmp_path)
    for check in (check_memorization, check_by_kernel):
        found = {each.id: each.verdict for each in check(tmp_path).checks}
        assert found["text (float32)"] is Verdict.REFUTED and found["runs (float32)"] is Verdict.PROVED


# Who can check a statement.


@pytest.mark.parametrize("smooth", [False, True])
def test_the_first_line_ends_with_what_the_fast_prover_alone_proves(tmp_path, smooth):
    made = written(tmp_path, of_table(smooth=smooth), FACTS, "float64", "float32")
    for line in (made.headline(), check_memorization(tmp_path).headline()):
        assert line.endswith("; every float64 run, every float32 run (fast prover only)") == smooth
    assert [made.checker(each) for each in made.statements] == ["kernel", *["prover" if smooth else "kernel"] * 2]
    expected = Verdict.UNDECIDED if smooth else Verdict.PROVED
    assert [each.verdict for each in check_by_kernel(tmp_path).checks[1:]] == [expected] * 2


def test_a_text_is_for_whom_its_runs_are(tmp_path):
    made = written(tmp_path, probe_memory(TEXTS).model, TEXTS, "float32")
    _, runs, text = made.statements
    assert (made.checker(runs), made.checker(text)) == ("kernel", "kernel")
    values, named = {**runs.values, "exp_ulps": 4.0}, {**runs.named, "hypotheses": "H1 H2 H3 H4"}
    soft = replace(made, statements=(made.answers, replace(runs, values=values, named=named), text))
    assert (soft.checker(text), soft.headline().endswith("; every float32 run (fast prover only)")) == ("prover", True)
    reals = replace(text, named={**text.named, "format": REALS})
    apart = replace(made, statements=(made.answers, soft.statements[1], reals))
    assert [apart.checker(each) for each in apart.statements] == ["kernel", "prover", "kernel"]
