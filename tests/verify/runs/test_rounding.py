"""The a-priori bound of any model holds for torch and for coarse formats; what overflows or is refused."""

import math

import numpy as np
import pytest
import torch
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.model.blocks import Activation, Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.model.shapes import dana_network, dana_tensors, mahdavi_layer, mahdavi_tensors
from constructions.tasks.vectors import VectorTask
from tests.layers import changed_layer, layers_and_tasks, random_layer, random_layer_task, truth
from tests.verify.forward.plain_model import plain_logits, random_model
from tests.verify.forward.rows.test_row_balls import layers
from verify.forward.map_norms import Norms
from verify.forward.rows.row_balls import HeadBalls, InRowBalls
from verify.runs.format_rows import InFormat
from verify.runs.formats import EXP_ULPS, FLOAT32, FLOAT64, FloatFormat
from verify.runs.rounding import rounding_bound
from verify.torch.module import Replica


def random_network(
    generator: np.random.Generator,
    *,
    d_vocab: int = 4,
    n_ctx: int = 3,
    d_model: int = 5,
    n_heads: int = 2,
    d_qk: int = 3,
    d_head: int = 2,
    d_vocab_out: int = 4,
    scale: float = 1.0,
    zeros: float = 0.0,
) -> Model:
    def tensor(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape) * (generator.random(shape) >= zeros)

    return dana_network(
        W_E=tensor(d_vocab, d_model),
        W_pos=tensor(n_ctx, d_model),
        W_Q=tensor(n_heads, d_model, d_qk) * scale,
        W_K=tensor(n_heads, d_model, d_qk),
        W_V=tensor(n_heads, d_model, d_head),
        W_O=tensor(n_heads, d_head, d_model),
        W_U=tensor(d_model, d_vocab_out),
    )


FORMATS = {"float32": FLOAT32, "float64": FLOAT64}


def computed(model, inputs, name):
    """What torch computes, as float64."""
    dtype = getattr(torch, name)
    given = [torch.tensor(inputs)] if not isinstance(inputs, VectorTask) else []
    if isinstance(inputs, VectorTask):
        given = [torch.tensor(x).to(dtype) for x in (inputs.contexts, inputs.queries)]
    with torch.inference_mode():
        return Replica.from_model(model, dtype=dtype)(*given).double().numpy()


def is_within(outputs, exact, bound):
    """Whether every output is within the bound of its context, where that is finite."""
    with ctx.workprec(600):
        return all(
            abs(arb(x) - y) <= arb(limit)
            for row, balls, limit in zip(outputs.tolist(), exact, bound.tolist(), strict=True)
            for x, y in zip(row, balls, strict=True)
            if limit < math.inf
        )


# One attention from one position, over vectors.


@pytest.mark.parametrize("name", FORMATS)
@given(layers_and_tasks())
def test_torch_stays_within_the_bound_of_a_layer(name, case):
    layer, task = case
    bound = rounding_bound(layer, task, number_format=FORMATS[name])
    assert bound.shape == (task.n_examples,) and np.isfinite(bound).all()
    exact = np.array(truth(layer, task).outputs, dtype=float)
    assert (np.abs(computed(layer, task, name) - exact).max(axis=1) <= bound).all()


@pytest.mark.parametrize("name", FORMATS)
def test_the_bound_of_a_layer_is_some_hundred_roundings_where_scores_are_moderate(name):
    layer, task = random_layer(d_model=6, scale=0.3), random_layer_task(d_model=6)
    bound = rounding_bound(layer, task, number_format=FORMATS[name])
    assert (bound < 3e4 * FORMATS[name].unit_roundoff).all() and (bound > FORMATS[name].unit_roundoff).all()


def cut(x, bits):
    """Each number rounded to so many significant bits: an adversary that rounds as coarsely as a format allows."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(mantissa * 2.0**bits) / 2.0**bits, exponent)


def coarse_outputs(layer, task, bits):
    """The forward pass of a layer with every operand and result rounded to so many bits."""
    c = lambda x: cut(x, bits)  # noqa: E731
    contexts, queries = c(task.contexts), c(task.queries)
    contexts = np.broadcast_to(contexts, (task.n_examples, *contexts.shape[1:]))
    mixed = []
    for h in range(layer.n_heads):
        scores = c(np.einsum("te,tne->tn", c(queries @ c(layer.W_Q[h])), c(contexts @ c(layer.W_K[h]))))
        powers = c(np.exp(c(scores - scores.max(axis=1, keepdims=True))))
        theta = c(powers / c(powers.sum(axis=1, keepdims=True)))
        mixed.append(c(np.einsum("tn,tnv->tv", theta, c(contexts @ c(layer.W_V[h])))))
    return c(c(np.hstack(mixed) @ c(mahdavi_tensors(layer)["W_O"])) @ c(layer.W_U))


@given(layers_and_tasks(), st.sampled_from([11, 15, 20]))
def test_coarse_arithmetic_stays_within_the_bound_of_its_format(case, bits):
    layer, task = case
    coarse = FloatFormat("coarse", 2.0**-bits, 2.0**-1000, 2.0**1000)
    bound = rounding_bound(layer, task, number_format=coarse)
    exact = np.array(truth(layer, task).outputs, dtype=float)
    assert (np.abs(coarse_outputs(layer, task, bits) - exact).max(axis=1) <= bound).all()


def test_the_softmax_has_its_share_in_the_bound():
    one = np.ones((1, 1))
    layer = mahdavi_layer(W_Q=0 * one[None], W_K=one[None], W_V=one[None], W_O=one, W_D=one)
    task = VectorTask(np.ones((1, 3, 1)), one, one)
    # 4 units in the last place of two exponentials are 16 u; the conversions and the four products have 8 u.
    assert rounding_bound(layer, task, number_format=FLOAT32)[0] >= 16 * FLOAT32.unit_roundoff


@pytest.mark.parametrize("name", ["W_Q", "W_V", "W_O", "W_D"])
def test_where_a_layer_may_overflow_nothing_is_claimed(name):
    layer, task = random_layer(), random_layer_task()
    tall = changed_layer(layer, **{name: mahdavi_tensors(layer)[name] * 1e37})
    assert np.isinf(rounding_bound(tall, task, number_format=FLOAT32)).all()
    assert np.isfinite(rounding_bound(layer, task, number_format=FLOAT32)).all()


@pytest.mark.parametrize("of", ["contexts", "queries"])
def test_where_a_given_number_overflows_nothing_is_claimed(of):
    layer, task = random_layer(), random_layer_task()
    arrays = {"contexts": task.contexts, "queries": task.queries}
    tall = VectorTask(**{**arrays, of: np.full_like(arrays[of], 1e39)}, labels=task.labels)
    # No weight reads what overflows, but zero times infinity is no number.
    silent = changed_layer(layer, W_Q=0 * layer.W_Q, W_K=0 * layer.W_K, W_V=0 * layer.W_V)
    assert np.isinf(rounding_bound(silent, tall, number_format=FLOAT32)).all()
    assert np.isfinite(rounding_bound(silent, tall, number_format=FLOAT64)).all()


# Any other model.


@pytest.mark.parametrize("name", FORMATS)
@given(st.integers(0, 2**32), st.sampled_from([1e-3, 0.3, 1.0, 3.0, 30.0]))
def test_torch_stays_within_the_bound_of_random_models(name, seed, spread):
    model, contexts = random_model(np.random.default_rng(seed), spread=spread)
    bound = rounding_bound(model, contexts, number_format=FORMATS[name])
    assert is_within(computed(model, contexts, name), plain_logits(model, contexts, 500), bound)


def deep(width=8, tokens=6, length=5, *, count=2, spread=1.0):
    rng = np.random.default_rng(3)
    blocks = layers(rng, width, count=count)
    read = {"W_E": spread * rng.normal(size=(tokens, width)), "W_pos": spread * rng.normal(size=(length, width))}
    return Model(tuple(blocks), W_U=rng.normal(size=(width, 4)), **read), rng.integers(0, tokens, (6, length))


@pytest.mark.parametrize("name", FORMATS)
def test_the_bound_of_a_transformer_is_of_use(name):
    model, contexts = deep(count=1)
    bound = rounding_bound(model, contexts, number_format=FORMATS[name])
    assert (bound < 1e6 * FORMATS[name].unit_roundoff).all()
    assert is_within(computed(model, contexts, name), plain_logits(model, contexts, 500), bound)


@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(["float32", "float64"]))
def test_torch_stays_within_the_bound_of_networks(seed, name):
    network = random_network(np.random.default_rng(seed))
    contexts = np.array([[0, 1, 2], [3, 3, 0]])
    outputs, exact = computed(network, contexts, name), plain_logits(network, contexts, 500)
    assert is_within(outputs, exact, rounding_bound(network, contexts, number_format=FORMATS[name]))


def one_row(block, *, width=2, spread=1.0):
    """A block between a random input and a random readout."""
    rng = np.random.default_rng(5)
    draw = rng.standard_normal
    embedding = spread * draw((4, width))
    return Model((block,), W_U=draw((width, 3)), W_E=embedding, W_pos=0 * draw((2, width))), np.array([[0, 1], [2, 3]])


def cut_logits(model, contexts, bits):
    """Embedding, one normalization or one layer of neurons, and readout, with every result rounded to so many bits."""
    c = lambda x: cut(x, bits)  # noqa: E731
    x = c(model.W_E)[contexts[:, -1]]
    (block,) = model.blocks
    if isinstance(block, Normalization):
        y = c(x - c(c(x.sum(axis=1, keepdims=True)) / x.shape[1])) if block.kind == "layer" else x
        root = c(np.sqrt(c(c(c(c(y * y).sum(axis=1, keepdims=True)) / x.shape[1]) + c(np.array(block.epsilon)))))
        x = c(c(y / root) * c(block.w))
        x = x if block.b is None else c(x + c(block.b))
    else:
        hidden = c(c(x @ c(block.W_in)) + c(block.b_in))
        active = np.maximum(hidden, 0.0)
        if block.activation == "silu":
            active = c(hidden / c(1.0 + c(np.exp(np.minimum(-hidden, 700.0)))))
        x = c(x + c(c(active @ c(block.W_out)) + c(block.b_out)))
    return c(x @ c(model.W_U))


@pytest.mark.parametrize("bits", [12, 16, 22])
@pytest.mark.parametrize("kind", ["layer", "rms", "relu", "silu"])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e3])
def test_coarse_blocks_stay_within_the_bound_of_their_format(bits, kind, spread):
    draw = np.random.default_rng(6).standard_normal
    block = (
        Normalization(kind, draw(2), draw(2), 1e-3)
        if kind in ("layer", "rms")
        else FeedForward(draw((2, 5)), draw((5, 2)), draw(5), draw(2), activation=kind)
    )
    model, contexts = one_row(block, spread=spread)
    coarse = FloatFormat("coarse", 2.0**-bits, 2.0**-1000, 2.0**1000)
    bound = rounding_bound(model, contexts, number_format=coarse)
    assert is_within(cut_logits(model, contexts, bits), plain_logits(model, contexts, 500), bound)


def test_large_shifts_and_gains_are_converted_with_an_error():
    # What is converted is large and cancels: the error is one of the conversion alone.
    shift = np.array([1e6 + 1 / 3, 0.0])
    for block in (
        Normalization("rms", np.ones(2), shift),
        FeedForward(np.zeros((2, 1)), np.zeros((1, 2)), b_out=shift),
    ):
        model, contexts = one_row(block, spread=0.0 if isinstance(block, Normalization) else 1.0)
        model = Model(model.blocks, W_U=np.eye(2), W_E=model.W_E, W_pos=model.W_pos, b_U=-shift)
        bound = rounding_bound(model, contexts, number_format=FLOAT32)
        assert is_within(computed(model, contexts, "float32"), plain_logits(model, contexts, 500), bound)
        assert (bound >= 1e6 * FLOAT32.unit_roundoff).all()


ONE = np.ones((1, 1))
SHARES = {
    # In units u: two of the embedding, two of a product, two of a shift that cancels it.
    "a shift that cancels": (Model((), W_U=-ONE, b_U=np.ones(1), W_E=ONE, W_pos=0 * ONE), 5.0),
    # A row of size 1 / sqrt(2): seven of the normalization, four of the gain, two of the readout, and the embedding.
    "a normalization": (Model((Normalization("rms", np.ones(1), epsilon=1.0),), W_U=ONE, W_E=ONE, W_pos=0 * ONE), 8.0),
    # Ten of the average, beside two each of the embedding and of three products.
    "an average": (
        Model(
            (Attention(0 * ONE[None], ONE[None], ONE[None], ONE[None], b_O=np.zeros(1), skip=False),),
            W_U=ONE, W_E=ONE, W_pos=0 * ONE,
        ),
        18.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("step", SHARES)
def test_every_step_has_its_share_in_the_bound(step):
    model, units = SHARES[step]
    bound = rounding_bound(model, np.array([[0]]), number_format=FLOAT32)
    assert units * FLOAT32.unit_roundoff <= bound[0] < 3.0 * units * FLOAT32.unit_roundoff


def transformer_with(**changes):
    model, contexts = deep(count=1)
    attention, neurons, final = model.blocks
    assert isinstance(attention, Attention) and isinstance(neurons, FeedForward) and isinstance(final, Normalization)
    parts = {"W_E": model.W_E, "W_pos": model.W_pos, "W_U": model.W_U}
    records = {"attention": vars(attention), "neurons": vars(neurons), "final": vars(final)}
    for name, value in changes.items():
        owner, _, field = name.partition("__")
        if field:
            records[owner] = {**records[owner], field: value(records[owner][field])}
        else:
            parts[owner] = value(parts[owner])
    blocks = (
        Attention(**records["attention"]), FeedForward(**records["neurons"]), Normalization(**records["final"])
    )  # fmt: skip
    return Model(blocks, **parts), contexts


def times(factor):
    return lambda tensor: tensor * factor


OVERFLOWS = {
    "an embedding": {"W_E": times(1e39)},
    "a square": {"W_E": times(1e20)},
    "a key": {"attention__W_K": times(1e39)},
    "a score": {"attention__W_Q": times(1e20), "attention__W_K": times(1e20)},
    "a value": {"attention__W_V": times(1e39)},
    "an output": {"attention__W_V": times(1e20), "attention__W_O": times(1e20)},
    "a shift of an output": {"attention__b_O": times(1e39)},
    "a neuron": {"neurons__W_in": times(1e39)},
    "a shift of the neurons": {"neurons__b_out": times(1e39)},
    "a gain": {"final__w": times(1e39)},
    "a shift": {"final__b": times(1e39)},
    "a large epsilon": {"final__epsilon": lambda _: 1e39},
    "the readout": {"W_U": times(1e39)},
}


@pytest.mark.parametrize("place", OVERFLOWS)
def test_where_a_transformer_may_overflow_nothing_is_claimed(place):
    model, contexts = transformer_with(**OVERFLOWS[place])
    assert np.isinf(rounding_bound(model, contexts, number_format=FLOAT32)).all()
    assert np.isfinite(rounding_bound(model, contexts, number_format=FLOAT64)).all()


def test_a_normalization_does_not_hide_an_overflow_before_it():
    # The squares overflow, so that the rows become zero; the exact ones are of moderate size.
    model, contexts = transformer_with(W_E=times(1e30), W_pos=times(1e30))
    exact = [[float(y.mid()) for y in row] for row in plain_logits(model, contexts, 500)]
    assert (np.abs(computed(model, contexts, "float32") - exact).max(axis=1) > 0.1).all()
    assert np.isinf(rounding_bound(model, contexts, number_format=FLOAT32)).all()


def test_an_epsilon_that_the_format_flushes_is_no_information():
    model, contexts = transformer_with(final__epsilon=lambda _: 1e-40)
    assert np.isinf(rounding_bound(model, contexts, number_format=FLOAT32)).all()
    assert np.isfinite(rounding_bound(model, contexts, number_format=FLOAT64)).all()


@pytest.mark.parametrize("scale", [1e-36, 1e-42])
def test_what_is_flushed_to_zero_is_covered(scale):
    block = FeedForward(scale * np.ones((2, 1)), np.ones((1, 2)), activation="relu", skip=False)
    model, contexts = one_row(block)
    model = Model((block,), W_U=1e25 * np.eye(2), W_E=np.abs(model.W_E), W_pos=model.W_pos)
    flushed = np.zeros((2, 2))
    bound = rounding_bound(model, contexts, number_format=FloatFormat("shallow", 2.0**-24, 1e-30, 2.0**127))
    assert is_within(flushed, plain_logits(model, contexts, 500), bound) and np.isfinite(bound).all()


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu-tanh", "gelu-bloom", "silu"])
def test_activations_of_large_arguments_are_within_the_bound(activation: Activation):
    block = FeedForward(np.diag([1.0, 100.0, 1e6, 1e15, -1.0, -100.0, -1e15]), np.eye(7), activation=activation)
    draw = np.random.default_rng(9).standard_normal
    W_E = np.concatenate([np.ones((1, 7)), draw((5, 7))])
    model = Model((block,), W_U=np.eye(7), W_E=W_E, W_pos=np.zeros((1, 7)))
    contexts = np.arange(6)[:, None]
    for name, number_format in FORMATS.items():
        bound = rounding_bound(model, contexts, number_format=number_format)
        outputs = computed(model, contexts, name)
        assert is_within(outputs, plain_logits(model, contexts, 500), bound) and np.isfinite(bound).all()


# What is refused, and what is not claimed.


def test_a_hopeless_format_claims_nothing():
    hopeless = FloatFormat("hopeless", 0.5, 2.0**-100, 2.0**100)
    assert np.isinf(rounding_bound(random_layer(), random_layer_task(), number_format=hopeless)).all()
    model, contexts = deep()
    for coarse in (hopeless, FloatFormat("bfloat16", 2.0**-8, 2.0**-126, 2.0**127)):
        assert np.isinf(rounding_bound(model, contexts, number_format=coarse)).all()
    assert np.isinf(rounding_bound(model, contexts, number_format=FLOAT32, exp_ulps=2.0**22)).all()


def test_a_finer_format_or_a_better_exponential_has_a_smaller_bound():
    model, contexts = deep()
    bounds = [
        rounding_bound(model, contexts, number_format=number_format, exp_ulps=ulps).max()
        for number_format, ulps in ((FLOAT64, 4.0), (FLOAT32, 1.0), (FLOAT32, 100.0))
    ]
    assert bounds[0] < bounds[1] < bounds[2]


def test_no_contexts_have_no_bounds():
    model, _ = deep()
    assert rounding_bound(model, np.zeros((0, 3), np.int64), number_format=FLOAT32).shape == (0,)


@pytest.mark.parametrize(
    "contexts",
    [np.zeros((2, 6), np.int64), np.zeros((2, 0), np.int64), np.zeros(3, np.int64), np.zeros((2, 3)),
     np.full((2, 3), 6), np.full((2, 3), -1)],
)  # fmt: skip
def test_contexts_that_a_model_cannot_read_are_refused(contexts):
    with pytest.raises(InputError, match="contexts"):
        rounding_bound(deep()[0], contexts, number_format=FLOAT32)


def test_what_is_no_format_accuracy_or_task_is_refused():
    layer, task = random_layer(), random_layer_task()
    for ulps in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="exp_ulps"):
            rounding_bound(layer, task, number_format=FLOAT32, exp_ulps=ulps)
    with pytest.raises(InputError, match="fine is finer"):
        rounding_bound(layer, task, number_format=FloatFormat("fine", 2.0**-60, 2.0**-1000, 2.0**1000))
    with pytest.raises(InputError, match="dimension"):
        rounding_bound(layer, random_layer_task(d_model=4), number_format=FLOAT32)
    with pytest.raises(InputError, match="vectors"):
        rounding_bound(deep()[0], task, number_format=FLOAT32)


# Idle heads.


def with_idle_heads(*, scale=1.0, tiny=0.0):
    """A network of five heads, four of which ask nothing after most tokens, and all its contexts."""
    rng = np.random.default_rng(8)
    network = random_network(rng, d_vocab=3, n_ctx=2, d_model=5, n_heads=5)
    tensors = dict(dana_tensors(network)) | {"W_E": np.eye(3, 5), "W_pos": np.hstack([np.zeros((2, 3)), np.eye(2)])}
    W_Q = tensors["W_Q"] * (np.arange(5)[None, :, None] == np.arange(5)[:, None, None])
    W_Q[3:] = tiny
    tensors |= {"W_Q": W_Q, "W_V": tensors["W_V"] * scale, "W_O": tensors["W_O"] / scale}
    return dana_network(**tensors), np.array([[i, j] for i in range(3) for j in range(3)])


@pytest.mark.parametrize("name", FORMATS)
def test_the_bound_of_idle_heads_holds_what_torch_computes_and_is_hardly_wider(name):
    network, contexts = with_idle_heads()
    bound = rounding_bound(network, contexts, number_format=FORMATS[name])
    assert is_within(computed(network, contexts, name), plain_logits(network, contexts, 500), bound)
    one_by_one = rounding_bound(with_idle_heads(tiny=1e-30)[0], contexts, number_format=FORMATS[name])
    assert (bound < 3.0 * one_by_one).all()


@pytest.mark.parametrize("scale", [1e38, 1e-38])
def test_what_idle_heads_overflow_is_claimed_of_no_context(monkeypatch, scale):
    network, contexts = with_idle_heads(scale=scale)
    assert np.isinf(rounding_bound(network, contexts, number_format=FLOAT32)).all()
    monkeypatch.setattr("verify.forward.rows.row_balls._WIDE_ENTRIES", 1)
    monkeypatch.setattr("verify.forward.rows.row_balls._LOGIT_ENTRIES", 1)
    assert np.isinf(rounding_bound(network, contexts, number_format=FLOAT32)).all()
    assert np.isfinite(rounding_bound(network, contexts, number_format=FLOAT64)).all()


@pytest.mark.parametrize("name", FORMATS)
def test_weights_of_idle_heads_that_are_not_quite_equal_are_within_the_bound(name):
    """One value far from the others: what a weight off by some units changes is most of the bound."""
    u, length = FORMATS[name].unit_roundoff, 4
    arithmetic = InRowBalls(Norms(with_idle_heads()[0]), InFormat(FORMATS[name], EXP_ULPS))
    value = HeadBalls(np.ones((1, 1, 1)), np.ones((1, 1)), np.zeros((1, 1)))
    moved = arithmetic.uniform_attention(value, length).radius[0, 0]
    # Numerators within 2 u EXP_ULPS, their sum, the quotient, a product and a sum.
    assert (4.0 * EXP_ULPS + 2.0 * length) * u <= moved <= 3.0 * (4.0 * EXP_ULPS + 2.0 * length + 8.0) * u
