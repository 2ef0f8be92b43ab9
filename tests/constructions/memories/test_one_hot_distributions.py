"""Distributions that one neuron each writes: the logits of a run in float32 are the stored numbers, in any order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError
from constructions.memories.one_hot_distributions import (
    digits_of,
    one_hot_distributions_memory,
    one_hot_distributions_parameters,
)
from constructions.model.blocks import FeedForward
from constructions.model.precision import rounded
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from tests.any_order import logits
from verify.provers.memorization import certify_memorization
from verify.runs.exact_runs import memorized_without_rounding
from verify.runs.formats import BFLOAT16, FLOAT32


def distributions_of(count: int, n_ctx: int, tokens: int, answers: int, seed: int = 0) -> Task:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, tokens, (count, n_ctx)), axis=0)
    positive = rng.standard_exponential((len(contexts), answers)) + 1e-3
    distributions = positive / positive.sum(axis=1, keepdims=True)
    return array_task(contexts, distributions=distributions, vocabulary=tokens, answers=tuple(map(str, range(answers))))


@given(st.integers(1, 30), st.integers(1, 5), st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_any_distributions_are_written_bit_for_bit(count, n_ctx, tokens, answers, seed):
    task = distributions_of(count, n_ctx, tokens, answers, seed)
    model = one_hot_distributions_memory(task).model
    stored = model.blocks[-1]
    assert isinstance(stored, FeedForward)
    run = logits(model, task.contexts, seed % 1000)
    assert (run[:, :-1] == stored.W_out[:, : answers - 1]).all() and (run[:, -1] == 0).all()
    assert memorized_without_rounding(model, task, FLOAT32, 1e-3).all()
    parameters = sum(tensor.size for tensor in model.tensors().values())
    assert parameters == model.parameters == one_hot_distributions_parameters(task)


def test_it_is_certified_in_real_arithmetic():
    task = distributions_of(25, 3, 7, 5)
    proved = certify_memorization(one_hot_distributions_memory(task).model, task)
    assert proved.certificate.verdict.value == "PROVED" and proved.answers.loss_upper.max() < 1e-12


@pytest.mark.parametrize(("tokens", "n_ctx", "precision"), [(103, 4, 24), (5000, 4, 24), (10_000, 40, 24), (103, 4, 8)])
def test_digits_are_as_few_as_have_exact_sums(tokens, n_ctx, precision):
    base, count = digits_of(tokens, n_ctx, precision)
    assert base**count >= tokens and 2 * n_ctx * count * base**2 + 1 <= 2**precision
    fewer = np.ceil(tokens ** (1 / (count - 1))) if count > 1 else np.inf
    assert count == 1 or 2 * n_ctx * (count - 1) * fewer**2 + 1 > 2**precision


def test_digits_of_bfloat16_leave_one_neuron_on_in_every_run_in_it(monkeypatch):
    from constructions.memories import one_hot_distributions as module

    monkeypatch.setitem(module.SIGNIFICAND, "float32", 8)
    task = distributions_of(20, 4, 50, 3)
    model = one_hot_distributions_memory(task).model.with_each(lambda _, tensor: rounded(tensor, "bfloat16"))
    assert memorized_without_rounding(model, task, BFLOAT16, 1e-2).all()


def test_labels_are_refused():
    with pytest.raises(HypothesisError, match="needs distributions, but the target is 'labels'"):
        one_hot_distributions_memory(enumerated_task(2, 2))
    assert one_hot_distributions_parameters(enumerated_task(2, 2)) == 0
