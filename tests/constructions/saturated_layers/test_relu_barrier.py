"""Examples out of reach of small ReLU networks: their number, and where they are."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.saturated_layers.relu_barrier import barrier_task, fewest_examples, moment_curve


@given(st.integers(1, 9), st.integers(0, 9), st.integers(1, 9))
def test_the_number_is_the_least_above_the_dimension(width, neurons, outputs):
    least = fewest_examples(d_model=width, neurons=neurons, outputs=outputs)
    bound = Fraction(neurons * (width + outputs) + outputs, outputs)
    assert least - 1 <= bound < least
    if outputs == 1:
        assert least == neurons * (width + 1) + 2


@pytest.mark.parametrize(("width", "neurons", "tokens"), [(1, 1, 1), (3, 1, 2), (4, 2, 4)])
def test_the_examples_are_as_the_assumptions_want_them(width, neurons, tokens):
    task = barrier_task(d_model=width, neurons=neurons, n_ctx=tokens)
    assert task.n_examples == fewest_examples(d_model=width, neurons=neurons) and task.shared
    assert np.linalg.matrix_rank(task.contexts[0]) == tokens
    assert (task.queries == moment_curve(task.n_examples, width)).all()
    assert (task.labels == task.labels.astype(int)).all()


def test_other_seeds_have_other_labels():
    one, two = (barrier_task(d_model=3, neurons=1, seed=seed) for seed in (0, 1))
    assert (one.labels != two.labels).any() and (one.queries == two.queries).all()


def test_arguments_out_of_range_are_refused():
    for wrong in [
        {"d_model": 0, "neurons": 1},
        {"d_model": 1, "neurons": -1},
        {"d_model": 1, "neurons": 1, "outputs": 0},
    ]:
        with pytest.raises(InputError):
            fewest_examples(**wrong)
    for count, width in [(0, 1), (1, 0), (10, 20)]:
        with pytest.raises(InputError):
            moment_curve(count, width)
    for wrong in [{"n_ctx": 0}, {"n_ctx": 4}, {"d_model": 14, "neurons": 1}]:
        with pytest.raises(InputError):
            barrier_task(**{"d_model": 3, "neurons": 1, **wrong})
