"""Statements about every run and about texts: what is stated is proved again, and what is false is found out."""

from dataclasses import replace

import numpy as np
import pytest

from byheart.reciting import whole_text
from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.prompts import PromptTask
from constructions.tasks.table import table_task
from tests.by_kernel import check_by_kernel
from verify.certificates.certificate import RUNS, Certificate, memorized_mask
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
        assert each.values["memorized"] == 4 - wrong
        named = memorized_mask(each.memorized, 4) if each.memorized else {0, 1, 2, 3}
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
    found = changed(tmp_path, RUNS, values=lambda values: {**values, "memorized": 4}, memorized=lambda mask: "")
    assert found == {"answers": Verdict.PROVED, "runs (float32)": verdict}


def test_another_mask_of_as_many_contexts_is_found_out(tmp_path):
    written(tmp_path, of_table(1), FACTS, "float32", criterion=Criterion.at_least(1))
    assert changed(tmp_path, RUNS, memorized=lambda mask: "e")["runs (float32)"] is Verdict.REFUTED


def test_a_shorter_format_does_not_follow(tmp_path):
    written(tmp_path, of_table(smooth=True), FACTS, "float32")
    found = changed(tmp_path, RUNS, named=lambda named: {**named, "format": "float16"})
    assert found["runs (float16)"] is Verdict.UNDECIDED


def test_a_hypothesis_that_is_left_out_is_not_used(tmp_path):
    written(tmp_path, of_table(smooth=True), FACTS, "float32")
    without = {"contexts": 4, "memorized": 4}
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
    assert made.in_every_run("float32").values["memorized"] == 1
    assert [each.verdict for each in check_memorization(tmp_path).checks] == [Verdict.PROVED] * 2


TEXTS = whole_text({"rose": "a rose is a rose", "tiger": "tiger, tiger"})


# Who can check a statement.


@pytest.mark.parametrize("smooth", [False, True])
def test_the_first_line_marks_what_the_fast_prover_alone_proves(tmp_path, smooth):
    made = written(tmp_path, of_table(smooth=smooth), FACTS, "float64", "float32")
    for line in (made.headline(), check_memorization(tmp_path).headline()):
        where = "in every float64 and float32 run"
        assert f"{where}{' (fast prover only)' * smooth}; " in line
    assert [made.checker(each) for each in made.statements] == ["kernel", *["prover" if smooth else "kernel"] * 2]
    expected = Verdict.UNDECIDED if smooth else Verdict.PROVED
    assert [each.verdict for each in check_by_kernel(tmp_path).checks[1:]] == [expected] * 2
