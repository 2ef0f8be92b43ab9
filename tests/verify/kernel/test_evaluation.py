"""Gaps, losses and guesses in balls, against the prover's and against each other."""

import math
from types import SimpleNamespace

import numpy as np
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import tasks
from constructions.memories.probes.probe_memory import probe_memory
from constructions.tasks.arrays import enumerated_task
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
