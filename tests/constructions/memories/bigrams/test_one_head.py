"""One head that holds any labels of all bigrams."""

from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.memories.bigrams.one_head import one_head_memory, one_head_parameters
from constructions.model.shapes import dana_network, dana_tensors
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from verify.provers.memorization import certify_memorization
from verify.verdict import Verdict


def certified_margin(task, **options):
    found = certify_memorization(one_head_memory(task, **options), task)
    assert found.certificate.verdict is Verdict.PROVED
    return found.answers.margin_lower.min()


@given(st.integers(2, 20), st.integers(0, 2**32))
def test_any_labels_of_all_bigrams_are_memorized_by_one_half(d_vocab, seed):
    assert certified_margin(enumerated_task(d_vocab, 2, seed=seed)) > 0.5 - 1e-9


def test_every_labelling_of_all_bigrams_of_two_tokens_is_memorized():
    for labels in product(range(2), repeat=4):
        assert certified_margin(enumerated_task(2, 2, labels=np.array(labels))) > 0.5 - 1e-12


def test_one_token_is_memorized():
    network = one_head_memory(enumerated_task(1, 2))
    assert (network.d_model, network.d_qk, network.d_head, network.n_heads) == (2, 2, 1, 1)


@given(st.integers(2, 6), st.integers(0, 2**32), st.floats(0.1, 50))
def test_the_margin_is_what_was_asked_for(d_vocab, seed, margin):
    task = enumerated_task(d_vocab, 2, seed=seed)
    assert certified_margin(task, margin=margin) == pytest.approx(margin, rel=1e-9)


@given(st.integers(1, 5), st.integers(0, 2**32))
def test_the_stream_holds_the_number_of_the_label(d_vocab, seed):
    task = enumerated_task(d_vocab, 2, seed=seed)
    network = one_head_memory(task)
    with mpmath.workprec(200):
        for (n, c), label in zip(task.contexts.tolist(), task.labels.tolist(), strict=True):
            x = [[mpmath.mpf(v) for v in network.W_E[token] + network.W_pos[s]] for s, token in enumerate((n, c))]
            query = mpmath.matrix([x[1]]) * mpmath.matrix(network.W_Q[0].tolist())
            scores = [(query * (mpmath.matrix([row]) * mpmath.matrix(network.W_K[0].tolist())).T)[0] for row in x]
            attention = 1 / (1 + mpmath.exp(scores[1] - scores[0]))
            value = sum(a * row[0] for a, row in zip((attention, 1 - attention), x, strict=True)) * network.W_V[0, 0, 0]
            stream = [x[1][j] + value * network.W_O[0, 0, j] for j in range(2)]
            assert stream[0] == 1
            number = stream[1] / 4 + mpmath.mpf(d_vocab + 1) / 2
            assert abs(number - (label - mpmath.mpf(d_vocab - 1) / 2)) < 1e-12


def test_the_width_is_the_number_of_tokens():
    for d_vocab in (2, 5, 11):
        network = one_head_memory(enumerated_task(d_vocab, 2))
        assert (network.d_model, network.d_qk, network.d_head, network.n_heads) == (d_vocab, d_vocab, 1, 1)
        assert network.parameters == 4 * d_vocab**2 + 4 * d_vocab


def test_the_features_have_few_columns_that_are_not_zero():
    task = enumerated_task(6, 2)
    network = one_head_memory(task)
    assert network.n_heads * network.d_head + network.d_model < task.n_contexts
    assert certify_memorization(network, task, rank=True).certificate.statement("feature-rank") is None


def test_a_corrupted_weight_is_refuted():
    task = enumerated_task(4, 2, labels=np.arange(16) % 4)
    good = one_head_memory(task)
    W_K = good.W_K.copy()
    W_K[0, 2, 0] += 3.0  # the token 1, for all queries
    spoiled = certify_memorization(dana_network(**{**dana_tensors(good), "W_K": W_K}), task)
    assert spoiled.certificate.verdict is Verdict.REFUTED


def test_some_bigrams_are_memorized_too():
    task = array_task(np.array([[0, 2], [1, 1]]), next_tokens=np.array([2, 0]), vocabulary=3, target="labels")
    assert certified_margin(task) > 0.49


@pytest.mark.parametrize(("tokens", "answers"), [(1, 1), (1, 3), (2, 2), (5, 2), (4, 9)])
def test_its_parameters_are_counted_before_it_is_built(tokens, answers):
    labels = np.arange(tokens**2) % answers
    task = array_task(all_contexts(tokens, 2), next_tokens=labels, vocabulary=tokens, answers=answers, target="labels")
    assert one_head_memory(task).parameters == one_head_parameters(task)


def test_what_does_not_fit_is_refused():
    with pytest.raises(HypothesisError, match="needs contexts of two tokens, but they have 3"):
        one_head_memory(enumerated_task(2, 3))
    with pytest.raises(HypothesisError, match="needs labels, but the target is 'distributions'"):
        one_head_memory(enumerated_task(2, 2, target="distributions"))
    for margin in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InputError, match="margin"):
            one_head_memory(enumerated_task(2, 2), margin=margin)
