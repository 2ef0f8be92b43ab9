"""The look-up table of all bigrams: exactly when its features are independent, and what its closed form writes."""

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import assume, given
from hypothesis import strategies as st

from constructions.encoders.lookup_table import exact_lookup_table, lookup_front_end, lookup_output, lookup_table
from constructions.errors import HypothesisError, InputError
from constructions.model.attention import logits
from constructions.model.exact_attention import exact_features, exact_last, exact_logits
from constructions.model.exact_network import as_rationals, exact_front_end
from constructions.model.shapes import dana_network, dana_tensors
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from verify.forward.heads import enclose_features
from verify.linear_algebra.condition import enclose_condition
from verify.provers.memorization import certify_memorization
from verify.torch.run import run_all
from verify.verdict import Verdict

gaps = st.integers(-4, 8).filter(bool)


@st.composite
def integral_positions(draw):
    """Integers that add up to 1 or -1: all scores are integers then."""
    d_vocab = draw(st.integers(1, 5))
    entries = draw(st.lists(st.integers(-3, 3), min_size=d_vocab - 1, max_size=d_vocab - 1))
    return [*entries, draw(st.sampled_from([-1, 1])) - sum(entries)]


def attention(gap):
    return fmpq(2) ** gap / (1 + fmpq(2) ** gap)


def features_without_attention(d_vocab, a, p):
    """The features from their definition, for any weight a of the head of the first token."""
    rows = []
    for n, c in all_contexts(d_vocab, 2).tolist():
        first = [p[i] + int(i == n) for i in range(d_vocab)]
        for r in range(d_vocab):
            weight = a if r == n else 1 - a
            rows.extend(weight * first[i] + (1 - weight) * int(i == c) for i in range(d_vocab))
    return fmpq_mat(d_vocab**2, d_vocab**2, rows)


@given(integral_positions(), gaps)
def test_the_head_of_the_first_token_attends_to_it_and_no_other_head_does(p, gap):
    front_end = lookup_front_end(len(p), gap=gap, position=p)
    expected = features_without_attention(len(p), attention(gap), p)
    assert exact_features(front_end, all_contexts(len(p), 2)) == expected


@given(st.integers(2, 5), st.integers(-12, 12), st.integers(1, 3), st.integers(1, 19), st.integers(0, 2**16))
def test_features_are_independent_exactly_where_the_theorem_says(d_vocab, numerator, denominator, tenths, seed):
    a = fmpq(tenths, 20)
    rng = np.random.default_rng(seed)
    p = [fmpq(int(entry)) for entry in rng.integers(-3, 4, d_vocab - 1)]
    total = fmpq(numerator, denominator)
    p.append(total - sum(p, fmpq(0)))
    predicted = total != 0 and 2 * a != 1 and d_vocab + total * (d_vocab - 1 - a * (d_vocab - 2)) != 0
    assume(total != 0)
    assert (features_without_attention(d_vocab, a, p).det() != 0) == predicted


@pytest.mark.parametrize("d_vocab", range(1, 7))
def test_the_position_that_sums_to_minus_two_fails_for_two_tokens_only(d_vocab):
    p = [fmpq(-2, d_vocab)] * d_vocab
    for a in (fmpq(2, 3), fmpq(255, 256), fmpq(1, 5)):
        assert (features_without_attention(d_vocab, a, p).det() == 0) == (d_vocab == 2)


@pytest.mark.parametrize("d_vocab", [3, 4, 7])
def test_a_singular_attention_exists_beyond_minus_two(d_vocab):
    total = fmpq(-d_vocab, 2)
    if total == -2 or d_vocab == 3:
        total = fmpq(-5, 2)
    a = (d_vocab / total + d_vocab - 1) / (d_vocab - 2)
    assert features_without_attention(d_vocab, a, [total / d_vocab] * d_vocab).det() == 0
    with pytest.raises(HypothesisError, match="det = 0"):
        wanted = np.full((d_vocab, d_vocab, 1), fmpq(1), dtype=object)
        lookup_output(wanted, a, [total / d_vocab] * d_vocab)


@given(integral_positions(), gaps, st.integers(0, 2**16))
def test_the_closed_form_reaches_every_target_exactly(p, gap, seed):
    d_vocab, total = len(p), sum(p)
    assume(d_vocab + total * (d_vocab - 1 - attention(gap) * (d_vocab - 2)) != 0)
    rng = np.random.default_rng(seed)
    stream = as_rationals(rng.integers(-9, 10, (d_vocab**2, d_vocab)))
    W_U = as_rationals(rng.integers(-9, 10, (d_vocab, 3)))
    network = exact_lookup_table(stream, W_U, gap=gap, position=p)
    bigrams = all_contexts(d_vocab, 2)
    assert exact_logits(network, bigrams) == stream * W_U
    front_end = exact_front_end(network)
    features, last = exact_features(front_end, bigrams), exact_last(front_end, bigrams)
    assert features.rank() == d_vocab**2
    outputs = as_rationals(network.W_O.reshape(-1, d_vocab))
    assert last + features * outputs == stream


@given(st.integers(1, 9).filter(lambda n: n != 2), st.integers(0, 2**16), st.sampled_from([1.0, 3.0, 8.0, -2.0]))
def test_every_label_is_in_front_in_float64(d_vocab, seed, gap):
    task = enumerated_task(d_vocab, 2, seed=seed)
    certificate = certify_memorization(lookup_table(task, gap=gap), task)
    assert certificate.certificate.verdict is Verdict.PROVED
    assert d_vocab == 1 or certificate.answers.margin_lower.min() > 34


def test_two_tokens_are_memorized_with_another_total():
    task = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
    with pytest.raises(HypothesisError, match=r"N = 2, gap = 8\.0, total = -2\.0"):
        lookup_table(task)
    assert certify_memorization(lookup_table(task, total=-1.0), task).certificate.verdict is Verdict.PROVED


def test_a_corrupted_weight_is_refuted():
    task = enumerated_task(5, 2, seed=3)
    good = lookup_table(task)
    W_O = good.W_O.copy()
    token = int(task.labels[7])
    W_O[task.contexts[7, 0], task.contexts[7, 1], token] += 200.0
    spoiled = dana_network(**{**dana_tensors(good), "W_O": W_O})
    certificate = certify_memorization(spoiled, task).certificate
    assert certificate.verdict is Verdict.REFUTED and certificate.answers.values["wrong"] >= 1


@pytest.mark.parametrize(("d_vocab", "total", "most"), [(8, -2.0, 12), (16, -2.0, 33), (16, -8.0, 17)])
def test_the_condition_number_is_that_of_the_page(d_vocab, total, most):
    task = enumerated_task(d_vocab, 2)
    features = enclose_features(lookup_table(task, total=total), task.contexts)
    assert 0.9 * most < enclose_condition(features).upper() <= most


@pytest.mark.parametrize(("d_vocab", "total"), [(8, -2.0), (32, -2.0), (32, -16.0)])
def test_low_precision_is_enough(d_vocab, total):
    task = enumerated_task(d_vocab, 2, seed=1)
    found = run_all(lookup_table(task, total=total), task)
    assert [found[dtype].accuracy for dtype in ("float64", "float32", "bfloat16")] == [1.0, 1.0, 1.0]
    assert found["float64"].within_bound and found["float32"].within_bound


def test_bigrams_that_are_not_asked_for_cost_nothing():
    contexts = np.array([[0, 1], [2, 1], [3, 3]])
    task = array_task(contexts, next_tokens=np.array([4, 0, 2]), vocabulary=5, target="labels")
    network = lookup_table(task)
    assert (logits(network, task.contexts).argmax(axis=1) == task.labels).all()
    assert np.abs(logits(network, np.array([[1, 1], [4, 0]]))).max() < 1e-9


def test_what_does_not_fit_is_refused():
    task = enumerated_task(3, 3)
    with pytest.raises(InputError, match="contexts of 3 tokens"):
        lookup_table(task)
    bigrams = enumerated_task(3, 2)
    for gap, total in ((np.nan, -2.0), (8.0, np.inf)):
        with pytest.raises(InputError, match="finite"):
            lookup_table(bigrams, gap=gap, total=total)
    for gap, total in ((0.0, -2.0), (8.0, 0.0)):
        with pytest.raises(HypothesisError, match="gap != 0"):
            lookup_table(bigrams, gap=gap, total=total)
    with pytest.raises(InputError, match="d_vocab = 0"):
        lookup_front_end(0, gap=1)
    with pytest.raises(InputError, match="expected 3"):
        lookup_front_end(3, gap=1, position=[1])
    with pytest.raises(HypothesisError, match="do not sum to 0"):
        lookup_front_end(2, gap=1, position=[1, -1])
    with pytest.raises(HypothesisError, match="2 a - 1 = 0"):
        exact_lookup_table(as_rationals(np.eye(4)[:, :2]), as_rationals(np.eye(2)), gap=0)
    with pytest.raises(InputError, match="N\\^2 and N"):
        exact_lookup_table(as_rationals(np.eye(3)), as_rationals(np.eye(3)), gap=1)
