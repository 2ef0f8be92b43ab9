"""Counting stored associations exactly, the probability bound, and labels that no matrix stores."""

from itertools import product
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
)
from constructions.errors import InputError
from verify.theorems.memories.outer_product_capacity import (
    exact_product,
    failure_bound,
    is_sum_of_outer_products,
    stored_associations,
    unstorable_labels,
)
from verify.verdict import Verdict

INTEGERS = st.one_of(st.integers(-3, 3), st.integers(-(2**30), 2**30), st.integers(-(2**62), 2**62))


def matrices(rows, columns):
    return st.lists(st.lists(INTEGERS, min_size=columns, max_size=columns), min_size=rows, max_size=rows).map(
        lambda x: np.array(x, dtype=np.int64)
    )


@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_products_are_exact_whatever_their_size(data, rows, inner, columns):
    a, b = data.draw(matrices(rows, inner)), data.draw(matrices(inner, columns))
    found = exact_product(a, b)
    expected = a.astype(object) @ b.astype(object)
    assert np.array_equal(found.astype(object), expected)


def test_a_product_just_beyond_the_floats_is_not_left_to_them():
    assert exact_product(np.array([[2**53 - 1, 1]]), np.array([[1], [2]]))[0, 0] == 2**53 + 1
    assert exact_product(np.array([[2**60 + 1, 1]]), np.array([[0], [1]]))[0, 0] == 1
    assert exact_product(np.array([[2**26 + 1]]), np.array([[2**26 + 1]]))[0, 0] == (2**26 + 1) ** 2


@given(st.integers(1, 6), st.integers(1, 9), st.one_of(st.none(), st.integers(1, 4)), st.integers(0, 999))
def test_what_is_stored_is_counted_as_by_hand(width, count, outputs, seed):
    made = random_associations(width, count, outputs=outputs, seed=seed)
    found = stored_associations(made.outputs, made.inputs, made.labels, made.memory)
    logits = made.inputs @ made.memory.T @ made.outputs.T
    margins = []
    for i, label in enumerate(made.labels):
        others = np.delete(logits[i], label)
        margins.append(int(logits[i, label] - others.max()) if len(others) else None)
    if len(made.outputs) == 1:
        assert (found.stored, found.least_margin) == (count, None)
    else:
        assert found.stored == sum(margin > 0 for margin in margins)
        assert found.least_margin == min(margins)
    assert found.verdict is (Verdict.PROVED if found.stored == count else Verdict.REFUTED)
    assert is_sum_of_outer_products(made.outputs, made.inputs, made.labels, made.memory)


def test_a_tie_is_not_stored():
    outputs = np.array([[1, 0], [1, 0]])
    found = stored_associations(outputs, np.array([[1, 0]]), np.array([0]), np.eye(2, dtype=np.int64))
    assert (found.stored, found.least_margin, found.verdict) == (0, 0, Verdict.REFUTED)


def test_more_inputs_than_one_block_are_counted():
    labels = np.random.default_rng(0).permutation(2500)
    made = parabola(labels)
    found = stored_associations(made.outputs, made.inputs, made.labels, made.memory)
    assert (found.stored, found.count, found.least_margin) == (2500, 2500, 1)
    wrong = stored_associations(made.outputs, made.inputs, np.roll(labels, 1), made.memory)
    assert wrong.stored == 0


def test_a_changed_entry_is_no_sum_of_outer_products():
    made = random_associations(4, 5)
    memory = made.memory.copy()
    memory[2, 1] += 1
    assert not is_sum_of_outer_products(made.outputs, made.inputs, made.labels, memory)


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2], [0, 0, 1], [2, 1, 0, 1]])
def test_the_bound_is_above_the_probability(labels):
    width = 4
    outputs = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1]])
    missed = total = 0
    for signs in product((-1, 1), repeat=width * (len(labels) - 1)):
        # By symmetry the first input may be fixed.
        inputs = np.array((1,) * width + signs).reshape(len(labels), width)
        made = outer_products(outputs, inputs, np.array(labels))
        found = stored_associations(outputs, inputs, made.labels, made.memory)
        missed += found.stored < found.count
        total += 1
    assert missed / total <= failure_bound(outputs, np.array(labels), d_model=width)


def test_the_bound_is_the_sum_of_the_exponentials():
    outputs = 8 * np.eye(3, dtype=np.int64)
    # Delta = 64; S = 64^2 for the other token in use, 0 for the third.
    assert failure_bound(outputs, np.array([0, 1]), d_model=10) == pytest.approx(2 * np.exp(-5.0), rel=1e-12)
    assert failure_bound(outputs, np.array([0]), d_model=10) < 1e-300
    assert failure_bound(np.ones((2, 3), dtype=np.int64), np.array([0, 1]), d_model=3) >= 2.0


@given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 999))
def test_labels_are_unstorable_exactly_for_dependent_inputs(width, count, seed):
    inputs = np.random.default_rng(seed).integers(-2, 3, (count, width))
    found = unstorable_labels(inputs)
    assert (found is None) == (np.linalg.matrix_rank(inputs) == count)
    if found is not None:
        assert not (np.array(found.relation) @ inputs).any() and any(found.relation)
        outputs = np.array([[1, 2, -1, 0, 3], [0, -1, 5, 2, 2]])[:, :width]
        for labels in (np.array(found.labels), 1 - np.array(found.labels)):
            made = outer_products(outputs, inputs, labels)
            assert stored_associations(outputs, inputs, labels, made.memory).stored < count


def test_every_labelling_of_independent_inputs_is_stored():
    signs = np.array([[1, 1, 1], [1, -1, 1], [1, 1, -1]])
    for labels in product(range(3), repeat=3):
        made = solved_associations(signs, signs, np.array(labels))
        assert stored_associations(signs, signs, made.labels, made.memory).verdict is Verdict.PROVED


def test_arguments_out_of_range_are_refused():
    eye = np.eye(2, dtype=np.int64)
    for bad in (np.array([0, 2]), np.array([-1, 0]), np.array([0.0, 1.0]), np.array([0])):
        with pytest.raises(InputError, match="labels"):
            stored_associations(eye, eye, bad, eye)
    with pytest.raises(InputError, match="memory"):
        stored_associations(eye, eye, np.array([0, 1]), np.ones((2, 3), dtype=np.int64))
    with pytest.raises(InputError, match="integers"):
        stored_associations(np.eye(2), eye, np.array([0, 1]), eye)
    with pytest.raises(InputError, match="shapes"):
        exact_product(eye, np.ones((3, 1), dtype=np.int64))
    with pytest.raises(InputError, match=r"2\*\*53"):
        failure_bound(2**14 * eye, np.array([0, 1]), d_model=2)
    with pytest.raises(InputError, match="labels"):
        failure_bound(eye, np.array([2]), d_model=2)
    with pytest.raises(InputError, match="integers"):
        unstorable_labels(np.ones((0, 2), dtype=np.int64))
    for bad in (np.array([], dtype=np.int64), np.array([0.0]), np.array([[0, 1]]), np.array([True, False])):
        with pytest.raises(InputError, match="labels"):
            failure_bound(eye, bad, d_model=2)
    widths: list[Any] = [0, -5, 1.5, float("nan")]
    for width in widths:
        with pytest.raises(InputError, match="d_model"):
            failure_bound(eye, np.array([0, 1]), d_model=width)
    for bad in (np.array([0, -1]), np.array([True, False])):
        with pytest.raises(InputError, match="labels"):
            is_sum_of_outer_products(eye, eye, bad, eye)
    with pytest.raises(InputError, match="memory"):
        is_sum_of_outer_products(eye, eye, np.array([0, 1]), np.eye(2))


def test_masked_arrays_are_refused_not_unmasked():
    eye, labels = np.eye(2, dtype=np.int64), np.array([0, 1])
    masked, hidden = np.ma.masked_array(eye, mask=eye > 0), np.ma.masked_array(labels, mask=[True, False])
    for judge in (stored_associations, is_sum_of_outer_products):
        for bad in ((masked, eye, labels, eye), (eye, masked, labels, eye), (eye, eye, labels, masked)):
            with pytest.raises(InputError, match="masked"):
                judge(*bad)
        with pytest.raises(InputError, match="labels"):
            judge(eye, eye, hidden, eye)
    with pytest.raises(InputError, match="labels"):
        failure_bound(eye, hidden, d_model=2)
    for judge in (unstorable_labels, lambda x: failure_bound(x, labels, d_model=2)):
        with pytest.raises(InputError, match="masked"):
            judge(masked)


def test_counts_that_would_overflow_with_the_products_are_refused():
    outputs = np.array([[2**20, 0], [0, 2**20]])
    with pytest.raises(InputError, match=r"2\*\*53"):
        failure_bound(outputs, np.zeros(2**14, dtype=np.int64), d_model=1)


def test_unsigned_and_small_integers_are_counted_as_they_are():
    eye, labels = np.eye(3, dtype=np.int64), np.arange(3)
    found = stored_associations(eye.astype(np.uint8), eye.astype(np.int8), labels.astype(np.uint64), -eye)
    assert (found.stored, found.least_margin) == (0, -1)
    assert stored_associations(np.full((2, 1), -128, dtype=np.int8), eye[:1, :1], labels[:1], eye[:1, :1]).stored == 0
    large = np.array([[2**63 + 1], [2**63]], dtype=np.uint64)
    assert stored_associations(large, eye[:1, :1], labels[:1], eye[:1, :1]).least_margin == 1
