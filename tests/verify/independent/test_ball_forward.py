"""The forward pass in balls: for any blocks it holds what mpmath finds from the definitions, at any precision."""

from pathlib import Path
from tempfile import TemporaryDirectory

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.models.blocks import Attention, FeedForward, Normalization
from constructions.models.model import Model
from constructions.tasks.vectors import VectorTask
from tests.layers import BITS, layers_and_tasks, truth
from tests.memories import memory, random_task
from tests.memories import truth as truth_of_memory
from verify.arithmetic.integers import SMALL
from verify.independent import ball_forward
from verify.independent.ball_forward import BallForward, NoInformationError
from verify.independent.integer_rank import FeatureRows
from verify.independent.plain.plain_model import PlainModel
from verify.independent.plain.plain_task import PlainTask, PlainVectorTask


def read(model, task):
    with TemporaryDirectory() as name:
        model.save(Path(name) / "model")
        task.save(Path(name) / "task")
        reader = PlainVectorTask if isinstance(task, VectorTask) else PlainTask
        return PlainModel.read(Path(name) / "model"), reader.read(Path(name) / "task")


def contains(ball, value):
    lower, upper = (mpmath.mpf(int(m)) * mpmath.mpf(2) ** int(e) for m, e in (x.man_exp() for x in ends(ball)))
    return lower <= value <= upper


def ends(ball):
    with ctx.workprec(4000):
        return ball.lower(), ball.upper()


# The definitions in mpmath, one row after the other, as docs/conventions.md states them.


def mpmath_outputs(model, rows, query=None):
    """The outputs for rows `[S][d]` of mpf, and the query that a task brings."""
    for block in model.blocks:
        rows = _BLOCKS[type(block)](block, rows, query)
    return plus(times(rows[-1], model.W_U), model.b_U)


def times(row, matrix):
    return [mpmath.fsum(x * mpmath.mpf(float(w)) for x, w in zip(row, column, strict=True)) for column in matrix.T]


def plus(row, shift):
    return row if shift is None else [x + mpmath.mpf(float(b)) for x, b in zip(row, shift, strict=True)]


def normalized(norm, rows, _=None):
    return rows if norm is None else [normalized_row(norm, row) for row in rows]


def normalized_row(norm, row):
    if norm.kind == "layer":
        mean = mpmath.fsum(row) / len(row)
        row = [x - mean for x in row]
    scale = mpmath.sqrt(mpmath.fsum(x * x for x in row) / len(row) + mpmath.mpf(norm.epsilon))
    return plus([x / scale * mpmath.mpf(float(w)) for x, w in zip(row, norm.w, strict=True)], norm.b)


ACTIVATIONS = {
    "relu": lambda u: max(u, mpmath.mpf(0)),
    "gelu": mpmath.ncdf,
    "gelu-tanh": lambda u: (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (u + mpmath.mpf("0.044715") * u**3))) / 2,
    "gelu-bloom": lambda u: (1 + mpmath.tanh(mpmath.mpf("0.79788456") * (u + mpmath.mpf("0.044715") * u**3))) / 2,
    "silu": lambda u: 1 / (1 + mpmath.exp(-u)),
}


def neurons(block, rows, _):
    result = []
    for row, normal in zip(rows, normalized(block.norm, rows), strict=True):
        inner = plus(times(normal, block.W_in), block.b_in)
        function = ACTIVATIONS[block.activation]
        active = [function(u) if block.activation == "relu" else u * function(u) for u in inner]
        y = plus(times(active, block.W_out), block.b_out)
        result.append([a + b for a, b in zip(row, y, strict=True)] if block.skip else y)
    return result


def attention(block, rows, query):
    normal = normalized(block.norm, rows)
    places = [len(rows) - 1] if block.attends == "last" else range(len(rows))
    result = []
    for i in places:
        seen = normal[: i + 1] if block.attends == "causal" else normal
        y = [mpmath.mpf(0)] * block.d_out
        for h in range(block.n_heads):
            shifts = {n: None if (b := getattr(block, f"b_{n}")) is None else b[h] for n in "QKV"}
            asked = plus(times(query if block.queries == "task" else normal[i], block.W_Q[h]), shifts["Q"])
            keys = [plus(times(row, block.W_K[h]), shifts["K"]) for row in seen]
            root = mpmath.sqrt(block.score_root)
            powers = [mpmath.exp(mpmath.fsum(a * b for a, b in zip(asked, k, strict=True)) / root) for k in keys]
            values = [plus(times(row, block.W_V[h]), shifts["V"]) for row in seen]
            mixed = [
                mpmath.fsum(p * v[c] for p, v in zip(powers, values, strict=True)) / mpmath.fsum(powers)
                for c in range(block.d_head)
            ]
            y = [a + b for a, b in zip(y, times(mixed, block.W_O[h]), strict=True)]
        y = plus(y, block.b_O)
        result.append([a + b for a, b in zip(rows[i], y, strict=True)] if block.skip else y)
    return result


_BLOCKS = {Attention: attention, FeedForward: neurons, Normalization: normalized}


# Random models of every kind of block.


def draw_norm(rng, width, kind):
    shift = rng.standard_normal(width) if rng.random() < 0.5 else None
    return Normalization(kind, w=rng.standard_normal(width), b=shift, epsilon=float(rng.choice([1e-5, 0.25])))


def draw_block(rng, width, *, of_task=False):
    kind = "attention" if of_task else rng.choice(["attention", "attention", "feed-forward", "layer", "rms"])
    if kind in ("layer", "rms"):
        return draw_norm(rng, width, kind), width
    skip = not of_task and rng.random() < 0.6
    out = width if skip else int(rng.integers(1, 4))
    norm = None if of_task or rng.random() < 0.5 else draw_norm(rng, width, rng.choice(["layer", "rms"]))

    def some(*shape):
        return rng.standard_normal(shape)

    def perhaps(*shape):
        return some(*shape) if rng.random() < 0.5 else None

    if kind == "feed-forward":
        inner = int(rng.integers(0, 4))
        activation = rng.choice([*ACTIVATIONS])
        block = FeedForward(
            3 * some(width, inner), some(inner, out), perhaps(inner), perhaps(out), str(activation), norm, bool(skip)
        )
        return block, out
    heads, d_qk, d_head = int(rng.integers(0, 3)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    block = Attention(
        some(heads, width, d_qk), some(heads, width, d_qk), some(heads, width, d_head), some(heads, d_head, out),
        perhaps(heads, d_qk), perhaps(heads, d_qk), perhaps(heads, d_head), perhaps(out),
        norm=norm, skip=bool(skip), attends="last" if of_task else str(rng.choice(["last", "causal", "all"])),
        queries="task" if of_task else "stream", score_root=int(rng.choice([1, 2, 9])),
    )  # fmt: skip
    return block, out


def draw_model(rng, *, tokens):
    d_model = width = int(rng.integers(1, 4))
    blocks = []
    for i in range(int(rng.integers(0 if tokens else 1, 5))):
        block, width = draw_block(rng, width, of_task=not tokens and i == 0 and rng.random() < 0.5)
        blocks.append(block)
    shift = rng.standard_normal(2) if rng.random() < 0.5 else None
    ends = {"W_E": rng.standard_normal((3, d_model)), "W_pos": rng.standard_normal((3, d_model))} if tokens else {}
    if not tokens:
        first = blocks[0]
        d_model = first.width if isinstance(first, Normalization) else first.d_model
    return Model(tuple(blocks), rng.standard_normal((width, 2)), shift, **ends), d_model


@pytest.mark.parametrize("bits", [64, 128])
@given(seed=st.integers(0, 2**32), tokens=st.booleans())
def test_the_balls_hold_what_any_blocks_compute(bits, seed, tokens):
    rng = np.random.default_rng(seed)
    model, d_model = draw_model(rng, tokens=tokens)
    if tokens:
        task = random_task(facts=4, tail=3, vocabulary=3, seed=seed % 100)
        contexts, queries = [*task.contexts.tolist(), *task.tail_contexts.tolist()], [None] * 7
    else:
        size = 3
        task = VectorTask(
            contexts=rng.standard_normal((int(rng.choice([1, size])), 2, d_model)),
            queries=rng.standard_normal((size, d_model)),
            labels=np.ones((size, 1)),
        )
        contexts, queries = [task.context(t) for t in range(size)], task.queries
    plain, plain_task = read(model, task)
    found = BallForward(plain, plain_task, bits=bits).run(range(len(contexts)))
    with mpmath.workprec(600):
        for context, query, row in zip(contexts, queries, found.outputs, strict=True):
            if tokens:
                rows = [plus([mpmath.mpf(x) for x in model.W_E[t]], model.W_pos[s]) for s, t in enumerate(context)]
            else:
                rows = [[mpmath.mpf(x) for x in vector] for vector in context]
                query = [mpmath.mpf(x) for x in query]
            exact = mpmath_outputs(model, rows, query)
            assert all(contains(ball, x) for ball, x in zip(row, exact, strict=True))
            assert all(ball.rad() < 1e-9 * (1 + abs(ball.mid())) for ball in row)


@given(case=layers_and_tasks())
def test_a_layer_is_held_with_its_mixed_inputs_and_its_largest_weights(case):
    layer, task = case
    exact, found = truth(layer, task), BallForward(*read(layer, task), features="inputs").run(range(task.n_examples))
    with mpmath.workprec(BITS):
        for t in range(task.n_examples):
            assert all(map(contains, found.outputs[t], exact.outputs[t]))
            assert all(map(contains, found.features[t], exact.mixed[t]))
            assert all(map(contains, found.shares[t], map(max, exact.theta[t])))
        rows = FeatureRows.of(found.features, [], SMALL)
        for row, wanted in zip(rows.feature_rows(False), exact.mixed, strict=True):
            for n, x in zip(row, wanted, strict=True):
                assert abs(mpmath.ldexp(n, -rows.features_scale) - x) <= mpmath.ldexp(
                    rows.features_error, -rows.features_scale
                )
                assert abs(n) <= 2**SMALL


@pytest.mark.parametrize("beta", [0.1, 300.0])
def test_a_network_is_held_with_its_values_whether_rows_are_moved_before_they_are_mixed_or_after(beta):
    task = random_task()
    network = memory(task, beta=beta)
    exact, (plain, plain_task) = truth_of_memory(network, task), read(network, task)
    everything = range(task.n_all)
    kept = BallForward(plain, plain_task, features="values")
    quick = BallForward(plain, plain_task)
    assert quick.attention.early and not kept.attention.early
    found, other = kept.run(everything), quick.run(everything)
    with mpmath.workprec(300):
        for rows in (found.outputs, other.outputs):
            assert all(all(map(contains, *pair)) for pair in zip(rows, exact.logits, strict=True))
        assert all(all(map(contains, *pair)) for pair in zip(found.features, exact.features, strict=False))
        assert all(all(map(contains, *pair)) for pair in zip(found.last, exact.last, strict=False))


def test_the_examples_that_are_asked_for_are_those_that_are_computed():
    task = random_task()
    plain, plain_task = read(memory(task), task)
    everything = BallForward(plain, plain_task).run(range(task.n_all)).outputs
    some = BallForward(plain, plain_task, examples=[16, 3, 9]).run([3, 16]).outputs
    for row, i in zip(some, (3, 16), strict=True):
        assert all(a.overlaps(b) for a, b in zip(row, everything[i], strict=True))


def test_more_bits_make_smaller_balls_and_chunks_change_nothing(monkeypatch):
    task = random_task()
    plain, plain_task = read(memory(task), task)
    radii = [
        max(x.rad() for row in BallForward(plain, plain_task, bits=bits).run(range(17)).outputs for x in row)
        for bits in (64, 128, 256)
    ]
    assert radii[0] > 2**50 * radii[1] > 2**100 * radii[2] > 0
    monkeypatch.setattr(ball_forward, "_CHUNK", 5)
    chunked = BallForward(plain, plain_task).run(range(17)).outputs
    monkeypatch.undo()
    whole = BallForward(plain, plain_task).run(range(17)).outputs
    assert all(a.overlaps(b) for rows in zip(chunked, whole, strict=True) for a, b in zip(*rows, strict=True))


def test_neurons_of_one_number_are_read_by_their_lines_and_where_a_zero_is_near_one_by_one(monkeypatch):
    """One head that weighs positions writes a number; some zeros of the neurons lie at numbers that contexts have."""
    rng, task = np.random.default_rng(7), random_task()
    heads = {name: np.ones((1, 2, 1)) for name in ("W_Q", "W_K", "W_V")}
    attention = Attention(**heads, W_O=np.ones((1, 1, 1)), skip=False)
    W_E, W_pos = np.stack([np.arange(5.0), np.zeros(5)], 1), np.zeros((3, 2))
    slopes, zeros = rng.choice([-1.0, 2.0, 0.0], 40), rng.choice([1.5, 2.0, 2.25, 3.0, 4.0], 40)
    neurons = FeedForward(
        slopes[None], rng.normal(size=(40, 3)), b_in=-slopes * zeros, b_out=rng.normal(size=3), skip=False
    )
    model = Model((attention, neurons), rng.normal(size=(3, 4)), W_E=W_E, W_pos=W_pos, b_U=rng.normal(size=4))
    plain, plain_task = read(model, task)
    contexts = np.concatenate([task.contexts, task.tail_contexts])
    quick = BallForward(plain, plain_task)
    assert quick.lines is not None
    found = quick.run(range(task.n_all)).outputs
    with mpmath.workprec(300):
        for context, row in zip(contexts, found, strict=True):
            rows = [[mpmath.mpf(float(a)) for a in W_E[t]] for t in context]
            assert all(map(contains, row, mpmath_outputs(model, rows)))
    monkeypatch.setattr(ball_forward, "_FEW", 1000)
    for rows in zip(quick.run(range(task.n_all)).outputs, found, strict=True):
        assert all(a.overlaps(b) and a.rad() < 1e-30 and b.rad() < 1e-30 for a, b in zip(*rows, strict=True))


def test_rows_wider_than_the_file_has_numbers_are_not_made():
    """Blocks without neurons cost no bytes, however wide they write."""
    huge = 2**20
    model = Model(
        (
            FeedForward(np.ones((2, 0)), np.ones((0, huge)), skip=False),
            FeedForward(np.ones((huge, 0)), np.ones((0, 2)), skip=False),
        ),
        np.ones((2, 1)),
        W_E=np.ones((5, 2)),
        W_pos=np.ones((3, 2)),
    )
    plain, plain_task = read(model, random_task())
    with pytest.raises(NoInformationError, match="wider"):
        BallForward(plain, plain_task)


@pytest.mark.parametrize("name", ["gelu", "gelu-tanh", "gelu-bloom", "silu"])
@pytest.mark.parametrize("u", [-1e300, -1e6, -40.0, -1.0, 0.0, 1e-300, 1.0, 40.0, 1e6, 1e300])
def test_activations_hold_the_truth_at_any_size(name, u):
    with ctx.workprec(128):
        ball = ball_forward._ACTIVATIONS[name](arb(u))
    assert ball.is_finite()
    if abs(u) < 1e5:
        with mpmath.workprec(8000):  # 1 + tanh(2300) is 1e-2010
            assert contains(ball, mpmath.mpf(u) * ACTIVATIONS[name](mpmath.mpf(u)))
    elif u > 0:
        assert ball.contains(arb(u)) and ball.rad() < 1e-30 * u
    else:
        assert abs(ball) < 1e-300
