"""Certificates of memorization: what they claim is true, and is proved again from the files alone."""

import dataclasses
import math
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import FileFormatError, InputError, ResourceError, TamperedError
from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.model.shapes import mahdavi_tensors
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import make_task
from tests.layers import changed_layer, layers_and_tasks, memory_layer, random_layer, random_layer_task, write_layer
from tests.layers import truth as layer_truth
from tests.memories import changed, memory, random_task, truth, write_memory
from tests.verify.forward.plain_model import holds, plain_logits, random_model
from verify.certificates.certificate import (
    ANSWERS,
    FEATURE_RANK,
    SATURATION,
    TEXT_DIVERGENCE,
    Certificate,
    mask_text,
)
from verify.provers import feature_rank, features, memorization
from verify.provers.memorization import certify_memorization, check_memorization
from verify.verdict import Verdict

PROVED, REFUTED, UNDECIDED = Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED


def restated(folder, id, **values):
    """Put other numbers into the certificate of a folder, with a right digest."""
    certificate = Certificate.load(folder)
    statements = tuple(
        dataclasses.replace(each, values={**each.values, **values}) if each.id == id else each
        for each in certificate.statements
    )
    dataclasses.replace(certificate, statements=statements).save(folder)


def verdicts(report):
    return {check.id: check.verdict for check in report.checks}


@st.composite
def memories(draw):
    task = random_task(
        target=draw(st.sampled_from(["distributions", "labels"])),
        facts=draw(st.integers(1, 12)),
        tail=draw(st.integers(0, 5)),
        n_ctx=draw(st.integers(2, 3)),
        vocabulary=draw(st.integers(5, 6)),
        seed=draw(st.integers(0, 10**6)),
    )
    seed, beta = draw(st.integers(0, 10**6)), draw(st.sampled_from([0.0, 0.3, 1.0, 10.0, 300.0]))
    network = memory(task, n_heads=8, d_head=2, beta=beta, seed=seed)
    noise = draw(st.sampled_from([0.0, 1e-9, 1e-3, 1.0]))
    rng = np.random.default_rng(seed)
    return task, changed(network, W_U=network.W_U + noise * rng.standard_normal(network.W_U.shape))


@given(memories())
def test_every_number_of_a_certificate_is_true(case):
    task, network = case
    certified = certify_memorization(network, task, rank=True, keep_outputs=True)
    exact, answers, certificate = truth(network, task), certified.answers, certified.certificate
    values, tolerance = certificate.answers.values, certificate.criterion.tolerance
    with mpmath.workprec(300):
        right = [margin > 0 for margin in exact.margins]
        if task.target == "distributions":
            right = [ok and loss <= tolerance for ok, loss in zip(right, exact.divergences, strict=True)]
        for i, (loss, margin) in enumerate(zip(exact.divergences, exact.margins, strict=True)):
            assert answers.loss_lower[i] <= loss <= answers.loss_upper[i]
            assert answers.margin_lower[i] <= margin <= answers.margin_upper[i]
            for j, z in enumerate(exact.logits[i]):
                assert abs(z - answers.outputs.midpoint[i, j]) <= answers.outputs.radius[i, j]
        memorized, wrong = (f(task.target, tolerance) for f in (answers.memorized, answers.wrong))
        assert all(right[i] for i in np.flatnonzero(memorized)) and not any(right[i] for i in np.flatnonzero(wrong))
        assert values["memorized"] == memorized.sum() <= sum(right) <= task.n_contexts - values["wrong"]
        if "margin_lower" in values:
            assert values["margin_lower"] <= min(exact.margins[i] for i in np.flatnonzero(memorized))
        if "mean_upper" in values:
            assert mpmath.fsum(exact.divergences) / task.n_contexts <= values["mean_upper"]
            assert max(exact.divergences) <= values["max_upper"]
        text = certificate.statement(TEXT_DIVERGENCE)
        if text is not None:
            assert text.values["lower"] <= exact.mean_over_all <= text.values["upper"]
            if np.max(answers.outputs.radius) <= 1e-9:  # an ill-conditioned memory has wide enclosures
                assert text.values["upper"] - text.values["lower"] <= 1e-6 * (1 + text.values["upper"])
        ranked = certificate.statement(FEATURE_RANK)
        if ranked is not None:
            skip = ranked.values["columns"] != 16
            rows = [(last if skip else []) + row for last, row in zip(exact.last, exact.features, strict=True)]
            singular = mpmath.svd_r(mpmath.matrix(rows), compute_uv=False)
            assert ranked.values["smallest_singular_value_lower"] <= min(singular)
            assert max(singular) / min(singular) <= ranked.values["condition_upper"]


@given(memories())
def test_what_is_certified_is_proved_again_with_room_to_spare(case):
    task, network = case
    with TemporaryDirectory() as name:
        folder = Path(name)
        certified = write_memory(folder, network, task)
        report = check_memorization(folder)
    assert [check.verdict for check in report.checks] == [PROVED] * len(certified.certificate.statements)
    for stated, check in zip(certified.certificate.statements, report.checks, strict=True):
        for name, stored in stated.values.items():
            if name.endswith("lower") and stored > 0 and name in check.values:
                assert stored < check.values[name]
            elif name.endswith("upper") and stored > 0:
                assert stored > check.values[name]
    assert report.verdict is certified.certificate.verdict


def test_the_bounds_of_a_memory_made_by_hand_are_near_the_truth():
    task = random_task()
    certified = certify_memorization(memory(task), task, rank=True)
    exact, values = truth(memory(task), task), certified.certificate.answers.values
    assert certified.certificate.verdict is PROVED
    assert (values["contexts"], values["memorized"], values["wrong"]) == (12, 12, 0)
    assert values["max_upper"] < 1e-20
    assert values["margin_lower"] > 0.9999 * min(exact.margins)
    ranked = certified.certificate.statement(FEATURE_RANK).values
    singular = mpmath.svd_r(mpmath.matrix(exact.features), compute_uv=False)
    assert ranked["smallest_singular_value_lower"] > 0.3 * min(singular)
    assert ranked["condition_upper"] < 10 * max(singular) / min(singular)
    assert ranked["columns"] == 16
    assert certified.answers.outputs is None


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_a_bound_that_is_printed_gives_nothing_away_that_a_person_sees(scale):
    task = random_task(target="labels")
    network = memory(task)
    network = changed(network, W_U=scale * network.W_U)
    exact, values = truth(network, task), certify_memorization(network, task).certificate.answers.values
    assert max(exact.divergences) <= values["max_upper"] <= max(exact.divergences) * 1.0002
    assert min(exact.margins) * 0.9998 <= values["margin_lower"] <= min(exact.margins)


# What a person reads as memorized is memorized.


def test_weights_that_memorize_nothing_are_not_memorized():
    task = random_task()
    faint = changed(memory(task), W_U=0.01 * memory(task).W_U)
    certificate = certify_memorization(faint, task).certificate
    assert certificate.verdict is REFUTED and certificate.headline().startswith("NOT MEMORIZED")
    rng = np.random.default_rng(0)
    loud = changed(faint, W_U=30.0 * rng.standard_normal(faint.W_U.shape))
    assert certify_memorization(loud, task).certificate.verdict is REFUTED


def test_a_context_that_is_right_is_not_a_task_that_is_memorized():
    task = random_task()
    network = memory(task)
    output = network.W_O.copy()
    rows = [i for i in range(task.n_contexts) if i]
    partial = dataclasses.replace(
        task, contexts=task.contexts[rows], counts=task.counts.take(np.array(rows)), labels=task.labels[rows],
        distributions=task.distributions[rows], tail_contexts=np.concatenate([task.tail_contexts, task.contexts[:1]]),
        tail_counts=type(task.counts).from_rows(
            [dict(zip(*map(np.ndarray.tolist, part.row(i)), strict=True))
             for part, i in [*((task.tail_counts, i) for i in range(len(task.tail_counts))), (task.counts, 0)]]
        ),
        prior=task.prior[rows],
    )  # fmt: skip
    taught = memory(partial)
    certificate = certify_memorization(taught, task).certificate
    assert certificate.verdict is REFUTED
    assert certificate.answers.values["memorized"] == 11 and certificate.answers.memorized == mask_text(
        [False] + [True] * 11
    )
    assert certificate.asking(Criterion.at_least(11)).verdict is PROVED
    assert certificate.asking(Criterion.at_least(12)).verdict is REFUTED
    assert output.shape == network.W_O.shape


def test_targets_that_are_the_network_s_own_outputs_are_said_to_be_one_s_own():
    task = random_task(tail=0)
    rng = np.random.default_rng(1)
    network = changed(memory(task), W_U=rng.standard_normal(memory(task).W_U.shape))
    logits = np.array(truth(network, task).logits, dtype=np.float64)
    distributions = np.exp(logits - logits.max(axis=1, keepdims=True))
    own = make_task(
        task.contexts,
        task.counts,
        vocabulary=task.vocabulary,
        distributions=distributions / distributions.sum(axis=1, keepdims=True),
    )
    certificate = certify_memorization(network, own).certificate
    assert certificate.verdict is PROVED and own.origin == "own"
    assert "custom targets, not from counts" in certificate.headline()
    with pytest.raises(InputError, match="origin"):
        dataclasses.replace(own, origin="smoothed counts")


def test_a_model_that_holds_all_facts_is_memorized_whatever_its_rank(tmp_path):
    task = random_task(target="labels", facts=9)
    network = memory(task, n_heads=8)
    twins = {name: np.repeat(getattr(network, name)[:1], 8, axis=0) for name in ("W_Q", "W_K", "W_V")}
    dependent = changed(network, **twins)
    certified = certify_memorization(dependent, task, rank=True).certificate
    assert certified.statement(FEATURE_RANK) is None  # rank 2 + 6 at most
    rows = type(task.counts).from_rows([{2: 1}] * 9)
    easy = make_task(task.contexts, rows, vocabulary=task.vocabulary, target="labels")
    constant = changed(dependent, W_E=np.zeros((5, 6)), W_pos=np.ones((3, 6)), W_U=np.eye(5)[[2] * 6])
    write_memory(tmp_path, constant, easy)
    assert check_memorization(tmp_path).verdict is PROVED


def test_questions_about_a_part_and_about_the_mean_are_answered(tmp_path):
    task = random_task(target="labels")
    network = memory(task)
    labels = task.labels.copy()
    counts = [{int((label + (i == 3)) % 5): 9} for i, label in enumerate(labels)] + [{0: 1}] * 5
    everything = np.concatenate([task.contexts, task.tail_contexts])
    other = make_task(
        everything, type(task.counts).from_rows(counts), vocabulary=task.vocabulary, target="labels", facts=12
    )
    certified = write_memory(tmp_path, network, other)
    assert certified.certificate.verdict is REFUTED
    assert certified.certificate.answers.values["wrong"] == 1

    def asked(criterion):
        return check_memorization(tmp_path, criterion).verdict

    assert asked(None) is REFUTED
    assert asked(Criterion.at_least(11)) is PROVED
    assert asked(Criterion.at_least(12)) is REFUTED
    values = certified.certificate.answers.values
    mean = float(values["mean_upper"])
    assert mean > values["guess_lower"]  # one label that is missed costs more than a guess does on all
    assert asked(Criterion.at_most(mean * 1.01)) is REFUTED
    assert check_memorization(tmp_path, Criterion.at_most(mean * 1.01)).headline().startswith("NO BETTER THAN A GUESS")
    assert asked(Criterion.at_most(mean * 0.99)) is REFUTED


def test_a_tolerance_of_one_s_own_is_part_of_the_question(tmp_path):
    task = random_task()
    network = changed(memory(task), W_U=1.001 * memory(task).W_U)
    loss = max(truth(network, task).divergences)
    for factor, verdict in ((2, PROVED), (0.5, REFUTED)):
        criterion = Criterion(tolerance=float(loss) * factor)
        assert certify_memorization(network, task, criterion).certificate.verdict is verdict
    write_memory(tmp_path, network, task)
    assert check_memorization(tmp_path, Criterion(tolerance=float(loss) * 0.5)).verdict is not PROVED


def test_an_at_most_question_that_the_slack_would_spoil_is_answered_yes(tmp_path):
    task = random_task(target="labels")
    network = memory(task)
    mean = certify_memorization(network, task).answers.mean_loss()[1]
    write_memory(tmp_path, network, task, criterion=Criterion.at_most(mean * (1 + 2.0**-40)))
    assert Certificate.load(tmp_path).verdict is PROVED
    assert check_memorization(tmp_path).verdict is PROVED


# The rank, where it is asked for.


def test_a_memory_that_needs_the_skip_connection_says_so():
    task = random_task(facts=18, vocabulary=6)
    network = memory(task, n_heads=8, d_head=2)  # 16 features, and 7 of the last token
    assert (
        certify_memorization(network, task, rank=True).certificate.statement(FEATURE_RANK).values["columns"] == 16 + 7
    )


def test_more_contexts_than_features_state_no_rank_and_a_forged_one_is_refuted(tmp_path):
    task = random_task(facts=30, target="labels")
    certified = write_memory(tmp_path, memory(task, n_heads=4), task)
    assert certified.certificate.statement(FEATURE_RANK) is None
    statement = dataclasses.replace(certified.certificate.answers)
    forged = type(statement)(FEATURE_RANK, "m", {"rows": 30, "columns": 14})
    certificate = dataclasses.replace(certified.certificate, statements=(*certified.certificate.statements, forged))
    certificate.save(tmp_path)
    assert verdicts(check_memorization(tmp_path))[FEATURE_RANK] is REFUTED


def test_nothing_is_stated_that_nobody_asked_for(tmp_path):
    task = random_task(tail=0)
    certified = write_memory(tmp_path, memory(task), task, rank=False)
    assert [each.id for each in certified.certificate.statements] == [ANSWERS]
    assert check_memorization(tmp_path).verdict is PROVED


# Forged numbers.


@pytest.mark.parametrize("target", ["distributions", "labels"])
def test_the_numbers_of_good_weights_are_refuted_for_bad_ones(tmp_path, target):
    task = random_task(target=target)
    network = memory(task)
    good = write_memory(tmp_path / "good", network, task).certificate
    bad = write_memory(tmp_path / "bad", changed(network, W_U=np.roll(network.W_U, 1, axis=1)), task).certificate
    assert bad.verdict is REFUTED
    dataclasses.replace(bad, statements=good.statements).save(tmp_path / "bad")
    report = check_memorization(tmp_path / "bad")
    assert verdicts(report)[ANSWERS] is REFUTED and verdicts(report)[TEXT_DIVERGENCE] is REFUTED
    assert report.verdict is REFUTED and report.headline().startswith("THE CERTIFICATE IS FALSE")


@pytest.mark.parametrize("target", ["distributions", "labels"])
@pytest.mark.parametrize(
    ("id", "bound", "factor", "expected"),
    [
        (FEATURE_RANK, "smallest_singular_value_lower", 0.5, PROVED),
        (FEATURE_RANK, "smallest_singular_value_lower", 1.1, UNDECIDED),
        (FEATURE_RANK, "smallest_singular_value_lower", 3.0, REFUTED),
        (FEATURE_RANK, "condition_upper", 2.0, PROVED),
        (FEATURE_RANK, "condition_upper", 0.9, UNDECIDED),
        (FEATURE_RANK, "condition_upper", 0.1, REFUTED),
        (ANSWERS, "margin_lower", 0.5, PROVED),
        (ANSWERS, "margin_lower", 1.01, REFUTED),
        (ANSWERS, "guess_lower", 0.5, PROVED),
        (ANSWERS, "guess_lower", 1.01, UNDECIDED),
        (ANSWERS, "mean_upper", 2.0, PROVED),
        (ANSWERS, "max_upper", 2.0, PROVED),
        (ANSWERS, "mean_upper", 1e-40, REFUTED),
        (ANSWERS, "max_upper", 1e-40, REFUTED),
        (TEXT_DIVERGENCE, "lower", 0.5, PROVED),
        (TEXT_DIVERGENCE, "upper", 2.0, PROVED),
        (TEXT_DIVERGENCE, "lower", 1.0001, REFUTED),
        (TEXT_DIVERGENCE, "upper", 0.9999, REFUTED),
    ],
)
def test_a_looser_bound_stays_proved_and_a_tighter_one_does_not(tmp_path, target, id, bound, factor, expected):
    task = random_task(target=target)
    certified = write_memory(tmp_path, memory(task), task)
    values = {bound: certified.certificate.statement(id).values[bound] * factor}
    if id == TEXT_DIVERGENCE and expected is REFUTED:  # an interval beside the true one
        values = {"lower": values[bound], "upper": values[bound]}
    restated(tmp_path, id, **values)
    report = check_memorization(tmp_path)
    if (target, id, expected) == ("distributions", ANSWERS, REFUTED) and bound != "margin_lower":
        expected = UNDECIDED  # the true divergence is about 1e-30, which float64 enclosures cannot tell from 0
    assert verdicts(report)[id] is expected
    assert report.verdict is expected
    assert all(verdict is PROVED for other, verdict in verdicts(report).items() if other != id)


@pytest.mark.parametrize("tensor", ["W_E", "W_Q", "W_V", "W_O", "W_U"])
@pytest.mark.parametrize("size", [1e150, 1e300])
def test_weights_that_overflow_are_undecided_and_never_an_error(tmp_path, tensor, size):
    task = random_task(target="labels", facts=4, tail=1)
    network = memory(task, n_heads=3)
    huge = changed(network, **{tensor: getattr(network, tensor) * size})
    certified = write_memory(tmp_path, huge, task).certificate
    report = check_memorization(tmp_path)
    exact = truth(huge, task, bits=2500 if size > 1e200 else 1300)
    assert report.verdict is certified.verdict
    right = sum(margin > 0 for margin in exact.margins)
    assert certified.answers.values["memorized"] <= right <= 4 - certified.answers.values["wrong"]
    if "max_upper" in certified.answers.values:
        assert max(exact.divergences) <= certified.answers.values["max_upper"]


def test_a_task_of_one_context_and_one_of_uniform_distributions_are_certified(tmp_path):
    task = random_task(facts=1, tail=0)
    write_memory(tmp_path / "one", memory(task), task)
    assert check_memorization(tmp_path / "one").headline().startswith("NO BETTER THAN A GUESS: 1 of 1 context;")
    uniform = dataclasses.replace(
        task, distributions=np.full((1, 5), 0.2), labels=np.zeros(1, dtype=np.int64), origin=""
    )
    certified = write_memory(tmp_path / "uniform", memory(uniform), uniform)
    assert certified.answers.margin_lower.tolist() == [math.inf]  # every token is a mode
    assert "margin_lower" not in certified.certificate.answers.values
    report = check_memorization(tmp_path / "uniform")
    assert (
        verdicts(report)[ANSWERS] is PROVED and report.checks[0].values["memorized"] == 1 and report.verdict is REFUTED
    )


def test_several_modes_must_all_win():
    task = random_task(facts=2, tail=0)
    distribution = np.array([[0.1, 0.3, 0.3, 0.2, 0.1], [0.9, 0.025, 0.025, 0.025, 0.025]])
    task = dataclasses.replace(task, distributions=distribution, labels=np.array([1, 0]), origin="")
    network = memory(task)
    loose = Criterion(tolerance=9.0)
    assert certify_memorization(network, task, loose).certificate.verdict is PROVED
    shift = np.zeros_like(network.W_U)
    shift[:, 2] = -0.5 * network.W_U[:, 2]
    hidden = truth(changed(network, W_U=network.W_U + shift), task).margins
    found = certify_memorization(changed(network, W_U=network.W_U + shift), task, loose).certificate
    assert found.answers.values["memorized"] == sum(margin > 0 for margin in hidden)


def test_a_network_that_does_not_fit_the_task_is_refused():
    task = random_task(n_ctx=3)
    with pytest.raises(InputError, match="tokens"):
        certify_memorization(changed(memory(task), W_pos=np.zeros((2, 6))), task)
    with pytest.raises(InputError, match="logits"):
        certify_memorization(changed(memory(task), W_U=np.zeros((6, 4))), task)
    with pytest.raises(InputError, match="token 4"):
        certify_memorization(changed(memory(task), W_E=np.zeros((4, 6))), task)


def test_progress_is_told_what_is_done():
    task = random_task()
    told = []
    stated = {"rank": True, "text_divergence": True}
    certify_memorization(memory(task), task, **stated, progress=lambda *news: told.append(news))
    assert {"features", "feature rank", "answers", "all contexts"} <= {stage for stage, _, _ in told}
    assert all(share is None or 0 <= share <= 1 for _, share, _ in told)


def test_a_task_that_asks_for_too_much_memory_is_refused(tmp_path, monkeypatch):
    task = random_task()
    write_memory(tmp_path, memory(task), task)
    monkeypatch.setattr(memorization, "load_task", lambda path: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(FileFormatError, match="memory"):
        check_memorization(tmp_path)


def test_a_check_that_would_not_fit_into_memory_is_refused_before_it_starts(tmp_path, monkeypatch):
    task = random_task()
    write_memory(tmp_path, memory(task), task)
    monkeypatch.setattr(feature_rank, "estimated_bytes", lambda *_: 2**70)
    monkeypatch.setattr(features, "enclose_features", lambda *_: pytest.fail("the work has started"))
    with pytest.raises(ResourceError, match="checking 12 contexts"):
        check_memorization(tmp_path)


@pytest.mark.parametrize("change", [{"parameters": 3}, {"context_length": 9}])
def test_a_certificate_of_other_sizes_is_tampering_even_with_the_right_hashes(tmp_path, change):
    task = random_task(tail=0)
    write_memory(tmp_path, memory(task), task)
    certificate = Certificate.load(tmp_path)
    subject = dataclasses.replace(certificate.subject, sizes={**certificate.subject.sizes, **change})
    dataclasses.replace(certificate, subject=subject).save(tmp_path)
    with pytest.raises(TamperedError, match="sizes"):
        check_memorization(tmp_path)


def test_another_origin_than_that_of_the_task_is_tampering(tmp_path):
    task = random_task(tail=0)
    own = dataclasses.replace(task, origin="own")
    write_memory(tmp_path, memory(own), own)
    certificate = Certificate.load(tmp_path)
    subject = dataclasses.replace(certificate.subject, origin="smoothed counts")
    dataclasses.replace(certificate, subject=subject).save(tmp_path)
    with pytest.raises(TamperedError, match="own"):
        check_memorization(tmp_path)


# Models that read vectors.


@given(layers_and_tasks())
def test_every_number_about_a_layer_is_true(case):
    layer, task = case
    certified = certify_memorization(layer, task, saturation=0.01)
    exact, values = layer_truth(layer, task), certified.certificate.answers.values
    with mpmath.workprec(1500):
        if task.target == "values":
            losses = [
                max(abs(z - mpmath.mpf(float(y))) for z, y in zip(row, labels, strict=True))
                for row, labels in zip(exact.outputs, task.labels, strict=True)
            ]
            right = [loss <= 1e-3 for loss in losses]
        else:
            margins = [
                row[c] - max(z for j, z in enumerate(row) if j != c)
                for row, c in zip(exact.outputs, task.classes.tolist(), strict=True)
            ]
            losses = [
                mpmath.log1p(mpmath.fsum(mpmath.exp(z - row[c]) for j, z in enumerate(row) if j != c))
                for row, c in zip(exact.outputs, task.classes.tolist(), strict=True)
            ]
            right = [margin > 0 for margin in margins]
        assert values["memorized"] <= sum(right) <= task.n_examples - values["wrong"]
        if "max_upper" in values:
            assert max(losses) <= values["max_upper"]
            assert mpmath.fsum(losses) / len(losses) <= values["mean_upper"]
        saturated = sum(max(pattern) > 1 - mpmath.mpf(0.01) for patterns in exact.theta for pattern in patterns)
        assert certified.certificate.statement(SATURATION).values["saturated_lower"] <= saturated


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_a_layer_that_holds_its_examples_is_memorized_and_a_random_one_is_not(tmp_path, kind):
    task = random_layer_task(examples=5, tokens=4, d_model=4, kind=kind)
    certified = write_layer(tmp_path / "good", memory_layer(task, n_heads=4), task)
    assert certified.certificate.verdict is PROVED
    report = check_memorization(tmp_path / "good")
    assert report.verdict is PROVED and set(verdicts(report)) == {ANSWERS, FEATURE_RANK, SATURATION}
    bad = write_layer(tmp_path / "bad", random_layer(d_model=4), task).certificate
    assert bad.verdict is REFUTED and bad.headline().startswith("NOT MEMORIZED")
    assert check_memorization(tmp_path / "bad").verdict is REFUTED


def test_forged_numbers_about_a_layer_are_refuted(tmp_path):
    task = random_layer_task(examples=5, tokens=4, d_model=4)
    write_layer(tmp_path, memory_layer(task, n_heads=4), task)
    for id, values, expected in (
        (ANSWERS, {"max_upper": 1e-300, "mean_upper": 1e-300}, UNDECIDED),
        (SATURATION, {"saturated_lower": 20}, REFUTED),
        (SATURATION, {"pairs": 21}, REFUTED),
        (FEATURE_RANK, {"columns": 15}, REFUTED),
        (FEATURE_RANK, {"smallest_singular_value_lower": 1e9}, REFUTED),
    ):
        before = Certificate.load(tmp_path)
        restated(tmp_path, id, **values)
        assert verdicts(check_memorization(tmp_path))[id] is expected
        before.save(tmp_path)


def test_a_shared_context_holds_no_more_independent_examples_than_its_rank_allows():
    task = random_layer_task(examples=12, tokens=3, d_model=6)
    layer = memory_layer(task, n_heads=5)
    assert certify_memorization(layer, task, rank=True).certificate.statement(FEATURE_RANK) is None  # 5 * 2 + 1 < 12


def test_a_saturation_that_makes_no_sense_is_refused():
    layer, task = random_layer(), random_layer_task()
    for delta in (0.0, 1.0, -1.0):
        with pytest.raises(InputError, match="saturation"):
            certify_memorization(layer, task, saturation=delta)
    with pytest.raises(InputError, match="vectors"):
        certify_memorization(memory(random_task()), random_task(), saturation=0.1)


def test_a_layer_whose_weights_overflow_is_undecided_and_never_an_error():
    layer, task = random_layer(), random_layer_task()
    tensors = mahdavi_tensors(layer)
    for name in ("W_V", "W_O", "W_D"):
        huge = changed_layer(layer, **{name: tensors[name] * 1e300})
        values = certify_memorization(huge, task).certificate.answers.values
        assert values["memorized"] == 0


def test_the_prover_needs_no_torch():
    code = (
        "import sys; import verify.provers.memorization, verify.kernel.check; "
        "assert not {'torch', 'matplotlib', 'rich'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.getcwd()})


@pytest.mark.parametrize(
    "change",
    [{"score_root": 4}, {"attends": "all"}, {"b_V": np.ones((8, 2))}, {"b_O": np.ones(6)}, {"skip": False}],
)
def test_a_model_that_resembles_a_network_is_judged_as_what_it_is(change):
    task = random_task()
    network = memory(task)
    other = dataclasses.replace(network, blocks=(dataclasses.replace(network.attention, **change),))
    for model in (other, dataclasses.replace(other, b_U=np.ones(other.d_vocab_out))):
        answers = certify_memorization(model, task, keep_outputs=True).answers
        assert answers.outputs is not None
        radius = np.broadcast_to(answers.outputs.radius, answers.outputs.shape)
        assert holds(answers.outputs.midpoint, radius, plain_logits(model, task.contexts))
        with pytest.raises(InputError, match="one attention"):
            certify_memorization(model, task, rank=True)


@given(st.integers(0, 2**32), st.sampled_from([1e-9, 1.0, 30.0]))
def test_bounds_about_models_of_any_blocks_are_true(seed, spread):
    rng = np.random.default_rng(seed)
    model, contexts = random_model(rng, spread=spread)
    rows = np.unique(contexts, axis=0)
    size = max(model.d_vocab, model.d_vocab_out)
    widened = np.zeros((len(model.W_U), size))
    widened[:, : model.d_vocab_out] = model.W_U
    widened[:, model.d_vocab_out :] = rng.normal(size=(len(model.W_U), size - model.d_vocab_out))
    model = dataclasses.replace(model, W_U=widened, b_U=rng.normal(size=size) if seed % 2 else None)
    labels = rng.integers(0, size, len(rows))
    task = array_task(rows, next_tokens=labels, vocabulary=size, target="labels")
    labels = task.labels
    found = certify_memorization(model, task).answers
    with mpmath.workprec(400):
        for i, row in enumerate(plain_logits(model, task.contexts)):
            z = [mpmath.mpf(int(x.mid().man_exp()[0])) * mpmath.mpf(2) ** int(x.mid().man_exp()[1]) for x in row]
            others = [x for j, x in enumerate(z) if j != labels[i]]
            margin = z[labels[i]] - max(others) if others else mpmath.inf
            loss = mpmath.log(sum(mpmath.exp(x - z[labels[i]]) for x in z))
            tiny = mpmath.mpf(2) ** -200 * (1 + max(map(abs, z)))
            assert found.margin_lower[i] - tiny <= margin <= found.margin_upper[i] + tiny
            assert found.loss_lower[i] - tiny <= loss <= found.loss_upper[i] + tiny


@pytest.mark.parametrize(
    ("distance", "precision"),
    [(2.0**-20, "float64"), (2.0**-70, "double-double"), (2.0**-140, "balls"), (-(2.0**-140), "balls")],
)
def test_what_float64_leaves_open_is_decided_higher_up_and_the_checker_agrees(tmp_path, distance, precision):
    W_U = np.array([[1.0, 1.0, 0.0], [0.0, distance, 0.0]])
    neurons = FeedForward(np.eye(2), np.eye(2), activation="gelu")
    model = Model((neurons,), W_U=W_U, W_E=np.ones((3, 2)), W_pos=np.zeros((1, 2)))
    task = array_task(np.array([[0]]), next_tokens=np.array([1]), vocabulary=3, target="labels")
    found = certify_memorization(model, task)
    assert found.answers.precision.tolist() == [precision] and precision in found.certificate.provenance["decided by"]
    assert found.certificate.verdict is (Verdict.PROVED if distance > 0 else Verdict.REFUTED)
    model.save(tmp_path / "model.safetensors")
    task.save(tmp_path / "task.safetensors")
    found.save(tmp_path)
    report = check_memorization(tmp_path)
    assert report.verdict is found.certificate.verdict and precision in report.path


def test_a_tie_of_two_columns_stays_undecided():
    neurons = FeedForward(np.eye(2), np.eye(2), activation="gelu")
    model = Model((neurons,), W_U=np.ones((2, 3)), W_E=np.ones((3, 2)), W_pos=np.zeros((1, 2)))
    task = array_task(np.array([[0]]), next_tokens=np.array([1]), vocabulary=3, target="labels")
    assert certify_memorization(model, task).certificate.verdict is Verdict.UNDECIDED
