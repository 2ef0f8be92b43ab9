"""Gaps, losses and guesses in balls, against the prover's and against each other."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import tasks
from constructions.memories.probes.probe_memory import probe_memory
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.prompts import PromptTask
from constructions.tasks.vectors import VectorTask
from tests.verify.kernel.test_task import read
from tests.verify.kernel.test_walk import kernel_model
from verify.kernel import evaluation, walk
from verify.kernel.evaluation import Evaluation, Found, divergence, entropy, guess, judged
from verify.provers.answer_bounds import guess_loss

TASKS = st.sampled_from(("labels", "distributions")).flatmap(lambda target: tasks(d_vocab=3, n_ctx=2, target=target))


@given(TASKS, st.lists(st.floats(-50, 50), min_size=3, max_size=3), st.sampled_from([0.0, 2.0**-20, 1.0]))
def test_an_error_of_the_logits_moves_gap_and_loss_by_no_more_than_is_said(task, logits, error) -> None:
    own = read(task)
    with ctx.workprec(200):
        for i in range(len(own.contexts)):
            exact = judged(own, i, [arb(z) for z in logits], arb(0))
            wide = judged(own, i, [arb(z) for z in logits], arb(error))
            moved = judged(own, i, [arb(z) + arb(error) * (-1) ** k for k, z in enumerate(logits)], arb(0))
            assert wide.loss.contains(exact.loss) and wide.loss.overlaps(moved.loss)
            assert (wide.gap is None) == (exact.gap is None) == (len(own.modes(i)) == 3)
            if wide.gap is not None and exact.gap is not None and moved.gap is not None:
                assert wide.gap.contains(exact.gap) and wide.gap.overlaps(moved.gap)
            assert exact.loss.overlaps(arb(loss_of(own, i, logits), 1e-6))


def loss_of(task, i: int, logits: list[float]) -> float:
    """The divergence in float64."""
    log_sum = math.log(sum(math.exp(z - max(logits)) for z in logits)) + max(logits)
    if task.distributions is None:
        return log_sum - logits[task.labels[i]]
    distribution = np.array(task.distributions[i]) / sum(task.distributions[i])
    return float(sum(p * (math.log(p) + log_sum - z) for p, z in zip(distribution, logits, strict=True)))


@given(TASKS)
def test_the_guess_is_that_of_the_prover(task) -> None:
    with ctx.workprec(200):
        loss, most = guess(read(task))
    bound = guess_loss(task)
    lower, upper = (float(bound.lower()), float(bound.upper())) if hasattr(bound, "lower") else (float(bound),) * 2
    assert loss.overlaps(arb((lower + upper) / 2, abs(upper - lower) + 1e-9))
    assert most == (None if task.target == "distributions" else int(np.bincount(task.labels).max()))


LABELS = np.array([[4.0, -2.0], [-1.0, 8.0], [1.0, 0.5], [16.25, 3.0]])


@pytest.mark.parametrize(("count", "least"), [(1, "0"), (2, "5"), (3, "10/3"), (4, "81/16")])
def test_no_guess_of_values_is_nearer_to_all_than_medians_are(count: int, least: str) -> None:
    """Of 4, -1 and 1 a median is 1, which is 3, 2 and 0 away; of -2, 8 and 1/2 it is 1/2, which is 5/2, 15/2 and 0."""
    task = VectorTask(np.zeros((1, 1, 1)), np.zeros((count, 1)), LABELS[:count])
    with ctx.workprec(200):
        loss, most = guess(read(task))
        assert most is None and abs(loss - arb(fmpq(Fraction(least).numerator, Fraction(least).denominator))) < 1e-50


def test_a_guess_of_classes_of_vectors_is_one_of_labels() -> None:
    classes = np.eye(3)[[0, 2, 2, 2]]
    task = VectorTask(np.zeros((1, 1, 1)), np.zeros((4, 1)), classes, "classification")
    with ctx.workprec(200):
        loss, most = guess(read(task))
        assert most == 3 and abs(loss - entropy([arb(1), arb(3)])) < 1e-50


def test_a_guess_of_answers_knows_what_it_has_said() -> None:
    """Of five answers four begin with 1; of the three that go on, two do with 2. Who says 1 2 is right of three."""
    answers = ((1, 2), (1, 2), (1, 0), (0,), (1,))
    prompts = ((0,), (1,), (2,), (3,), (0, 3))
    task = PromptTask(("a", "b", "c", "d"), prompts, answers, tuple((str(i), "") for i in range(5)))
    with ctx.workprec(200):
        loss, most = guess(read(task))
        expected = (5 * entropy([arb(4), arb(1)]) + 3 * entropy([arb(2), arb(1)])) / 5
        assert most == 3 and abs(loss - expected) < 1e-50


def test_the_best_guess_of_distributions_is_their_mean() -> None:
    """Each with the sum 1, though its masses have another one, within what a task may have."""
    rows = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]) * np.array([[1 + 1e-10], [1 - 1e-10]])
    task = array_task(np.array([[0], [1]]), distributions=rows, vocabulary=3)
    with ctx.workprec(200):
        loss, most = guess(read(task))
        rows = [[arb(x) / sum(map(arb, row), arb(0)) for x in row] for row in rows.tolist()]
        mean = [(x + y) / 2 for x, y in zip(*rows, strict=True)]
        assert most is None and abs(loss - entropy(mean) + (entropy(rows[0]) + entropy(rows[1])) / 2) < 1e-50


def test_entropy_of_equal_masses_is_a_logarithm() -> None:
    assert entropy([arb(3)] * 4).overlaps(arb(4).log()) and entropy([arb(7)]).contains(0)


def test_exact_columns_and_balls_agree_chunk_by_chunk(monkeypatch) -> None:
    task = enumerated_task(3, 3)
    model = kernel_model(probe_memory(task).model)
    whole = Evaluation(model, read(task), ["float32"])
    monkeypatch.setattr(evaluation, "_CELLS", 12)
    parts = Evaluation(model, read(task), ["float32"])
    balls = dict(whole.in_balls(range(task.n_contexts), 256))
    with ctx.workprec(256):
        for i, (one, other) in enumerate(zip(whole.in_reals, parts.in_reals, strict=True)):
            assert one is not None and other is not None and one.gap is not None and other.gap is not None
            assert one.gap.overlaps(other.gap) and one.loss.overlaps(other.loss)
            assert one.gap.overlaps(balls[i].gap) and one.loss.overlaps(balls[i].loss)
    assert whole.reasons == parts.reasons == {"float32": ""}
    assert all(each.gap is not None and each.gap > 0 for each in parts.in_runs["float32"].values())


def test_the_divergence_of_the_only_answer_is_0() -> None:
    assert divergence({0: 0.5}, [arb(3)], arb(0)) == 0
    assert divergence({0: 7}, [arb(3)], arb(1)) == 0


def test_a_fact_has_the_least_gap_and_all_the_loss_of_its_contexts() -> None:
    found = evaluation.whole([Found(arb(2), arb(1)), Found(arb(1), arb(3)), Found(None, arb(0))])
    assert (found.gap, found.loss) == (arb(1), arb(4))
    assert evaluation.whole([Found(None, arb(1))]).gap is None


def test_it_is_told_beforehand_how_long_exact_columns_take(monkeypatch) -> None:
    task, told = enumerated_task(4, 4), list[str]()
    own, model = read(task), kernel_model(probe_memory(task).model)
    monkeypatch.setattr(evaluation, "_CELLS", 256)
    seconds = iter([0.0, 60.0])
    monkeypatch.setattr(evaluation, "time", SimpleNamespace(process_time=lambda: next(seconds)))
    Evaluation(model, own, [], told.append).follow()
    assert told == ["about 3 minutes more"]  # 64 of 256 contexts take one


def test_heads_that_look_by_position_are_looked_at_in_one_chunk_for_all(monkeypatch) -> None:
    task = enumerated_task(4, 4)
    own, model, asked = read(task), kernel_model(probe_memory(task).model), list[int]()
    tops = walk._tops
    monkeypatch.setattr(walk, "_tops", lambda query, keys: asked.append(len(keys)) or tops(query, keys))
    found, counts = list[list[Found | None]](), list[int]()
    for cells in (2**22, 64):
        monkeypatch.setattr(evaluation, "_CELLS", cells)
        found.append(Evaluation(model, own, ["float32"]).in_reals)
        counts.append(len(asked))
        asked.clear()
    assert list(map(str, found[0])) == list(map(str, found[1])) and counts[0] == counts[1] > 0
