"""Logits of every run, and of real arithmetic, of models of integers: against hostile runs and against rationals."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from tests.verify.runs.hostile_runs import ORDERS, hostile_run, sequential
from tests.verify.runs.integer_models import (
    changed,
    hashed_windows,
    judged,
    knots_table,
    known,
    parabola,
    random_models,
    residue,
    sum_modulo,
)
from verify.arithmetic.enclosure import Enclosure
from verify.forward.in_balls import logits_in_balls, rounded_outwards
from verify.runs import integer_rows
from verify.runs.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FloatFormat
from verify.runs.in_reals import InReals
from verify.runs.in_runs import InRuns
from verify.runs.integer_rows import Shared, integer_logits, refusal

DTYPES = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


@pytest.mark.parametrize("number_format", [FLOAT16, FLOAT32, FLOAT64], ids=lambda f: f.name)
def test_every_hostile_run_of_a_sum_has_the_logits_that_are_proved(number_format: FloatFormat):
    model, contexts, labels = sum_modulo(11)
    logits = judged(model, contexts, InRuns(number_format))
    assert known(logits) == len(contexts)
    assert (logits.midpoint.argmax(1) == labels).all()
    for order in ORDERS:
        for online in (False, True):
            run = hostile_run(model, contexts, DTYPES[number_format.name], order, online=online)
            assert np.array_equal(run, logits.midpoint)


@pytest.mark.parametrize("length", [5, 8])
@pytest.mark.parametrize("number_format", [FLOAT32, FLOAT64], ids=lambda f: f.name)
def test_every_hostile_run_of_hashed_windows_has_the_logits_that_are_proved(number_format: FloatFormat, length: int):
    model, contexts, labels = hashed_windows(length)
    logits = judged(model, contexts, InRuns(number_format))
    assert known(logits) == len(contexts)
    assert (logits.midpoint.argmax(1) == labels).all()
    for seed, order in enumerate(ORDERS):
        for online in (False, True):
            run = hostile_run(model, contexts, DTYPES[number_format.name], order, online=online, seed=seed)
            assert np.array_equal(run, logits.midpoint)


def test_without_the_maximum_taken_off_a_run_is_outside():
    model, contexts, labels = hashed_windows()
    run = hostile_run(model, contexts, np.float32, sequential, maximum=False)
    assert (run.argmax(1) == labels).sum() < len(labels)


def test_the_larger_the_models_the_fewer_rows_are_worked_on():
    model, contexts, _ = hashed_windows(8, examples=40)
    windows = np.lib.stride_tricks.sliding_window_view(np.tile(contexts[0], 6), 8)
    arithmetic = InRuns(FLOAT32)
    logits = judged(model, windows, arithmetic)
    again = judged(model, windows[:8], InRuns(FLOAT32))
    assert np.array_equal(logits.midpoint[:8], again.midpoint)
    assert known(logits) == len(windows)


@pytest.mark.parametrize("case", ["sum", "hash"])
def test_real_arithmetic_is_within_the_radii_and_near(case: str):
    model, contexts, labels = sum_modulo(5) if case == "sum" else hashed_windows(5, examples=12)
    logits = judged(model, contexts, InReals())
    exact = rounded_outwards(logits_in_balls(model, contexts, 512))
    assert (np.abs(exact.midpoint - logits.midpoint) <= logits.radius + exact.radius).all()
    assert logits.radius.max() < 1e-6
    assert (logits.midpoint.argmax(1) == labels).all()


# ---------------------------------------------------------------------------------------------------------------------
# What must not be claimed.


def test_a_step_whose_shift_is_off_by_one_is_judged_by_what_it_computes():
    model, contexts, labels = sum_modulo(11)
    block = model.blocks[1]
    assert isinstance(block, FeedForward) and block.b_in is not None
    wrong = changed(model, 1, b_in=block.b_in + 1.0)
    logits = judged(wrong, contexts, InRuns(FLOAT32))
    assert np.array_equal(logits.midpoint, hostile_run(wrong, contexts, np.float32, sequential))
    assert (logits.midpoint.argmax(1) == labels).sum() < len(labels)


@pytest.mark.parametrize("bits", [8, 11])
def test_fewer_bits_than_the_sums_need_are_not_claimed(bits: int):
    model, contexts, _ = hashed_windows(8, examples=20)
    number_format = FloatFormat("short", 2.0**-bits, 2.0**-126, 2.0**127)
    logits = judged(model, contexts, InRuns(number_format))
    assert known(logits) < len(contexts)


def test_each_query_is_looked_at():
    zero, eye = np.zeros((1, 4, 2)), np.eye(4)
    first = Attention(eye[None, :, :2], eye[None, :, 2:], eye[None, :, :2], eye[None, :2], attends="all")
    # The second row's scores are 129 times these numbers and lead by 129: of the large ones they round by more.
    for size, count in ((2.0**22, 0), (2.0**10, 1)):
        W_pos = np.array([[0.0, 0.0, size + 1, size], [129.0, -129.0, size, size]])
        blocks = (first, Attention(zero, zero, eye[None], eye[None]))
        model = Model(blocks=blocks, W_U=eye[:, :2], W_E=np.zeros((1, 4)), W_pos=W_pos)
        assert known(judged(model, np.array([[0, 0]]), InRuns(FLOAT32))) == count


@pytest.mark.parametrize("size", [15.0, 16.0])
def test_queries_that_a_host_divides_and_flushes_are_not_claimed(size: float):
    # The scores are 90 or 96 and their negatives; where queries are divided first, and flushed, all scores are 0.
    one, large = np.ones((1, 256)), 1.5 * 2.0**124
    W_Q, W_K = (np.stack([x * one, y * one], axis=1) for x, y in ((size * 2.0**-126, 0.0), (0.0, large)))
    head = Attention(W_Q, W_K, np.eye(2)[None, :, 1:], np.ones((1, 1, 1)), skip=False, score_root=256)
    W_pos = np.array([[1.0, 1.0], [1.0, -1.0]])
    model = Model(blocks=(head,), W_U=np.ones((1, 1)), W_E=np.zeros((1, 2)), W_pos=W_pos)
    assert known(judged(model, np.array([[0, 0]]), InRuns(FLOAT32))) == (size == 16.0)


def test_a_gap_that_leaves_other_rows_a_weight_is_not_claimed():
    for gap, claimed in ((100.0, False), (512.0, True)):
        model, contexts, _ = hashed_windows(8, examples=20, gap=gap)
        arithmetic = InRuns(FLOAT32)
        assert known(judged(model, contexts, arithmetic)) == (len(contexts) if claimed else 0)
        assert claimed or "reads neither one row nor equal ones alone" in arithmetic.stopped


def test_what_other_rows_leave_beside_a_0_is_not_lost_sight_of():
    # Float64 keeps e^-128 beside a value 0, and a weight of 2^200 makes a number of it that counts.
    one = np.ones((1, 1, 1))
    head = Attention(W_Q=0 * one, b_Q=np.array([[128.0]]), W_K=one, W_V=1.0 - 0.0 * one, W_O=one, skip=False)
    W_E = np.array([[0.0, 1.0], [1.0, 0.0]])  # (value, score)
    pick = np.zeros((1, 2, 1))
    key, value = pick.copy(), pick.copy()
    key[0, 1, 0] = value[0, 0, 0] = 1.0
    head = replace(head, W_Q=0 * pick, W_K=key, W_V=value)
    for large, exact in ((1.0, False), (2.0**200, False)):
        grow = FeedForward(np.full((1, 1), large), np.ones((1, 1)), skip=False)
        model = Model(blocks=(head, grow), W_U=np.ones((1, 1)), W_E=W_E, W_pos=np.zeros((2, 2)))
        logits = judged(model, np.array([[0, 1]]), InRuns(FLOAT64))
        run = hostile_run(model, np.array([[0, 1]]), np.float64, sequential)
        assert (known(logits) == 1) == exact
        assert 0.0 < run[0, 0] <= logits.radius[0, 0]
    absorbed = FeedForward(np.ones((1, 1)), np.ones((1, 1)), b_in=np.ones(1), skip=False)
    model = Model(blocks=(head, absorbed), W_U=np.ones((1, 1)), W_E=W_E, W_pos=np.zeros((2, 2)))
    assert known(judged(model, np.array([[0, 1]]), InRuns(FLOAT64))) == 1


def test_a_context_whose_rows_are_all_equal_does_not_take_the_weights_from_another():
    # One context reads both of its rows, the other one row; there the other row weighs e^-128 in both arithmetics.
    query, key, value = np.zeros((3, 1, 3, 1))
    query[0, 2, 0], key[0, 0, 0], value[0, 1, 0] = 1.0, 128.0, 1.0
    head = Attention(query, key, value, np.full((1, 1, 1), 2.0**300), skip=False)
    W_E = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])  # (score, value, 1)
    model = Model(blocks=(head,), W_U=np.ones((1, 1)), W_E=W_E, W_pos=np.zeros((2, 3)))
    contexts = np.array([[0, 1], [0, 0]])
    exact = rounded_outwards(logits_in_balls(model, contexts, 400)).midpoint
    for arithmetic, logits in (
        (InReals(), exact),
        (InRuns(FLOAT64), hostile_run(model, contexts, np.float64, sequential)),
    ):
        assert logits[0, 0] > 2.0**100 and logits[1, 0] == 0.0
        found = judged(model, contexts, arithmetic)
        assert (np.abs(found.midpoint - logits) <= found.radius).all()


@pytest.mark.parametrize("arithmetic", [InRuns(FLOAT32), InReals()], ids=["runs", "reals"])
def test_heads_and_neurons_that_are_evaluated_apart_say_the_same(arithmetic, monkeypatch):
    rng = np.random.default_rng(1)
    neurons = FeedForward(np.eye(4)[:, [0, 1, 1]], rng.integers(-5, 5, (3, 4)) * 1.0, b_in=-np.ones(3), skip=False)
    zero, values = np.zeros((2, 4, 1)), np.zeros((2, 4, 2))
    values[0, :2], values[1, 2:] = np.eye(2), np.eye(2)
    heads = Attention(zero, zero, values, rng.integers(-5, 5, (2, 2, 4)) * 1.0, skip=False)
    W_E, W_pos = rng.integers(-9, 9, (5, 4)) * 1.0, np.zeros((2, 4))
    W_pos[:, 2:] = [[3.0, 1.0], [2.0, 7.0]]
    parted = Model(blocks=(heads, neurons), W_U=np.eye(4), W_E=W_E, W_pos=W_pos)
    contexts = rng.integers(0, 5, (30, 2))
    monkeypatch.setattr(integer_rows, "_WIDE", 1)
    found = judged(parted, contexts, arithmetic)
    monkeypatch.setattr(integer_rows, "_WIDE", 64)
    monkeypatch.setattr(integer_rows._Chunk, "_apart", lambda self, step: [])
    together = judged(parted, contexts, arithmetic)
    assert np.array_equal(found.midpoint, together.midpoint) and np.array_equal(found.radius, together.radius)
    assert known(found) == 30


def test_contexts_that_share_logits_are_judged_once_for_each_that_is_asked():
    shared = Shared(np.array([2, 3, 5, 7]), np.array([0, 1, 0, 0]), Enclosure(np.eye(2), np.zeros((2, 2))))
    kinds = np.array([0, 0, 4, 4, 0, 4, 0, 6])
    judged_for = {}
    for contexts, like, logits in shared.judged(kinds):
        judged_for |= {int(c): (int(k), logits.midpoint[k].tolist()) for c, k in zip(contexts, like, strict=True)}
    assert judged_for[2] == judged_for[5] and sorted(judged_for) == [2, 3, 5, 7]
    assert judged_for[7][0] != judged_for[2][0] and judged_for[7][1] == [1.0, 0.0] and judged_for[3][1] == [0.0, 1.0]


def test_three_equal_rows_are_not_claimed():
    zero, one = np.zeros((1, 1, 1)), np.ones((1, 1, 1))
    head = Attention(W_Q=zero, W_K=zero, W_V=one, W_O=one, skip=False)
    model = Model(blocks=(head,), W_U=np.ones((1, 1)), W_E=np.arange(1.0, 4.0)[:, None], W_pos=np.zeros((4, 1)))
    assert known(judged(model, np.array([[0, 1, 2, 1]]), InRuns(FLOAT32))) == 1
    assert known(judged(model, np.array([[0, 1, 2]]), InRuns(FLOAT32))) == 0
    assert not np.isfinite(judged(model, np.array([[0, 1, 2]]), InReals()).radius).any()


@pytest.mark.parametrize("kind", ["norm", "smooth", "last norm"])
def test_of_models_that_round_it_says_nothing(kind: str):
    model, contexts, _ = sum_modulo(3)
    norm = Normalization("rms", w=np.ones(1))
    blocks = {
        "norm": (*model.blocks, norm),
        "smooth": (*model.blocks, FeedForward(np.ones((1, 1)), np.ones((1, 1)), activation="gelu")),
        "last norm": (replace(model.blocks[0], norm=norm), *model.blocks[1:]),
    }[kind]
    model = Model(blocks=blocks, W_U=model.W_U, b_U=model.b_U, W_E=model.W_E, W_pos=model.W_pos)
    for arithmetic in (InRuns(FLOAT32), InReals()):
        assert np.isinf(judged(model, contexts, arithmetic).radius).all()
        assert "normalizes" in arithmetic.stopped or "gelu" in arithmetic.stopped


def test_what_a_later_kind_of_block_has_more_is_refused():
    @dataclass(frozen=True, eq=False)
    class Gated(FeedForward):
        gate: np.ndarray | None = None

    one = np.ones((1, 1))
    for gate, reason in ((None, ""), (one, "block 0 has gate")):
        model = Model(blocks=(Gated(one, one, gate=gate),), W_U=one, W_E=one, W_pos=one)
        assert refusal(model) == reason


@pytest.mark.parametrize("made", [sum_modulo, hashed_windows])
def test_a_model_that_another_process_sent_is_judged_as_it_was(made: Callable[[int], Any]):
    model, contexts, _ = made(5)
    sent = pickle.loads(pickle.dumps(model))
    assert refusal(sent) == refusal(model) == ""
    assert known(judged(sent, contexts, InRuns(FLOAT32))) == len(contexts)


def test_a_neuron_that_is_dropped_must_not_overflow():
    # What no logit reads of the stream is not computed, but infinity times 0 would be read.
    head = Attention(*(np.zeros((1, 2, 1)),) * 3, W_O=np.zeros((1, 1, 2)))
    for large, known_ones in ((1.0, 1), (1e38, 0)):
        burst = FeedForward(np.array([[0.0], [large]]), np.array([[0.0, 1e10]]))
        model = Model(blocks=(burst, head), W_U=np.array([[1.0], [0.0]]), W_E=np.ones((1, 2)), W_pos=np.zeros((1, 2)))
        assert known(judged(model, np.array([[0]]), InRuns(FLOAT32))) == known_ones


def test_a_weight_that_overflows_is_not_passed_over_where_it_meets_a_0():
    model = Model(blocks=(), W_U=np.diag([1.0, 2.0**140]), W_E=np.array([[1.0, 0.0]]), W_pos=np.zeros((1, 2)))
    assert np.isnan(hostile_run(model, np.array([[0]]), np.float32, sequential)).any()
    arithmetic = InRuns(FLOAT32)
    assert known(judged(model, np.array([[0]]), arithmetic)) == 0 and arithmetic.stopped == "unembed.W_U overflows"
    assert known(judged(model, np.array([[0]]), InRuns(FLOAT64))) == 1


@pytest.mark.parametrize("skip", [True, False])
def test_a_sum_that_overflows_is_not_passed_over_by_what_does_not_read_it(skip: bool):
    # With a skip connection no neuron writes the column that is read; without one none of two groups reads the other.
    if skip:
        block, start, large = FeedForward(np.array([[0.0], [2.0**100], [0.0]]), np.zeros((1, 3))), 2.0**100, 0.0
    else:
        block, start, large = FeedForward(np.zeros((3, 64)), np.ones((64, 3)), skip=False), 2.0**127, 2.0**127
        block = replace(block, W_in=np.repeat(np.eye(3)[:, [0, 2]], 32, axis=1))
    W_E, W_pos = np.array([[1.0, start, 1.0]]), np.array([[0.0, large, 0.0]])
    model = Model(blocks=(block,), W_U=np.eye(3)[:, :1], W_E=W_E, W_pos=W_pos)
    assert np.isnan(hostile_run(model, np.array([[0]]), np.float32, sequential)).all()
    assert np.isinf(judged(model, np.array([[0]]), InRuns(FLOAT32)).radius).all()


def test_a_weight_that_the_format_takes_for_0_takes_a_large_number_along():
    weight, large, token = np.array([[2.0**-200]]), np.array([[2.0**60]]), np.array([[2.0**120]])
    shrink, position = FeedForward(large[:, :1] ** 0, weight, skip=False), np.zeros((1, 1))
    model = Model(blocks=(shrink,), W_U=large, W_E=token, W_pos=position)
    found = judged(model, np.array([[0]]), InRuns(FLOAT32))
    run = hostile_run(model, np.array([[0]]), np.float32, sequential)
    assert run == 0.0 and np.abs(run - found.midpoint) <= found.radius


@pytest.mark.parametrize("case", ["product", "average", "score"])
def test_what_underflows_in_float64_is_not_0_in_real_arithmetic(case: str):
    one, small, large = np.ones((1, 1)), np.full((1, 1), 2.0**-600), np.full((1, 1), 2.0**900)
    if case == "product":
        blocks, W_E = (FeedForward(small, large, skip=False),), small
    elif case == "average":
        blocks, W_E = (Attention(0.0 * one[None], 0.0 * one[None], one[None], large[None], skip=False),), one * 5e-324
    else:
        root = np.full((1, 1, 1), 2.0**-300)
        blocks, W_E = (Attention(root, root, one[None], one[None], skip=False),), root[0]
    model = Model(blocks=blocks, W_U=one, W_E=np.concatenate([0.0 * one, W_E]), W_pos=np.zeros((2, 1)))
    found = judged(model, np.array([[0, 1]]), InReals())
    exact = rounded_outwards(logits_in_balls(model, np.array([[0, 1]]), 4000))
    assert (np.abs(exact.midpoint - found.midpoint) <= found.radius + exact.radius).all()


def test_contexts_that_the_model_cannot_read_are_refused():
    model, _, _ = sum_modulo(3)
    with pytest.raises(InputError, match="contexts holds tokens"):
        integer_logits(model, np.array([[0, 3]]), InRuns(FLOAT32))


# ---------------------------------------------------------------------------------------------------------------------
# Any models.


GROUPED = st.sampled_from([1, 64])  # neurons from which on groups that read other columns are evaluated apart


@given(
    random_models(),
    st.sampled_from([FLOAT32, FLOAT64, FLOAT16]),
    st.sampled_from(ORDERS),
    st.booleans(),
    st.booleans(),
    GROUPED,
)
def test_no_run_of_any_model_leaves_what_is_proved_of_it(pair, number_format, order, online, early, wide):
    model, contexts = pair
    with mock.patch.object(integer_rows, "_WIDE", wide):
        logits = judged(model, contexts, InRuns(number_format))
    run = hostile_run(model, contexts, DTYPES[number_format.name], order, online=online, early=early)
    with np.errstate(invalid="ignore"):
        assert (np.abs(run - logits.midpoint) <= logits.radius)[np.isfinite(logits.radius)].all()


@given(random_models(), GROUPED)
def test_the_exact_logits_of_any_model_are_within_the_radii(pair, wide):
    model, contexts = pair
    with mock.patch.object(integer_rows, "_WIDE", wide):
        logits = judged(model, contexts, InReals())
    exact = rounded_outwards(logits_in_balls(model, contexts, 300))
    assert (np.abs(exact.midpoint - logits.midpoint) <= logits.radius + exact.radius).all()


def test_a_bfloat16_run_is_judged_by_its_own_eight_bits():
    model, contexts, _ = sum_modulo(5)
    assert known(judged(model, contexts, InRuns(BFLOAT16))) == len(contexts)
    assert known(judged(sum_modulo(37)[0], contexts, InRuns(BFLOAT16))) < len(contexts)
    table = knots_table()
    assert known(judged(table, np.arange(40)[:, None], InRuns(FLOAT32))) == 40
    assert known(judged(table, np.arange(40)[:, None], InRuns(BFLOAT16))) < 40


def test_labels_of_a_parabola_lead_by_one():
    W_U, b_U = parabola(9)
    scores = np.arange(-4.0, 5.0)[:, None] @ W_U + b_U
    two = np.sort(scores, axis=1)[:, -2:]
    assert np.array_equal(scores.argmax(1), np.arange(9)) and (two[:, 1] - two[:, 0] == 1.0).all()
    assert len(residue(7, 4)) == 6
