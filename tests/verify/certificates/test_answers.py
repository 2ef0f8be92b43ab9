"""Bounds of each context: margins from both sides, losses, and the best guess without the context."""

import math
from fractions import Fraction

import mpmath
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from constructions.tasks.task import Counts, make_task
from verify.arithmetic.enclosure import Enclosure
from verify.certificates.answers import Answers, guess_divergence, margin_upper


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
    lower, upper = Answers(nothing, nothing, losses, losses, None, None, np.full(len(numbers), "balls")).mean_loss()
    exact = sum(map(Fraction, numbers)) / len(numbers)
    assert Fraction(lower) <= exact <= Fraction(upper)
    assert lower >= float(exact) * (1 - 1e-14) - 1e-300 and upper <= float(exact) * (1 + 1e-14) + 1e-300


def test_what_is_not_known_is_neither_held_nor_wrong():
    one = np.ones(1)
    unknown = Answers(-one, one, 0 * one, math.inf * one, None, None, np.array(["balls"]))
    for target in ("labels", "laws", "values"):
        assert not unknown.held(target, 1.0)[0] and not unknown.wrong(target, 1.0)[0]
    nan = Answers(math.nan * one, math.nan * one, math.nan * one, math.nan * one, None, None, np.array([""]))
    for target in ("labels", "laws", "values"):
        assert not nan.held(target, 1.0)[0] and not nan.wrong(target, 1.0)[0]


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=6))
def test_no_guess_without_the_context_is_better_than_the_bound(rows):
    contexts = np.arange(len(rows))[:, np.newaxis]
    counts = Counts.from_rows([{j: n for j, n in enumerate(row) if n} for row in rows])
    vocabulary = tuple("abcdef"[: max(3, len(rows))])
    for target in ("laws", "labels"):
        task = make_task(contexts, counts, vocabulary=vocabulary, target=target)
        found = guess_divergence(task)
        laws = np.eye(len(vocabulary))[task.labels] if task.laws is None else task.laws
        with mpmath.workprec(200):
            shares = [[mpmath.mpf(float(x)) for x in row] for row in laws]
            shares = [[x / mpmath.fsum(row) for x in row] for row in shares]
            mean = [mpmath.fsum(column) / len(shares) for column in zip(*shares, strict=True)]
            least = mpmath.fsum(
                p * mpmath.log(p / q) for row in shares for p, q in zip(row, mean, strict=True) if p
            ) / len(shares)
            assert float(found.lower()) <= least <= float(found.upper())
        assert float(found.radius) < 1e-12
