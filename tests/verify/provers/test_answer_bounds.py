"""Bounds of each context: margins from both sides, losses, and the best guess that ignores the context."""

import math
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.progress import silent
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Counts, make_task
from tests import prompts
from tests.layers import random_layer, random_layer_task
from tests.verify.runs.integer_models import sum_modulo
from verify.arithmetic.enclosure import Enclosure
from verify.forward.ladder import rising_of_parts
from verify.provers import answer_bounds as module
from verify.provers.answer_bounds import Answers, guess_loss, judge_answers, margin_upper


def test_an_enclosure_without_information_proves_and_refutes_nothing():
    nothing = Enclosure(np.zeros((2, 3)), np.inf)
    modes = np.eye(2, 3, dtype=bool)
    assert (margin_upper(nothing, modes) == math.inf).all()
    wide = Enclosure(np.array([[1.0, 0.0, 0.0]]), 0.5)
    assert 0 < margin_upper(wide, modes[:1])[0] <= 2.000001
    equal = Enclosure(np.array([[1.0, 1.0, 0.0]]), 0.0)
    assert margin_upper(equal, modes[:1])[0] == 0.0


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=6),
    st.floats(0.0, 1e2) | st.just(0.0),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
@example([1.0, -(2.0**-60), -1.0], 0.0, [False] * 6)
def test_an_upper_bound_of_the_margin_is_one(logits, radius, modes):
    modes = np.array([[True, False, *modes[2 : len(logits)]]])
    bound = margin_upper(Enclosure(np.array([logits]), radius), modes)[0]
    most = min(Fraction(z) + Fraction(radius) for z, mode in zip(logits, modes[0], strict=True) if mode)
    least = max(Fraction(z) - Fraction(radius) for z, mode in zip(logits, modes[0], strict=True) if not mode)
    assert Fraction(float(bound)) >= most - least or most - least <= 0
    assert (bound <= 0) <= (most <= least)


@given(st.lists(st.floats(0.0, 1e10), min_size=1, max_size=40))
def test_the_mean_loss_is_bounded_from_both_sides(numbers):
    losses, nothing = np.array(numbers), np.zeros(len(numbers))
    lower, upper = Answers(nothing, nothing, losses, losses, None, np.full(len(numbers), "balls")).mean_loss()
    exact = sum(map(Fraction, numbers)) / len(numbers)
    assert Fraction(lower) <= exact <= Fraction(upper)
    assert lower >= float(exact) * (1 - 1e-14) - 1e-300 and upper <= float(exact) * (1 + 1e-14) + 1e-300


def test_a_memory_of_integers_is_judged_in_integers_as_the_ladder_judges_it(monkeypatch):
    model, contexts, labels = sum_modulo(7)
    labels = np.where(np.arange(49) == 10, (labels + 1) % 7, labels)
    task = array_task(contexts, next_tokens=labels, vocabulary=7, target="labels")
    found = judge_answers(model, task, Criterion(), keep_outputs=True, progress=silent)
    assert found.decided_by() == "49 of 49 contexts in integers"
    monkeypatch.setattr(module, "known_logits", lambda *_: iter(()))
    other = judge_answers(model, task, Criterion(), keep_outputs=True, progress=silent)
    assert other.decided_by() == "49 of 49 contexts in float64"
    assert found.outputs is not None and other.outputs is not None
    apart = np.abs(found.outputs.midpoint - other.outputs.midpoint)
    assert (apart <= found.outputs.radius + other.outputs.radius).all()
    for judged in (found, other):
        assert (
            np.flatnonzero(~judged.memorized("labels", 0.0)).tolist()
            == [10]
            == np.flatnonzero(judged.wrong("labels", 0.0)).tolist()
        )


def test_what_is_not_known_is_neither_memorized_nor_wrong():
    one = np.ones(1)
    unknown = Answers(-one, one, 0 * one, math.inf * one, None, np.array(["balls"]))
    for target in ("labels", "distributions", "values"):
        assert not unknown.memorized(target, 1.0)[0] and not unknown.wrong(target, 1.0)[0]
    nan = Answers(math.nan * one, math.nan * one, math.nan * one, math.nan * one, None, np.array([""]))
    for target in ("labels", "distributions", "values"):
        assert not nan.memorized(target, 1.0)[0] and not nan.wrong(target, 1.0)[0]


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=6))
def test_no_guess_without_the_context_is_better_than_the_bound(rows):
    contexts = np.arange(len(rows))[:, np.newaxis]
    counts = Counts.from_rows([{j: n for j, n in enumerate(row) if n} for row in rows])
    vocabulary = tuple("abcdef"[: max(3, len(rows))])
    for target in ("distributions", "labels"):
        task = make_task(contexts, counts, vocabulary=vocabulary, target=target)
        found = guess_loss(task)
        distributions = np.eye(len(vocabulary))[task.labels] if task.distributions is None else task.distributions
        with mpmath.workprec(200):
            shares = [[mpmath.mpf(float(x)) for x in row] for row in distributions]
            shares = [[x / mpmath.fsum(row) for x in row] for row in shares]
            mean = [mpmath.fsum(column) / len(shares) for column in zip(*shares, strict=True)]
            least = mpmath.fsum(
                p * mpmath.log(p / q) for row in shares for p, q in zip(row, mean, strict=True) if p
            ) / len(shares)
            assert float(found.lower()) <= least <= float(found.upper())
        assert float(found.radius) < 1e-12


@pytest.mark.parametrize(
    ("margin", "loss", "target", "memorized", "wrong"),
    [
        ((1.0, 2.0), (9.0, 9.0), "labels", True, False),
        ((-1.0, 2.0), (0.0, 0.0), "labels", False, False),
        ((0.0, 2.0), (0.0, 0.0), "labels", False, False),
        ((-1.0, 0.0), (0.0, 0.0), "labels", False, True),
        ((1.0, 2.0), (0.0, 1.0), "distributions", True, False),
        ((1.0, 2.0), (0.0, 2.0), "distributions", False, False),
        ((1.0, 2.0), (2.0, 3.0), "distributions", False, True),
        ((-1.0, 0.0), (0.0, 0.0), "distributions", False, True),
        ((math.inf, math.inf), (0.5, 1.0), "values", True, False),
        ((math.inf, math.inf), (1.5, 2.0), "values", False, True),
    ],
)
def test_memorized_and_wrong_need_the_end_of_a_bound_that_proves_them(margin, loss, target, memorized, wrong):
    ends = (np.array([end]) for end in (*margin, *loss))
    answers = Answers(*ends, None, np.array(["float64"]))
    assert answers.memorized(target, 1.0).tolist() == [memorized] and answers.wrong(target, 1.0).tolist() == [wrong]


@pytest.mark.parametrize("distance", [-(2.0**-20), 2.0**-70, -(2.0**-70)])
def test_what_is_decided_climbs_no_further_and_outputs_are_those_of_float64(distance):
    neurons = FeedForward(np.eye(2), np.eye(2), activation="gelu")
    W_U = np.array([[1.0, 1.0, 0.0], [0.0, distance, 0.0]])
    model = Model((neurons,), W_U=W_U, W_E=np.ones((3, 2)), W_pos=np.zeros((1, 2)))
    task = array_task(np.array([[0]]), next_tokens=np.array([1]), vocabulary=3, target="labels")
    found = judge_answers(model, task, Criterion(), keep_outputs=True, progress=lambda *_: None)
    assert found.precision.tolist() == ["float64" if abs(distance) > 2.0**-40 else "double-double"]
    assert found.memorized("labels", 0.0).tolist() == [distance > 0] and found.wrong("labels", 0.0).tolist() == [
        distance < 0
    ]
    assert found.outputs is not None
    assert np.allclose(found.outputs.midpoint, [[1.8413, 1.8413, 0.0]], atol=1e-3)
    loss = math.log(2 + math.exp(-1.8413447))
    assert found.loss_lower[0] <= loss + 1e-5 and loss - 1e-5 <= found.loss_upper[0]
    assert found.loss_lower[0] < found.loss_upper[0]


@pytest.mark.parametrize("target", ["distributions", "labels"])
def test_the_divergence_of_wide_logits_is_bounded_from_both_sides(target):
    task = make_task(np.array([[0]]), Counts.from_rows([{0: 5, 1: 3, 2: 2}]), vocabulary=("a", "b", "c"), target=target)
    distribution = np.eye(3)[task.labels[0]] if task.distributions is None else task.distributions[0]
    bounds = module._divergences(Enclosure(np.zeros((1, 3)), 1.0), task, np.array([0]), Criterion(), two_sided=False)
    for corner in ([1.0, -1.0, -1.0], [-1.0, 1.0, 1.0], [0.46, -0.05, -0.46]):
        logs = np.array(corner) - np.log(np.exp(corner).sum())
        loss = float(sum(p * (math.log(p) - z) for p, z in zip(distribution, logs, strict=True) if p > 0))
        assert bounds[0, 0] <= loss + 1e-12 and loss - 1e-12 <= bounds[1, 0]


def test_the_distance_of_values_is_bounded_from_both_sides():
    layer, task = random_layer(), random_layer_task(kind="regression")
    found = judge_answers(layer, task, Criterion(), keep_outputs=True, progress=lambda *_: None)
    assert found.outputs is not None
    distances = np.abs(found.outputs.midpoint - task.labels).max(axis=1)
    assert (found.loss_lower < distances).all() and (distances < found.loss_upper).all()


@pytest.mark.parametrize("target", ["labels", "distributions"])
def test_a_tie_is_wrong_and_a_loss_at_the_tolerance_is_memorized(target):
    """One bound from below and one from above that are the same number say that it is this one."""
    margins = np.array([5e-324, 0.0, -5e-324, 1.0, 1.0])
    losses = np.array([0.0, 0.0, 0.0, 0.5, np.nextafter(0.5, 1.0)])
    found = Answers(margins, margins, losses, losses, None, np.full(5, "float64"))
    beyond = target == "labels"
    assert found.memorized(target, 0.5).tolist() == [True, False, False, True, beyond]
    assert found.wrong(target, 0.5).tolist() == [False, True, True, False, not beyond]


def test_a_margin_is_at_most_what_both_ends_allow():
    """The mode may be at the upper end of its set, and the largest of the others at the lower end of its own."""
    modes = np.array([[True, False, False]])
    [above] = margin_upper(Enclosure([[1.0, 2.0, -9.0]], [[0.75, 0.5, 0.0]]), modes)
    assert 0.25 <= above <= 0.25 + 1e-12
    [below] = margin_upper(Enclosure([[1.0, 2.0, 1.5]], [[0.25, 0.5, 0.0]]), modes)
    assert -0.25 <= below <= -0.25 + 1e-12


@pytest.mark.parametrize("rung", ["float64", "balls"])
def test_each_fact_is_told_once_when_it_is_decided_with_what_is_proved_of_it(monkeypatch, rung):
    if rung == "balls":  # nothing shorter decides
        monkeypatch.setattr(module, "rising_of_parts", partial(rising_of_parts, precisions=("balls",)))
    told, task = [], prompts.task_of(prompts.facts())
    answers = judge_answers(
        prompts.model(), task, Criterion(), decided=lambda *said: told.append(said), progress=silent
    )
    memorized, wrong = answers.memorized("labels", 0.0), answers.wrong("labels", 0.0)
    assert sorted(fact for fact, *_ in told) == list(range(task.n_contexts)) and memorized.sum() == task.n_contexts - 1
    for fact, is_memorized, margin, precision in told:
        assert is_memorized == memorized[fact] != wrong[fact] and precision == rung
        # Of a fact that is memorized all contexts are known then; of another perhaps only those up to its first wrong
        # token.
        assert margin == answers.margin_lower[fact] if is_memorized else answers.margin_upper[fact] <= margin <= 0.0
