"""What the search finds holds the table: it is proved here, by the judge, on the weights as they are rounded."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, InputError, ResourceError
from constructions.memories.newton import levenberg_marquardt
from constructions.memories.newton import newton_memory as module
from constructions.memories.newton.newton_memory import (
    LEAST_MARGIN,
    NewtonMemory,
    Shape,
    Table,
    _Pairs,
    best_shape,
    freedom,
    newton_memory,
    safe_shape,
    solve,
)
from constructions.memories.newton.single_value_heads import SingleValueHeads
from constructions.model.model import Model
from constructions.model.shapes import dana_network, dana_tensors
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.task import Task
from verify.divergence.kullback_leibler import argmax_margin
from verify.forward.logits import enclose_logits
from verify.provers.memorization import certify_memorization
from verify.verdict import Verdict


def facts(contexts: object, labels: object, vocabulary: int) -> Task:
    return array_task(np.array(contexts), next_tokens=np.array(labels), vocabulary=vocabulary, target="labels")


def proved(network: Model, task: Task) -> np.ndarray:
    """Lower bounds of the margins in real arithmetic."""
    return argmax_margin(enclose_logits(network, task.contexts), task.modes())


def require_memorized(found: NewtonMemory, task: Task) -> None:
    margins = proved(found.network, task)
    assert margins.min() > 0
    if np.isfinite(found.margin):
        assert abs(margins.min() - found.margin) < 1e-9
    for name, tensor in dana_tensors(found.network).items():
        assert (tensor.astype(np.float32) == tensor).all(), name
    assert found.margin >= LEAST_MARGIN
    assert found.parameters == found.network.parameters
    network = found.network
    assert tuple(found.shape) == (network.d_model, network.d_qk, network.n_heads) and network.d_head == 1
    last = next(attempt for attempt in reversed(found.attempts) if attempt.solved)
    assert last.shape == found.shape and last.parameters == found.parameters
    assert all(attempt.solved <= 1 and len(attempt.iterations) == attempt.seeds for attempt in found.attempts)


@given(st.data())
def test_a_small_table_of_any_length_is_memorized_or_the_starts_that_did_not_reach_it_are_counted(data) -> None:
    tokens, n_ctx = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    everything = all_contexts(tokens, n_ctx)
    count = data.draw(st.integers(1, min(12, len(everything))))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    contexts = everything[np.sort(rng.permutation(len(everything))[:count])]
    vocabulary = tokens + data.draw(st.integers(0, 3))
    task = facts(contexts, rng.integers(0, vocabulary, count), vocabulary)
    try:
        found = newton_memory(task, seeds=2, iterations=100)
    except CapacityError as refusal:  # a search promises nothing, and two short starts may both end elsewhere
        assert f"a start that reaches all {count} facts" in str(refusal)
        assert re.search(r"none of 2 starts did with \d+ entries", str(refusal))
    else:
        require_memorized(found, task)


@pytest.mark.parametrize(
    ("contexts", "labels", "vocabulary"),
    [
        ([[0]], [0], 1),
        ([[3]], [1], 4),
        ([[0, 1]], [2], 5),
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], 2),
        ([[0, 1], [1, 0]], [0, 1], 2),
        ([[n, 0] for n in range(9)], [3, 1, 4, 1, 5, 2, 6, 5, 3], 9),
        (all_contexts(4, 2), [2] * 16, 4),
    ],
    ids=["one token", "one fact", "unread tokens", "exclusive or", "order alone", "one last token", "one label"],
)
def test_the_smallest_tables_are_memorized(contexts: object, labels: object, vocabulary: int) -> None:
    task = facts(contexts, labels, vocabulary)
    require_memorized(newton_memory(task), task)


def test_without_attention_no_heads_are_spent() -> None:
    task = facts(np.arange(30)[:, None], np.random.default_rng(0).integers(0, 30, 30), 30)
    found = newton_memory(task)
    assert found.shape == Shape(2, 1, 0) and found.parameters == 2 * (30 + 1 + 30)
    require_memorized(found, task)


def test_random_facts_within_a_given_number_of_entries_are_certified() -> None:
    task = enumerated_task(5, 2, seed=3)
    found = newton_memory(task, at_most=70)
    assert found.parameters <= 70
    require_memorized(found, task)
    assert certify_memorization(found.network, task).certificate.verdict is Verdict.PROVED


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "skewed", "structured", "incomplete", "two labels"])
def test_four_hundred_facts_take_fewer_entries_than_facts_over_0_6(kind: str) -> None:
    rng = np.random.default_rng(20)
    contexts = all_contexts(20, 2)
    labels = rng.integers(0, 20, 400)
    if kind == "skewed":
        labels = np.minimum(rng.exponential(2.5, 400).astype(np.int64), 19)
    elif kind == "structured":
        labels = contexts.sum(axis=1) % 20
    elif kind == "two labels":
        labels = rng.integers(0, 2, 400)
    elif kind == "incomplete":
        everything = all_contexts(28, 2)
        contexts = everything[np.sort(rng.permutation(784)[:400])]
        labels = rng.integers(0, 28, 400)
    task = facts(contexts, labels, 28 if kind == "incomplete" else 20)
    found = newton_memory(task)
    require_memorized(found, task)
    assert found.parameters * 0.6 < task.n_contexts
    if kind == "two labels":
        assert found.parameters < task.n_contexts


def test_one_changed_label_is_refuted() -> None:
    task = enumerated_task(4, 2, seed=3)
    found = newton_memory(task, seeds=1)
    other = facts(task.contexts, np.where(np.arange(16) == 7, (task.labels + 1) % 4, task.labels), 4)
    assert (proved(found.network, task) > 0).all()
    assert (proved(found.network, other) > 0).sum() == 15


def test_equal_arguments_give_equal_bits() -> None:
    task = enumerated_task(3, 2, seed=4)
    first, second = (newton_memory(task, seed=5, seeds=1) for _ in range(2))
    assert first.complete
    assert first.network.sha256() == second.network.sha256() and first.attempts == second.attempts
    assert newton_memory(task, seed=6, seeds=1).network.sha256() != first.network.sha256()


def test_tokens_that_are_never_read_or_never_answers_do_not_count_as_used() -> None:
    rng = np.random.default_rng(1)
    contexts = 3 + all_contexts(4, 2)
    task = facts(contexts, 10 + rng.integers(0, 3, 16), 20)
    found = newton_memory(task)
    require_memorized(found, task)
    width, d_qk, n_heads = found.shape
    assert found.used_parameters == width * (4 + 3 + 2) + 2 * n_heads * width * (d_qk + 1)
    assert found.parameters - found.used_parameters == width * (16 + 17)
    assert not found.network.W_E[[0, 1, 2, *range(7, 20)]].any()
    ahead = proved(found.network, task).min()
    columns = found.network.W_U[:, [0, 9, 13, 19]]
    assert (columns == columns[:, :1]).all() and ahead > 0


@given(st.integers(0, 2**32), st.integers(2, 9), st.integers(1, 5))
def test_the_mean_of_the_columns_is_behind_by_the_mean_of_the_leads(seed: int, count: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    columns, stream = rng.standard_normal((width, count)), rng.standard_normal(width)
    found = stream @ columns
    label = int(found.argmax())
    leads = np.delete(found[label] - found, label)
    behind = found[label] - stream @ columns.mean(axis=1)
    assert behind == pytest.approx(leads.sum() / count, abs=1e-12)
    assert behind >= (count - 1) / count * leads.min() - 1e-12


def rank_of(shape: Shape, *, tokens: int, n_ctx: int, seed: int = 0) -> int:
    """Rank, in floating point, of the derivative of the number y at random weights, on all contexts."""
    rng = np.random.default_rng(seed)
    heads = SingleValueHeads(all_contexts(tokens, n_ctx), tokens, 2, *shape)
    weights = 0.6 * rng.standard_normal(heads.size)  # larger ones saturate the heads
    part = heads.split(weights)
    part["W_E"][:, 0], part["W_pos"][-1, 0] = 0.0, 1.0
    part["W_O"][:] = 0.0
    part["W_O"][:, 1] = 1.0
    along = np.zeros((len(heads.contexts), shape.d_model))
    along[:, 1] = 1.0
    rows = heads.run(weights).stream_rows(np.arange(len(along)), along)
    free = np.ones(heads.size, dtype=bool)
    memorized = heads.split(free)
    memorized["W_E"][:, 0] = memorized["W_pos"][-1, 0] = memorized["W_O"][:] = False
    rows = rows[:, free]
    return int(np.linalg.matrix_rank(rows, tol=1e-9 * np.abs(rows).max()))


@pytest.mark.parametrize(
    ("shape", "tokens", "n_ctx"),
    [((3, 1, 2), 8, 2), ((4, 1, 2), 8, 2), ((4, 2, 2), 9, 2), ((3, 1, 2), 4, 3), ((5, 1, 1), 7, 2), ((12, 1, 1), 5, 2)],
)
def test_the_derivative_has_as_many_degrees_of_freedom_as_are_counted(
    shape: tuple[int, int, int], tokens: int, n_ctx: int
) -> None:
    counted = freedom(Shape(*shape), d_vocab=tokens, n_ctx=n_ctx)
    assert counted < tokens**n_ctx
    assert rank_of(Shape(*shape), tokens=tokens, n_ctx=n_ctx) == counted


@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 3), st.integers(2, 4), st.integers(2, 3))
def test_no_derivative_has_more(width: int, d_qk: int, n_heads: int, tokens: int, n_ctx: int) -> None:
    shape = Shape(max(width, 2), min(d_qk, max(width, 2)), n_heads)
    assert rank_of(shape, tokens=tokens, n_ctx=n_ctx) <= freedom(shape, d_vocab=tokens, n_ctx=n_ctx)


def test_shapes_keep_within_the_entries_they_may_have() -> None:
    table = Table.of(enumerated_task(8, 2, seed=0))
    for entries in range(36, 400, 7):
        shape = best_shape(table, entries)
        assert shape is not None and table.used(shape) <= entries
        other = best_shape(table, entries, besides=shape.d_model)
        assert other is None or (other.d_model != shape.d_model and table.used(other) <= entries)
    assert best_shape(table, 35) is None
    safe = safe_shape(table, 1.0)
    assert freedom(safe, d_vocab=8, n_ctx=2) >= 64


def test_a_start_that_does_not_get_there_gives_nothing() -> None:
    table = Table.of(enumerated_task(6, 2, seed=0))
    found = solve(table, Shape(3, 1, 1), iterations=5, seed=0)
    assert not found.done and found.iterations == 10
    heard: list[str] = []
    found = solve(table, Shape(4, 1, 5), iterations=400, seed=0, report=lambda stage, done, right: heard.append(stage))
    assert found.done and "first stage" in heard


def test_a_start_takes_no_more_work_than_it_may() -> None:
    table = Table.of(enumerated_task(6, 2, seed=0))
    whole = solve(table, Shape(3, 1, 1), iterations=40, seed=0)
    part = solve(table, Shape(3, 1, 1), iterations=40, seed=0, work=0.9 * whole.work)
    assert part.spent and not part.done and not whole.spent
    assert 0.5 * whole.work < part.work <= 0.9 * whole.work


def test_the_rows_of_the_second_stage_are_the_derivative_of_its_violations() -> None:
    table = Table.of(enumerated_task(5, 2, seed=0))
    heads = table.heads(Shape(4, 2, 3))
    weights = 0.7 * np.random.default_rng(0).standard_normal(heads.size)
    point = _Pairs(heads.run(weights), table.labels)
    moved = [
        [point.at_other(_Pairs(heads.run(weights + s * e), table.labels)) for s in (1e-5, -1e-5)]
        for e in np.eye(heads.size)
    ]
    derivative = np.array([(ahead - behind) / 2e-5 for ahead, behind in moved]).T
    rows, violations = point.rows(), point.violations()
    assert point.cost == pytest.approx(violations @ violations) and len(violations) > 50
    assert np.allclose(np.tril(rows.gram()), np.tril(derivative @ derivative.T), atol=1e-6)
    assert np.allclose(np.tril(rows.normal()), np.tril(derivative.T @ derivative), atol=1e-6)
    assert np.allclose(rows.pulled_back(violations), violations @ derivative, atol=1e-6)


def test_a_search_is_taken_up_where_it_ended() -> None:
    task = enumerated_task(6, 2, seed=2)
    first = newton_memory(task, seeds=1, iterations=40, at_most=200)
    second = newton_memory(task, resume=first, seeds=1)
    assert second.attempts[: len(first.attempts)] == first.attempts
    assert second.parameters <= first.parameters
    require_memorized(second, task)


class Stops:
    """Interrupts after so many reports that follow the first model."""

    def __init__(self, after: int) -> None:
        self.left, self.found = after, False

    def __call__(self, stage: str, share: float | None, detail: str) -> None:
        self.found = self.found or detail.endswith("found")
        if self.found:
            self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [0, 3])
def test_an_interrupt_keeps_the_best_so_far(after: int) -> None:
    task = enumerated_task(5, 2, seed=3)
    found = newton_memory(task, progress=Stops(after), seeds=1)
    assert not found.complete
    require_memorized(found, task)


def steps_of(found: NewtonMemory) -> int:
    return sum(sum(attempt.iterations) for attempt in found.attempts)


def test_a_search_whose_work_is_spent_keeps_the_best_so_far() -> None:
    task = enumerated_task(3, 2, seed=4)
    whole = newton_memory(task, seeds=1)
    heard: list[str] = []
    work = 0.9 * 1e6 * steps_of(whole)  # a step of nine facts counts as a millisecond and a little more
    found, again = (
        newton_memory(task, seeds=1, work=work, progress=lambda stage, share, detail: heard.append(detail))
        for _ in range(2)
    )
    assert f"start 1 of 1, at most {work / 1e9:.1f} s more: first stage, step 0, " in heard[0]
    assert whole.complete and not found.complete
    assert 3 < steps_of(found) == steps_of(again) < steps_of(whole)
    assert found.network.sha256() == again.network.sha256()
    require_memorized(found, task)
    with pytest.raises(CapacityError, match="needs more work for 9 facts, but none of 1 starts reached them"):
        newton_memory(task, work=3e6)


def test_a_step_that_would_take_too_long_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).permutation(2500)[:300]  # 300 facts of as many answers: 300 * 299 violated leads
    task = array_task(
        np.stack([rows // 50, rows % 50], axis=1), next_tokens=np.arange(300), vocabulary=300, target="labels"
    )
    begun, of = [], levenberg_marquardt._Linear.of
    monkeypatch.setattr(
        levenberg_marquardt._Linear, "of", lambda point, size: (begun.append(type(point).__name__), of(point, size))[1]
    )
    with pytest.raises(CapacityError, match="more work"):
        newton_memory(task, work=5e8)
    assert set(begun) == {"_Numbers"}  # none of the second stage, which takes 5 seconds


def test_beyond_the_second_stage_an_ampler_shape_takes_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    task, starts = enumerated_task(10, 2, seed=1), []

    def note(stage: str, share: float | None, detail: str) -> None:
        if "first stage, step 0," in detail:
            starts.append(int(detail.split()[2]))

    for most, kinds in ((100, 1), (99, 2)):
        monkeypatch.setattr(module, "_MOST_FREE", most)
        starts.clear()
        with pytest.raises(CapacityError, match="none of 2 starts"):
            newton_memory(task, seeds=2, iterations=1, progress=note)
        first = starts[: 2 * kinds]
        assert len(set(first)) == kinds and first == sorted(set(first)) * 2 and starts[2 * kinds] > first[0]
    assert safe_shape(Table.of(task), 1.0).d_model >= 6
    smaller, ampler = first[:2]
    starts.clear()
    with pytest.raises(CapacityError, match=f"at_most = {ampler - 1}, and none of 2 starts"):
        newton_memory(task, seeds=2, iterations=1, at_most=ampler - 1, progress=note)
    assert starts[:2] == [smaller, smaller]


def test_an_interrupt_before_the_first_model_is_one() -> None:
    def stop(stage: str, share: float | None, detail: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        newton_memory(enumerated_task(6, 2, seed=2), progress=stop)


def test_what_cannot_be_is_refused() -> None:
    task = enumerated_task(6, 2, seed=2)
    with pytest.raises(InputError, match="target is 'distributions'"):
        newton_memory(enumerated_task(2, 2, target="distributions"))
    for name in ("seeds", "iterations", "work"):
        with pytest.raises(InputError, match=f"{name} = 0"):
            newton_memory(task, **{name: 0})
    with pytest.raises(CapacityError, match="needs at least 28 entries, two for each token, but at_most = 27"):
        newton_memory(task, at_most=27)
    with pytest.raises(CapacityError, match=r"at_most = 30, and none of 2 starts did with 2\d entries"):
        newton_memory(task, at_most=30, seeds=2, iterations=20)
    with pytest.raises(CapacityError, match="none of 1 starts did with"):
        newton_memory(task, seeds=1, iterations=1)
    many = facts(np.arange(2**13 + 1)[:, None], np.zeros(2**13 + 1, dtype=int), 2**13 + 1)
    with pytest.raises(ResourceError, match="8193 facts, expected at most 8192"):
        newton_memory(many)


def test_contradicting_facts_are_refused_by_the_task() -> None:
    task = enumerated_task(2, 2, seed=0)
    with pytest.raises(InputError, match="occur more than once"):
        replace(task, contexts=task.contexts[[0, 0, 1, 2]])


def test_only_a_model_that_holds_the_task_is_taken_up() -> None:
    task = enumerated_task(4, 2, seed=1)
    found = newton_memory(task)
    with pytest.raises(InputError, match=re.escape("resume has tokens, positions and labels (4, 2, 4), expected (5,")):
        newton_memory(enumerated_task(5, 2, seed=1), resume=found)
    with pytest.raises(InputError, match="resume has the margin"):
        newton_memory(enumerated_task(4, 2, seed=2), resume=found)
    silent = dana_network(**dana_tensors(found.network) | {"W_U": np.zeros_like(found.network.W_U)})
    with pytest.raises(InputError, match="resume has the margin 0 on the worst fact"):
        newton_memory(task, resume=replace(found, network=silent))
