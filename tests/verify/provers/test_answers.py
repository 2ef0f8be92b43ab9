"""What is stated of the answers: counts and bounds that are a little too strong are not proved again."""

import dataclasses
import math

import numpy as np
import pytest

from constructions.tasks.task import make_task
from tests.memories import memory, random_task, write_memory
from tests.verify.provers.test_memorization import PROVED, REFUTED, UNDECIDED, restated, verdicts
from verify.certificates.certificate import (
    ANSWERS,
    GUESS,
    TEXT_DIVERGENCE,
    mask_text,
)
from verify.provers.answers import _margin_elsewhere
from verify.provers.memorization import check_memorization


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
