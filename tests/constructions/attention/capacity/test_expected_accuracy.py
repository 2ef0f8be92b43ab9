"""How many contexts heads are sure to hold, and the accuracy that follows."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.expected_accuracy import (
    expected_accuracy,
    guaranteed_number,
    partial_task,
    solvable_contexts,
)
from constructions.attention.capacity.generic_rank import generic_rank, generic_ranks
from constructions.errors import InputError
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.tasks.arrays import all_contexts, array_task
from verify.provers.memorization import certify_memorization
from verify.verdict import Verdict


@st.composite
def context_sets(draw):
    d_vocab, n_ctx = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    everything = all_contexts(d_vocab, n_ctx)
    rows = draw(st.lists(st.integers(0, len(everything) - 1), min_size=1, max_size=12, unique=True))
    return everything[rows]


@given(context_sets(), st.integers(1, 4), st.integers(0, 4))
def test_so_many_contexts_are_independent_or_have_distinct_last_tokens(contexts, d_model, n_heads):
    guaranteed = guaranteed_number(contexts, d_model=d_model, n_heads=n_heads)
    distinct = len(np.unique(contexts[:, -1]))
    rank = generic_rank(contexts, d_model=d_model, d_head=1, n_heads=n_heads)
    assert guaranteed == (max(rank, distinct) if contexts.shape[1] > 1 else len(contexts))


@given(context_sets(), st.integers(1, 3), st.integers(1, 3), st.integers(0, 3))
def test_solvable_contexts_are_the_first_basis(contexts, d_model, d_head, n_heads):
    d_head = min(d_model, d_head)
    sizes = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    solved = solvable_contexts(contexts, **sizes)
    assert (np.diff(solved) > 0).all()
    assert len(solved) == generic_rank(contexts, **sizes)
    for end in range(1, len(contexts) + 1):
        assert np.count_nonzero(solved < end) == generic_rank(contexts[:end], **sizes)


@pytest.mark.parametrize(("d_vocab", "n_ctx"), [(2, 2), (3, 2), (4, 2), (5, 2), (2, 3), (3, 3), (2, 4), (2, 5)])
def test_all_contexts_reach_the_count_of_the_paper_in_two_dimensions(d_vocab, n_ctx):
    contexts = all_contexts(d_vocab, n_ctx)
    n_heads = -(-len(contexts) // 2)
    for d_head in (1, 2):
        ranks = generic_ranks(contexts, d_model=2, d_head=d_head, n_heads=n_heads)
        assert ranks.tolist() == [min(len(contexts), 2 + h * d_head) for h in range(n_heads + 1)]


@given(context_sets(), st.integers(0, 2**16))
def test_the_guaranteed_number_of_heads_holds_any_labels(contexts, seed):
    size, d_vocab = len(contexts), int(contexts.max()) + 1
    n_heads = next(h for h in range(1, size + 1) if guaranteed_number(contexts, d_model=2, n_heads=h) == size)
    labels = np.random.default_rng(seed).integers(0, d_vocab, size)
    task = array_task(contexts, next_tokens=labels, vocabulary=d_vocab, target="labels")
    network = build_memory(task, d_model=2, d_head=1, n_heads=n_heads).model
    assert certify_memorization(network, task).certificate.verdict is Verdict.PROVED


@given(st.integers(1, 3), st.lists(st.integers(0, 2), min_size=1, max_size=4), st.data())
def test_the_formula_is_the_mean_over_all_labels_of_the_others(d_vocab, predictions, data):
    predictions = [prediction % d_vocab for prediction in predictions]
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(predictions), max_size=len(predictions)))
    prior = [Fraction(weight, sum(weights)) for weight in weights]
    solved = data.draw(st.integers(0, len(predictions)))
    mean = Fraction(0)
    others = list(product(range(d_vocab), repeat=len(predictions) - solved))
    for rest in others:
        labels = [*predictions[:solved], *rest]
        right = (p for p, a, b in zip(prior, predictions, labels, strict=True) if a == b)
        mean += sum(right, Fraction(0)) / len(others)
    assert mean == expected_accuracy(d_vocab, sum(prior[:solved], Fraction(0)))


def test_the_mean_is_out_of_reach_for_xor():
    assert expected_accuracy(2, Fraction(3, 4)) == Fraction(7, 8) > Fraction(3, 4)
    assert expected_accuracy(5, Fraction(0)) == Fraction(1, 5)
    assert expected_accuracy(5, Fraction(1)) == 1


def test_a_partial_task_leaves_the_others_to_the_tail():
    contexts = all_contexts(2, 2)
    task = partial_task(contexts, np.array([0, 1, 1, 0]), np.array([1, 2]), d_vocab=2)
    assert task.contexts.tolist() == [[0, 1], [1, 0]]
    assert task.labels.tolist() == [1, 1]
    assert task.tail_contexts.tolist() == [[0, 0], [1, 1]]
    assert task.n_all == 4
    assert partial_task(contexts, np.zeros(4, dtype=np.int64), np.arange(4), d_vocab=2).n_all == 4


def test_what_does_not_fit_is_refused():
    for d_vocab, solved in ((0, Fraction(1, 2)), (2, Fraction(-1, 2)), (2, Fraction(3, 2))):
        with pytest.raises(InputError, match="probability"):
            expected_accuracy(d_vocab, solved)
    with pytest.raises(InputError):
        guaranteed_number(np.array([[0, 1], [0, 1]]), d_model=2, n_heads=1)
    with pytest.raises(InputError):
        solvable_contexts(np.array([[0, 1]]), d_model=1, d_head=2, n_heads=1)
