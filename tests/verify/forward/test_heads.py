"""What heads read, and their logits, against a second implementation in balls of 300 bits and more."""

import dataclasses
import tracemalloc
import warnings
from itertools import pairwise

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.model.shapes import dana_network, dana_tensors, mahdavi_tensors
from tests.layers import BITS, changed_layer, layers_and_tasks, random_layer, random_layer_task, truth
from verify.forward import heads as heads_module
from verify.forward.heads import enclose_attention, enclose_features, enclose_last, enclose_layer, enclose_mixed_inputs
from verify.forward.logits import enclose_logits, logit_chunks
from verify.forward.rows import row_balls

# Kinds of random networks: the bits that the reference needs, and whether the enclosures must be finite.
KINDS = {
    "gaussian": 300,
    "one-hot": 300,
    "integer": 300,
    "near-ties": 300,
    "cancelling": 300,
    "huge-scores": 300,
    "saturated": 300,
    "subnormal": 300,
    "tiny-values": 300,
    "graded": 1500,
    "sparse": 300,
    "zero": 300,
}


def random_network(kind, seed, *, sizes=None):
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    if sizes is None:
        sizes = [int(rng.integers(1, n)) for n in (6, 6, 6, 4, 6, 6, 6)]
    d_vocab, n_ctx, d_model, n_heads, d_qk, d_head, d_out = sizes
    d_head = min(d_head, d_model)
    shapes = {
        "W_E": (d_vocab, d_model),
        "W_pos": (n_ctx, d_model),
        "W_Q": (n_heads, d_model, d_qk),
        "W_K": (n_heads, d_model, d_qk),
        "W_V": (n_heads, d_model, d_head),
        "W_O": (n_heads, d_head, d_model),
        "W_U": (d_model, d_out),
    }
    tensors = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    if kind == "one-hot":
        tensors["W_E"], tensors["W_pos"] = np.eye(*shapes["W_E"]), np.eye(*shapes["W_pos"])[:, ::-1].copy()
        tensors["W_K"][:] = np.eye(d_model, d_qk)
        tensors["W_Q"] = 8.0 * np.sign(tensors["W_Q"])
        tensors["W_V"] = np.sign(tensors["W_V"])
    elif kind == "integer":
        tensors = {name: np.rint(3 * tensor) for name, tensor in tensors.items()}
    elif kind == "near-ties":
        # Large scores that differ by about 1: their rounding errors are what decides.
        for name in ("W_Q", "W_K"):
            tensors[name] *= 1e4
        tensors["W_E"] = 1.0 + 1e-9 * tensors["W_E"]
        tensors["W_pos"] *= 1e-9
    elif kind == "cancelling":
        tensors["W_pos"] = -tensors["W_E"][rng.integers(0, d_vocab, n_ctx)] * (1 + 1e-9 * tensors["W_pos"])
    elif kind == "huge-scores":
        tensors["W_Q"] *= 10.0 ** rng.uniform(2, 6)
    elif kind == "saturated":
        tensors["W_Q"] = 100.0 * np.sign(tensors["W_Q"])
        tensors["W_K"] = np.sign(tensors["W_K"])
    elif kind == "subnormal":
        for name in rng.permutation(list(tensors))[:3]:
            tensors[name] = tensors[name] * 2.0**-1070
    elif kind == "tiny-values":
        for name in ("W_V", "W_O", "W_E"):
            tensors[name] *= 10.0 ** rng.uniform(-160, -40)
    elif kind == "graded":
        for name in ("W_E", "W_V", "W_O", "W_U"):
            tensors[name] *= 10.0 ** rng.uniform(-60, 60, shapes[name])
        tensors["W_Q"] *= 1e-60
    elif kind == "sparse":
        tensors = {name: tensor * (rng.random(tensor.shape) < 0.3) for name, tensor in tensors.items()}
    elif kind == "zero":
        name = str(rng.choice(list(tensors)))
        tensors[name] = np.zeros(shapes[name])
    contexts = rng.integers(0, d_vocab, (int(rng.integers(1, 7)), n_ctx))
    return dana_network(**tensors), contexts


def with_idle_heads(kind, seed):
    """A network most of whose heads have the query 0 after most tokens, with sizes that vary."""
    rng = np.random.default_rng([seed, 1])
    d_vocab, n_ctx, n_heads = (int(rng.integers(1, n)) for n in (5, 5, 9))
    sizes = [d_vocab, n_ctx, d_vocab + n_ctx, n_heads, int(rng.integers(1, 3)), int(rng.integers(1, 4)), 3]
    network, contexts = random_network(kind, seed, sizes=sizes)
    tensors = dict(dana_tensors(network))
    # One-hot tokens beside coordinates that positions fill; a head asks after one token, or after none.
    tensors["W_E"], tensors["W_pos"] = np.eye(d_vocab, sizes[2]), tensors["W_pos"].copy()
    tensors["W_pos"][:, :d_vocab] = 0.0
    owner = rng.integers(0, d_vocab + 1, n_heads)
    tensors["W_Q"] = tensors["W_Q"] * (owner[:, None] == np.arange(sizes[2]))[:, :, None]
    if d_vocab < sizes[2]:
        tensors["W_Q"][:, d_vocab:] = 0.0
    return dana_network(**tensors), contexts


def balls(array):
    return flint.arb_mat(array.tolist())


def rational(x):
    return flint.fmpq(*float(x).as_integer_ratio())


def softmax_of_balls(scores):
    top = max(scores, key=float)
    powers = [(score - top).exp() for score in scores]
    mass = sum(powers[1:], powers[0])
    return [power / mass for power in powers]


def reference(network, context):
    """The convention, word for word, for one context: last, attention of each head, features, logits."""
    S = len(context)
    x = [balls(network.W_E[[token]]) + balls(network.W_pos[[s]]) for s, token in enumerate(context)]
    last, attention, features, stream = x[S - 1], [], [], x[S - 1]
    for h in range(network.n_heads):
        query = last * balls(network.W_Q[h])
        scores = [(query * (x[s] * balls(network.W_K[h])).transpose())[0, 0] for s in range(S)]
        pattern = softmax_of_balls(scores)
        read = pattern[0] * x[0]
        for s in range(1, S):
            read = read + pattern[s] * x[s]
        attention.append(pattern)
        if network.d_head == 0:
            continue
        values = read * balls(network.W_V[h])
        features.extend(values.entries())
        stream = stream + values * balls(network.W_O[h])
    return last.entries(), attention, features, (stream * balls(network.W_U)).entries()


def assert_contains(enclosure, exact, bits):
    """Every exact number lies within the radius; the balls of `exact` must be far smaller than the radius."""
    midpoint = np.asarray(enclosure.midpoint).reshape(-1)
    radius = np.broadcast_to(enclosure.radius, enclosure.shape).reshape(-1)
    assert len(midpoint) == len(exact)
    for m, r, x in zip(midpoint.tolist(), radius.tolist(), exact, strict=True):
        assert x.is_finite()
        # Or it is so narrow that only errors far below the least float64 could be missed.
        known = x.rad() * 1024 <= max(flint.arb(r), abs(x) / flint.arb(2) ** (bits // 4), key=float)
        known = known or x.rad() < flint.arb(2) ** -1200
        assert known, f"the reference is too wide: {x}"
        distance = abs(x - flint.arb(m))
        assert distance <= r or distance.overlaps(flint.arb(r)), f"{x} is outside of {m} +- {r}"


def assert_encloses(network, contexts, bits, *, precision=None):
    last, features, logits = (
        enclose(network, contexts, precision=precision) for enclose in (enclose_last, enclose_features, enclose_logits)
    )
    attention = [enclose_attention(network, contexts, head, precision=precision) for head in range(network.n_heads)]
    with flint.ctx.workprec(bits):
        for t, context in enumerate(contexts.tolist()):
            exact_last, exact_attention, exact_features, exact_logits = reference(network, context)
            assert_contains(last[t], exact_last, bits)
            for head, pattern in enumerate(exact_attention):
                assert_contains(attention[head][t], pattern, bits)
            assert_contains(features[t], exact_features, bits)
            assert_contains(logits[t], exact_logits, bits)
    return last, attention, features, logits


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32))
def test_enclosures_contain_what_the_weights_compute_in_exact_arithmetic(kind, seed):
    network, contexts = random_network(kind, seed)
    for enclosure in assert_encloses(network, contexts, KINDS[kind])[2:]:
        # The squares of what grows from 10^60 to 10^240 are beyond float64.
        assert kind == "graded" or np.isfinite(enclosure.radius).all()


def intersect(a, b):
    """Whether the two enclosures of one array have a number in common, entry by entry, decided exactly."""
    radii = (np.broadcast_to(e.radius, e.shape).ravel().tolist() for e in (a, b))
    for m, n, r, s in zip(a.midpoint.ravel().tolist(), b.midpoint.ravel().tolist(), *radii, strict=True):
        if np.isfinite(r + s) and not abs(rational(m) - rational(n)) <= rational(r) + rational(s):
            return False
    return a.shape == b.shape


@pytest.mark.parametrize("precision", [2, 20, 53, 400])
@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=settings().max_examples // 2)
def test_enclosures_by_balls_contain_what_the_weights_compute_and_meet_those_by_float64(kind, precision, seed):
    network, contexts = random_network(kind, seed)
    # The radii go down to the least float64, and so must those of the reference.
    by_balls = assert_encloses(network, contexts, 2500, precision=precision)
    last, attention, features, logits = by_balls
    assert intersect(last, enclose_last(network, contexts))
    for head, pattern in enumerate(attention):
        assert intersect(pattern, enclose_attention(network, contexts, head))
    assert intersect(features, enclose_features(network, contexts))
    assert intersect(logits, enclose_logits(network, contexts))


@pytest.mark.slow
@pytest.mark.parametrize("precision", [2, 53, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_enclosures_by_balls_contain_what_the_weights_compute_in_thousands_of_networks(kind, precision):
    for seed in range(1000):
        network, contexts = random_network(kind, 10**6 + seed)
        assert_encloses(network, contexts, 2500, precision=precision)


def scored_network(scores):
    """One head, scores that are exactly these, and the position that is read as the value."""
    n = len(scores)
    W_K = np.zeros((1, n + 1, 1))
    W_K[0, 1:, 0] = scores
    return dana_network(
        W_E=np.eye(1, n + 1),
        W_pos=np.eye(n, n + 1, 1),
        W_Q=np.eye(1, n + 1)[:, :, None],
        W_K=W_K,
        W_V=np.vstack([np.zeros(n), np.eye(n)])[None],
        W_O=np.eye(n, n + 1, 1)[None],
        W_U=np.eye(n + 1),
    )


@pytest.mark.parametrize("precision", [None, 2, 53, 128, 2000])
@pytest.mark.parametrize(
    "scores",
    [
        [0.0, -700.0, 1.0],
        [700.0, 0.0],
        [0.0, -744.5, -745.5],
        [-708.0, -1416.0, 0.25],
        [1e300, 0.0, -1e300],
        [1e5, 1e5 + 2.0**-30],
        [5e-324, 0.0],
        [0.0],
    ],
)
def test_scores_that_are_far_apart_or_very_close_are_enclosed_by_every_rung(precision, scores):
    network, contexts = scored_network(scores), np.zeros((1, len(scores)), dtype=np.int64)
    pattern = enclose_attention(network, contexts, 0, precision=precision)
    features = enclose_features(network, contexts, precision=precision)
    with flint.ctx.workprec(6000):
        exact = softmax_of_balls([flint.arb(score) for score in scores])
        assert_contains(pattern, exact, 6000)
        assert_contains(features, exact, 6000)
    if precision == 2000:
        # Half a unit in the last place, or the least float64 where that is below it.
        assert (features.radius <= 0.51 * np.spacing(features.midpoint) + 5e-324).all()


def test_balls_are_narrow_where_float64_says_nothing():
    # Two heads of size 1e20 that cancel but for the last bits, and large scores that differ by 1.
    rng = np.random.default_rng(3)
    W_E, W_pos = rng.standard_normal((5, 4)), rng.standard_normal((3, 4))
    W_V, W_O = 1e20 * rng.standard_normal((1, 4, 2)), rng.standard_normal((1, 2, 4))
    W_Q, W_K = 1e9 * rng.standard_normal((2, 1, 4, 3))
    network = dana_network(
        W_E=W_E,
        W_pos=W_pos,
        W_Q=np.repeat(W_Q, 2, 0),
        W_K=np.repeat(W_K, 2, 0),
        W_V=np.repeat(W_V, 2, 0),
        W_O=np.concatenate([W_O, -W_O * (1.0 + 2.0**-52)]),
        W_U=rng.standard_normal((4, 5)),
    )
    contexts = rng.integers(0, 5, (6, 3))
    assert enclose_logits(network, contexts).radius.min() > 1e3
    by_balls = enclose_logits(network, contexts, precision=400)
    assert (by_balls.radius <= 0.51 * np.spacing(np.abs(by_balls.midpoint))).all()
    assert_encloses(network, contexts, 1200, precision=400)


def test_the_radius_shrinks_with_the_precision_down_to_half_a_unit_in_the_last_place():
    network, contexts = random_network("gaussian", 12, sizes=(6, 4, 6, 3, 4, 3, 6))
    for enclose in (
        enclose_last,
        enclose_features,
        enclose_logits,
        lambda network, contexts, precision: enclose_attention(network, contexts, 0, precision=precision),
    ):
        radii = [enclose(network, contexts, precision=bits).radius for bits in (8, 20, 40, 80, 160)]
        for wide, narrow in pairwise(radii):
            assert (narrow <= wide).all()
        assert radii[1].max() > 1e3 * radii[2].max()
        units = np.spacing(np.abs(enclose(network, contexts, precision=160).midpoint))
        assert (radii[-1] <= 0.501 * units).all()


# ---------------------------------------------------------------------------------------------------------------------
# How small the radii are.


def table_network(d_vocab, n_ctx, n_heads, d_head, *, beta, seed=0):
    rng = np.random.default_rng(seed)
    d_model = d_vocab + n_ctx
    W_pos = np.zeros((n_ctx, d_model))
    W_pos[:, d_vocab:] = np.eye(n_ctx)
    return dana_network(
        W_E=np.eye(d_vocab, d_model),
        W_pos=W_pos,
        W_Q=beta * rng.choice([-1.0, 1.0], (n_heads, d_model, d_model)),
        W_K=np.broadcast_to(np.eye(d_model), (n_heads, d_model, d_model)),
        W_V=rng.choice([-1.0, 1.0], (n_heads, d_model, d_head)),
        W_O=rng.standard_normal((n_heads, d_head, d_model)) / d_model,
        W_U=rng.standard_normal((d_model, d_vocab)),
    )


def test_one_hot_embeddings_are_enclosed_exactly():
    network = table_network(5, 3, 1, 1, beta=8.0)
    last = enclose_last(network, np.array([[0, 1, 4]]))
    assert last.midpoint.tolist() == [[0, 0, 0, 0, 1, 0, 0, 1]]
    assert not last.radius.any()


def test_the_error_of_an_embedding_is_found_exactly():
    network, contexts = random_network("gaussian", 3, sizes=(6, 2, 6, 1, 1, 1, 1))
    last = enclose_last(network, contexts)
    for row, error, token in zip(last.midpoint, last.radius, contexts[:, -1], strict=True):
        for j in range(network.d_model):
            a, b = network.W_E[token, j], network.W_pos[-1, j]
            assert abs(rational(a) + rational(b) - rational(row[j])) == rational(error[j])


def test_attention_over_one_position_is_exactly_one():
    network, contexts = random_network("huge-scores", 2, sizes=(4, 1, 3, 2, 2, 2, 3))
    pattern = enclose_attention(network, contexts, 1)
    assert (pattern.midpoint == 1.0).all()
    assert pattern.radius.max() < 1e-300


def test_the_radius_of_saturated_attention_is_far_below_the_rounding_unit():
    # Scores 0 and 2000 with an error of 1e-12 or so.
    network = dana_network(
        W_E=np.array([[1.0, 0.1], [0.1, 1.0]]),
        W_pos=np.zeros((2, 2)),
        W_Q=np.array([[[0.1, 2020.2], [0.1, 0.3]]]).transpose(0, 2, 1),
        W_K=np.eye(2)[None],
        W_V=np.ones((1, 2, 1)),
        W_O=np.ones((1, 1, 2)),
        W_U=np.eye(2),
    )
    pattern = enclose_attention(network, np.array([[0, 1]]), 0)
    assert pattern.midpoint.max() == 1.0
    assert pattern.radius.max() < 1e-300


def test_radii_are_of_the_order_of_the_rounding_errors():
    network = table_network(32, 4, 40, 8, beta=8.0)
    contexts = np.random.default_rng(1).integers(0, 32, (50, 4))
    assert enclose_attention(network, contexts, 0).radius.max() < 1e-12
    assert enclose_features(network, contexts).radius.max() < 3e-12
    assert enclose_logits(network, contexts).radius.max() < 1e-10
    network, contexts = random_network("gaussian", 1, sizes=(20, 4, 16, 20, 8, 8, 20))
    features = enclose_features(network, contexts)
    assert (features.radius / np.abs(features.midpoint).max(axis=1, keepdims=True)).max() < 1e-11


def test_heads_that_are_alike_share_one_radius_per_row_and_others_do_not():
    network = table_network(4, 2, 6, 3, beta=4.0)
    contexts = np.array([[0, 1], [2, 3], [1, 1]])
    assert enclose_features(network, contexts).radius.shape == (3, 1)
    scales = 10.0 ** np.arange(6)[:, None, None]
    tensors = {**dana_tensors(network), "W_V": network.W_V * scales, "W_O": network.W_O / scales}
    features = enclose_features(dana_network(**tensors), contexts)
    assert features.radius.shape == (3, 18)
    assert (features.radius[:, 0] < 1e-3 * features.radius[:, -1]).all()
    assert enclose_logits(dana_network(**tensors), contexts).radius.max() < 1e-11


# ---------------------------------------------------------------------------------------------------------------------
# Chunks.


def test_chunks_come_in_order_and_cover_all_contexts():
    network, _ = random_network("gaussian", 4, sizes=(5, 3, 4, 2, 2, 2, 5))
    contexts = np.random.default_rng(0).integers(0, 5, (11, 3))
    whole = enclose_logits(network, contexts)
    chunks = list(logit_chunks(network, contexts, rows=4))
    assert [(start, len(part)) for start, part in chunks] == [(0, 4), (4, 4), (8, 3)]
    for start, part in chunks:
        assert np.abs(part.midpoint - whole.midpoint[start : start + 4]).max() <= 1e-13


def test_chunks_never_hold_all_logits():
    network, _ = random_network("gaussian", 4, sizes=(50, 2, 4, 2, 2, 2, 30_000))
    contexts = np.random.default_rng(0).integers(0, 50, (400, 2))
    tracemalloc.start()
    for _, part in logit_chunks(network, contexts):
        assert np.isfinite(part.radius).all()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400 * 30_000 * 8 / 2


def test_shorter_contexts_use_the_first_positions():
    network, contexts = random_network("gaussian", 8, sizes=(4, 4, 3, 2, 2, 2, 3))
    shorter = dana_network(**{**dana_tensors(network), "W_pos": network.W_pos[:3]})
    assert (
        enclose_logits(network, contexts[:, :3]).midpoint == enclose_logits(shorter, contexts[:, :3]).midpoint
    ).all()


def test_no_contexts_give_empty_enclosures():
    network, _ = random_network("gaussian", 8, sizes=(4, 4, 3, 2, 2, 2, 3))
    nothing = np.zeros((0, 4), dtype=np.int64)
    assert enclose_features(network, nothing).shape == (0, 4)
    assert enclose_logits(network, nothing).shape == (0, 3)
    assert list(logit_chunks(network, nothing)) == []


# ---------------------------------------------------------------------------------------------------------------------
# Overflow, and bad input.


@pytest.mark.parametrize("name", ["W_Q", "W_K"])
def test_an_overflow_of_the_scores_leaves_all_that_attention_can_be(name):
    network, contexts = random_network("gaussian", 6, sizes=(4, 3, 4, 2, 3, 2, 3))
    tensors = {**dana_tensors(network), name: np.sign(getattr(network, name)) * 1.7e308}
    attention = enclose_attention(dana_network(**tensors), contexts, 0)
    assert (attention.radius >= 0.5).any()
    assert attention.radius.max() < 1.0 + 1e-9
    assert_encloses(dana_network(**tensors), contexts, 2500)


@pytest.mark.parametrize("name", ["W_E", "W_V", "W_O", "W_U"])
def test_an_overflow_gives_an_infinite_radius_and_no_warning(name):
    network, contexts = random_network("gaussian", 6, sizes=(4, 3, 4, 2, 3, 2, 3))
    tensors = {**dana_tensors(network), name: np.sign(getattr(network, name)) * 1.7e308}
    if name == "W_O":
        tensors["W_V"] = 4 * network.W_V
    if name == "W_U":
        tensors["W_O"] = 4 * network.W_O
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logits = enclose_logits(dana_network(**tensors), contexts)
    assert np.isfinite(logits.midpoint).all()
    assert np.isinf(logits.radius).any()
    assert not np.isnan(logits.radius).any()


def test_an_overflow_of_an_embedding_is_no_information():
    network, contexts = random_network("gaussian", 6, sizes=(1, 2, 2, 1, 1, 1, 1))
    tensors = {**dana_tensors(network), "W_E": np.full((1, 2), 1.7e308), "W_pos": np.full((2, 2), 1.7e308)}
    last = enclose_last(dana_network(**tensors), contexts)
    assert np.isinf(last.radius).all()


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
def test_contexts_that_the_network_cannot_read_are_refused(contexts, message):
    network, _ = random_network("gaussian", 6, sizes=(4, 3, 4, 2, 3, 2, 3))
    calls = (
        enclose_last,
        enclose_features,
        enclose_logits,
        logit_chunks,
        lambda network, contexts: enclose_attention(network, contexts, 0),
    )
    for enclose in calls:
        with pytest.raises(InputError, match=message):
            enclose(network, contexts)


def test_heads_features_rows_and_axes_that_do_not_exist_are_refused():
    network, contexts = random_network("gaussian", 6, sizes=(4, 3, 4, 2, 3, 2, 3))
    for head in (-1, 2):
        with pytest.raises(InputError, match=rf"head = {head}, expected 0 .. 1"):
            enclose_attention(network, contexts, head)
    with pytest.raises(InputError, match="rows = 0"):
        logit_chunks(network, contexts, rows=0)


# ---------------------------------------------------------------------------------------------------------------------
# Layers that read vectors.


def holds_all(enclosure, exact):
    """Whether every number in many digits is in its interval; an infinite radius holds all."""
    radius = np.broadcast_to(enclosure.radius, enclosure.shape).ravel()
    with mpmath.workprec(BITS):
        own_error = mpmath.mpf(2) ** (64 - BITS)
        return all(
            abs(x - mpmath.mpf(float(m))) <= mpmath.mpf(float(r)) + own_error * (1 + abs(x))
            for x, m, r in zip(exact, enclosure.midpoint.ravel(), radius, strict=True)
        )


def flat(rows):
    return [x for row in rows for x in row]


@pytest.mark.parametrize("precision", [None, 30, 200])
@given(case=layers_and_tasks())
def test_every_enclosure_holds_the_exact_numbers(precision, case):
    layer, task = case
    exact = truth(layer, task)
    for head in range(layer.n_heads):
        theta = enclose_attention(layer, task, head, precision=precision)
        assert theta.shape == (task.n_examples, task.n_ctx)
        assert holds_all(theta, flat([patterns[head] for patterns in exact.theta]))
    mixed = enclose_mixed_inputs(layer, task, precision=precision)
    assert mixed.shape == (task.n_examples, layer.n_heads * layer.d_model)
    assert holds_all(mixed, flat(exact.mixed))
    outputs = enclose_logits(layer, task, precision=precision)
    assert outputs.shape == task.labels.shape
    assert holds_all(outputs, flat(exact.outputs))
    top = enclose_layer(layer, task).top
    assert holds_all(top, [max(pattern) for patterns in exact.theta for pattern in patterns])


@given(layers_and_tasks(), st.integers(1, 3))
def test_chunks_change_nothing_but_the_memory(case, rows):
    layer, task = case
    whole = enclose_layer(layer, task)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads_module, "_ENTRIES", rows)
        for name in ("_ROW_ENTRIES", "_WIDE_ENTRIES", "_CACHED_ENTRIES"):
            patch.setattr(row_balls, name, rows)
        parts, outputs = enclose_layer(layer, task), enclose_logits(layer, task)
    assert parts.mixed.shape == whole.mixed.shape
    exact = truth(layer, task)
    assert holds_all(parts.mixed, flat(exact.mixed)) and holds_all(outputs, flat(exact.outputs))


def test_radii_are_a_few_roundings_where_scores_are_moderate():
    layer, task = random_layer(d_model=8, n_heads=3), random_layer_task(d_model=8)
    assert enclose_attention(layer, task, 0).radius.max() < 1e-13
    assert enclose_mixed_inputs(layer, task).radius.max() < 1e-13
    assert enclose_logits(layer, task).radius.max() < 1e-11
    assert enclose_logits(layer, task, precision=300).radius.max() < 1e-13


def test_saturated_heads_have_tiny_radii():
    layer = random_layer(n_heads=1, scale=1e6)
    task = random_layer_task(examples=1)
    theta = enclose_attention(layer, task, 0)
    assert theta.midpoint.max() == 1.0 and theta.radius.max() < 1e-200


def test_overflows_are_no_information_and_never_an_error():
    layer, task = random_layer(), random_layer_task()
    huge = changed_layer(layer, W_Q=layer.W_Q * 1e200, W_K=layer.W_K * 1e200)
    theta = enclose_attention(huge, task, 0)
    assert (theta.lower() <= 0.0).any() and (theta.upper() >= 1.0).any() and np.isfinite(theta.radius).all()
    tall = changed_layer(layer, W_V=layer.W_V * 1e150, W_O=mahdavi_tensors(layer)["W_O"] * 1e150, W_D=layer.W_U * 1e150)
    assert np.isinf(enclose_logits(tall, task).radius).all()


def test_one_token_has_all_the_attention():
    layer, task = random_layer(), random_layer_task(tokens=1)
    assert (enclose_attention(layer, task, 0).midpoint == 1.0).all()
    mixed = enclose_mixed_inputs(layer, task).midpoint.reshape(4, 2, 3)
    assert np.allclose(mixed, task.contexts[0], atol=1e-15)


def test_progress_is_told_chunk_by_chunk(monkeypatch):
    told = []
    layer, task = random_layer(n_heads=3), random_layer_task()
    monkeypatch.setattr(heads_module, "_ENTRIES", 1)
    enclose_layer(layer, task, progress=lambda stage, share, detail: told.append((stage, share)))
    assert told == [("attention", (t + 1) / task.n_examples) for t in range(task.n_examples)]


def test_what_does_not_fit_is_refused():
    layer, task = random_layer(), random_layer_task(d_model=4)
    for enclose in (enclose_features, enclose_mixed_inputs, enclose_layer, enclose_logits, enclose_last):
        with pytest.raises(InputError, match="dimension"):
            enclose(layer, task)
    with pytest.raises(InputError, match="precision"):
        enclose_attention(layer, random_layer_task(), 0, precision=1)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_the_largest_layer_of_the_benchmarks_is_enclosed_in_bounded_memory(shared):
    layer = random_layer(n_heads=60, d_model=64, d_head=8, d_value=1, d_inner=1, d_out=1, scale=0.1)
    task = random_layer_task(examples=1861, tokens=32, d_model=64, d_out=1, shared=shared)
    found = enclose_layer(layer, task)
    assert found.mixed.shape == (1861, 3840) and found.mixed.radius.max() < 1e-10
    few = (
        dataclasses.replace(task, contexts=task.contexts[:2], queries=task.queries[:2], labels=task.labels[:2])
        if not shared
        else dataclasses.replace(task, queries=task.queries[:2], labels=task.labels[:2])
    )
    small = enclose_layer(layer, few).mixed
    assert (np.abs(found.mixed.midpoint[:2] - small.midpoint) <= found.mixed.radius[:2] + small.radius).all()
