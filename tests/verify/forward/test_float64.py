"""Forward enclosures against a second implementation of the network, written in balls of 300 bits and more."""

import tracemalloc
import warnings
from fractions import Fraction
from itertools import pairwise, product
from types import SimpleNamespace

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.models.shapes import dana_network, dana_tensors
from verify.arithmetic.enclosure import Enclosure
from verify.forward import float64 as forward
from verify.forward.float64 import (
    enclose_attention,
    enclose_features,
    enclose_last,
    enclose_logits,
    enclose_softmax,
    logit_chunks,
    row_blocks,
)

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
        assert np.isfinite(enclosure.radius).all()


@pytest.mark.parametrize("kind", ["gaussian", "cancelling", "graded"])
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32))
def test_idle_heads_are_summed_without_looking_at_each(kind, seed):
    network, contexts = with_idle_heads(kind, seed)
    assert_encloses(network, contexts, KINDS[kind])


def test_what_idle_heads_write_together_is_known_up_to_the_rounding_of_each():
    rng = np.random.default_rng(0)
    for _ in range(5):
        W_V, W_O = rng.standard_normal((2, 40))
        W_O[-1] = -(W_V[:-1] @ W_O[:-1]) / W_V[-1]  # all together write almost nothing
        network = dana_network(
            W_E=np.array([[1.0, 0.0]]),
            W_pos=np.zeros((2, 2)),
            W_Q=np.zeros((40, 2, 1)),
            W_K=np.zeros((40, 2, 1)),
            W_V=np.stack([W_V, 0.0 * W_V], 1)[:, :, None],
            W_O=np.stack([0.0 * W_O, W_O], 1)[:, None, :],
            W_U=np.array([[0.0], [1.0]]),
        )
        assert_encloses(network, np.array([[0, 0]]), 300)


def test_contexts_are_grouped_only_where_most_heads_are_idle(monkeypatch):
    calls = []
    plain = forward._features
    monkeypatch.setattr(forward, "_features", lambda *given: calls.append(given[0].n_heads) or plain(*given))
    network, contexts = random_network("one-hot", 3, sizes=(3, 3, 6, 4, 2, 2, 3))
    contexts = np.array([[0, 1, 0], [2, 2, 1], [1, 0, 2], [2, 1, 0]])
    enclose_logits(network, contexts)
    assert calls == [4]
    calls.clear()
    tensors = dict(dana_tensors(network))
    asks = np.zeros((4, 6, 2))
    asks[[0, 1, 2], [0, 1, 1]], asks[3, 4] = 1.0, 1.0
    grouped = enclose_logits(dana_network(**tensors | {"W_Q": asks}), contexts)
    assert sorted(calls) == [0, 1, 2]  # after the tokens 2, 0 and 1; the head that asks a token coordinate 4 never does
    dense = enclose_logits(
        dana_network(**tensors | {"W_Q": asks}),
        contexts,
        features=enclose_features(dana_network(**tensors | {"W_Q": asks}), contexts),
    )
    assert (np.abs(grouped.midpoint - dense.midpoint) <= grouped.radius + dense.radius).all()
    assert grouped.radius.max() < 1e-12


def test_idle_heads_that_nearly_cancel_leave_what_their_products_round():
    rounded = 0.1 * 0.3
    network = dana_network(
        W_E=np.array([[1.0, 0.0]]), W_pos=np.zeros((2, 2)), W_Q=np.zeros((2, 2, 1)), W_K=np.ones((2, 2, 1)),
        W_V=np.array([[[0.1], [0.0]], [[1.0], [0.0]]]), W_O=np.array([[[0.0, 0.3]], [[0.0, -rounded]]]), W_U=np.eye(2),
    )  # fmt: skip
    output = network.W_O.reshape(2, 2)
    written = forward._multiplied(forward._values(network), output, forward._block_sizes(output))
    idle = forward._idle_heads(network, np.array([[0, 0]]))
    assert idle is not None and idle.all()
    found = forward._grouped_residual(network, np.array([[0, 0]]), idle, written)
    exact = Fraction(0.1) * Fraction(0.3) - Fraction(rounded)
    assert exact != 0 and abs(exact - Fraction(float(found.midpoint[0, 1]))) <= Fraction(float(found.radius[0, 1]))
    assert found.radius[0, 1] < 1e-15


@pytest.mark.parametrize("tiny", [5e-324, 2.0**-1000, 1e-30])
def test_a_query_that_is_not_exactly_zero_is_not_idle(tiny):
    def idle(contexts):
        found = forward._idle_heads(dana_network(**tensors), np.array(contexts))
        return None if found is None else found.tolist()

    network, _ = random_network("one-hot", 3, sizes=(2, 2, 4, 3, 2, 2, 2))
    tensors = dict(dana_tensors(network)) | {"W_E": np.eye(2, 4), "W_pos": np.zeros((2, 4)), "W_Q": np.zeros((3, 4, 2))}
    assert idle([[0, 0], [0, 1]]) == [[True] * 3] * 2
    tensors["W_Q"][1, 0, 1] = tiny
    assert idle([[0, 0], [0, 1]]) == [[True, False, True], [True] * 3]
    # After token 0 the stream is not 0 there but beyond float64: nothing is known of the query.
    tensors["W_E"][0, 2], tensors["W_pos"][1, 2], tensors["W_Q"][2, 2] = 1.7e308, 1.7e308, 1.0
    assert idle([[0, 0], [0, 1], [1, 1], [1, 1]]) == [[True, False, False], [True, True, False]]
    assert idle([[0, 0]]) is None


def with_saturated_heads(seed, *, gap):
    """Heads that ask after one token each, and prefer the position before the last by so many nats, or hardly."""
    network, _ = with_idle_heads("gaussian", seed)
    rng = np.random.default_rng([seed, 2])
    d_vocab, length, d_model = network.d_vocab, int(rng.integers(1, 5)), network.d_vocab + 4
    tensors = {name: rng.standard_normal((network.n_heads, d_model, 1)) for name in ("W_Q", "W_K")}
    tensors["W_Q"] *= (rng.integers(0, d_vocab, network.n_heads)[:, None] == np.arange(d_model))[:, :, None]
    tensors["W_K"] *= 0.3
    query = tensors["W_Q"].sum(axis=1)
    prefers = rng.random(len(query)) < 0.7
    tensors["W_K"][:, d_vocab + length - 2] = (prefers * (gap + 2.0 * rng.random(len(query))))[:, None] / query
    W_V, W_O = (rng.standard_normal(shape) for shape in ((network.n_heads, d_model, 2), (network.n_heads, 2, d_model)))
    if rng.random() < 0.5:
        W_V[:] = W_V[0]
    one_hot = {"W_E": np.eye(d_vocab, d_model), "W_pos": np.eye(4, d_model, d_vocab)}
    contexts = rng.integers(0, d_vocab, (int(rng.integers(1, 9)), length))
    return dana_network(**tensors, **one_hot, W_V=W_V, W_O=W_O, W_U=rng.standard_normal((d_model, 3))), contexts


@pytest.mark.parametrize("nats", [2.0, 40.0])
def test_heads_that_see_one_position_alone_are_enclosed_together_with_what_leaks(monkeypatch, nats):
    monkeypatch.setattr(forward, "_SATURATION", nats)
    plain, seen = forward._saturated, []
    monkeypatch.setattr(forward, "_saturated", lambda *given: seen.append(plain(*given)) or seen[-1])
    for seed in range(12):
        network, contexts = with_saturated_heads(seed, gap=nats + 4.0)
        logits = enclose_logits(network, contexts)
        with flint.ctx.workprec(300):
            for t, context in enumerate(contexts.tolist()):
                assert_contains(logits[t], reference(network, context)[3], 300)
    kinds = {(bool(saturated.any()), bool(saturated.all())) for saturated, _, _ in seen if saturated.size}
    assert kinds == {(False, False), (True, False), (True, True)}


@pytest.mark.parametrize("length", [2, 3, 6])
def test_the_bound_of_what_leaks_is_attained(monkeypatch, length):
    monkeypatch.setattr(forward, "_SATURATION", 5.0)
    scores, values = np.zeros(3 + length), np.zeros(3 + length)
    values[:3], scores[0], scores[3 + length - 2] = (1.0, -1.0, 1.0), -60.0, 9.0
    network = dana_network(
        W_E=np.eye(3, 3 + length), W_pos=np.eye(length, 3 + length, 3), W_Q=np.eye(1, 3 + length, 2)[:, :, None],
        W_K=scores[None, :, None], W_V=values[None, :, None], W_O=np.ones((1, 1, 3 + length)), W_U=np.eye(3 + length),
    )  # fmt: skip
    # Before the last token 2 comes 1, of the opposite value. What precedes has no score in the second context alone.
    contexts = np.array([[0] * (length - 2) + [1, 2], [2] * (length - 2) + [1, 2]])
    saturated, row_of, read = forward._saturated(network, contexts)
    assert saturated.tolist() == [[True]] and row_of.tolist() == [0, 0]
    others = (length - 1) * np.exp(-9.0)
    furthest = 2.0 * others / (1.0 + others)  # of the second context
    assert read.midpoint.item() == -1.0 and 0.99 * read.radius.item() <= furthest * (1.0 + others) <= read.radius.item()
    monkeypatch.setattr(forward, "_SATURATION", 9.5)
    assert not forward._saturated(network, contexts)[0].any()


def test_no_head_counts_as_saturated_at_one_position_or_where_the_table_is_too_large(monkeypatch):
    found = (with_saturated_heads(seed, gap=50.0) for seed in range(9))
    network, contexts = next(each for each in found if forward._saturated(*each)[0].any())
    assert not forward._saturated(network, contexts[:, :1])[0].any()
    monkeypatch.setattr(forward, "_TABLE_BYTES", 1)
    for some in (contexts, contexts[:, :1]):
        saturated, row_of, read = forward._saturated(network, some)
        assert not saturated.any() and not row_of.any() and not read.radius.any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_enclosures_contain_what_the_weights_compute_in_thousands_of_networks(kind):
    for seed in range(1000):
        network, contexts = random_network(kind, 10**6 + seed)
        assert_encloses(network, contexts, KINDS[kind])


@pytest.mark.parametrize(
    "sizes",
    [
        (1, 1, 1, 1, 1, 1, 1),  # one of everything
        (3, 1, 2, 2, 2, 2, 3),  # S = 1: nothing to attend to
        (2, 5, 1, 3, 1, 1, 2),  # d = 1
        (4, 3, 4, 1, 1, 1, 1),  # one logit
        (2, 2, 3, 0, 2, 2, 3),  # no heads
        (40, 3, 48, 3, 48, 16, 40),  # wide enough to be multiplied as sparse vectors where they are sparse
        (3, 2, 20, 30, 2, 20, 4),  # 600 features: several blocks of a product
    ],
)
@pytest.mark.parametrize("kind", ["gaussian", "one-hot"])
def test_enclosures_contain_the_exact_values_for_networks_of_unusual_sizes(kind, sizes):
    network, contexts = random_network(kind, 7, sizes=sizes)
    assert_encloses(network, contexts[:3], 300)


def test_a_second_opinion_of_mpmath_agrees():
    network, contexts = random_network("gaussian", 11, sizes=(4, 3, 4, 2, 3, 2, 5))
    logits = enclose_logits(network, contexts)
    with mpmath.workprec(250):
        weights = {name: np.vectorize(mpmath.mpf, otypes=[object])(w) for name, w in dana_tensors(network).items()}
        for t, context in enumerate(contexts):
            x = weights["W_E"][context] + weights["W_pos"]
            stream = x[-1]
            for h in range(network.n_heads):
                scores = (x @ weights["W_K"][h]) @ (x[-1] @ weights["W_Q"][h])
                powers = np.array([mpmath.exp(score) for score in scores])
                stream = stream + (powers @ x / powers.sum()) @ weights["W_V"][h] @ weights["W_O"][h]
            for i, exact in enumerate(stream @ weights["W_U"]):
                assert abs(exact - float(logits.midpoint[t, i])) <= float(logits.radius[t, i])


def test_the_same_numbers_come_out_when_heads_rows_and_pairs_are_cut_into_small_pieces(monkeypatch):
    network, contexts = random_network("gaussian", 5, sizes=(5, 4, 5, 4, 3, 2, 5))
    whole_features, whole_logits = enclose_features(network, contexts), enclose_logits(network, contexts)
    for name in ("_TABLE_BYTES", "_CACHED_ENTRIES", "_FEATURE_BYTES", "_LOGIT_BYTES", "_FEWEST_ROWS"):
        monkeypatch.setattr(forward, name, 1)
    monkeypatch.setattr(forward, "_BLOCK_TERMS", 3)
    _, _, features, logits = assert_encloses(network, contexts, 300)
    of_given = enclose_logits(network, contexts, features=whole_features)
    assert len(contexts) > 2
    for whole, cut in ((whole_features, features), (whole_logits, logits), (whole_logits, of_given)):
        assert np.abs(whole.midpoint - cut.midpoint).max() <= 1e-13
        assert cut.radius.max() <= 1e-10


# ---------------------------------------------------------------------------------------------------------------------
# Contexts that read one token at one position, together.


@pytest.fixture
def together(monkeypatch):
    """Every token is worth it, however few contexts read it."""
    monkeypatch.setattr(forward, "_OFTEN", 1e-9)
    monkeypatch.setattr(forward, "_SLOW", 1e9)


def assert_logits_hold(network, contexts, bits):
    logits = enclose_logits(network, contexts)
    with flint.ctx.workprec(bits):
        for t, context in enumerate(contexts.tolist()):
            assert_contains(logits[t], reference(network, context)[3], bits)
    return logits


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_tokens_that_are_taken_together_give_what_the_weights_compute(together, kind, seed):
    network, contexts = random_network(kind, seed)
    assert np.isfinite(assert_logits_hold(network, contexts, KINDS[kind]).radius).all()
    assert_logits_hold(*with_idle_heads(kind if kind in ("gaussian", "cancelling") else "gaussian", seed), 300)


@pytest.mark.parametrize("name", ["exp", "matmul", "_projected", "_scores"])
def test_tokens_that_are_taken_together_rely_on_radii_and_not_on_midpoints(together, monkeypatch, name):
    share = 1e-3 if name in ("_projected", "_scores") else 0.01
    monkeypatch.setattr(forward, name, coarse(getattr(forward, name), share))
    for seed in range(25):
        network, contexts = random_network("gaussian", seed, sizes=(3, 3, 4, 3, 2, 2, 3))
        assert assert_logits_hold(network, contexts, 300).radius.max() < 1e6


@given(
    signs=st.sampled_from([(1.0, -1.0, -1.0), (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0)]),
    error=st.sampled_from([0.0, 1e-9, 1e-3, 0.05, 0.2, 1.0, 40.0, 400.0, np.inf]),
    scores=st.lists(st.sampled_from([0.0, -1.0, -3.0, -30.0, -640.0]), min_size=3, max_size=3),
)
@example((1.0, -1.0, -1.0), 0.2, [0.0, -1.0, -1.0])
@example((1.0, -1.0, -1.0), 1.0, [-1.0, 0.0, 0.0])
@example((-1.0, 1.0, 1.0), 1.0, [0.0, -640.0, -640.0])
@example((-1.0, 1.0, 1.0), 400.0, [0.0, 0.0, 0.0])  # of exponentials less is known than that they are positive
def test_errors_of_all_scores_of_a_context_move_its_weights_by_at_most_what_is_said(signs, error, scores):
    enclosed = Enclosure(np.array(scores)[:, None], error)
    lookup = SimpleNamespace(
        key=np.arange(3)[None], pair=np.arange(3)[None], pair_query=np.zeros(3, dtype=np.int64)
    )  # fmt: skip
    with np.errstate(all="ignore"):
        powers, spread = forward._powers(enclosed, lookup.pair_query)
        weights, loss, low = forward._weights(powers, spread, lookup)
    assert low.any() == (error == np.inf) and loss[0, 0] <= 2.0  # nothing known: all are left out
    if low.any():
        return
    with mpmath.workprec(300):
        moved = [mpmath.exp(mpmath.mpf(z) + sign * min(error, 1e3)) for z, sign in zip(scores, signs, strict=True)]
        shares = [power / mpmath.fsum(moved) for power in moved]
        distance = mpmath.fsum(abs(p - float(w)) for p, w in zip(shares, weights[:, 0, 0], strict=True))
        assert distance <= loss[0, 0] + 3.0 * 3 * 2.0**-53
    if error < 1e-2:
        assert loss[0, 0] <= 2.1 * error + 1e-12


def test_the_error_of_two_weights_is_nearly_reached():
    """Odds move by the square of what one exponential may, and both weights move."""
    error = 1e-4
    lookup = SimpleNamespace(key=np.arange(2)[None], pair=np.arange(2)[None], pair_query=np.zeros(2, dtype=np.int64))
    powers, spread = forward._powers(Enclosure(np.zeros((2, 1)), error), lookup.pair_query)
    _, loss, _ = forward._weights(powers, spread, lookup)
    reached = 2.0 * abs(1.0 / (1.0 + np.exp(2.0 * error)) - 0.5)
    assert reached <= loss[0, 0] <= 1.001 * reached


def test_of_a_score_of_which_nothing_is_known_nothing_is_said():
    lookup = SimpleNamespace(key=np.arange(3)[None], pair=np.arange(3)[None], pair_query=np.zeros(3, dtype=np.int64))
    with np.errstate(all="ignore"):
        scores = Enclosure(np.zeros((3, 1)), np.array([[0.0], [0.0], [np.inf]]))
        powers, spread = forward._powers(scores, lookup.pair_query)
        weights, loss, _ = forward._weights(powers, spread, lookup)
    assert weights[:, 0, 0].tolist() == [0.5, 0.5, 0.0] and loss[0, 0] == 2.0  # all of the weight may be on the third


@pytest.mark.parametrize("size", [2**27, 1])
def test_a_context_far_below_the_largest_score_of_its_last_token_is_enclosed_by_itself(together, monkeypatch, size):
    monkeypatch.setattr(forward, "_FEATURE_BYTES", size)  # of both heads, or of one
    alone, plain = [], forward._features
    monkeypatch.setattr(forward, "_features", lambda network, part: alone.append(part.tolist()) or plain(network, part))
    # After the last token 2 the first one scores 900, 700 or 0, itself 0 or below.
    network = dana_network(
        W_E=np.array([[0.9, 0.0, 1.0], [0.7, 0.0, 2.0], [0.0, 1.0, 5.0]]), W_pos=np.zeros((2, 3)),
        W_Q=np.array([[[0.0], [1000.0], [0.0]], [[1.0], [0.0], [0.1]]]), W_K=np.array(2 * [[[1.0], [-0.9], [0.0]]]),
        W_V=np.array(2 * [[[0.0], [0.0], [1.0]]]), W_O=np.array(2 * [[[1.0, -2.0, 0.5]]]), W_U=np.eye(3),
    )  # fmt: skip
    logits = assert_logits_hold(network, np.array([[0, 2], [1, 2], [2, 2], [2, 2]]), 4000)
    assert alone == [[[2, 2], [2, 2]]] and logits.radius.max() < 1e-10


def test_what_many_heads_lose_in_their_sum_is_within_the_radius(together):
    """Each head writes a float exactly; a 1 is lost wherever it meets one of the large ones."""
    written = np.ones(4000)
    written[:64] = 2.0**53
    one = np.ones((4000, 1, 1))
    network = dana_network(
        W_E=one[0], W_pos=0.0 * one[0], W_Q=one, W_K=one, W_V=one, W_O=written[:, None, None], W_U=one[0]
    )
    found = enclose_logits(network, np.zeros((1, 1), dtype=np.int64))
    lost = abs(Fraction(float(found.midpoint[0, 0])) - (1 + 64 * 2**53 + 3936))
    assert 1000 < lost <= Fraction(float(found.radius[0, 0]))


def test_contexts_are_taken_together_only_where_their_tokens_occur_often(monkeypatch):
    calls, plain = [], forward._features
    monkeypatch.setattr(forward, "_features", lambda *given: calls.append(len(given[1])) or plain(*given))
    network, _ = random_network("gaussian", 3, sizes=(3, 2, 6, 4, 2, 3, 3))
    contexts = np.array(list(product(range(3), repeat=2)) * 3)
    few, many = enclose_logits(network, contexts[:9]), enclose_logits(network, contexts)
    assert calls == [9]  # 6 tokens at positions, 24 contexts or more
    assert (np.abs(few.midpoint - many.midpoint[:9]) <= few.radius + many.radius[:9]).all()
    assert len(enclose_logits(network, contexts[:0])) == 0


# ---------------------------------------------------------------------------------------------------------------------
# The rung of balls.


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
@settings(max_examples=8)
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


def test_given_features_are_taken_with_their_radii_at_every_rung():
    network, contexts = random_network("gaussian", 9, sizes=(4, 3, 3, 2, 2, 2, 4))
    middle = enclose_features(network, contexts).midpoint
    last = network.W_E[contexts[:, -1]] + network.W_pos[-1]
    features = Enclosure(middle, 0.1 * np.random.default_rng(0).random(middle.shape))
    logits = enclose_logits(network, contexts, features=features, precision=100)
    for signs in product((-1.0, 1.0), repeat=middle.shape[1]):
        point = middle + features.radius * signs
        assert holds(logits, (last + point @ network.W_O.reshape(-1, 3)) @ network.W_U)
    assert 1e-3 < logits.radius.max() < 10.0
    unknown = enclose_logits(network, contexts, features=Enclosure(middle, np.inf), precision=100)
    assert np.isinf(unknown.radius).all()


@pytest.mark.parametrize("precision", [None, 100])
def test_features_of_another_shape_are_refused_at_every_rung(precision):
    network, contexts = random_network("gaussian", 6, sizes=(4, 3, 4, 2, 3, 2, 3))
    with pytest.raises(InputError, match="features has shape"):
        enclose_logits(network, contexts, features=Enclosure(np.zeros((len(contexts), 3))), precision=precision)


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
    assert enclose_attention(network, contexts, 0).radius.max() < 1e-13
    assert enclose_features(network, contexts).radius.max() < 3e-13
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
# Each part of a radius, where it is the only one that matters.


def corners(enclosure):
    """All ends of a small enclosure."""
    for signs in product((-1.0, 1.0), repeat=enclosure.size):
        yield enclosure.midpoint + enclosure.radius * np.reshape(signs, enclosure.shape)


def exact(x):
    return Enclosure(x, np.zeros_like(x))


def holds(enclosure, value):
    # The corners are themselves rounded, far below the radii of 0.1 used here.
    return bool((np.abs(value - enclosure.midpoint) <= enclosure.radius + 1e-12).all())


@pytest.mark.parametrize("sparse", [False, True])
def test_an_error_of_the_factor_of_a_projection_is_carried_on(sparse):
    rng = np.random.default_rng(0)
    midpoint = rng.standard_normal((1, 3))
    weights = rng.standard_normal((2, 3, 2))
    x = Enclosure(midpoint, rng.uniform(0, 0.1, (1, 3)))
    if sparse:
        padding = np.zeros((1, 100))
        weights = np.concatenate([weights, np.ones((2, 100, 2))], axis=1)
        x = Enclosure(np.concatenate([midpoint, padding], axis=1), np.concatenate([x.radius, padding], axis=1))
    projected = forward._projected(forward._Vectors.of(x), weights)
    assert not isinstance(forward._Vectors.of(x).midpoint, np.ndarray) == sparse
    for corner in corners(x[:, :3]):
        assert holds(projected, np.einsum("ud,hdn->uhn", corner, weights[:, :3]))


@pytest.mark.parametrize("inexact", ["query", "key", "both"])
def test_errors_of_queries_and_keys_are_carried_on_to_the_scores(inexact):
    rng = np.random.default_rng(1)
    query = Enclosure(rng.standard_normal((1, 1, 3)), 0.1 * rng.random((1, 1, 3)) * (inexact != "key"))
    key = Enclosure(rng.standard_normal((1, 1, 3)), 0.1 * rng.random((1, 1, 3)) * (inexact != "query"))
    zero = np.zeros(1, dtype=np.int64)
    scores = forward._inner_products(query, key, zero, zero)
    for a, b in product(corners(query), corners(key)):
        assert holds(scores, np.einsum("uhn,uhn->uh", a, b))
    assert scores.radius.max() < 1.0


@pytest.mark.parametrize("inexact", ["query", "key", "both"])
def test_errors_of_queries_and_keys_are_carried_on_one_coordinate_at_a_time(inexact):
    # With one coordinate all of Hölder's bounds are attained.
    one = np.ones((1, 1, 1))
    query = Enclosure(2.0 * one, 0.5 * one * (inexact != "key"))
    key = Enclosure(3.0 * one, 0.25 * one * (inexact != "query"))
    zero = np.zeros(1, dtype=np.int64)
    scores = forward._inner_products(query, key, zero, zero)
    for a, b in product(corners(query), corners(key)):
        assert holds(scores, (a * b)[:, :, 0])


@pytest.mark.parametrize("inexact", ["pattern", "values", "both"])
def test_errors_of_attention_and_of_values_are_carried_on_to_the_features(inexact):
    pattern = Enclosure([[[0.25], [0.75]]], np.full((1, 2, 1), 0.1 * (inexact != "values")))
    values = Enclosure([[[2.0]], [[4.0]]], np.full((2, 1, 1), 0.1 * (inexact != "pattern")))
    size, error = np.abs(values.midpoint).max(axis=-1), values.radius.max(axis=-1)
    midpoint, radius = forward._mixed(pattern, values.midpoint, size, error, np.array([[0, 1]]))
    features = Enclosure(midpoint, radius[:, :, None])
    for a, v in product(corners(pattern), corners(values)):
        assert holds(features, np.einsum("rsh,shn->rhn", a, v))


def test_sums_of_many_large_numbers_that_cancel_are_within_their_radius():
    # 0.1 + 0.2 - 0.3 over and over: the rounding errors of the sum are all there is.
    n = 4000
    rng = np.random.default_rng(3)
    a = np.tile([0.1, 0.2, -0.3], n)[None] * np.repeat(10.0 ** rng.integers(-3, 4, n), 3)
    product_of = forward._multiplied(Enclosure(a), np.ones((3 * n, 1)), forward._block_sizes(np.ones((3 * n, 1))))
    error = abs(rational(product_of.midpoint[0, 0]) - sum(map(rational, a[0]), flint.fmpq(0)))
    assert 0 < error <= rational(product_of.radius[0, 0])
    assert product_of.radius[0, 0] < 1e-7


def test_rounding_errors_of_tiny_numbers_that_meet_huge_ones_are_within_the_radius():
    rng = np.random.default_rng(5)
    for small, large in ((1e-310, 1e308), (1e-300, 1e300), (1e308, 1e-310)):
        a, b = small * (1 + rng.random((50, 1)) / 4), np.full((1, 1), large * (1 + rng.random() / 4))
        result = forward._multiplied(exact(a), b, forward._block_sizes(b))
        for x, midpoint, radius in zip(a[:, 0], result.midpoint[:, 0], result.radius[:, 0], strict=True):
            assert abs(rational(midpoint) - rational(x) * rational(b[0, 0])) <= rational(radius)
        assert result.radius.max() < 1e-14 * result.midpoint.max()


def step_of_exact_factors(step, a, b):
    """Midpoint and radius of the inner product of two vectors of float64, as a step of the forward pass computes it."""
    zero = np.zeros(1, dtype=np.int64)
    if step == "projection":
        result = forward._projected(forward._Vectors.of(exact(a[None])), b[None, :, None])
        return float(result.midpoint[0, 0, 0]), float(result.radius[0, 0, 0])
    if step == "inner-product":
        result = forward._inner_products(exact(a[None, None]), exact(b[None, None]), zero, zero)
        return float(result.midpoint[0, 0]), float(result.radius[0, 0])
    if step == "mixture":
        values, read = b[:, None, None], np.arange(len(a))[None]
        size = np.maximum(np.abs(values)[:, :, 0], 2.0**-400)
        midpoint, radius = forward._mixed(exact(a[None, :, None]), values, size, 0.0 * size, read)
        return float(midpoint[0, 0, 0]), float(radius[0, 0])
    result = forward._multiplied(exact(a[None]), b[:, None], forward._block_sizes(b[:, None]))
    return float(result.midpoint[0, 0]), float(result.radius[0, 0])


STEPS = ["projection", "inner-product", "mixture", "product"]


def assert_step_holds(step, a, b):
    midpoint, radius = step_of_exact_factors(step, a, b)
    true = sum((rational(x) * rational(y) for x, y in zip(a, b, strict=True)), flint.fmpq(0))
    assert abs(rational(midpoint) - true) <= rational(radius)
    return abs(rational(midpoint) - true), radius


@pytest.mark.parametrize("step", STEPS)
def test_rounding_errors_of_exact_factors_are_within_the_radius_of_each_step(step):
    rng = np.random.default_rng(4)
    for n in (1, 2, 400):
        for _ in range(20):
            # Mantissas just above 1, so that the relative errors of the products come close to the rounding unit.
            a, b = 1.0 + rng.random((2, n)) * 2.0**-20
            signs = np.where(rng.random(n) < 0.5, -1.0, 1.0)
            assert assert_step_holds(step, a, signs * b)[1] < 1e-10


@pytest.mark.parametrize("step", STEPS)
def test_small_terms_that_are_lost_beside_large_ones_are_within_the_radius_of_each_step(step):
    # However many partial sums there are, each begins with a number beside which 1 is lost.
    a = np.ones(2000)
    a[:64] = 2.0**53
    error, radius = assert_step_holds(step, a, np.ones(2000))
    assert error > 100
    assert radius < 2.0**53 * 1e-10


@pytest.mark.parametrize("step", STEPS)
def test_products_that_underflow_are_within_the_radius_of_each_step(step):
    for size in (1e-200, 1e-162, 3e-308, 5e-324):
        a, b = np.array([size, 0.0, 1.1 * size]), np.array([size, 1.0, size])
        if step == "mixture":
            a[1], b[1] = 1.0, 0.0  # attention sums to 1
        error, _ = assert_step_holds(step, a, b)
        assert error > 0


def test_the_radii_of_all_blocks_of_a_product_add_up():
    a, b = np.zeros((1, 600)), np.ones((600, 1))
    radius = np.zeros((1, 600))
    radius[0, [3, 300, 599]] = 0.25
    product_of = forward._multiplied(Enclosure(a, radius), b, forward._block_sizes(b))
    assert 0.75 <= product_of.radius[0, 0] < 0.76


def coarse(operation, share=0.01):
    """An operation with a midpoint that is off, within a radius that says so."""
    rng = np.random.default_rng(0)

    def moved(*arguments, **options):
        result = operation(*arguments, **options)
        error = share * np.maximum(np.abs(result.midpoint), 1e-300)
        wrong = result.midpoint + error * rng.choice([-0.99, 0.99], result.shape)
        return Enclosure(wrong, result.radius + error * (1 + 1e-9))

    return moved


@pytest.mark.parametrize("name", ["exp", "total"])
def test_softmax_relies_on_the_radii_of_what_it_uses_and_not_on_their_midpoints(monkeypatch, name):
    monkeypatch.setattr(forward, name, coarse(getattr(forward, name)))
    rng = np.random.default_rng(1)
    for _ in range(30):
        logits = rng.standard_normal((1, int(rng.integers(1, 5))))
        with flint.ctx.workprec(300):
            softmax = enclose_softmax(Enclosure(logits))
            assert_contains(softmax, softmax_of_balls([flint.arb(z) for z in logits[0].tolist()]), 300)


@given(seed=st.integers(0, 2**32), axis=st.sampled_from([0, 1, -1]))
def test_softmax_contains_the_softmax_of_every_point_of_the_logits(seed, axis):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, 2))
    scale, radius = 10.0 ** rng.uniform(-3, 3), rng.choice([0.0, 1e-14, 1e-6, 0.1, 2.0])
    logits = Enclosure(scale * rng.standard_normal(shape), radius * rng.random(shape))
    softmax = enclose_softmax(logits, axis=axis)
    with flint.ctx.workprec(300):
        for _ in range(4):
            moved = logits.midpoint + logits.radius * rng.choice([-1.0, -0.5, 0.0, 1.0], shape) * (1 - 2.0**-40)
            # Such a difference is exact, or far from the end.
            held = np.abs(moved - logits.midpoint) <= logits.radius * (1 - 2.0**-45)
            point = np.where(held, moved, logits.midpoint)
            lines = np.moveaxis(point, axis, -1).reshape(-1, shape[axis])
            exact = np.array([softmax_of_balls([flint.arb(z) for z in line]) for line in lines.tolist()], dtype=object)
            turned = Enclosure(np.moveaxis(softmax.midpoint, axis, -1), np.moveaxis(softmax.radius, axis, -1))
            assert_contains(turned, exact.reshape(-1).tolist(), 300)


# ---------------------------------------------------------------------------------------------------------------------
# Logits of given features, and in chunks.


def test_logits_of_given_features_hold_for_every_point_of_their_enclosure():
    network, contexts = random_network("gaussian", 9, sizes=(4, 3, 3, 2, 2, 2, 4))
    middle = enclose_features(network, contexts).midpoint
    rng = np.random.default_rng(0)
    for radius in (0.1 * rng.random((len(contexts), 1)), 0.1 * rng.random(middle.shape), np.float64(0.1)):
        features = Enclosure(middle, radius)
        logits = enclose_logits(network, contexts, features=features)
        last = network.W_E[contexts[:, -1]] + network.W_pos[-1]
        for signs in product((-1.0, 1.0), repeat=middle.shape[1]):
            point = middle + np.broadcast_to(radius, middle.shape) * signs
            assert holds(logits, (last + point @ network.W_O.reshape(-1, 3)) @ network.W_U)
        assert logits.radius.max() < 10.0


def test_chunks_come_in_order_and_cover_all_contexts():
    network, _ = random_network("gaussian", 4, sizes=(5, 3, 4, 2, 2, 2, 5))
    contexts = np.random.default_rng(0).integers(0, 5, (11, 3))
    whole = enclose_logits(network, contexts)
    for features in (None, enclose_features(network, contexts)):
        chunks = list(logit_chunks(network, contexts, rows=4, features=features))
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


def test_row_blocks_cover_all_rows_once():
    for rows, width in ((0, 3), (1, 10**9), (1000, 1000), (7, 0)):
        parts = [np.arange(rows)[part] for part in row_blocks(rows, width)]
        assert np.concatenate([*parts, np.zeros(0, dtype=int)]).tolist() == list(range(rows))


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
    with pytest.raises(InputError, match="features has shape"):
        enclose_logits(network, contexts, features=Enclosure(np.zeros((len(contexts), 3))))
    with pytest.raises(InputError, match="rows = 0"):
        logit_chunks(network, contexts, rows=0)
    with pytest.raises(InputError, match="at least one entry along the axis 1"):
        enclose_softmax(Enclosure(np.zeros((2, 0))), axis=1)
