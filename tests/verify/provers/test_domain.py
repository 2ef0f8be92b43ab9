"""Certificates about domains: true of every input, written, read and checked by two readers, and attacked."""

import dataclasses
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from constructions.errors import ByheartError, FileFormatError, InputError, TamperedError
from constructions.folds.fold import addition
from constructions.memories.heads.adder import adder
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.progress import silent
from constructions.tasks.criterion import Criterion
from constructions.tasks.rule import rule_task
from tests import task_files
from tests.by_kernel import check_by_kernel
from tests.domains import max_of_four, one_attention, truth
from verify.certificates.certificate import DOMAIN, Certificate, Statement
from verify.kernel.check import outcome
from verify.provers.domain import OnFold, certify_domain, certify_fold, load_rule, subject_of_rule
from verify.provers.memorization import check_memorization, load_subject
from verify.verdict import Verdict

both = pytest.mark.parametrize("check", [check_memorization, check_by_kernel])


def written(folder, model, task, criterion=None, **options):
    folder.mkdir(exist_ok=True)
    proved = certify_domain(model, task, criterion, **options)
    model.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    proved.save(folder)
    return proved


def restated(folder, **changes):
    """The same certificate with other fields of its statement or subject, and a digest that fits."""
    found = Certificate.load(folder)
    values = {**found.answers.values, **{name: changes.pop(name) for name in ("memorized", "wrong") if name in changes}}
    changed = dataclasses.replace(found, statements=(Statement(DOMAIN, "", values),), **changes)
    changed.save(folder)
    return changed


@both
@pytest.mark.parametrize("seed, n_heads", [(0, 1), (1, 1), (2, 1), (3, 2), (4, 3), (5, 1)])
def test_both_readers_prove_what_is_true_of_every_input(tmp_path, check, seed, n_heads):
    model, task = one_attention(np.random.default_rng(seed), n_heads=n_heads, largest_length=3)
    right, wrong = truth(model, task)
    proved = written(tmp_path / "folder", model, task)
    values = proved.certificate.answers.values
    assert (values["memorized"], values["wrong"]) == (len(right), len(wrong)) and len(right) + len(
        wrong
    ) == task.n_contexts
    report = check(tmp_path / "folder")
    assert report.checks[0].verdict.value == "PROVED"
    assert report.verdict.value == ("REFUTED" if wrong else "PROVED")
    assert check_memorization(tmp_path / "folder").headline() == proved.certificate.headline()


def test_the_first_line_says_whole_only_of_the_whole(tmp_path):
    task = rule_task("max", d_vocab=8, n_ctx=4)
    about = "the rule is max of 4 tokens below 8"
    whole = written(tmp_path / "whole", max_of_four(), task)
    assert whole.certificate.headline() == (
        f"MEMORIZED, PROVED: 4,096 of 4,096 inputs, in real arithmetic; {max_of_four().parameters} parameters; {about}"
    )
    assert check_memorization(tmp_path / "whole").headline() == whole.certificate.headline()
    model = max_of_four(sharpness=0.8)
    part = written(tmp_path / "part", model, task)
    wrong = part.certificate.answers.values["wrong"]
    assert wrong > 0
    lost = f"{wrong:,} of 4,096 inputs proved wrong, {4096 - wrong:,} memorized"
    assert part.certificate.headline() == f"NOT MEMORIZED: {lost}; {about}"
    expected = f"{4096 - wrong:,} of 4,096 inputs memorized, {wrong:,} proved wrong; asked: at least"
    for count, words in ((4096 - wrong, "AS ASKED, PROVED"), (4096 - wrong + 1, "NOT AS ASKED")):
        asked = Criterion.at_least(count)
        assert check_memorization(tmp_path / "part", asked).headline().startswith(f"{words}: {expected}")
        assert (check_by_kernel(tmp_path / "part", asked).verdict.value == "PROVED") == (words == "AS ASKED, PROVED")
        assert certify_domain(model, task, asked).certificate.headline().startswith(f"{words}: {expected}")
    two = Model(blocks=model.blocks * 2, W_U=model.W_U, W_E=model.W_E, W_pos=model.W_pos)
    nothing = written(tmp_path / "nothing", two, task, one_by_one=0)
    assert nothing.certificate.headline().startswith("NOT DECIDED: 0 of 4,096 inputs memorized, 0 proved wrong")


@both
def test_forged_counts_are_refused(tmp_path, check):
    model, task = max_of_four(sharpness=0.8), rule_task("max", d_vocab=8, n_ctx=4)
    folder = tmp_path / "folder"
    values = written(folder, model, task).certificate.answers.values
    wrong = values["wrong"]
    restated(folder, memorized=4096 - wrong + 1, wrong=0)
    assert check(folder).verdict.value == "REFUTED"
    assert check_memorization(folder).headline().startswith("THE CERTIFICATE IS FALSE: domain, ")
    restated(folder, memorized=0, wrong=wrong + 1)
    assert check(folder).checks[0].verdict.value == "REFUTED"
    restated(folder, memorized=5, wrong=1)
    assert check(folder).checks[0].verdict.value == "PROVED"


@both
def test_a_swapped_rule_is_tampering_or_another_certificate(tmp_path, check):
    model, task = max_of_four(), rule_task("max", d_vocab=8, n_ctx=4)
    folder = tmp_path / "folder"
    written(folder, model, task)
    other = rule_task("min", d_vocab=8, n_ctx=4)
    other.save(folder / "task.safetensors")
    with pytest.raises(TamperedError, match="task"):
        check(folder)
    restated(folder, subject=subject_of_rule(model, other))
    assert check(folder).checks[0].verdict.value == "REFUTED"
    # The automaton of the minimum under the name of the maximum.
    task_files.write(folder / "task.safetensors", {**task_files.parts(other), "rule": "max"}, task="rule")
    with pytest.raises(FileFormatError):
        check(folder)
    smaller = rule_task("max", d_vocab=7, n_ctx=4)
    smaller.save(folder / "task.safetensors")
    with pytest.raises(TamperedError):
        check(folder)


@both
def test_another_model_or_sizes_are_tampering(tmp_path, check):
    model, task = max_of_four(), rule_task("max", d_vocab=8, n_ctx=4)
    folder = tmp_path / "folder"
    written(folder, model, task)
    subject = Certificate.load(folder).subject
    for name in ("outputs", "parameters", "context_length"):
        sizes = {**subject.sizes, name: 5}
        restated(folder, subject=dataclasses.replace(subject, sizes=sizes))
        with pytest.raises(TamperedError):
            check(folder)
    restated(folder, subject=dataclasses.replace(subject, origin="rule: min of 4 tokens below 8"))
    with pytest.raises(TamperedError):
        check(folder)
    restated(folder, subject=subject)
    max_of_four(sharpness=1.0).save(folder / "model.safetensors")
    with pytest.raises(TamperedError, match="model"):
        check(folder)


@both
def test_a_model_that_cannot_read_the_domain_or_answer_it_is_refused(tmp_path, check):
    model = max_of_four()
    folder = tmp_path / "folder"
    others = [rule_task("max", d_vocab=9, n_ctx=2), rule_task("max", d_vocab=3, n_ctx=5)]
    for task in (*others, rule_task("sum", d_vocab=2, n_ctx=2, after=[8])):
        with pytest.raises(InputError):
            certify_domain(model, task)
        written(folder, model, rule_task("max", d_vocab=8, n_ctx=4))
        task.save(folder / "task.safetensors")
        size = {"contexts": task.n_contexts, "memorized": 0, "wrong": 0, "guess_right": task.guess_right}
        changed = dataclasses.replace(
            Certificate.load(folder), subject=subject_of_rule(model, task), statements=(Statement(DOMAIN, "", size),)
        )
        changed.save(folder)
        with pytest.raises(FileFormatError, match=r"model\.safetensors"):
            check(folder)


@both
def test_a_mean_is_not_asked_of_a_domain(tmp_path, check):
    model, task = max_of_four(), rule_task("max", d_vocab=8, n_ctx=2)
    written(tmp_path / "folder", model, task)
    mean = Criterion.at_most(0.1)
    for ask in (lambda: check(tmp_path / "folder", mean), lambda: certify_domain(model, task, mean)):
        with pytest.raises(InputError, match="mean"):
            ask()


def test_a_check_that_is_interrupted_answers_nothing(tmp_path):
    written(tmp_path / "folder", max_of_four(), rule_task("max", d_vocab=8, n_ctx=2))

    def interrupted(stage, share, detail):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_memorization(tmp_path / "folder", progress=interrupted)


@both
def test_huge_weights_prove_nothing_false(tmp_path, check):
    for number, power in enumerate((200.0, 308.0)):
        model = max_of_four()
        huge = Model(blocks=model.blocks, W_U=model.W_U * 10.0**power, W_E=model.W_E, W_pos=model.W_pos)
        task = rule_task("max", d_vocab=8, n_ctx=2)
        proved = written(tmp_path / str(number), huge, task)
        right, wrong = truth(huge, task)
        values = proved.certificate.answers.values
        assert values["memorized"] <= len(right) and values["wrong"] <= len(wrong)
        assert check(tmp_path / str(number)).checks[0].verdict.value in ("PROVED", "UNDECIDED")


def test_a_list_and_a_rule_are_not_taken_for_each_other(tmp_path):
    model, task = max_of_four(), rule_task("max", d_vocab=8, n_ctx=2)
    folder = tmp_path / "folder"
    certificate = written(folder, model, task).certificate
    assert load_rule(folder, certificate)[1].sha256() == task.sha256()
    with pytest.raises(InputError, match="rule"):
        load_subject(folder, certificate)
    listed = dataclasses.replace(certificate.subject, origin="own")
    with pytest.raises(ByheartError):
        dataclasses.replace(certificate, subject=listed)


def test_more_inputs_than_the_kernel_looks_at_are_for_the_fast_prover_alone(tmp_path: Path) -> None:
    """What the prover decides by tables, the kernel would have to look at one by one."""
    idle = {name: np.zeros((1, 4, 1)) for name in ("W_Q", "W_K", "W_V")}
    echo = dana_network(W_E=np.eye(4), W_pos=np.zeros((15, 4)), W_U=np.eye(4), W_O=np.zeros((1, 1, 4)), **idle)
    task = rule_task("last", d_vocab=4, n_ctx=15)
    proved = written(tmp_path / "all", echo, task).certificate
    assert proved.verdict is Verdict.PROVED and " inputs, in real arithmetic (fast prover only); " in proved.headline()
    assert check_memorization(tmp_path / "all").headline() == proved.headline()
    assert outcome(tmp_path / "all")[0] == 3
    drawn = written(tmp_path / "drawn", echo, task, sample=9, seed="").certificate
    assert "fast prover only" not in drawn.headline()
    assert [each.verdict for each in check_by_kernel(tmp_path / "drawn").checks] == [Verdict.PROVED] * 2


def test_a_rule_with_a_state_is_stated_and_proved_again(tmp_path: Path) -> None:
    model, fold = adder(40, base=2), addition(40, base=2, sum_digits=2)
    proved = certify_fold(model, fold, every_run="float32").certificate
    assert proved.verdict is Verdict.PROVED
    assert proved.answers.values["contexts"] == proved.answers.values["memorized"] == 2**80
    assert [statement.label for statement in proved.statements] == ["domain", "runs (float32)"]
    model.save(tmp_path / "model.safetensors")
    fold.save(tmp_path / "task.safetensors")
    proved.save(tmp_path)
    report = check_memorization(tmp_path)
    assert [check.verdict for check in report.checks] == [Verdict.PROVED] * 2
    assert report.verdict is Verdict.PROVED
    assert outcome(tmp_path) == (3, "UNDECIDED: task.safetensors is a task of fold, which the kernel does not read")


def test_a_certificate_of_weights_that_add_wrongly_is_false(tmp_path: Path) -> None:
    model, fold = adder(3, base=2), addition(3, base=2)
    proved = certify_fold(model, fold).certificate
    wrong = Model(model.blocks, model.W_U, b_U=model.b_U + np.array([0.0, 2.0]), W_E=model.W_E, W_pos=model.W_pos)
    found = certify_fold(wrong, fold).certificate
    assert found.verdict is Verdict.REFUTED and found.headline().startswith("NOT MEMORIZED")
    wrong.save(tmp_path / "model.safetensors")
    fold.save(tmp_path / "task.safetensors")
    replace(found, statements=proved.statements).save(tmp_path)
    assert check_memorization(tmp_path).headline().startswith("THE CERTIFICATE IS FALSE: domain, ")


def test_a_count_of_a_rule_with_a_state_that_does_not_follow_is_not_believed(tmp_path: Path) -> None:
    model, fold = adder(2, base=2), addition(2, base=2)
    proved = certify_fold(model, fold).certificate
    model.save(tmp_path / "model.safetensors")
    fold.save(tmp_path / "task.safetensors")
    values = {**proved.answers.values, "guess_most": 3}
    replace(proved, statements=(replace(proved.answers, values=values),)).save(tmp_path)
    assert check_memorization(tmp_path).verdict is Verdict.REFUTED
    with pytest.raises(InputError, match="guess"):
        values = {name: value for name, value in values.items() if name != "guess_most"}
        replace(proved, statements=(replace(proved.answers, values={**values, "guess_right": 3}),))


def test_a_domain_larger_than_the_kernel_looks_at_is_for_the_prover_alone(tmp_path: Path) -> None:
    idle = {name: np.zeros((1, 4, 1)) for name in ("W_Q", "W_K", "W_V")}
    for length, sample, alone in ((15, None, True), (15, 9, False), (14, None, False)):
        echo = dana_network(W_E=np.eye(4), W_pos=np.zeros((length, 4)), W_U=np.eye(4), W_O=np.zeros((1, 1, 4)), **idle)
        made = certify_domain(echo, rule_task("last", d_vocab=4, n_ctx=length), sample=sample).certificate
        assert ("(fast prover only)" in made.headline()) == alone
        assert made.checker(made.answers) == ("prover" if alone else "kernel")


def test_a_model_to_which_the_theorem_of_states_does_not_apply_is_no_answer():
    model, fold = adder(2, base=2), addition(2, base=2)
    made = certify_fold(model, fold).certificate
    without = Model((), model.W_U, W_E=model.W_E, W_pos=model.W_pos)
    about = {"certificate": made, "asked": made.criterion, "progress": silent}
    assert OnFold(model=model, task=fold, **about).counts[0] == made.answers.values["memorized"]
    with pytest.raises(FileFormatError, match="the theorem does not apply"):
        _ = OnFold(model=without, task=fold, **about).answers
