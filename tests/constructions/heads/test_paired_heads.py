"""Pairs of heads hold contexts in general position: the derivatives are those, and the weights are proved."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.heads import paired_heads as module
from constructions.heads.paired_heads import _Base, _derivatives, _drawn, paired_heads_memory
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from tests.bigrams import KINDS, bigram_task
from verify.certificates.memorization import certify_memorization
from verify.divergence.kullback_leibler import argmax_margin
from verify.forward.logits import enclose_logits


def margins(task: Task, **options: int) -> np.ndarray:
    model = paired_heads_memory(task, **options).model
    return argmax_margin(enclose_logits(model, task.contexts), task.modes())


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 8), st.sampled_from(KINDS), st.sampled_from([(4, 1), (6, 2), (3, 3)]), st.integers(0, 2**31))
def test_any_labels_of_bigrams_are_held(tokens: int, kind: str, shape: tuple[int, int], seed: int) -> None:
    assert margins(bigram_task(tokens, kind, seed), d_model=shape[0], d_qk=shape[1], seed=seed).min() > 0


@settings(max_examples=8, deadline=None)
@given(st.integers(2, 5), st.integers(5, 12), st.integers(0, 2**31))
def test_random_contexts_of_any_length_are_held(length: int, tokens: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, tokens, (60, length)), axis=0)
    labels = rng.integers(0, tokens, len(contexts))
    assert margins(array_task(contexts, next_tokens=labels, vocabulary=tokens + 1, target="labels")).min() > 0


def read_by(base: _Base, task: Task) -> np.ndarray:
    """What the one head of a base reads, term by term."""
    inputs = base.W_E[task.contexts] + base.W_pos
    found = []
    for rows in inputs:
        scores = np.array([rows[-1] @ base.U[0] @ base.V[0].T @ row for row in rows])
        shares = np.exp(scores) / np.exp(scores).sum()
        found.append(float(shares @ (rows @ base.v[0])))
    return np.array(found)


def test_the_derivatives_are_those_of_what_a_head_reads() -> None:
    task = enumerated_task(3, 3, seed=1)
    base = _drawn(task, 4, 2, 1, (0, 0))
    columns = _derivatives(task, base)
    assert (columns[:, :4] == base.W_E[task.contexts[:, -1]] + base.W_pos[-1]).all()
    place, small = 4, 1e-5
    for name in ("v", "U", "V"):
        middle = getattr(base, name)
        for entry in np.ndindex(middle.shape):
            ends = []
            for sign in (1.0, -1.0):
                moved = middle.copy()
                moved[entry] += sign * small
                ends.append(read_by(base._replace(**{name: moved}), task))
            np.testing.assert_allclose((ends[0] - ends[1]) / (2 * small), columns[:, place], atol=1e-8)
            place += 1
    assert place == columns.shape[1] == 4 + 4 + 2 * 4 * 2


@pytest.mark.parametrize(("width", "rank", "pairs"), [(4, 1, 3), (4, 2, 2), (3, 3, 2), (6, 2, 2), (2, 1, 4)])
def test_the_rank_is_what_is_said(width: int, rank: int, pairs: int) -> None:
    task = enumerated_task(10, 2)
    found = np.linalg.matrix_rank(_derivatives(task, _drawn(task, width, rank, pairs, (1, 0))), tol=1e-9)
    assert found == min(100, width + pairs * (width + 2 * width * rank - rank**2))


@pytest.mark.parametrize(
    ("contexts", "labels", "vocabulary"),
    [
        ([[0, 0]], [0], 1),
        ([[3, 1]], [1], 4),
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], 2),
        ([[n, 0] for n in range(9)], [3, 1, 4, 1, 5, 2, 6, 5, 3], 9),
        ([[a, b] for a in range(3) for b in range(3)], [2] * 9, 4),
    ],
    ids=["one token", "one fact", "XOR", "one last token", "one label"],
)
def test_the_smallest_tables_are_held(contexts: object, labels: object, vocabulary: int) -> None:
    task = array_task(np.array(contexts), next_tokens=np.array(labels), vocabulary=vocabulary, target="labels")
    assert margins(task).min() > 0.1


def test_the_parameters_are_those_that_are_counted_and_fewer_than_of_rank_one() -> None:
    task = enumerated_task(5, 3, seed=1)
    model = paired_heads_memory(task).model
    assert (model.d_model, model.d_qk, model.d_head) == (6, 2, 1) and model.n_heads % 2 == 0
    assert model.parameters == 6 * (3 + 2 * 5) + 2 * 6 * 3 * model.n_heads < 4 * 125


def test_the_certificate_says_so_and_not_of_other_labels() -> None:
    task, other = bigram_task(8, "random", 2), bigram_task(8, "random", 2, changed=11)
    built = paired_heads_memory(task)
    judged = certify_memorization(built.model, built.task, built.criterion)
    assert judged.certificate.headline().startswith("HELD, PROVED")
    found = argmax_margin(enclose_logits(built.model, task.contexts), other.modes())
    assert np.flatnonzero(found <= 0).tolist() == [11]


def test_contexts_whose_derivatives_are_dependent_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MORE", (0.8,))
    with pytest.raises(CapacityError, match="derivatives of rank T = 400, but no draw has them; 13 pairs, d = 6"):
        paired_heads_memory(enumerated_task(20, 2))


def test_steps_that_are_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STEPS", (4.0,))
    with pytest.raises(CapacityError, match="the best draw leaves a margin of -"):
        paired_heads_memory(enumerated_task(8, 2))


def test_what_cannot_be_is_refused() -> None:
    for options in ({"d_model": 1}, {"d_qk": 0}, {"d_model": 3, "d_qk": 4}):
        with pytest.raises(InputError, match="expected at least 2, and from 1 to d_model"):
            paired_heads_memory(enumerated_task(2, 2), **options)
    with pytest.raises(HypothesisError, match="needs labels, but the target is 'laws'"):
        paired_heads_memory(enumerated_task(2, 2, target="laws"))
    with pytest.raises(HypothesisError, match="contexts of two tokens or more, but they have 1"):
        paired_heads_memory(enumerated_task(2, 1))
