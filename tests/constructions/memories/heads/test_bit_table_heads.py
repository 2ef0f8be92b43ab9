"""Heads for tables of bits: with multipliers of one head fewer, the number of heads of every small table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.forbidden_labelling import most_forbidden_heads
from constructions.errors import InputError
from constructions.memories.heads import bit_table_heads as search
from constructions.memories.heads.bit_table_heads import bit_table_heads
from constructions.memories.heads.counting_heads import bit_contexts
from constructions.model.exact_network import rounded
from constructions.tasks.arrays import array_task
from tests.small_tables import classes, heads_from_both_sides
from verify.forward.in_rationals import exact_network_logits
from verify.provers.memorization import certify_memorization
from verify.theorems.capacity.sign_relation import forbids_heads
from verify.verdict import Verdict


@pytest.mark.parametrize(("bits", "number"), [(1, 2), (2, 5), (3, 26)])
def test_every_table_of_three_bits_takes_as_many_heads_as_its_threshold_degree(bits, number):
    found = [heads_from_both_sides(labels, draws=400) for labels in classes(bits)]
    assert len(found) == number and all(memorized for _, memorized in found)


@pytest.mark.slow
def test_every_table_of_four_bits_takes_as_many_heads_as_its_threshold_degree():
    found = [heads_from_both_sides(labels, draws=400) for labels in classes(4)]
    assert np.bincount([n_heads for n_heads, _ in found]).tolist() == [1, 50, 863, 157, 1]
    assert all(memorized for _, memorized in found)


@given(st.lists(st.integers(0, 1), min_size=16, max_size=16))
def test_tables_of_four_bits(labels):
    _, memorized = heads_from_both_sides(np.array(labels), draws=400)
    assert memorized


def test_the_table_of_five_bits_that_most_draws_miss_takes_as_many_heads_too():
    """The one of 544 classes of self-dual tables that 3000 draws do not hold; these weights are of draw 4320."""
    labels, contexts = np.array([int(bit) for bit in "01101011100101001101011000101001"]), bit_contexts(5)
    forbidden = most_forbidden_heads(contexts, labels)
    assert forbidden.n_heads == 2
    assert forbids_heads(contexts, labels, forbidden.multipliers, n_heads=2) is Verdict.PROVED
    places = [[-2, 0, 2, 2, -1, -2], [0, 2, -2, -1, 1, 3], [0, -1, -2, -3, -1, 3]]
    values = [[-1024, 43, 903, -96, -4, 459], [1024, 306, -78, -987, -1024, 96], [392, -146, -645, 432, 377, -381]]
    logits = exact_network_logits(search._network([1, 2, 1], places, values), contexts).tolist()
    assert [int(zero < one) for zero, one in logits] == labels.tolist()
    assert all(zero != one for zero, one in logits)


def test_the_rounded_weights_are_certified():
    labels = [0, 1, 1, 0, 1, 0, 0, 0]
    task = array_task(bit_contexts(3), next_tokens=np.array(labels), vocabulary=2, target="labels")
    model = bit_table_heads(labels, n_heads=2)
    assert model is not None and (model.d_model, model.d_head, model.n_heads) == (7, 1, 2)
    assert certify_memorization(rounded(model), task).answers.margin_lower.min() > 0


def test_other_tables_are_refused():
    for labels in ([], [0], [0, 1, 1], [0, 1, 2, 0]):
        with pytest.raises(InputError, match="labels"):
            bit_table_heads(labels, n_heads=1)
    with pytest.raises(InputError, match="n_heads"):
        bit_table_heads([0, 1], n_heads=0)
