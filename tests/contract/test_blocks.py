"""What every arithmetic has to say about every kind of block and about stacks of them: the truth, and not too vaguely.

The truth is evaluated here, position by position, by the definitions of `constructions/model/blocks.py` and by nothing
else. A further arithmetic is one more entry of ARITHMETICS. Those of torch stand there
twice, for the CPU and for a GPU.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import mpmath
import numpy as np
import pytest
import torch
from flint import arb, arb_mat, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import inputs, models
from constructions.errors import FileFormatError, HypothesisError, InputError
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.exact_network import rounded
from constructions.model.model import Model
from constructions.tasks.vectors import VectorTask
from tests.verify.forward.test_in_balls import holds
from verify.arithmetic.double_double import DoubleDouble
from verify.forward.in_balls import logits_in_balls
from verify.forward.in_double_double import InDoubleDouble
from verify.forward.in_float64 import InFloat64
from verify.forward.in_rationals import exact_network_logits
from verify.forward.logits import enclose_logits
from verify.forward.map_norms import Norms
from verify.forward.rows.row_balls import InRowBalls, logit_balls
from verify.forward.walk import Prefixes, passed, read_out, shares_prefixes, stream_of
from verify.kernel.balls import logits
from verify.kernel.model import read_model
from verify.kernel.task import read_task
from verify.runs.formats import FLOAT32, FLOAT64
from verify.runs.rounding import rounding_bound
from verify.torch.module import Replica

BITS = 3000  # of the truth: scores of 10^100 leave 2600 of them
SLACK = arb(2) ** -1500  # of the truth, relatively: far below the radius of any ball that is tried

# ---------------------------------------------------------------------------------------------------------------------
# The truth, by the definitions.


def number(x):
    return mpmath.mpf(int(x.p)) / int(x.q) if isinstance(x, fmpq) else mpmath.mpf(float(x))


def times(row, matrix, shift=None):
    """The row times a matrix, plus a shift."""
    columns = matrix.shape[1]
    shifts = [0] * columns if shift is None else [number(x) for x in shift]
    return [sum((x * number(matrix[i, j]) for i, x in enumerate(row)), shifts[j]) for j in range(columns)]


def plus(row, other):
    return [a + b for a, b in zip(row, other, strict=True)]


def normalized(norm, row):
    if norm is None:
        return row
    if norm.kind == "layer":
        row = [x - sum(row) / len(row) for x in row]
    root = mpmath.sqrt(sum(x * x for x in row) / len(row) + mpmath.mpf(norm.epsilon))
    shifts = [0] * len(row) if norm.b is None else norm.b
    return [x / root * number(w) + number(b) for x, w, b in zip(row, norm.w, shifts, strict=True)]


def in_parts(norm, row, parts):
    """Rows side by side, each normalized by itself, with one gain for all or one for each."""
    width = len(row) // parts
    found = []
    for k in range(parts):
        own = slice(k * width, (k + 1) * width) if norm.width > width else slice(None)
        one = Normalization(norm.kind, norm.w[own], None if norm.b is None else norm.b[own], norm.epsilon)
        found += normalized(one, row[k * width : (k + 1) * width])
    return found


def placed(block, maps, shifts, norm, row, position):
    """Queries or keys of all heads at a position."""
    heads = [times(row, W, None if shifts is None else shifts[h]) for h, W in enumerate(maps)]
    width = len(heads[0])
    if block.clip is not None:
        heads = [[min(max(x, -number(block.clip)), number(block.clip)) for x in head] for head in heads]
    if norm is not None:
        flat = [x for head in heads for x in head]
        flat = normalized(norm, flat) if block.norms_all else in_parts(norm, flat, len(heads))
        heads = [flat[h * width : (h + 1) * width] for h in range(len(heads))]
    for head in heads if block.frequencies is not None else ():
        m = len(block.frequencies)
        for k, f in enumerate(block.frequencies):
            i, j = (k, k + m) if block.turned == "halves" else (2 * k, 2 * k + 1)
            turned = mpmath.mpc(head[i], head[j]) * mpmath.expj(position * number(f))
            head[i], head[j] = turned.real, turned.imag
    return heads


def attended(model, block, rows, query):
    """The stream after an attention, all its positions."""
    read = [normalized(block.norm, row) for row in rows]
    n_ctx = len(rows)
    if block.queries == "task":
        positions, asking = [n_ctx - 1], {n_ctx - 1: query}
    else:
        positions = [n_ctx - 1] if block.attends == "last" else list(range(n_ctx))
        asking = {i: read[i] for i in positions}
    unit = mpmath.log(2) if model.is_rational else mpmath.mpf(1)
    stream = []
    for i in positions:
        visible = read[: i + 1] if block.attends == "causal" else read
        output = [mpmath.mpf(0) if block.b_O is None else number(block.b_O[j]) for j in range(block.d_out)]
        for h in range(block.n_heads):
            of = h * block.key_heads // block.n_heads
            q = placed(block, block.W_Q, block.b_Q, block.q_norm, asking[i], i)[h]
            keys = [placed(block, block.W_K, block.b_K, block.k_norm, row, j)[of] for j, row in enumerate(visible)]
            scores = [unit * mpmath.fdot(q, k) / mpmath.sqrt(block.score_root) for k in keys]
            if block.score_cap is not None:
                scores = [number(block.score_cap) * mpmath.tanh(s / number(block.score_cap)) for s in scores]
            if block.slopes is not None:
                scores = [s - number(block.slopes[h]) * (i - j) for j, s in enumerate(scores)]
            powers = [mpmath.exp(score - max(scores)) for score in scores]
            values = [times(row, block.W_V[of], None if block.b_V is None else block.b_V[of]) for row in visible]
            if block.clip is not None:
                c = number(block.clip)
                values = [[min(max(x, -c), c) for x in value] for value in values]
            head = [mpmath.fdot(powers, column) / sum(powers) for column in zip(*values, strict=True)]
            output = plus(output, times(head, block.W_O[h]))
        output = normalized(block.post_norm, output)
        stream.append(plus(rows[i], output) if block.skip else output)
    return stream


def tanh_form(u, root):
    return u / 2 * (1 + mpmath.tanh(root * (u + number(fmpq(44715, 10**6)) * u**3)))


ACTIVATIONS = {
    "relu": lambda u: max(u, mpmath.mpf(0)),
    "gelu": lambda u: u * mpmath.ncdf(u) if abs(u) < 100 else max(u, mpmath.mpf(0)),
    "gelu-tanh": lambda u: tanh_form(u, mpmath.sqrt(2 / mpmath.pi)),
    "gelu-bloom": lambda u: tanh_form(u, number(fmpq(79788456, 10**8))),
    "silu": lambda u: u / (1 + mpmath.exp(-u)),
}


def fed_forward(block, row, before):
    read = normalized(block.norm, before if block.parallel else row)
    hidden = times(read, block.W_in, block.b_in)
    gates = hidden if block.W_gate is None else times(read, block.W_gate, block.b_gate)
    fired = [ACTIVATIONS[block.activation](u) for u in gates]
    if block.W_gate is not None:
        fired = [g * u for g, u in zip(fired, hidden, strict=True)]
    output = normalized(block.post_norm, times(fired, block.W_out, block.b_out))
    return plus(row, output) if block.skip else output


def outputs(model, given_inputs):
    """The outputs of a model, in many digits: `[T][d_vocab_out]`."""
    result = []
    of_vectors = isinstance(given_inputs, VectorTask)
    for t in range(given_inputs.n_examples if of_vectors else len(given_inputs)):
        if of_vectors:
            rows = [[number(x) for x in row] for row in given_inputs.context(t)]
            query = [number(x) for x in given_inputs.queries[t]]
        else:
            W_pos = np.zeros((model.n_ctx, 1)) * model.W_E[:1] if model.W_pos is None else model.W_pos
            embedded = enumerate(given_inputs[t].tolist())
            rows = [plus(map(number, model.W_E[n]), map(number, W_pos[s])) for s, n in embedded]
            query = None
        before = rows
        for block in model.blocks:
            if isinstance(block, Attention):
                before, rows = rows, attended(model, block, rows, query)
            elif isinstance(block, FeedForward):
                rows = [fed_forward(block, *pair) for pair in zip(rows, before[-len(rows) :], strict=True)]
            else:
                rows = [normalized(block, row) for row in rows]
        last = times(rows[-1], model.W_U, model.b_U)
        last = last if model.logit_divisor is None else [x / number(model.logit_divisor) for x in last]
        c = None if model.logit_cap is None else number(model.logit_cap)
        result.append(last if c is None else [c * mpmath.tanh(x / c) for x in last])
    return result


def truth(model, given_inputs):
    """Balls of radius `SLACK` relatively around the outputs, one row after the other."""
    with mpmath.workprec(BITS), ctx.workprec(BITS):
        flat = [x for row in outputs(model, given_inputs) for x in row]
        balls = [arb(int(x.man)) * arb(2) ** int(x.exp) * (-1 if x < 0 else 1) for x in flat]
        return [ball + arb(0, 1) * abs(ball) * SLACK + arb(0, 1) * arb(2) ** -2500 for ball in balls]


# ---------------------------------------------------------------------------------------------------------------------
# The arithmetics.


@dataclass(frozen=True)
class Arithmetic:
    """One way to evaluate models.

    Args:
        outputs: The balls in which it says that the outputs are, `[T, d_vocab_out]`.
        takes: Which models it evaluates.
        bits: On models of small numbers its balls have radii of at most 2 to the power of minus so many.
    """

    outputs: Callable[[Model, np.ndarray | VectorTask], arb_mat]
    takes: Callable[[Model], bool]
    bits: int


def values_are_rational(model):
    parts = [norm for block in model.blocks for norm in (block, getattr(block, "norm", None))]
    neurons = [block for block in model.blocks if isinstance(block, FeedForward)]
    return (
        model.is_rational
        and model.plain
        and not any(isinstance(part, Normalization) for part in parts)
        and all(block.activation == "relu" for block in neurons)
    )


def is_float64(model):
    return not model.is_rational


def in_balls(precision):
    return lambda model, given_inputs: logits_in_balls(model, given_inputs, precision)


def in_rationals(model, given_inputs):
    exact = exact_network_logits(model, given_inputs)
    with ctx.workprec(BITS):
        return arb_mat(exact.nrows(), exact.ncols(), exact.entries())


def in_floats(model, given_inputs):
    """The enclosure of float64."""
    found = enclose_logits(model, given_inputs)
    return as_balls(DoubleDouble.exact(found.midpoint), np.broadcast_to(found.radius, found.shape))


def in_rows(numbers):
    """One ball for each row, in a format of floats."""

    def outputs(model, given_inputs):
        parts = [
            as_balls(value if isinstance(value, DoubleDouble) else DoubleDouble.exact(value), radius)
            for _, value, radius in logit_balls(model, given_inputs, numbers=numbers)
        ]
        return arb_mat([row for part in parts for row in part.tolist()])

    return outputs


def as_balls(value, radius):
    """The balls about double-double rows; nothing where one is not finite."""
    with ctx.workprec(BITS):
        numbers = zip(value.high.ravel().tolist(), value.low.ravel().tolist(), radius.ravel().tolist(), strict=True)
        known = [(h, low, r) if all(map(math.isfinite, (h, low, r))) else (0.0, 0.0, math.inf) for h, low, r in numbers]
        return arb_mat(*value.shape, [arb(h) + arb(low) + arb(0, r) for h, low, r in known])


def in_balls_of_the_kernel(bits):
    def outputs(model, given_inputs):
        with TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.safetensors")
            read = read_model(Path(folder))
            if not isinstance(given_inputs, VectorTask):
                return arb_mat(logits(read, [tuple(context) for context in given_inputs.tolist()], bits))
            given_inputs.save(Path(folder) / "task.safetensors")
            task = read_task(Path(folder))
            return arb_mat(logits(read, task.contexts, bits, task.vectors))

    return outputs


def in_torch(number_format, device="cpu"):
    """What torch computes, with the rounding bound as the radius; nothing where the bound is infinite."""

    def outputs(model, given_inputs):
        dtype, of_vectors = getattr(torch, number_format.name), isinstance(given_inputs, VectorTask)
        arrays = (given_inputs.contexts, given_inputs.queries) if of_vectors else (given_inputs,)
        bound = rounding_bound(model, given_inputs, number_format=number_format)
        with torch.inference_mode():
            tensors = [torch.tensor(array).to(device, dtype if of_vectors else torch.int64) for array in arrays]
            computed = Replica.from_model(model, dtype=dtype).to(device)(*tensors).double().cpu().numpy()
        pairs = [(x, radius) for row, radius in zip(computed, bound, strict=True) for x in row.tolist()]
        assert all(math.isfinite(x) for x, radius in pairs if radius < math.inf)
        nothing = arb(0, math.inf)
        balls = [arb(x) + arb(0, radius) if radius < math.inf else nothing for x, radius in pairs]
        return arb_mat(*computed.shape, balls)

    return outputs


ARITHMETICS = {
    "float64": Arithmetic(in_floats, is_float64, 25),
    "float64 in rows": Arithmetic(in_rows(InFloat64()), is_float64, 25),
    "double-double in rows": Arithmetic(in_rows(InDoubleDouble()), is_float64, 70),
    "balls of 64 bits": Arithmetic(in_balls(64), lambda model: True, 30),
    "balls of 256 bits": Arithmetic(in_balls(256), lambda model: True, 200),
    "balls of 1024 bits": Arithmetic(in_balls(1024), lambda model: True, 900),
    "the kernel's balls": Arithmetic(in_balls_of_the_kernel(128), is_float64, 90),
    "the kernel's balls of 512 bits": Arithmetic(in_balls_of_the_kernel(512), is_float64, 450),
    "rationals": Arithmetic(in_rationals, values_are_rational, BITS - 100),
    "torch in float64": Arithmetic(in_torch(FLOAT64), lambda model: not model.is_rational, 31),
    "torch in float32": Arithmetic(in_torch(FLOAT32), lambda model: not model.is_rational, 3),
    "torch in float64, on cuda": Arithmetic(in_torch(FLOAT64, "cuda"), is_float64, 31),
    "torch in float32, on cuda": Arithmetic(in_torch(FLOAT32, "cuda"), is_float64, 3),
}


def marks(arithmetic):
    """A GPU need not be there."""
    return (pytest.mark.gpu,) if arithmetic.endswith(" on cuda") else ()


ANY_BLOCKS = [pytest.param(name, marks=marks(name)) for name in ARITHMETICS]

# ---------------------------------------------------------------------------------------------------------------------
# One model for each kind of block and each option, of random numbers without any structure.


def random_attention(rng, *, shifts=True, width=3, **options):
    draw = rng.standard_normal
    shift = {"b_Q": draw((2, 2)), "b_K": draw((2, 2)), "b_V": draw((2, 2)), "b_O": draw(width)} if shifts else {}
    return Attention(
        draw((2, width, 2)), draw((2, width, 2)), draw((2, width, 2)), draw((2, 2, width)), **shift, **options
    )


def random_neurons(rng, *, shifts=True, d_out=3, **options):
    draw = rng.standard_normal
    shift = {"b_in": draw(4), "b_out": draw(d_out)} if shifts else {}
    return FeedForward(draw((3, 4)), draw((4, d_out)), **shift, **options)


def random_norm(rng, kind, *, epsilon=0.25, shifts=True):
    draw = rng.standard_normal
    return Normalization(kind, draw(3), draw(3) if shifts else None, epsilon)


def random_blocks():
    """Blocks by name; each is wrong in a way of its own if one option or one tensor of it is left out."""
    rng = np.random.default_rng(20)
    attention = {
        f"attention-{attends}-{'skip' if skip else 'no-skip'}": (random_attention(rng, attends=attends, skip=skip),)
        for attends in ("last", "causal", "all")
        for skip in (True, False)
    }
    # Before another attention the positions are told apart; alone, all three attend alike at the last one.
    stacked = {
        f"{name}-twice": (blocks[0], random_attention(rng, attends="causal")) for name, blocks in attention.items()
    }
    return {
        **attention,
        **stacked,
        "attention-unshifted": (random_attention(rng, shifts=False),),
        "network": (random_attention(rng, shifts=False),),
        "attention-scaled": (random_attention(rng, score_root=3),),
        "attention-task": (random_attention(rng, queries="task", skip=False),),
        "attention-task-neurons": (random_attention(rng, queries="task", skip=False), random_neurons(rng)),
        "attention-layer-norm": (random_attention(rng, attends="all", norm=random_norm(rng, "layer")),),
        "attention-rms-norm": (random_attention(rng, attends="causal", norm=random_norm(rng, "rms")),),
        **{f"neurons-{activation}": (random_neurons(rng, activation=activation),) for activation in ACTIVATIONS},
        "neurons-no-skip": (random_neurons(rng, skip=False),),
        "neurons-unshifted": (random_neurons(rng, shifts=False),),
        "neurons-layer-norm": (random_neurons(rng, norm=random_norm(rng, "layer")),),
        **{kind: (random_norm(rng, kind),) for kind in ("layer", "rms")},
        **{f"{kind}-unshifted": (random_norm(rng, kind, shifts=False),) for kind in ("layer", "rms")},
        "nothing": (),
        "transformer": (
            random_attention(rng, attends="causal", norm=random_norm(rng, "layer"), score_root=2),
            random_neurons(rng, norm=random_norm(rng, "layer"), activation="gelu-tanh"),
            random_attention(rng, attends="causal", norm=random_norm(rng, "rms"), score_root=2),
            random_neurons(rng, norm=random_norm(rng, "rms"), activation="silu"),
            random_norm(rng, "layer"),
        ),
    }


def blocks_of_hosts():
    """What other hosts do beside, by name; each twice, so that positions are told apart."""
    rng = np.random.default_rng(21)
    draw = rng.standard_normal

    def attention(n_heads=4, keys=2, e=4, **options):
        maps = [0.4 * draw(shape) for shape in ((n_heads, 3, e), (keys, 3, e), (keys, 3, e), (n_heads, e, 3))]
        shifts = {"b_Q": draw((n_heads, e)), "b_K": draw((keys, e)), "b_V": draw((keys, e)), "b_O": draw(3)}
        return Attention(*maps, **shifts, attends="causal", score_root=3, **options)

    def norm(kind, width):
        return Normalization(kind, draw(width), draw(width) if kind == "layer" else None, 0.25)

    def twice(**options):
        return attention(**options), attention(**options)

    turns = {"frequencies": np.array([1.0, 0.1])}
    neurons = random_neurons(rng, activation="silu", W_gate=draw((3, 4)), b_gate=draw(4))
    return {
        "hosts-grouped": twice(keys=2),
        "hosts-one-key": twice(keys=1),
        "hosts-halves": twice(**turns),
        "hosts-neighbours": twice(**turns, turned="neighbours"),
        "hosts-partial": twice(frequencies=np.array([0.7]), turned="halves"),
        "hosts-slopes": twice(slopes=np.array([0.5, 0.25, -1.0, 0.125])),
        "hosts-normed-heads": twice(q_norm=norm("rms", 4), k_norm=norm("rms", 4), **turns),
        "hosts-normed-each": twice(q_norm=norm("layer", 16), k_norm=norm("layer", 8), **turns),
        "hosts-normed-all": twice(q_norm=norm("rms", 16), k_norm=norm("rms", 8), norms_all=True, **turns),
        "hosts-clipped": twice(clip=0.5, keys=4),
        "hosts-capped": twice(score_cap=0.75),
        "hosts-post": (*twice(post_norm=norm("rms", 3)), replace(neurons, post_norm=norm("layer", 3))),
        "hosts-gated": (neurons,),
        "hosts-parallel": (attention(norm=norm("layer", 3)), replace(neurons, parallel=True, norm=norm("layer", 3)))
        * 2,
        "hosts-ends": (attention(**turns),),
    }


BLOCKS = {**random_blocks(), **blocks_of_hosts()}


def case_of(name, *, of_vectors):
    """The blocks between a random input and a random readout, and three things to read."""
    rng = np.random.default_rng(30)
    draw = rng.standard_normal
    read = {} if of_vectors else {"W_E": draw((3, 3)), "W_pos": draw((3, 3))}
    W_U, b_U = draw((3, 2)), draw(2)
    ends = {}
    if name == "hosts-ends":
        ends = {"logit_divisor": 3.0, "logit_cap": 1.5}
        if not of_vectors:
            read = {"W_E": read["W_E"], "positions": 3}
    model = Model(blocks=BLOCKS[name], W_U=W_U, b_U=None if name == "network" else b_U, **read, **ends)
    if of_vectors:
        contexts = draw((1 if name.endswith("skip") else 3, 3, 3))
        return model, VectorTask(contexts, draw((3, 3)), np.zeros((3, 2)))
    return model, np.array([[0, 1, 2], [2, 1, 2], [1, 1, 0]])


@cache
def truth_of_case(name, *, of_vectors):
    return list(truth(*case_of(name, of_vectors=of_vectors)))


CASES = [
    pytest.param(name, of_vectors, id=f"{name}-{'vectors' if of_vectors else 'tokens'}")
    for name in BLOCKS
    for of_vectors in (False, True)
    if (of_vectors or "task" not in name) and not (of_vectors and name in ("nothing", "network"))
]
EVALUATED = [
    pytest.param(*case.values, name, id=f"{case.id}-{name}", marks=marks(name))
    for case in CASES
    for name, arithmetic in ARITHMETICS.items()
    if arithmetic.takes(case_of(case.values[0], of_vectors=case.values[1])[0])
]


SHARING = [name for name in BLOCKS if "task" not in name and shares_prefixes(case_of(name, of_vectors=False)[0])]


def rational_case(root, *, of_vectors=False):
    """Two attentions, neurons and all shifts in rationals, with scores that are integers.

    Of vectors, the first attention has queries of the task.
    """
    rng = np.random.default_rng(40)

    def whole(*shape):
        return np.array([int(x) for x in rng.integers(-2, 3, int(np.prod(shape)))], dtype=object).reshape(shape)

    def fractions(*shape):
        return whole(*shape) * fmpq(1, 3) + whole(*shape) * fmpq(1, 5)

    def last_only(tensor):
        tensor[..., :-1] = 0
        return tensor

    def attention(root, **options):
        scale = int(np.sqrt(root))
        W_Q, W_K = whole(2, 3, 2) * scale, whole(2, 3, 2)
        W_Q[:, -1] = W_K[:, -1] = 0
        shifts = {"b_Q": whole(2, 2) * scale, "b_K": whole(2, 2), "b_V": fractions(2, 2)}
        shift = np.append(whole(2), fmpq(1, 7))
        W_V, W_O = fractions(2, 3, 2), last_only(fractions(2, 2, 3))
        return Attention(W_Q, W_K, W_V, W_O, **shifts, b_O=shift, score_root=root, **options)

    neurons = FeedForward(fractions(3, 4), last_only(fractions(4, 3)), fractions(4), last_only(fractions(3)))
    first = {"queries": "task", "skip": False} if of_vectors else {"attends": "causal"}
    blocks = (attention(1, **first), neurons, attention(root, attends="all"), replace(neurons, skip=False))
    readout = {"W_U": fractions(3, 2), "b_U": fractions(2)}
    if of_vectors:
        contexts, queries = whole(3, 3, 3).astype(np.float64), whole(3, 3).astype(np.float64)
        return Model(blocks=blocks, **readout), VectorTask(contexts, queries, np.zeros((3, 2)))
    model = Model(blocks=blocks, **readout, W_E=whole(3, 3), W_pos=whole(3, 3))
    return model, np.array([[0, 1, 2], [2, 1, 2], [1, 1, 0]])


def evaluated(name, model, given_inputs):
    """The balls of an arithmetic and the truth, side by side."""
    return list(zip(ARITHMETICS[name].outputs(model, given_inputs).entries(), truth(model, given_inputs), strict=True))


# ---------------------------------------------------------------------------------------------------------------------
# The truth lies in every ball, and the balls of tame models are small.


@pytest.mark.parametrize(("name", "of_vectors", "arithmetic"), EVALUATED)
def test_each_kind_of_block_is_evaluated_as_it_is_defined(name, of_vectors, arithmetic):
    model, given_inputs = case_of(name, of_vectors=of_vectors)
    balls = ARITHMETICS[arithmetic].outputs(model, given_inputs).entries()
    for ball, exact in zip(balls, truth_of_case(name, of_vectors=of_vectors), strict=True):
        assert ball.overlaps(exact)
        assert ball.rad() <= arb(2) ** -ARITHMETICS[arithmetic].bits


@pytest.mark.parametrize("name", SHARING)
def test_contexts_of_several_lengths_give_what_each_gives_alone(name):
    model, _ = case_of(name, of_vectors=False)
    parts = [np.array([[2], [0]]), np.array([[2, 1], [0, 1]]), np.array([[2, 1, 2], [0, 1, 1], [2, 1, 0], [0, 0, 0]])]
    order = np.random.default_rng(1).permutation(sum(map(len, parts)))
    together = Prefixes(Prefixes.of(parts).contexts[order])
    alone = [row for part in parts for row in logits_in_balls(model, part, 128).tolist()]
    for place, found in zip(order.tolist(), logits_in_balls(model, together, 128).tolist(), strict=True):
        for ball, other in zip(found, alone[place], strict=True):
            assert ball.overlaps(other) and ball.rad() < arb(2) ** -80
    arithmetic = InRowBalls(Norms(model))
    stream = passed(arithmetic, model, stream_of(arithmetic, model, together))
    assert len(stream.positions) == len(order) == len(np.unique(stream.cells))
    (value, radius), row_of = read_out(arithmetic, model, stream)
    for place, row in zip(order.tolist(), row_of.tolist(), strict=True):
        assert all(arb(z, r).overlaps(x) for z, r, x in zip(value[row], radius[row], alone[place], strict=True))
        assert radius[row].max() < 1e-9


def test_prefixes_share_their_rows():
    model, _ = case_of("transformer", of_vectors=False)
    arithmetic = InRowBalls(Norms(model))
    some = Prefixes.of([np.array([[2, 1]]), np.array([[2, 1, 2], [2, 1, 0]])])
    stream = passed(arithmetic, model, stream_of(arithmetic, model, some), [0])
    assert stream.cells.tolist() == [[0, 1, -1], [0, 1, 3], [0, 1, 2]] and len(stream.positions) == 4


@pytest.mark.parametrize("name", [name for name in BLOCKS if "task" not in name and name not in SHARING])
def test_lengths_are_not_mixed_where_later_tokens_are_read(name):
    model, _ = case_of(name, of_vectors=False)
    with pytest.raises(InputError, match="several lengths"):
        logits_in_balls(model, Prefixes.of([np.array([[2]]), np.array([[2, 1]])]), 64)


@pytest.mark.parametrize("arithmetic", ANY_BLOCKS)
@pytest.mark.parametrize(("root", "of_vectors"), [(1, False), (4, False), (1, True)])
def test_rational_stacks_are_evaluated_as_they_are_defined(arithmetic, root, of_vectors):
    model, given_inputs = rational_case(root, of_vectors=of_vectors)
    model = model if ARITHMETICS[arithmetic].takes(model) else rounded(model)
    assert ARITHMETICS[arithmetic].takes(model)
    for ball, exact in evaluated(arithmetic, model, given_inputs):
        assert ball.overlaps(exact)
        assert ball.rad() <= arb(2) ** -ARITHMETICS[arithmetic].bits


@pytest.mark.parametrize("arithmetic", ANY_BLOCKS)
@given(data=st.data(), rational=st.booleans(), hostile=st.booleans())
def test_random_and_hostile_stacks_are_evaluated_as_they_are_defined(arithmetic, data, rational, hostile):
    rational = arithmetic == "rationals" or (rational and arithmetic.startswith("balls"))
    model = data.draw(models(rational=rational, hostile=hostile))
    given_inputs = data.draw(inputs(model=model, hostile=hostile))
    if ARITHMETICS[arithmetic].takes(model):
        assert all(ball.overlaps(exact) for ball, exact in evaluated(arithmetic, model, given_inputs))


@given(data=st.data())
def test_rationals_lie_in_the_balls_exactly(data):
    model = data.draw(models(rational=True))
    given_inputs = data.draw(inputs(model=model))
    exact = exact_network_logits(model, given_inputs).entries()
    for precision in (2, 64, 256):
        for ball, x in zip(logits_in_balls(model, given_inputs, precision).entries(), exact, strict=True):
            assert not ball.is_finite() or holds(ball, int_fraction(x))


def int_fraction(x):
    """What `holds` reads of a fraction: numerator and denominator as Python's integers."""
    return Fraction(int(x.p), int(x.q))


@given(data=st.data(), hostile=st.booleans())
def test_more_bits_give_balls_that_meet_those_of_fewer(data, hostile):
    model = data.draw(models(hostile=hostile))
    given_inputs = data.draw(inputs(model=model, hostile=hostile))
    precisions = [logits_in_balls(model, given_inputs, bits).entries() for bits in (64, 256, 1024)]
    for wide, narrower, narrow in zip(*precisions, strict=True):
        assert wide.overlaps(narrower) and narrower.overlaps(narrow) and wide.overlaps(narrow)
        if not hostile:
            assert narrow.rad() <= wide.rad() or not wide.is_finite()


# ---------------------------------------------------------------------------------------------------------------------
# What is not rational, and what is rounded.


@pytest.mark.parametrize("name", ["neurons-gelu", "neurons-silu", "attention-layer-norm", "neurons-layer-norm", "rms"])
def test_blocks_whose_values_are_not_rational_are_refused_by_name(name):
    model, contexts = case_of(name, of_vectors=False)
    exact = replace(model, blocks=tuple(as_exact(block) for block in model.blocks), **exact_tensors(model))
    assert not values_are_rational(exact)
    with pytest.raises(HypothesisError, match=r"block 0 has (a normalization|the activation '(gelu|silu)')"):
        exact_network_logits(exact, contexts)


def as_fractions(tensor):
    return None if tensor is None else np.vectorize(lambda x: fmpq(*x.as_integer_ratio()), otypes=[object])(tensor)


def exact_tensors(record):
    """The float64 tensors of a record as the rationals that they are."""
    names = [name for name in record.__dataclass_fields__ if isinstance(getattr(record, name), np.ndarray)]
    return {name: as_fractions(getattr(record, name)) for name in names}


def as_exact(block):
    norm = {"norm": as_exact(block.norm)} if getattr(block, "norm", None) is not None else {}
    return replace(block, **exact_tensors(block), **norm)


def test_a_rounded_model_does_nearly_what_the_rational_one_does():
    model, contexts = rational_case(4)
    exact = exact_network_logits(model, contexts).entries()
    for ball, x in zip(logits_in_balls(rounded(model), contexts, 200).entries(), exact, strict=True):
        with ctx.workprec(200):
            assert 0 < abs(ball - arb(x)) < 1e-9 * (1 + abs(arb(x)))


# ---------------------------------------------------------------------------------------------------------------------
# Files.


def header_of(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def write(path, header, data):
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@given(model=models() | models(hostile=True))
def test_a_file_gives_back_the_same_bits_and_holds_nothing_else(tmp_path_factory, model):
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    model.save(path)
    loaded = Model.load(path)
    assert (loaded.options(), loaded.sha256()) == (model.options(), model.sha256())
    assert list(loaded.tensors()) == list(model.tensors())
    for one, other in zip(loaded.tensors().values(), model.tensors().values(), strict=True):
        assert one.shape == other.shape and one.tobytes() == other.tobytes()
    header, data = header_of(path)
    del header["__metadata__"]
    stored = sum(int(np.prod(entry["shape"])) for entry in header.values())
    assert stored == model.parameters == loaded.parameters and len(data) == 8 * stored


def tampered_options(options):
    """Each option of each block changed to every other value, also ones that mean nothing."""
    for place, block in enumerate(options["blocks"]):
        for key, value in block.items():
            for other in (None, True, False, 7, "sideways", "last", "causal", "task", "relu", "rms", "0x1p-3", {}):
                if other != value or type(other) is not type(value):
                    blocks = [dict(one) for one in options["blocks"]]
                    blocks[place][key] = other
                    yield {**options, "blocks": blocks}
            without = [dict(one) for one in options["blocks"]]
            del without[place][key]
            yield {**options, "blocks": without}
    yield {**options, "input": "vectors" if options["input"] == "tokens" else "tokens"}
    yield {**options, "version": 1}
    yield {**options, "blocks": options["blocks"][:-1]}
    yield {**options, "more": 1}


@pytest.mark.parametrize("name", ["transformer", "attention-task-neurons"])
def test_a_file_with_another_option_is_refused_or_has_another_hash(tmp_path, name):
    model, _ = case_of(name, of_vectors="task" in name)
    path = tmp_path / "model.safetensors"
    model.save(path)
    header, data = header_of(path)
    options = json.loads(header["__metadata__"]["byheart"])
    refused = 0
    for changed in tampered_options(options):
        text = json.dumps(changed, sort_keys=True, separators=(",", ":"))
        write(path, {**header, "__metadata__": {"byheart": text}}, data)
        try:
            assert Model.load(path).sha256() != model.sha256()
        except FileFormatError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("name", ["transformer", "attention-task-neurons"])
def test_a_file_in_which_a_tensor_has_another_name_is_refused(tmp_path, name):
    model, _ = case_of(name, of_vectors="task" in name)
    path = tmp_path / "model.safetensors"
    model.save(path)
    header, data = header_of(path)
    for tensor in model.tensors():
        for other in (f"{tensor}X", tensor.replace(".", ".x", 1), "blocks.9.attn.W_Q", tensor.upper()):
            write(path, {(other if key == tensor else key): entry for key, entry in header.items()}, data)
            with pytest.raises(FileFormatError):
                Model.load(path)
    write(path, header, data)
    assert Model.load(path).sha256() == model.sha256()
