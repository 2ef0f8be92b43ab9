"""Sums of outer products, and the two other matrices that store associations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.outer_product_memory import (
    outer_products,
    parabola,
    random_associations,
    solved_associations,
    tight_associations,
)
from constructions.errors import HypothesisError, InputError


@given(st.integers(1, 8), st.integers(1, 8), st.one_of(st.none(), st.integers(1, 5)), st.integers(0, 99))
def test_the_matrix_is_the_sum_of_the_outer_products(width, count, outputs, seed):
    made = random_associations(width, count, outputs=outputs, seed=seed)
    slow = sum(np.outer(made.outputs[made.labels[i]], made.inputs[i]) for i in range(count))
    assert np.array_equal(made.memory, slow)
    assert set(np.unique(made.outputs)) | set(np.unique(made.inputs)) <= {-1, 1}
    if outputs is None:
        assert sorted(made.labels.tolist()) == list(range(count))
    else:
        assert made.labels.max() < outputs == len(made.outputs)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=20))
def test_the_parabola_puts_the_label_in_front_by_the_square_of_the_distance(labels):
    made = parabola(np.array(labels))
    logits = made.inputs @ made.memory @ made.outputs.T
    for i, label in enumerate(labels):
        assert (logits[i, label] - logits[i] == (np.arange(len(made.outputs)) - label) ** 2).all()


@given(st.integers(1, 6), st.integers(0, 99), st.data())
def test_any_labels_of_independent_inputs_are_solved_for(width, seed, data):
    rng = np.random.default_rng(seed)
    inputs = np.tril(rng.integers(-3, 4, (width, width)), -1) + np.eye(width, dtype=np.int64)
    inputs = inputs[: data.draw(st.integers(1, width))]
    outputs = rng.integers(-3, 4, (4, width))
    labels = rng.integers(0, 4, len(inputs))
    made = solved_associations(outputs, inputs, labels)
    images = inputs @ made.memory.T
    wanted = outputs[labels]
    multiple = next(
        (images[i][wanted[i] != 0][0] // wanted[i][wanted[i] != 0][0] for i in range(len(inputs)) if wanted[i].any()), 1
    )
    assert multiple >= 1 and np.array_equal(images, multiple * wanted)


@pytest.mark.parametrize(("bases", "width"), [(1, 1), (1, 4), (3, 8)])
def test_the_output_vectors_of_hadamard_bases_are_a_tight_frame(bases, width):
    made = tight_associations(bases, width, seed=3)
    assert np.array_equal(made.outputs.T @ made.outputs, bases * width * np.eye(width))
    assert sorted(made.labels.tolist()) == list(range(bases * width))


def test_arguments_out_of_range_are_refused():
    eye = np.eye(2, dtype=np.int64)
    labels = np.array([0, 1])
    with pytest.raises(InputError, match="labels are"):
        outer_products(eye, eye, np.array([0, 2]))
    with pytest.raises(InputError, match="shapes"):
        outer_products(eye, eye, np.array([0]))
    wrong: list[Any] = [(0.5 * eye, eye, labels), (eye, eye, 1.0 * labels), (eye > 0, eye, labels)]
    for bad in wrong:
        with pytest.raises(InputError, match="integers"):
            outer_products(*bad)
    for bad_labels in ([0, -1], [0, 2]):
        with pytest.raises(InputError, match="labels are"):
            solved_associations(eye, eye, np.array(bad_labels))
    with pytest.raises(InputError, match="at least 1"):
        random_associations(0, 1)
    with pytest.raises(InputError, match="power of two"):
        tight_associations(1, 3)
    with pytest.raises(HypothesisError, match="independent inputs"):
        solved_associations(eye, np.array([[1, 1], [2, 2]]), np.array([0, 1]))
    for labels in ([-1], [2**25 + 1], []):
        with pytest.raises(InputError, match="labels"):
            parabola(np.array(labels, dtype=np.int64))
