"""Logits of every run, and of real arithmetic, of models of integers: against hostile runs and against rationals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.models.blocks import Attention, FeedForward, Normalization
from constructions.models.model import Model
from tests.verify.forward.hostile_runs import ORDERS, hostile_run, sequential
from tests.verify.forward.integer_models import hashed_windows, knots_table, parabola, residue, sum_modulo
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FloatFormat
from verify.forward.exact_sums import EveryRun, InReals
from verify.forward.in_balls import logits_in_balls, rounded_outwards
from verify.forward.integer_rows import integer_logits

DTYPES = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


def judged(model: Model, contexts: np.ndarray, arithmetic: EveryRun | InReals) -> Enclosure:
    parts = [part for _, part in integer_logits(model, contexts, arithmetic)]
    return Enclosure(np.concatenate([p.midpoint for p in parts]), np.concatenate([p.radius for p in parts]))


def known(enclosure: Enclosure) -> int:
    """Of how many contexts every run has the same logits."""
    return int((enclosure.radius == 0.0).all(axis=1).sum())


def changed(model: Model, place: int, **tensors: np.ndarray) -> Model:
    blocks = [replace(block, **tensors) if i == place else block for i, block in enumerate(model.blocks)]
    return Model(blocks=tuple(blocks), W_U=model.W_U, b_U=model.b_U, W_E=model.W_E, W_pos=model.W_pos)


@pytest.mark.parametrize("number_format", [FLOAT16, FLOAT32, FLOAT64], ids=lambda f: f.name)
def test_every_hostile_run_of_a_sum_has_the_logits_that_are_proved(number_format: FloatFormat):
    model, contexts, labels = sum_modulo(11)
    logits = judged(model, contexts, EveryRun(number_format))
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
    logits = judged(model, contexts, EveryRun(number_format))
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
    arithmetic = EveryRun(FLOAT32)
    logits = judged(model, windows, arithmetic)
    again = judged(model, windows[:8], EveryRun(FLOAT32))
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


def test_a_kink_multiplies_distances_by_its_slopes():
    # x = 1 + e in real arithmetic lies on the kink of a step of height 1000, which a small e moves by 1000 e.
    hard = np.zeros((1, 1, 1))
    head = Attention(W_Q=hard, b_Q=np.array([[130.0]]), W_K=hard + 1, W_V=hard + 1, W_O=hard + 1, skip=False)
    step = FeedForward(np.ones((1, 2)), np.array([[1000.0], [-1000.0]]), b_in=np.array([-1.0, -2.0]), skip=False)
    one = np.ones((1, 1))
    model = Model(blocks=(head, step), W_U=one, W_E=np.array([[0.0], [1.0]]), W_pos=np.zeros((2, 1)))
    flat = changed(model, 1, b_in=np.array([-3.0, -2.0]))
    contexts = np.array([[0, 1]])
    on_the_kink, off = judged(model, contexts, InReals()), judged(flat, contexts, InReals())
    exact = rounded_outwards(logits_in_balls(model, contexts, 512))
    assert np.abs(exact.midpoint - on_the_kink.midpoint) <= on_the_kink.radius + exact.radius
    assert off.radius[0, 0] == 0.0 < on_the_kink.radius[0, 0]


# ---------------------------------------------------------------------------------------------------------------------
# What must not be claimed.


def test_a_step_whose_shift_is_off_by_one_is_judged_by_what_it_computes():
    model, contexts, labels = sum_modulo(11)
    block = model.blocks[1]
    assert isinstance(block, FeedForward) and block.b_in is not None
    wrong = changed(model, 1, b_in=block.b_in + 1.0)
    logits = judged(wrong, contexts, EveryRun(FLOAT32))
    assert np.array_equal(logits.midpoint, hostile_run(wrong, contexts, np.float32, sequential))
    assert (logits.midpoint.argmax(1) == labels).sum() < len(labels)


def test_a_weight_that_the_format_does_not_hold_is_not_exact():
    one = np.ones((1, 1))
    for weight, exact in ((2.0**24, True), (2.0**24 + 1.0, False)):
        model = Model(blocks=(), W_U=weight * one, W_E=one, W_pos=0.0 * one)
        assert (known(judged(model, np.array([[0]]), EveryRun(FLOAT32))) == 1) == exact
        assert known(judged(model, np.array([[0]]), EveryRun(FLOAT64))) == 1


@pytest.mark.parametrize("bits", [8, 11])
def test_fewer_bits_than_the_sums_need_are_not_claimed(bits: int):
    model, contexts, _ = hashed_windows(8, examples=20)
    number_format = FloatFormat("short", 2.0**-bits, 2.0**-126, 2.0**127)
    logits = judged(model, contexts, EveryRun(number_format))
    assert known(logits) < len(contexts)


def test_a_gap_that_leaves_other_rows_a_weight_is_not_claimed():
    for gap, claimed in ((100.0, False), (512.0, True)):
        model, contexts, _ = hashed_windows(8, examples=20, gap=gap)
        arithmetic = EveryRun(FLOAT32)
        assert known(judged(model, contexts, arithmetic)) == (len(contexts) if claimed else 0)
        assert claimed or "reads neither one row nor equal ones alone" in arithmetic.stopped


def two_products(p: int) -> tuple[Model, np.ndarray]:
    """x -> min(x, p) times p less min(x, p - 1) times p: two products, whose difference is 0 or p."""
    shift = np.array([0.0, -1.0])
    step = FeedForward(np.ones((1, 2)), np.array([[float(p)], [-float(p)]]), b_in=shift, skip=False)
    one = np.ones((1, 1))
    model = Model(blocks=(step,), W_U=one, W_E=np.arange(1.0, p + 1.0)[:, None], W_pos=0.0 * one)
    return model, np.arange(p)[:, None]


def test_products_have_to_fit_and_not_their_difference_alone():
    for p, fits in ((2003, True), (4099, False)):
        model, contexts = two_products(p)
        logits = judged(model, contexts, EveryRun(FLOAT32))
        assert (known(logits) == p) == fits
        run = hostile_run(model, contexts, np.float32, sequential)
        assert (run == p).all() == fits
        assert (np.abs(run - logits.midpoint) <= logits.radius).all()


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
        logits = judged(model, np.array([[0, 1]]), EveryRun(FLOAT64))
        run = hostile_run(model, np.array([[0, 1]]), np.float64, sequential)
        assert (known(logits) == 1) == exact
        assert 0.0 < run[0, 0] <= logits.radius[0, 0]
    absorbed = FeedForward(np.ones((1, 1)), np.ones((1, 1)), b_in=np.ones(1), skip=False)
    model = Model(blocks=(head, absorbed), W_U=np.ones((1, 1)), W_E=W_E, W_pos=np.zeros((2, 2)))
    assert known(judged(model, np.array([[0, 1]]), EveryRun(FLOAT64))) == 1


def test_a_skip_row_is_a_term_like_any_other_unless_the_host_is_known_to_add_it_last():
    # x - t relu(x - t + 1) + t relu(x - t): products and result fit, but not what lies between in any order.
    t = 2.0**19
    step = FeedForward(np.ones((1, 2)), np.array([[-t], [t]]), b_in=np.array([1.0 - t, -t]))
    tokens = np.array([[1.0], [t - 1.0], [t], [2.0 * t - 1.0]])
    model = Model(blocks=(step,), W_U=np.ones((1, 1)), W_E=tokens, W_pos=np.zeros((1, 1)))
    contexts = np.arange(4)[:, None]
    strict, last = EveryRun(FLOAT32), EveryRun(FLOAT32, skip_last=True)
    assert known(judged(model, contexts, strict)) < 4
    assert known(judged(model, contexts, last)) == 4
    runs = [hostile_run(model, contexts, np.float32, order) for order in ORDERS]
    assert any(not np.array_equal(run, runs[0]) for run in runs[1:])
    wide = judged(model, contexts, strict)
    assert all((np.abs(run - wide.midpoint) <= wide.radius).all() for run in runs)


def test_three_equal_rows_are_not_claimed():
    zero, one = np.zeros((1, 1, 1)), np.ones((1, 1, 1))
    head = Attention(W_Q=zero, W_K=zero, W_V=one, W_O=one, skip=False)
    model = Model(blocks=(head,), W_U=np.ones((1, 1)), W_E=np.arange(3.0)[:, None], W_pos=np.zeros((4, 1)))
    assert known(judged(model, np.array([[0, 1, 2, 1]]), EveryRun(FLOAT32))) == 1
    assert known(judged(model, np.array([[0, 1, 2]]), EveryRun(FLOAT32))) == 0
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
    for arithmetic in (EveryRun(FLOAT32), InReals()):
        assert np.isinf(judged(model, contexts, arithmetic).radius).all()
        assert "normalizes" in arithmetic.stopped or "gelu" in arithmetic.stopped


def test_what_may_overflow_is_not_claimed():
    one = np.ones((1, 1))
    model = Model(blocks=(), W_U=one, W_E=np.array([[40000.0]]), W_pos=np.array([[30000.0]]))
    assert np.isinf(judged(model, np.array([[0]]), EveryRun(FLOAT16)).radius).all()
    assert known(judged(model, np.array([[0]]), EveryRun(FLOAT32))) == 1


def test_a_neuron_that_is_dropped_must_not_overflow():
    # What no logit reads of the stream is not computed, but infinity times 0 would be read.
    head = Attention(*(np.zeros((1, 2, 1)),) * 3, W_O=np.zeros((1, 1, 2)))
    for large, known_ones in ((1.0, 1), (1e38, 0)):
        burst = FeedForward(np.array([[0.0], [large]]), np.array([[0.0, 1e10]]))
        model = Model(blocks=(burst, head), W_U=np.array([[1.0], [0.0]]), W_E=np.ones((1, 2)), W_pos=np.zeros((1, 2)))
        assert known(judged(model, np.array([[0]]), EveryRun(FLOAT32))) == known_ones


def test_contexts_that_the_model_cannot_read_are_refused():
    model, _, _ = sum_modulo(3)
    with pytest.raises(InputError, match="contexts holds tokens"):
        integer_logits(model, np.array([[0, 3]]), EveryRun(FLOAT32))


# ---------------------------------------------------------------------------------------------------------------------
# Any models.


@st.composite
def models(draw: st.DrawFn) -> tuple[Model, np.ndarray]:
    """Small tensors of integers, halves and real numbers, heads that read by position, by content, or all rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    width, length = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    pool = draw(st.sampled_from([(0, 1, -1, 2, 5), (0, 1, -3, 0.5, 64), (0, 1, 4097, -0.25), (0, 1, 0.1, -1 / 3)]))

    def some(*shape: int) -> np.ndarray:
        return rng.choice(np.array(pool, float), shape)

    blocks = []
    for _ in range(draw(st.integers(1, 3))):
        skip, neurons = draw(st.booleans()), draw(st.integers(1, 4))
        if draw(st.booleans()):
            maps = some(width, neurons), some(neurons, width)
            blocks.append(FeedForward(*maps, b_in=some(neurons), b_out=some(width), skip=skip))
            continue
        scale = draw(st.sampled_from([0.0, 1.0, 200.0, 1000.0]))
        maps = scale * some(1, width, 1), some(1, width, 1), some(1, width, 2), some(1, 2, width)
        block = Attention(*maps, b_Q=scale * some(1, 1), b_V=some(1, 2), skip=skip, attends="all")
        root = draw(st.sampled_from([1, 2, 4]))
        blocks.append(replace(block, score_root=root, attends="causal" if draw(st.booleans()) else "all"))
    model = Model(blocks=tuple(blocks), W_U=some(width, 3), b_U=some(3), W_E=some(4, width), W_pos=some(length, width))
    return model, rng.integers(0, 4, (3, length))


@given(models(), st.sampled_from([FLOAT32, FLOAT64, FLOAT16]), st.sampled_from(ORDERS), st.booleans())
def test_no_run_of_any_model_leaves_what_is_proved_of_it(pair, number_format, order, online):
    model, contexts = pair
    logits = judged(model, contexts, EveryRun(number_format))
    run = hostile_run(model, contexts, DTYPES[number_format.name], order, online=online)
    with np.errstate(invalid="ignore"):
        assert (np.abs(run - logits.midpoint) <= logits.radius)[np.isfinite(logits.radius)].all()


@given(models())
def test_the_exact_logits_of_any_model_are_within_the_radii(pair):
    model, contexts = pair
    logits = judged(model, contexts, InReals())
    exact = rounded_outwards(logits_in_balls(model, contexts, 300))
    assert (np.abs(exact.midpoint - logits.midpoint) <= logits.radius + exact.radius).all()


def test_a_bfloat16_run_is_judged_by_its_own_eight_bits():
    model, contexts, _ = sum_modulo(5)
    assert known(judged(model, contexts, EveryRun(BFLOAT16))) == len(contexts)
    assert known(judged(sum_modulo(37)[0], contexts, EveryRun(BFLOAT16))) < len(contexts)
    table = knots_table()
    assert known(judged(table, np.arange(40)[:, None], EveryRun(FLOAT32))) == 40
    assert known(judged(table, np.arange(40)[:, None], EveryRun(BFLOAT16))) < 40


def test_labels_of_a_parabola_lead_by_one():
    W_U, b_U = parabola(9)
    scores = np.arange(-4.0, 5.0)[:, None] @ W_U + b_U
    two = np.sort(scores, axis=1)[:, -2:]
    assert np.array_equal(scores.argmax(1), np.arange(9)) and (two[:, 1] - two[:, 0] == 1.0).all()
    assert len(residue(7, 4)) == 6
