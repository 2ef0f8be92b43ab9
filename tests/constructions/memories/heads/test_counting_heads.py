"""Heads that count ones, exactly and in float64, against the least number of errors."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.memories.heads.counting_heads import bit_contexts, counting_heads, parity_labels
from constructions.model.exact_network import rounded
from constructions.tasks.arrays import array_task
from verify.divergence.kullback_leibler import divergence
from verify.forward.in_rationals import exact_network_logits
from verify.forward.logits import enclose_logits
from verify.provers.memorization import certify_memorization
from verify.theorems.capacity.parity import parity_errors, parity_floor


def right(model, contexts, labels):
    """How many labels are the strict maximum, exactly."""
    rows = exact_network_logits(model, contexts).tolist()
    return sum(row[label] > row[1 - label] for row, label in zip(rows, labels.tolist(), strict=True))


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 6, pytest.param(9, marks=pytest.mark.slow)])
def test_so_many_heads_are_right_on_all_contexts_but_the_least_number(bits):
    contexts = bit_contexts(bits)
    labels = contexts.sum(axis=1) % 2
    for n_heads in range(bits + 2):
        model = counting_heads(parity_labels(bits, n_heads))
        assert (model.d_model, model.d_head, model.d_qk) == (2, 1, 1)
        assert model.n_heads == max(1, min(n_heads, bits)) and (n_heads > 0 or not any(model.W_O.ravel()))
        assert right(model, contexts, labels) == 2**bits - parity_errors(bits, n_heads)


@given(st.lists(st.integers(0, 1), min_size=2, max_size=7))
def test_any_labels_of_the_count_are_memorized(levels):
    contexts = bit_contexts(len(levels) - 1)
    labels = np.array(levels)[contexts.sum(axis=1)]
    assert right(counting_heads(levels), contexts, labels) == len(contexts)


@pytest.mark.parametrize(("bits", "n_heads"), [(1, 1), (3, 2), (6, 6), (6, 3)])
def test_the_rounded_weights_are_certified(bits, n_heads):
    contexts = bit_contexts(bits)
    task = array_task(contexts, next_tokens=contexts.sum(axis=1) % 2, vocabulary=2, target="labels")
    answers = certify_memorization(rounded(counting_heads(parity_labels(bits, n_heads))), task).answers
    assert (answers.margin_lower > 0).sum() == 2**bits - parity_errors(bits, n_heads)


@given(st.integers(1, 5), st.integers(0, 5), st.floats(0.01, 30), st.integers(1, 99))
def test_no_built_heads_are_below_the_floor(bits, n_heads, factor, percent):
    p = Fraction(percent, 100)
    contexts = bit_contexts(bits)
    odd = contexts.sum(axis=1) % 2
    distributions = np.where(odd[:, None] == [0, 1], float(p), float(1 - p))
    model = rounded(counting_heads(parity_labels(bits, min(n_heads, bits - 1))))
    scaled = model.with_each(lambda name, tensor: tensor * factor * 2.0**bits if name == "W_U" else tensor)
    upper = divergence(enclose_logits(scaled, contexts), distributions).upper().mean()
    assert parity_floor(bits, min(n_heads, bits - 1), p) <= upper


def test_other_labels_and_numbers_are_refused():
    for levels in ([], [0], [0, 2], [0, -1]):
        with pytest.raises(InputError, match="labels"):
            counting_heads(levels)
    for refused in (lambda: bit_contexts(0), lambda: parity_labels(0, 1), lambda: parity_labels(2, -1)):
        with pytest.raises(InputError):
            refused()


def test_the_contexts_are_all_bits():
    assert {tuple(row) for row in bit_contexts(3).tolist()} == {(*bits, 0) for bits in product((0, 1), repeat=3)}
