"""Fitting the tail: convex, optimal, and invisible to the memorized contexts."""

from itertools import product

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.families import random_attention
from constructions.errors import InputError
from constructions.heads_of_theorem_1 import tail
from constructions.heads_of_theorem_1.tail import fit_tail, tail_bytes
from constructions.model.attention import features, last
from constructions.numeric.minimum_norm import right_inverse
from constructions.tasks.task import Counts, make_task


def setting(*, facts=10, vocabulary=4, n_heads=12, d_head=2, seed=0, d_model=None, n_ctx=3):
    """A task, a front end, its factored features and an output that holds random targets."""
    rng = np.random.default_rng(seed)
    contexts = np.array(list(product(range(vocabulary), repeat=n_ctx)))
    rows = [
        {int(j): int(rng.integers(1, 30)) for j in rng.choice(vocabulary, rng.integers(1, 4), replace=False)}
        for _ in contexts
    ]
    names = tuple(f"t{i}" for i in range(vocabulary))
    task = make_task(contexts, Counts.from_rows(rows), vocabulary=names, facts=facts)
    weights = random_attention(
        d_vocab=vocabulary,
        n_ctx=n_ctx,
        d_model=d_model or vocabulary,
        n_heads=n_heads,
        d_head=d_head,
        seed=seed,
    )
    inverse = right_inverse(features(weights, task.contexts))
    output = inverse.solve(rng.standard_normal((facts, vocabulary)))
    return task, weights, inverse, output


def cross_entropy(task, weights, output, W_U, rows=None):
    """Nats per token, from the definition."""
    contexts = task.tail_contexts[:rows]
    stream = last(weights, contexts)[:, : output.shape[1]] + features(weights, contexts) @ output
    logits = stream @ W_U[: output.shape[1]]
    logarithms = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
    counts = task.tail_counts.dense(0, len(contexts), W_U.shape[1])
    return -(counts * logarithms).sum() / counts.sum()


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(6, 12))
def test_the_memorized_contexts_do_not_notice(seed, facts, n_heads):
    task, weights, inverse, output = setting(facts=facts, n_heads=n_heads, seed=seed)
    fit = fit_tail(weights, task, W_U=np.eye(4), output=output, inverse=inverse, iterations=20)
    change = inverse.matrix @ (fit.output - output)
    assert np.abs(change).max() <= 1e-10 * (1 + np.abs(fit.output).max()) * max(1, inverse.condition / 1e4)
    assert fit.cross_entropy[1] <= fit.cross_entropy[0]


@given(st.integers(0, 2**32))
def test_the_cross_entropies_are_those_of_the_definition(seed):
    task, weights, inverse, output = setting(seed=seed)
    fit = fit_tail(weights, task, W_U=np.eye(4), output=output, inverse=inverse, iterations=30)
    assert fit.cross_entropy[0] == pytest.approx(cross_entropy(task, weights, output, np.eye(4)), rel=1e-5)
    assert fit.cross_entropy[1] == pytest.approx(cross_entropy(task, weights, fit.output, np.eye(4)), rel=1e-4)
    assert fit.contexts == len(task.tail_contexts)


def test_the_minimum_is_the_one_over_an_explicit_basis_of_the_null_space():
    task, weights, inverse, output = setting(facts=6, vocabulary=3, n_heads=5)
    strength = 50.0
    fit = fit_tail(
        weights, task, W_U=np.eye(3), output=output, inverse=inverse, regularization=strength, iterations=3000
    )
    basis = np.linalg.svd(inverse.matrix)[2][len(inverse.matrix) :].T
    total = task.tail_counts.totals().sum()

    def objective(point):
        addition = basis @ point.reshape(basis.shape[1], 3)
        return cross_entropy(task, weights, output + addition, np.eye(3)) + 0.5 * strength * (addition**2).sum() / total

    best = scipy.optimize.minimize(objective, np.zeros(basis.shape[1] * 3), method="BFGS")
    assert objective(basis.T @ (fit.output - output)) == pytest.approx(best.fun, abs=1e-3)


def test_the_gradient_is_the_slope_of_the_value():
    task, weights, inverse, output = setting()
    objective = tail._Objective(weights, task, np.eye(4), output, inverse, regularization=200.0)
    rng = np.random.default_rng(0)
    point, direction = (inverse.project(rng.standard_normal(output.shape)).ravel() for _ in range(2))
    slope = (objective(point + 1e-2 * direction)[0] - objective(point - 1e-2 * direction)[0]) / 2e-2
    assert objective(point)[1] @ direction == pytest.approx(slope, rel=1e-3)


def test_more_regularization_moves_less():
    task, weights, inverse, output = setting()
    moved = [
        np.linalg.norm(
            fit_tail(weights, task, W_U=np.eye(4), output=output, inverse=inverse, regularization=strength).output
            - output
        )
        for strength in (0.1, 10.0, 1e6)
    ]
    assert moved[0] > moved[1] > moved[2] > 0


def test_tokens_without_a_column_share_the_logit_zero():
    task, weights, inverse, output = setting(vocabulary=5, d_model=5)
    W_U = np.eye(5)
    W_U[:, [1, 4]] = 0
    fit = fit_tail(weights, task, W_U=W_U, output=output, inverse=inverse, iterations=30)
    assert fit.cross_entropy[0] == pytest.approx(cross_entropy(task, weights, output, W_U), rel=1e-5)
    assert fit.cross_entropy[1] == pytest.approx(cross_entropy(task, weights, fit.output, W_U), rel=1e-4)
    assert fit.cross_entropy[1] < fit.cross_entropy[0]


def test_logits_far_below_zero_leave_all_probability_to_the_tokens_without_a_column():
    task, weights, inverse, _ = setting(vocabulary=5, d_model=5)
    W_U = np.diag([1.0, 0.0, 1.0, 1.0, 0.0])
    low = inverse.solve(np.full((10, 5), -3000.0))
    fit = fit_tail(weights, task, W_U=W_U, output=low, inverse=inverse, iterations=1)
    assert fit.cross_entropy[0] == pytest.approx(cross_entropy(task, weights, low, W_U), rel=1e-4)


def test_the_size_of_a_block_of_logits_does_not_matter(monkeypatch):
    task, weights, inverse, output = setting()
    whole = fit_tail(weights, task, W_U=np.eye(4), output=output, inverse=inverse, iterations=5)
    monkeypatch.setattr(tail, "_LOGIT_ENTRIES", 12)
    parts = fit_tail(weights, task, W_U=np.eye(4), output=output, inverse=inverse, iterations=5)
    assert parts.cross_entropy == pytest.approx(whole.cross_entropy, rel=1e-6)
    assert np.allclose(parts.output, whole.output, atol=1e-3)


def test_a_long_tail_is_cut_to_its_most_frequent_contexts(monkeypatch):
    task, weights, inverse, output = setting()
    monkeypatch.setattr(tail, "_FEATURE_ENTRIES", 7 * len(output) + 3)
    fit = fit_tail(weights, task, W_U=np.eye(4), output=output, inverse=inverse, iterations=30)
    assert fit.contexts == 7
    assert fit.cross_entropy[0] == pytest.approx(cross_entropy(task, weights, output, np.eye(4), rows=7), rel=1e-5)
    assert tail_bytes(10**9, n_features=len(output), coordinates=4) < 2**16


def test_large_work_gets_fewer_steps(monkeypatch):
    task, weights, inverse, output = setting()
    monkeypatch.setattr(tail, "_WORK", 3 * len(task.tail_contexts) * output.size)
    assert fit_tail(weights, task, W_U=np.eye(4), output=output, inverse=inverse).iterations == 3


def test_an_interrupt_keeps_the_step_that_was_reached():
    task, weights, inverse, output = setting()
    given = {"W_U": np.eye(4), "output": output, "inverse": inverse}

    def stop(step, most, cross_entropy):
        if step == 2:
            raise KeyboardInterrupt

    part, two = fit_tail(weights, task, **given, progress=stop), fit_tail(weights, task, **given, iterations=2)
    assert (part.iterations, part.complete, two.complete) == (2, False, True)
    assert np.array_equal(part.output, two.output) and part.cross_entropy == two.cross_entropy


def test_progress_counts_the_steps_and_shows_the_loss_falling():
    task, weights, inverse, output = setting()
    seen = []
    fit = fit_tail(
        weights,
        task,
        W_U=np.eye(4),
        output=output,
        inverse=inverse,
        iterations=8,
        progress=lambda *values: seen.append(values),
    )
    assert [step for step, _, _ in seen] == list(range(1, fit.iterations + 1)) and {most for _, most, _ in seen} == {8}
    assert seen[-1][2] < seen[0][2] < fit.cross_entropy[0]


def test_equal_arguments_give_equal_bits():
    task, weights, inverse, output = setting()
    one, two = (fit_tail(weights, task, W_U=np.eye(4), output=output, inverse=inverse) for _ in range(2))
    assert np.array_equal(one.output, two.output)


@pytest.mark.parametrize("regularization", [0.0, -1.0, float("nan"), float("inf")])
def test_a_regularization_that_is_no_number_of_counts_is_refused(regularization):
    task, weights, inverse, output = setting()
    with pytest.raises(InputError, match=f"regularization = {regularization}"):
        fit_tail(weights, task, W_U=np.eye(4), output=output, inverse=inverse, regularization=regularization)


def test_a_task_without_a_tail_is_refused():
    task, weights, inverse, output = setting(facts=16, n_ctx=2, n_heads=12)
    with pytest.raises(InputError, match="every context of the task is memorized"):
        fit_tail(weights, task, W_U=np.eye(4), output=output, inverse=inverse)
