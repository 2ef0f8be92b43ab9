"""What is stated of the answers: counts and bounds that are a little too strong are not proved again."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task, make_task
from constructions.tasks.vectors import VectorTask
from tests.memories import memory, random_task, write_memory
from tests.verify.kernel import folders
from tests.verify.provers.test_memorization import PROVED, REFUTED, UNDECIDED, restated, verdicts
from verify.certificates.certificate import (
    ANSWERS,
    GUESS,
    TEXT_DIVERGENCE,
    Certificate,
    mask_text,
)
from verify.provers.answers import _margin_elsewhere
from verify.provers.memorization import check_memorization, judge


@pytest.mark.parametrize(
    ("memorized", "wrong", "expected"), [(12, 0, REFUTED), (11, 1, PROVED), (10, 0, PROVED), (10, 2, REFUTED)]
)
def test_a_count_that_is_not_true_is_refuted_and_a_weaker_one_stays(tmp_path, memorized, wrong, expected):
    task = random_task(target="labels", tail=0)
    network = memory(task)
    counts = [{int((label + (i == 11)) % 5): 9} for i, label in enumerate(task.labels)]
    other = make_task(task.contexts, type(task.counts).from_rows(counts), vocabulary=task.vocabulary, target="labels")
    found = np.array([np.flatnonzero((other.contexts == c).all(axis=1))[0] for c in task.contexts[:11]])
    right = np.isin(np.arange(12), found)
    certificate = write_memory(tmp_path, network, other).certificate
    assert certificate.answers.values["memorized"] == 11
    named = right.copy()
    if memorized == 12:
        named[:] = True
    elif memorized == 10:
        named[np.flatnonzero(right)[0]] = False
    values = {"contexts": 12, "memorized": memorized, "wrong": wrong, GUESS: certificate.answers.values[GUESS]}
    forged = dataclasses.replace(certificate.answers, values=values, memorized=mask_text(named.tolist()))
    dataclasses.replace(certificate, statements=(forged, *certificate.statements[1:])).save(tmp_path)
    report = check_memorization(tmp_path)
    assert verdicts(report)[ANSWERS] is expected
    assert memorized < 12 or "it names 1 context not memorized" in report.checks[0].reason
    assert report.verdict is REFUTED  # one fact is not memorized, whatever is stored


def test_a_bound_just_beyond_the_enclosure_is_undecided(tmp_path):
    task = random_task(target="labels")
    write_memory(tmp_path, memory(task), task)
    own = check_memorization(tmp_path).checks[0].values
    at_the_limit = {name: own[name] for name in ("margin_lower", "mean_upper", "max_upper", "guess_lower")}
    restated(tmp_path, ANSWERS, **at_the_limit)
    assert verdicts(check_memorization(tmp_path))[ANSWERS] is PROVED
    for name, value in at_the_limit.items():
        beyond = math.nextafter(value, math.inf if name.endswith("lower") else 0.0)
        restated(tmp_path, ANSWERS, **{**at_the_limit, name: beyond})
        assert verdicts(check_memorization(tmp_path))[ANSWERS] is UNDECIDED
    restated(tmp_path, ANSWERS, **at_the_limit)
    ends = check_memorization(tmp_path).checks[1].values
    for end, towards in (("lower", math.inf), ("upper", 0.0)):
        restated(tmp_path, TEXT_DIVERGENCE, **{**ends, end: math.nextafter(ends[end], towards)})
        assert verdicts(check_memorization(tmp_path))[TEXT_DIVERGENCE] is UNDECIDED
    restated(tmp_path, TEXT_DIVERGENCE, **ends)
    assert verdicts(check_memorization(tmp_path))[TEXT_DIVERGENCE] is PROVED


@pytest.mark.parametrize(
    ("lower", "upper", "stored"),
    [
        ([1.0], [1.0], 1.0),
        ([1.0], [1.25], 0.75),
        ([1.0], [3.0], 0.5),
        ([1.0, 0.875], [1.5, 0.875], 0.5),
        ([1.0, np.inf], [np.inf, np.inf], 0.5),
        ([np.inf], [np.inf], np.inf),
    ],
)
def test_a_margin_is_stored_as_far_below_as_its_bounds_are_apart(lower, upper, stored) -> None:
    assert _margin_elsewhere(np.array(lower), np.array(upper)) == stored


SCALES = [2.0**-k for k in (0, 4, 9, 11, 13, 14, 15, 16, 20, 30, 45, 52, 60)]


def hardly_better_than_a_guess(scale: float) -> tuple[Model, Task]:
    """Two distributions of which the model says what a guess does, but for one logit that moves by `scale`."""
    model = Model(blocks=(), W_U=np.array([[0.0, scale]]), W_E=np.array([[1.0], [-1.0]]), W_pos=np.zeros((1, 1)))
    distributions = np.array([[0.01, 0.99], [0.99, 0.01]])
    return model, array_task(np.array([[0], [1]]), distributions=distributions, vocabulary=2)


def hardly_nearer_than_a_guess(scale: float) -> tuple[Model, VectorTask]:
    """Three values 1, 0 and -1, from which a guess is 2/3 away on average, and the model by a little less."""
    neurons = FeedForward(np.array([[1.0, -1.0]]), np.array([[1.0], [-1.0]]), activation="relu", skip=False)
    values = np.array([[1.0], [0.0], [-1.0]])
    task = VectorTask(values[:, None], np.zeros((3, 1)), values)
    return Model(blocks=(neurons,), W_U=np.array([[scale / 2]])), task


@pytest.mark.parametrize("criterion", [Criterion.at_most(1000.0), Criterion(tolerance=1.0)], ids=["mean", "each"])
@pytest.mark.parametrize("hardly_better", [hardly_better_than_a_guess, hardly_nearer_than_a_guess])
def test_a_slack_that_nobody_sees_leaves_no_question_open(tmp_path: Path, hardly_better, criterion: Criterion) -> None:
    """What is stored says yes where what was proved does: the kernel knows nothing else."""
    for number, scale in enumerate(SCALES):
        model, task = hardly_better(scale)
        assert judge(model, task, criterion).outcome.verdict is PROVED or scale < 2.0**-50, scale
        stated = folders.written(tmp_path / str(number), model, task, criterion)
        assert Certificate.load(stated).verdict is judge(model, task, criterion).outcome.verdict, scale
        assert folders.code(stated) in folders.expected(stated), scale
