"""The forward pass in balls, against exact rationals and a second opinion of mpmath."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.model.blocks import FeedForward, Normalization
from constructions.model.model import Model
from constructions.model.shapes import dana_network, dana_tensors
from tests.layers import layers_and_tasks, random_layer, random_layer_task, truth
from tests.verify.forward.test_heads import KINDS, random_network
from verify.forward import in_balls as forward_balls
from verify.forward.heads import attention_in_balls, features_in_balls, last_in_balls, mixed_inputs_in_balls
from verify.forward.in_balls import InBalls, logits_in_balls, rounded_outwards

LEAST = fmpq(1, 2**1074)  # the least positive float64


def fractions_of(array):
    return np.vectorize(Fraction, otypes=[object])(array)


def rational(number):
    """The value of a ball of radius 0."""
    mantissa, exponent = number.man_exp()
    return fmpq(mantissa) * (fmpq(2) ** int(exponent) if mantissa else 0)


def holds(ball, x):
    """Whether the ball holds the fraction, decided exactly: `arb.contains` would round it first."""
    return abs(fmpq(x.numerator, x.denominator) - rational(ball.mid())) <= rational(ball.rad())


def uniform_network(kind, seed):
    """A random network that attends to all positions alike, and what it computes, in exact rationals."""
    network, contexts = random_network(kind, seed)
    network = dana_network(**{**dana_tensors(network), "W_Q": np.zeros_like(network.W_Q)})
    w = {name: fractions_of(tensor) for name, tensor in dana_tensors(network).items()}
    last, features, logits = [], [], []
    for context in contexts:
        x = w["W_E"][context] + w["W_pos"]
        mean = x.sum(axis=0) / Fraction(len(context))
        row = np.concatenate([mean @ w["W_V"][h] for h in range(network.n_heads)])
        last.append(x[-1])
        features.append(row)
        logits.append((x[-1] + row @ w["W_O"].reshape(len(row), -1)) @ w["W_U"])
    return network, contexts, [np.array(rows) for rows in (last, features, logits)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "zero"])
@given(seed=st.integers(0, 2**32), precision=st.sampled_from([2, 3, 24, 53, 64, 300]))
def test_balls_hold_the_exact_rationals_of_uniform_attention(kind, seed, precision):
    network, contexts, exact = uniform_network(kind, seed)
    for of, rows in zip((last_in_balls, features_in_balls, logits_in_balls), exact, strict=True):
        balls = of(network, contexts, precision)
        enclosure = rounded_outwards(balls)
        assert (balls.nrows(), balls.ncols()) == rows.shape == enclosure.shape
        for ball, m, r, x in zip(
            balls.entries(), enclosure.midpoint.flat, enclosure.radius.flat, rows.flat, strict=True
        ):
            assert holds(ball, x)
            assert abs(x - Fraction(m)) <= Fraction(r)


def test_a_second_opinion_of_mpmath_lies_within_the_balls():
    network, contexts = random_network("gaussian", 11, sizes=(4, 3, 4, 2, 3, 2, 5))
    features, logits = features_in_balls(network, contexts, 300), logits_in_balls(network, contexts, 300)
    attention = [attention_in_balls(network, contexts, head, 300) for head in range(2)]
    with mpmath.workprec(600), ctx.workprec(600):

        def close(ball, exact):
            return abs(ball - arb(mpmath.nstr(exact, 170))) < arb(2) ** -270

        weights = {name: np.vectorize(mpmath.mpf, otypes=[object])(w) for name, w in dana_tensors(network).items()}
        for t, context in enumerate(contexts):
            x = weights["W_E"][context] + weights["W_pos"]
            stream = x[-1]
            for h in range(network.n_heads):
                scores = (x @ weights["W_K"][h]) @ (x[-1] @ weights["W_Q"][h])
                powers = np.array([mpmath.exp(score) for score in scores])
                shares = powers / powers.sum()
                read = shares @ x @ weights["W_V"][h]
                assert all(close(attention[h][t, s], share) for s, share in enumerate(shares))
                assert all(close(features[t, 2 * h + j], value) for j, value in enumerate(read))
                stream = stream + read @ weights["W_O"][h]
            assert all(close(logits[t, i], exact) for i, exact in enumerate(stream @ weights["W_U"]))


def test_the_balls_shrink_by_about_a_factor_of_two_with_each_bit():
    network, contexts = random_network("gaussian", 5, sizes=(5, 4, 5, 3, 3, 2, 5))
    for of in (
        last_in_balls,
        features_in_balls,
        logits_in_balls,
        lambda network, contexts, bits: attention_in_balls(network, contexts, 0, bits),
    ):
        widest = [max(float(x.rad()) for x in of(network, contexts, bits).entries()) for bits in (50, 150, 250)]
        last = of is last_in_balls  # sums of two float64 numbers are exact in the end
        for wide, narrow in pairwise(widest):
            assert narrow <= wide * 2.0**-95
            assert last or narrow >= wide * 2.0**-105


def test_the_precision_is_that_of_the_call_and_not_of_its_surroundings():
    network, contexts = random_network("gaussian", 5, sizes=(5, 4, 5, 3, 3, 2, 5))
    calls = (
        lambda: last_in_balls(network, contexts, 200),
        lambda: attention_in_balls(network, contexts, 1, 200),
        lambda: features_in_balls(network, contexts, 200),
        lambda: logits_in_balls(network, contexts, 200),
    )
    for call in calls:
        expected = [repr(x.mid().man_exp()) for x in call().entries()]
        with ctx.workprec(2):
            inside = call()
            assert ctx.prec == 2
        assert [repr(x.mid().man_exp()) for x in inside.entries()] == expected
        assert max(float(x.rad()) for x in inside.entries()) < 1e-50
    with ctx.workprec(2):
        enclosure = rounded_outwards(calls[3]())
    assert (enclosure.radius <= 0.501 * np.spacing(np.abs(enclosure.midpoint))).all()


def test_of_scores_that_are_not_known_any_attention_is_possible():
    # Products of 53 bits in balls of 2: nothing is left of scores this large.
    network, contexts = random_network("gaussian", 6, sizes=(4, 3, 4, 2, 3, 2, 3))
    network = dana_network(**{**dana_tensors(network), "W_Q": 1e200 * network.W_Q})
    pattern = attention_in_balls(network, contexts, 0, 2)
    precise = attention_in_balls(network, contexts, 0, 1000)
    unknown = 0
    for ball, narrow in zip(pattern.entries(), precise.entries(), strict=True):
        assert ball.contains(narrow)
        assert ball.rad() < 0.51
        unknown += bool(ball.contains(0) and ball.contains(1))
    assert unknown > 0
    assert all(x.is_finite() for x in logits_in_balls(network, contexts, 2).entries())


@pytest.mark.parametrize("precision", [2, 100])
def test_networks_without_heads_and_no_contexts_have_their_shapes(precision):
    network, contexts = random_network("gaussian", 7, sizes=(2, 2, 3, 0, 2, 2, 3))
    features, logits = features_in_balls(network, contexts, precision), logits_in_balls(network, contexts, precision)
    assert (features.nrows(), features.ncols()) == (len(contexts), 0)
    assert (logits.nrows(), logits.ncols()) == (len(contexts), 3)
    network, _ = random_network("gaussian", 8, sizes=(4, 4, 3, 2, 2, 2, 3))
    nothing = np.zeros((0, 4), dtype=np.int64)
    assert rounded_outwards(last_in_balls(network, nothing, precision)).shape == (0, 3)
    assert rounded_outwards(attention_in_balls(network, nothing, 1, precision)).shape == (0, 4)
    assert rounded_outwards(features_in_balls(network, nothing, precision)).shape == (0, 4)
    assert rounded_outwards(logits_in_balls(network, nothing, precision)).shape == (0, 3)


def test_shorter_contexts_use_the_first_positions():
    network, contexts = random_network("gaussian", 8, sizes=(4, 4, 3, 2, 2, 2, 3))
    shorter = dana_network(**{**dana_tensors(network), "W_pos": network.W_pos[:3]})
    one, other = (rounded_outwards(logits_in_balls(w, contexts[:, :3], 100)) for w in (network, shorter))
    assert (one.midpoint == other.midpoint).all()


# ---------------------------------------------------------------------------------------------------------------------
# One rounding at the end.


def dyadic(mantissa, exponent):
    """An exact ball."""
    return arb(mantissa) * arb(2) ** exponent if mantissa else arb(0)


@given(
    mantissa=st.integers(-(2**120), 2**120) | st.integers(-(2**54), 2**54) | st.integers(-9, 9),
    exponent=st.integers(-1200, 1100) | st.integers(-60, 0),
    width=st.integers(0, 2**30),
    width_exponent=st.integers(-1300, 1100) | st.integers(-150, 0),
)
def test_the_float64_enclosure_holds_both_ends_of_the_ball_and_is_hardly_wider(
    mantissa, exponent, width, width_exponent
):
    with ctx.workprec(200):
        ball = dyadic(mantissa, exponent) + arb(0, 1) * dyadic(width, width_exponent)
    middle, radius = rational(ball.mid()), rational(ball.rad())
    enclosure = rounded_outwards(arb_mat([[ball]]))
    m, r = float(enclosure.midpoint[0, 0]), float(enclosure.radius[0, 0])
    if math.isinf(r):
        assert abs(middle) + radius > fmpq(2) ** 1023
        return
    exact_m, exact_r = fmpq(*m.as_integer_ratio()), fmpq(*r.as_integer_ratio())
    needed = abs(middle - exact_m) + radius
    assert needed <= exact_r
    assert exact_r <= needed * (1 + fmpq(1, 2**25)) + LEAST
    assert abs(middle - exact_m) <= fmpq(*math.ulp(m).as_integer_ratio()) / 2


def test_a_ball_that_is_one_float64_number_is_enclosed_without_a_radius():
    numbers = [0.0, 1.0, -0.1, 5e-324, 1.7976931348623157e308]
    enclosure = rounded_outwards(arb_mat([numbers]))
    assert enclosure.midpoint[0].tolist() == numbers
    assert not enclosure.radius.any()


@pytest.mark.parametrize(
    "ball",
    [
        arb(2) ** 1025,
        -(arb(2) ** 5000),
        arb(2) ** (2**62),
        arb(2) ** (2**64),
        arb(0, math.inf),
        arb(math.nan),
        arb(math.inf),
        arb(-math.inf),
        arb(1.0) / arb(0.0, 1.0),
        arb(0, 1) * arb(2) ** 1100,
    ],
    ids=str,
)
def test_a_ball_that_float64_cannot_hold_is_no_information(ball):
    enclosure = rounded_outwards(arb_mat([[ball, arb(1)]]))
    assert enclosure.radius.tolist() == [[math.inf, 0.0]]
    assert np.isfinite(enclosure.midpoint).all()


def test_a_ball_below_the_least_float64_has_it_as_its_radius():
    enclosure = rounded_outwards(arb_mat([[arb(2) ** -2000, -(arb(2) ** (-(2**62)))]]))
    assert enclosure.midpoint.tolist() == [[0.0, 0.0]]
    assert enclosure.radius.tolist() == [[5e-324, 5e-324]]


@pytest.mark.parametrize("wrong", [0.0, 0.25, -3.0, 7.0, math.inf, math.nan])
def test_a_conversion_to_float64_that_is_wrong_costs_accuracy_and_never_truth(monkeypatch, wrong):
    monkeypatch.setattr(forward_balls, "float", lambda x: wrong, raising=False)
    for ball in (arb(1) / 3, arb(5.0, 0.125), arb(-7.0)):
        enclosure = rounded_outwards(arb_mat([[ball]]))
        m, r = enclosure.midpoint[0, 0].item(), enclosure.radius[0, 0].item()
        assert math.isinf(r) or abs(rational(ball.mid()) - fmpq(*m.as_integer_ratio())) + rational(ball.rad()) <= fmpq(
            *r.as_integer_ratio()
        )


# ---------------------------------------------------------------------------------------------------------------------
# Bad input.

CALLS = {
    "last": last_in_balls,
    "attention": lambda network, contexts, precision: attention_in_balls(network, contexts, 0, precision),
    "features": features_in_balls,
    "logits": logits_in_balls,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("precision", [True, False, 1, 0, -53, 10**6 + 1, 53.0, "53", math.nan, 2**70])
def test_a_precision_that_balls_cannot_have_is_refused_by_name(call, precision):
    network, contexts = random_network("gaussian", 6, sizes=(4, 3, 4, 2, 3, 2, 3))
    with pytest.raises(InputError, match=rf"precision = {precision!r}, expected an integer from 2 to 1000000"):
        CALLS[call](network, contexts, precision)
    assert flint.ctx.prec == 53


def test_the_ends_of_the_range_and_integers_of_numpy_are_precisions():
    network, contexts = random_network("gaussian", 6, sizes=(1, 1, 1, 1, 1, 1, 1))
    precisions: list[Any] = [2, 10**6, np.int64(64), np.uint8(200)]
    for precision in precisions:
        assert last_in_balls(network, contexts, precision)[0, 0].is_finite()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        (np.zeros(3, dtype=np.int64), "contexts is int64 of shape"),
        (np.zeros((2, 3)), "contexts is float64"),
        (np.zeros((2, 4), dtype=np.int64), "1 <= S <= 3"),
        (np.zeros((2, 0), dtype=np.int64), "1 <= S <= 3"),
        (np.array([[0, 4, 0]]), "tokens from 0 to 4, expected 0 .. 3"),
        (np.array([[0, -1, 0]]), "tokens from -1 to 0"),
    ],
    ids=["one-dimension", "floats", "too-long", "too-short", "too-large", "negative"],
)
def test_contexts_that_the_network_cannot_read_are_refused(call, contexts, message):
    network, _ = random_network("gaussian", 6, sizes=(4, 3, 4, 2, 3, 2, 3))
    with pytest.raises(InputError, match=message):
        CALLS[call](network, contexts, 100)


def test_heads_that_do_not_exist_are_refused():
    network, contexts = random_network("gaussian", 6, sizes=(4, 3, 4, 2, 3, 2, 3))
    for head in (-1, 2):
        with pytest.raises(InputError, match=rf"head = {head}, expected 0 .. 1"):
            attention_in_balls(network, contexts, head, 100)


# ---------------------------------------------------------------------------------------------------------------------
# Vectors and queries of a task.


def overlaps(ball, number):
    with mpmath.workprec(300), ctx.workprec(400):
        exact = arb(mpmath.nstr(mpmath.mpf(number), 90))
        return ball.overlaps(exact + arb(0, 1) * (abs(exact) * arb("1e-85") + arb("1e-300")))


@given(layers_and_tasks())
def test_what_a_layer_does_with_vectors_and_queries_is_in_small_balls(case):
    layer, task = case
    exact = truth(layer, task)
    for head in range(layer.n_heads):
        pattern = attention_in_balls(layer, task, head, 200).table()
        for row, shares in zip(pattern, (patterns[head] for patterns in exact.theta), strict=True):
            assert all(overlaps(ball, x) and float(ball.rad()) < 1e-40 for ball, x in zip(row, shares, strict=True))
    for balls, rows in (
        (mixed_inputs_in_balls(layer, task, 200), exact.mixed),
        (logits_in_balls(layer, task, 200), exact.outputs),
        (last_in_balls(layer, task, 200), [task.context(t)[-1] for t in range(task.n_examples)]),
    ):
        flat = [x for row in rows for x in row]
        assert all(overlaps(ball, x) for ball, x in zip(balls.entries(), flat, strict=True))


def test_features_are_the_mixed_inputs_times_the_values():
    layer, task = random_layer(), random_layer_task()
    mixed, features = mixed_inputs_in_balls(layer, task, 200), features_in_balls(layer, task, 200)
    for head, values in enumerate(layer.W_V):
        own = arb_mat([row[3 * head : 3 * head + 3] for row in mixed.table()]) * arb_mat(values.tolist())
        found = [row[2 * head : 2 * head + 2] for row in features.table()]
        assert all(a.overlaps(b) for a, b in zip(own.entries(), [x for row in found for x in row], strict=True))


def test_vectors_of_another_width_or_in_the_place_of_tokens_are_refused():
    layer, task = random_layer(), random_layer_task()
    network, contexts = random_network("gaussian", 6, sizes=(4, 3, 4, 2, 3, 2, 3))
    for call in (*CALLS.values(), mixed_inputs_in_balls):
        with pytest.raises(InputError, match="dimension"):
            call(layer, random_layer_task(d_model=4), 64)
        with pytest.raises(InputError, match="the model reads tokens"):
            call(network, task, 64)
        with pytest.raises(InputError, match="the model reads vectors"):
            call(layer, contexts, 64)
        with pytest.raises(InputError, match="masked"):
            call(network, np.ma.masked_array(contexts, mask=False), 64)


def test_what_is_asked_of_the_one_attention_is_refused_where_there_are_other_blocks():
    network, contexts = random_network("gaussian", 6, sizes=(4, 3, 4, 2, 3, 2, 3))
    twice = replace(network, blocks=network.blocks * 2)
    for call in (CALLS["attention"], features_in_balls, mixed_inputs_in_balls):
        with pytest.raises(InputError, match="one attention and nothing else"):
            call(twice, contexts, 64)


def test_scores_of_vectors_that_nothing_is_known_of_leave_shares_between_0_and_1():
    layer, task = random_layer(scale=1e300), random_layer_task()
    for ball in attention_in_balls(layer, task, 1, 4).entries():
        assert ball.is_finite() and ball <= 1.6 and ball >= -0.6


# ---------------------------------------------------------------------------------------------------------------------
# Hostile numbers: a ball is wide then, or not finite, and never wrong.


def one_row(*blocks, row):
    """A model whose output is what the blocks make of the one row."""
    width = len(row)
    return Model(blocks=blocks, W_U=np.eye(width), W_E=np.array([row]), W_pos=np.zeros((1, width)))


ACTIVATIONS = {
    "relu": lambda u: max(u, mpmath.mpf(0)),
    "gelu": lambda u: u * mpmath.erfc(-u / mpmath.sqrt(2)) / 2,
    "gelu-tanh": lambda u: (
        u / (1 + mpmath.exp(-2 * mpmath.sqrt(2 / mpmath.pi) * (u + mpmath.mpf(44715) / 10**6 * u**3)))
    ),
    "gelu-bloom": lambda u: (
        u / (1 + mpmath.exp(-2 * mpmath.mpf(79788456) / 10**8 * (u + mpmath.mpf(44715) / 10**6 * u**3)))
    ),
    "silu": lambda u: u / (1 + mpmath.exp(-u)),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("precision", [2, 53, 300])
def test_activations_hold_their_values_from_the_least_float_to_the_largest(activation, precision):
    numbers = [0.0, 5e-324, 1e-30, 0.1, 1.0, 5.0, 40.0, 1e4, 1e30, 1.7976931348623157e308]
    row = [sign * x for sign in (1.0, -1.0) for x in numbers]
    neurons = FeedForward(np.eye(20), np.eye(20), activation=activation, skip=False)
    balls = logits_in_balls(one_row(neurons, row=row), np.array([[0]]), precision).entries()
    for ball, u in zip(balls, row, strict=True):
        assert ball.is_finite() or abs(u) > 1e300
        if abs(u) < 1e10:
            with mpmath.workprec(3000), ctx.workprec(3000):
                exact = ACTIVATIONS[activation](mpmath.mpf(u))
                value = arb(int(exact.man)) * arb(2) ** exact.exp * (-1 if exact < 0 else 1)
                assert ball.overlaps(value + arb(0, 1) * abs(value) * arb(2) ** -1000)
                assert precision < 300 or ball.rad() <= abs(value) * arb(2) ** -150
        else:
            # Beyond, the function is u or 0 up to less than 1e-30.
            assert ball.overlaps(arb(max(u, 0.0), 1e-30))


@pytest.mark.parametrize("kind", ["layer", "rms"])
@pytest.mark.parametrize("row", [[1e300, 1e300], [0.1, 0.1], [0.0, 0.0], [5e-324, -5e-324], [1.0, 1.0 + 2.0**-52]])
def test_rows_of_which_a_norm_sees_nothing_give_entries_of_at_most_the_root_of_the_width(kind, row):
    norm = Normalization(kind, np.ones(2), epsilon=5e-324)
    contexts = np.array([[0]])
    for precision in (2, 5, 53, 3000):
        for ball in logits_in_balls(one_row(norm, row=row), contexts, precision).entries():
            assert ball.is_finite() and abs(ball).lower() <= 2
    assert max(x.rad() for x in logits_in_balls(one_row(norm, row=row), contexts, 3000).entries()) < 1e-200


def test_rows_of_which_nothing_is_known_give_balls_around_all_that_a_norm_or_a_softmax_can_return():
    unknown = arb_mat([[arb(math.nan), arb(0, math.inf), arb(1)]])
    for kind in ("layer", "rms"):
        for ball in InBalls(one_row(row=[0.0])).normalize(unknown, Normalization(kind, np.ones(3))).entries():
            assert ball.is_finite() and ball.contains(2) and ball.contains(-2)
    for scores in ([math.nan, 1.0], [1.0, math.nan], [math.inf, 0.0], [0.0, math.inf], [math.nan, math.inf]):
        for ball in forward_balls._softmax([arb(score) for score in scores]):
            assert ball.contains(0) and ball.contains(1)
    for activation, value in ACTIVATIONS.items():
        function = forward_balls._ACTIVATIONS[activation]
        for u in (-2.5, 0.0, 0.5, 7.0):
            exact = arb(mpmath.nstr(value(mpmath.mpf(u)), 10))
            for ball in (arb(math.nan), arb(0, math.inf), arb(1, 20), arb(u, 1)):
                assert function(ball).overlaps(exact)
