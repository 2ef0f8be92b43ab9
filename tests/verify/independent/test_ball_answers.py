"""What balls of outputs say of a context: never more than they hold, and what is not decided is neither."""

import math

import numpy as np
import pytest
from flint import arb, ctx

from constructions.tasks.vectors import VectorTask
from tests.layers import random_layer_task
from tests.memories import random_task
from verify.independent.ball_answers import Answer, Targets, mean_loss
from verify.independent.plain_prompts import read_task
from verify.provers.answer_bounds import guess_loss


def targets_of(task, tmp_path):
    task.save(tmp_path / "task.safetensors")
    return Targets(read_task(tmp_path / "task.safetensors"))


def test_a_loss_that_straddles_the_tolerance_decides_nothing():
    losses = [arb(0.5, 0.1), arb(0.5, 0.0001), arb(2.0)]
    answers = [Answer(None, loss) for loss in losses]
    limit = arb(0.501)
    assert [each.held("laws", limit) for each in answers] == [False, True, False]
    assert [each.wrong("laws", limit) for each in answers] == [False, False, True]
    assert [each.held("labels", limit) for each in answers] == [True, True, True]


@pytest.mark.parametrize("target", ["labels", "laws"])
def test_a_tie_is_wrong_and_a_loss_at_the_tolerance_is_held(target):
    least, none, limit = arb(5e-324), arb(0), arb(0.5)
    for margin, held in ((least, True), (none, False), (-least, False)):
        answer = Answer(margin, none)
        assert (answer.held(target, limit), answer.wrong(target, limit)) == (held, not held)
    beyond = limit + arb(2) ** -50
    for loss, held in ((limit, True), (beyond, False)):
        answer = Answer(least, loss)
        held = held or target == "labels"
        assert (answer.held(target, limit), answer.wrong(target, limit)) == (held, not held)


def test_the_mean_is_that_of_all():
    assert mean_loss([Answer(None, arb(1)), Answer(None, arb(3))]) == 2


def test_the_loss_of_values_is_the_largest_distance_with_the_error(tmp_path):
    task = VectorTask(np.ones((1, 2, 1)), np.ones((1, 1)), np.array([[1.0, -2.0, 0.5]]))
    found = targets_of(task, tmp_path).answers([0], [arb(1), arb(-4), arb(1)], arb(0.25), {})[0]
    assert found.margin is None and found.empirical is None
    assert found.loss > 1.7 and found.loss < 2.3 and found.loss.contains(arb(1.75)) and found.loss.contains(arb(2.25))


@pytest.mark.parametrize("error", [0.0, 0.125])
def test_the_margin_of_a_class_is_off_by_twice_the_error(tmp_path, error):
    labels = np.array([[0.0, 1.0, 0.5]])
    task = VectorTask(np.ones((1, 2, 1)), np.ones((1, 1)), labels, kind="classification")
    with ctx.workprec(128):
        found = targets_of(task, tmp_path).answers([0], [arb(0), arb(3), arb(2)], arb(error), {})[0]
        for shift in (-2 * error, 2 * error):
            assert found.margin.contains(arb(1 + shift))
        loss = (1 + arb(-1).exp() + arb(-3).exp()).log()
        assert found.margin.rad() <= 2.0001 * error and found.loss.overlaps(loss)


def test_laws_are_divided_by_their_exact_sums_and_counts_have_divergences_of_their_own(tmp_path):
    task = random_task(facts=3, tail=1)
    targets = targets_of(task, tmp_path)
    with ctx.workprec(128):
        for i, law in enumerate(task.laws.tolist()):
            found = targets.answers([i], [arb(x).log() for x in law], arb(0), {})[0]
            assert found.loss.contains(arb(0)) and found.loss < 1e-30
            counts = task.counts.dense(i, i + 1, 5)[0]
            shares = [(c / counts.sum(), x) for c, x in zip(counts, law, strict=True) if c]
            exact = sum(share * math.log(share / x) for share, x in shares)
            assert abs(float(found.empirical.mid()) - exact) < 1e-9


@pytest.mark.parametrize("target", ["laws", "labels", "values", "classes"])
def test_the_guess_is_that_of_the_prover(tmp_path, target):
    kind = {"values": "regression", "classes": "classification"}.get(target)
    task = random_layer_task(examples=5, tokens=4, kind=kind) if kind else random_task(target=target)
    with ctx.workprec(128):
        targets, other = targets_of(task, tmp_path), guess_loss(task)
        assert float(other.lower()) <= float(targets.guess().mid()) <= float(other.upper()) and targets.guess() > 0
    assert targets.most_frequent() == (task.guess_held if task.target == "labels" else None)


@pytest.mark.parametrize(("values", "least"), [([1.0], 0.0), ([1.0, 3.0], 1.0), ([0.0, 0.0, 3.0], 1.0)])
def test_the_guess_of_values_is_the_mean_distance_from_their_median(tmp_path, values, least):
    task = VectorTask(np.ones((1, 2, 1)), np.ones((len(values), 1)), np.array(values)[:, None])
    assert targets_of(task, tmp_path).guess().contains(arb(least)) and abs(guess_loss(task) - least).upper() < 1e-15
