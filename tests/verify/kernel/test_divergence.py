"""Divergences from distributions lie between ends that are proved, and one float64 beyond the truth is not."""

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import models, tasks
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from tests.corpus.definitions import DIGITS, figures, float_above, float_below, mean_over_occurrences
from tests.verify.kernel import folders
from verify.kernel.check import outcome
from verify.kernel.divergence import lies_within
from verify.kernel.verdicts import NotProvedError

ENDS: dict[str, Callable[[Any], Any]] = {
    "max": lambda true: max(true.losses),
    "mean": mean_over_occurrences,
}


DISTRIBUTIONS = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]])
TASK = array_task(np.array([[0], [1], [2]]), distributions=DISTRIBUTIONS, vocabulary=3, weights=np.array([5, 1, 9]))
MODEL = Model(blocks=(), W_U=np.log(DISTRIBUTIONS) + 0.25 * np.eye(3), W_E=np.eye(3), W_pos=np.zeros((1, 3)))


def stated(folder: Path) -> Path:
    """Three distributions that are met in part, in contexts that occur unequally often."""
    return folders.written(folder, MODEL, TASK, Criterion.at_most(0.25), divergence=True)


@pytest.mark.parametrize("name", [f"{which}_{end}" for which in ENDS for end in ("lower", "upper")])
def test_an_end_one_float_beyond_the_truth_is_not_proved(name: str, tmp_path: Path) -> None:
    folder = stated(tmp_path)
    with mpmath.workdps(DIGITS):
        exact = ENDS[name.partition("_")[0]](figures(MODEL, TASK, 0.001))
        below, above = float_below(exact), float_above(exact)
    wide = {"max_lower": (0.0).hex(), "max_upper": (2.0).hex(), "mean_lower": (0.0).hex(), "mean_upper": (2.0).hex()}
    inside, outside = (below, above) if name.endswith("lower") else (above, below)
    for value, expected in ((inside, 0), (outside, 1)):
        assert folders.code(folders.changed(folder, 1, **{**wide, name: value.hex()})) == expected, outcome(folder)


def test_numbers_that_cannot_be_are_refused(tmp_path: Path) -> None:
    folder = stated(tmp_path)
    for change, expected in (
        ({"occurrences": 16}, 1),
        ({"contexts": 4}, 2),
        ({"mean_lower": 3}, 2),
        ({"max_lower": 3}, 2),
        ({"more": 1}, 2),
    ):
        whole = folders.certificate(folder)
        assert folders.code(folders.changed(folder, 1, **change)) == expected, (change, outcome(folder))
        folders.rewritten(folder, whole)
    assert folders.code(folder) == 0


@given(st.data())
def test_the_kernel_agrees_with_the_prover(data: st.DataObject) -> None:
    model = data.draw(models().filter(lambda model: model.reads_tokens))
    sizes = {"d_vocab": model.d_vocab, "n_ctx": min(3, model.n_ctx), "answers": model.d_vocab_out}
    task = data.draw(tasks(**sizes, target="distributions", max_contexts=5))
    with tempfile.TemporaryDirectory() as name:
        folder = folders.written(Path(name), model, task, Criterion.at_most(1000.0), divergence=True)
        found = folders.code(folder)
        assert found in folders.expected(folder), outcome(folder)


@pytest.mark.parametrize(("middle", "within"), [(1.0, False), (1.5, True), (2.0, False)])
def test_a_ball_that_holds_an_end_proves_nothing(middle: float, within: bool) -> None:
    assert lies_within("", arb(middle, 0.25), Fraction(1), Fraction(2)) is within


@pytest.mark.parametrize(("middle", "name"), [(0.5, "lower is above"), (2.5, "upper is below")])
def test_a_ball_beyond_an_end_refutes_it(middle: float, name: str) -> None:
    with pytest.raises(NotProvedError, match=name):
        lies_within("", arb(middle, 0.25), Fraction(1), Fraction(2))
