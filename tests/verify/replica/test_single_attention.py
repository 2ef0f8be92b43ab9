"""The a-priori bound holds for torch, and for an adversary that rounds as badly as allowed, and is not absurd."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions.models.model import Model
from constructions.models.shapes import dana_network, dana_tensors
from verify.arithmetic.formats import EXP_ULPS, FLOAT32, FLOAT64, FloatFormat
from verify.replica import single_attention
from verify.replica.module import Replica
from verify.replica.rounding import rounding_bound

FORMATS = {"float32": FLOAT32, "float64": FLOAT64}


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


def all_contexts(network: Model, length: int) -> np.ndarray:
    return np.array(list(np.ndindex(*(network.d_vocab,) * length)))


def exact_logits(network: Model, context: list[int]) -> list[arb]:
    """The logits as balls, straight from the definition."""
    tensors = {name: np.vectorize(arb, otypes=[object])(array) for name, array in dana_tensors(network).items()}
    x = [tensors["W_E"][token] + tensors["W_pos"][place] for place, token in enumerate(context)]
    residual = x[-1]
    for W_Q, W_K, W_V, W_O in zip(*(tensors[name] for name in ("W_Q", "W_K", "W_V", "W_O")), strict=True):
        scores = [(x[-1] @ W_Q) @ (x_s @ W_K) for x_s in x]
        exponentials = [(score - scores[0]).exp() for score in scores]
        total = sum(exponentials, arb(0))
        mixed = sum(((exponential / total) * x_s for exponential, x_s in zip(exponentials, x, strict=True)), arb(0))
        residual = residual + (mixed @ W_V) @ W_O
    return list(residual @ tensors["W_U"])


def largest_torch_error(network: Model, contexts: np.ndarray, dtype: str) -> np.ndarray:
    """Per context, an upper bound of |logits of torch - exact logits|."""
    replica = Replica.from_model(network, dtype=getattr(torch, dtype))
    with torch.inference_mode():
        computed = replica(torch.tensor(contexts)).double().numpy()
    with ctx.workprec(400):
        return np.array(
            [
                max(
                    float(abs(arb(value) - exact).upper())
                    for value, exact in zip(row, exact_logits(network, c), strict=True)
                )
                for row, c in zip(computed.tolist(), contexts.tolist(), strict=True)
            ]
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.0, 1.0, 30.0, 1e3, 1e6]),
    zeros=st.sampled_from([0.0, 0.5, 0.9]),
    sizes=st.tuples(*[st.integers(1, 5)] * 6),
)
def test_torch_never_leaves_the_bound(
    dtype: str, seed: int, scale: float, zeros: float, sizes: tuple[int, ...]
) -> None:
    d_model, n_heads, d_qk, d_head, d_vocab_out, n_ctx = sizes
    generator = np.random.default_rng(seed)
    network = random_network(
        generator,
        d_model=d_model,
        n_heads=n_heads,
        d_qk=d_qk,
        d_head=min(d_head, d_model),
        d_vocab_out=d_vocab_out,
        n_ctx=n_ctx,
        scale=scale,
        zeros=zeros,
    )
    contexts = generator.integers(0, network.d_vocab, (4, n_ctx))
    bound = rounding_bound(network, contexts, number_format=FORMATS[dtype])
    assert (largest_torch_error(network, contexts, dtype) <= bound).all()
    assert np.isfinite(bound).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(seed=st.integers(0, 2**32 - 1), place=st.sampled_from(["x", "query", "key", "value", "output", "logit"]))
def test_torch_never_leaves_the_bound_when_large_terms_cancel(dtype: str, seed: int, place: str) -> None:
    generator = np.random.default_rng(seed)
    tensors = {name: np.array(t) for name, t in dana_tensors(random_network(generator, d_model=6, d_head=3)).items()}
    big = 1e4
    if place == "x":
        tensors["W_E"] += big
        tensors["W_pos"] -= big
    else:
        # Two coordinates of every embedding agree, and the maps that read them are large and opposite.
        tensors["W_E"][:, 1], tensors["W_pos"][:, 1] = tensors["W_E"][:, 0], tensors["W_pos"][:, 0]
        name = {"query": "W_Q", "key": "W_K", "value": "W_V", "output": "W_O", "logit": "W_U"}[place]
        tensors[name][..., 0, :] += big
        tensors[name][..., 1, :] -= big
    network = dana_network(**tensors)
    contexts = generator.integers(0, network.d_vocab, (3, network.n_ctx))
    bound = rounding_bound(network, contexts, number_format=FORMATS[dtype])
    assert (largest_torch_error(network, contexts, dtype) <= bound).all()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_torch_never_leaves_the_bound_on_a_model_of_real_size(dtype: str) -> None:
    generator = np.random.default_rng(0)
    network = random_network(
        generator, d_vocab=64, n_ctx=4, d_model=68, n_heads=40, d_qk=68, d_head=17, d_vocab_out=64, scale=0.05
    )
    contexts = generator.integers(0, 64, (2, 4))
    bound = rounding_bound(network, contexts, number_format=FORMATS[dtype])
    error = largest_torch_error(network, contexts, dtype)
    assert (error <= bound).all()


@pytest.mark.parametrize(("dtype", "most"), [("float32", 1.0), ("float64", 1e-9)])
def test_the_bound_is_of_use_for_the_shape_of_a_real_job(dtype: str, most: float) -> None:
    generator = np.random.default_rng(1)
    heads, d_model, d_head, tokens, length = 77, 68, 17, 64, 4
    one_hot = np.eye(d_model)
    network = dana_network(
        W_E=one_hot[:tokens],
        W_pos=one_hot[tokens:],
        W_Q=generator.choice((-4.0, 4.0), (heads, d_model, d_model)),
        W_K=np.broadcast_to(one_hot, (heads, d_model, d_model)),
        W_V=generator.choice((-1.0, 1.0), (heads, d_model, d_head)),
        W_O=generator.standard_normal((heads, d_head, d_model)) * 0.25,
        W_U=one_hot[:, :tokens],
    )
    contexts = generator.integers(0, tokens, (64, length))
    bound = rounding_bound(network, contexts, number_format=FORMATS[dtype])
    assert (bound < most).all()


# An adversary that rounds every operation as badly as the model allows, in the direction that hurts most.

COARSE = FloatFormat("coarse", 2.0**-26, 2.0**-600, 2.0**600)
FLUSHING = FloatFormat("flushing", 2.0**-26, 2.0**-60, 2.0**600)


@dataclass(frozen=True)
class Adversary:
    number_format: FloatFormat
    exp_ulps: float
    flush: bool = False
    worse: int = 1
    """+1 raises the logits, -1 lowers them."""

    def __call__(self, x: np.ndarray, direction: np.ndarray | float = 1.0) -> np.ndarray:
        rounded = x + self.worse * np.asarray(direction) * self.number_format.unit_roundoff * np.abs(x)
        return np.where(self.flush & (np.abs(x) < self.number_format.smallest_normal), 0.0, rounded)

    def total(self, terms: np.ndarray, direction: np.ndarray | float = 1.0) -> np.ndarray:
        """One addition after the other over the first axis; adding zero rounds nothing."""
        result = terms[0]
        for term in terms[1:]:
            result = np.where((term == 0.0) | (result == 0.0), result + term, self(result + term, direction))
        return result

    def product(self, x: np.ndarray, weights: np.ndarray, direction: float = 1.0) -> np.ndarray:
        return self.total(
            self(x[:, np.newaxis] * self(weights, np.sign(x)[:, np.newaxis] * direction), direction), direction
        )


@dataclass(frozen=True)
class Pointed:
    """A network whose one logit is the value of the first position times its small weight, exp(-gap).

    The last position has nearly all the weight; those between them have less than the first. Every product has further
    terms, so small that they change nothing, but not zero: each addition of one rounds the large term once more.
    """

    gap: float
    between: int = 0
    extra_coordinates: int = 0
    extra_scores: int = 0
    extra_heads: int = 0
    extra_residual: int = 0
    diagonal: bool = False
    """Every coordinate without meaning asks and answers for itself."""

    def network(self) -> Model:
        small, length = 1e-60, self.between + 2
        read, width = 3 + self.extra_coordinates, 4 + self.extra_coordinates + self.extra_residual
        n_heads, d_qk = 1 + self.extra_heads, 1 + self.extra_scores + self.diagonal * self.extra_coordinates
        W_E, W_pos = np.zeros((3, width)), np.zeros((length, width))
        # Coordinates: what the last position asks, what a position answers, its value, some without meaning, the logit.
        W_E[0, :3] = 0.0, -self.gap / 2, math.exp(self.gap)
        W_E[1, :3] = 0.0, -self.gap, small
        W_E[2, :3] = 1.0, self.gap / 2, 0.0
        W_E[:, 3:read] = small
        W_Q, W_K = np.zeros((n_heads, width, d_qk)), np.zeros((n_heads, width, d_qk))
        W_V, W_O, W_U = np.zeros((n_heads, width, 1)), np.zeros((n_heads, 1, width)), np.zeros((width, 1))
        W_Q[:, :read], W_K[:, :read], W_V[:, :read] = small, small, small
        W_Q[:, 0, 0], W_K[:, 1, 0], W_V[:, 2, 0] = 1.0, 1.0, 1.0
        W_Q[:, 0, 1:], W_K[:, 1, 1:] = small, small
        if self.diagonal:
            W_Q[:], W_K[:] = 0.0, 0.0
            W_Q[:, [0, *range(3, read)], range(d_qk)] = W_K[:, [1, *range(3, read)], range(d_qk)] = 1.0
        W_O[:, 0, read:] = small
        W_O[0, 0, read] = W_U[read, 0] = 1.0
        W_U[read + 1 :, 0] = small
        return dana_network(W_E=W_E, W_pos=W_pos, W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O, W_U=W_U)

    def context(self) -> np.ndarray:
        return np.array([[0] + [1] * self.between + [2]])


def adversarial_logit(network: Model, context: np.ndarray, adversary: Adversary) -> float:
    """The one logit of a `Pointed` network, with every rounding pushing the first position's weight the same way."""
    number_format, round_ = adversary.number_format, adversary
    favour = np.where(np.arange(context.shape[1]) == 0, 1.0, -1.0)
    signs = favour[:, np.newaxis] * np.ones(network.d_model)
    signs[:, 0] = -1.0  # A shorter query brings the scores together.
    x = round_(round_(network.W_E[context[0]], signs) + network.W_pos, signs)
    mixed = []
    for W_Q, W_K, W_V in zip(network.W_Q, network.W_K, network.W_V, strict=True):
        query = round_.product(x[-1], W_Q, -1.0)
        keys = np.array([round_.product(x_s, W_K, direction) for x_s, direction in zip(x, favour, strict=True)])
        values = np.array([round_.product(x_s, W_V) for x_s in x])
        scores = round_.total(round_((query * keys).T, favour), favour)
        arguments = round_(scores - scores.max(), favour)
        error = 2.0 * number_format.unit_roundoff * adversary.exp_ulps * adversary.worse
        exponentials = np.exp(arguments) * (1.0 + favour * error)
        attention = round_(exponentials / round_.total(exponentials[::-1], -1.0), favour)
        mixed.append(round_.total(round_(attention[:, np.newaxis] * values)))
    inner, width = network.n_heads * network.d_head, network.d_model
    written = round_(np.concatenate(mixed)[:, np.newaxis] * round_(network.W_O.reshape(inner, width)))
    residual = round_.total(np.concatenate([written, x[-1:]]))
    return float(round_.product(residual, network.W_U)[0])


def exact_pointed_logit(network: Model, context: np.ndarray) -> float:
    with ctx.workprec(400):
        return float(exact_logits(network, context[0].tolist())[0])


REGIMES = {
    "large scores": (Pointed(gap=64.0), 0.01, 0.9),
    "small scores": (Pointed(gap=8.0), 0.01, 0.8),
    "a coarse exponential": (Pointed(gap=12.0), 500.0, 0.9),
    "many positions": (Pointed(gap=12.0, between=400), 0.01, 0.8),
    "many coordinates": (Pointed(gap=12.0, extra_coordinates=60), 0.01, 0.9),
    "many terms in a score": (Pointed(gap=12.0, extra_scores=60), 0.01, 0.9),
    "maps that are the identity": (Pointed(gap=12.0, extra_coordinates=60, diagonal=True), 0.01, 0.4),
    "many heads": (Pointed(gap=4.0, extra_heads=200), 0.01, 0.9),
    "many coordinates of the residual": (Pointed(gap=4.0, extra_residual=200), 0.01, 0.9),
}


@pytest.mark.parametrize("worse", [1, -1])
@pytest.mark.parametrize("regime", REGIMES)
def test_an_adversary_stays_within_the_bound_and_comes_close_to_it(regime: str, worse: int) -> None:
    pointed, exp_ulps, close = REGIMES[regime]
    network, context = pointed.network(), pointed.context()
    bound = rounding_bound(network, context, number_format=COARSE, exp_ulps=exp_ulps)[0]
    adversary = Adversary(COARSE, exp_ulps, worse=worse)
    error = abs(adversarial_logit(network, context, adversary) - exact_pointed_logit(network, context))
    assert error <= bound
    assert error >= close * bound


TINY = FLUSHING.smallest_normal


def plain_network(
    *,
    length: int = 1,
    copies: int = 1,
    heads: int = 1,
    embedding: float = 1.0,
    value: float = 1.0,
    output: float = 1.0,
    logit: float = 1.0,
    key: float = 0.0,
) -> Model:
    """Heads that add up some equal coordinates of token 0 into another coordinate, which is the one that is read.

    Token 1, at the last position, gives itself the score `key` and all others none.
    """
    width, written, asks = copies + 2, copies, copies + 1
    W_E, W_U = np.zeros((2, width)), np.zeros((width, 1))
    W_Q, W_K, W_V = np.zeros((heads, width, 1)), np.zeros((heads, width, 1)), np.zeros((heads, width, 1))
    W_O = np.zeros((heads, 1, width))
    W_E[0, :copies], W_E[1, asks] = embedding, 1.0
    W_Q[:, asks], W_K[:, asks], W_V[:, :copies] = 1.0, key, value
    W_O[:, 0, written], W_U[written] = output, logit
    return dana_network(W_E=W_E, W_pos=np.zeros((length, width)), W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O, W_U=W_U)


SMALL = TINY**0.5
UNDERFLOWS = {
    "an embedding": (plain_network(embedding=TINY / 4, output=1 / TINY), [0]),
    "a weight": (plain_network(embedding=2.0**40, value=TINY / 4), [0]),
    "a weight of the output": (plain_network(value=2.0**40, output=TINY / 4), [0]),
    "a weight of the unembedding": (plain_network(value=2.0**40, logit=TINY / 4), [0]),
    "a value": (plain_network(embedding=SMALL, value=SMALL / 4, output=1 / TINY), [0]),
    "the terms of a value": (plain_network(copies=512, embedding=SMALL, value=SMALL / 4, output=1 / TINY), [0]),
    "an exponential": (plain_network(length=2, key=45.0, embedding=1 / SMALL, value=1 / SMALL), [0, 1]),
    "the weighted values": (plain_network(length=256, value=64 * TINY, output=1 / TINY), [0] * 256),
    "an output": (plain_network(value=SMALL, output=SMALL / 4, logit=1 / TINY), [0]),
    "the outputs of heads": (plain_network(heads=128, value=SMALL, output=SMALL / 4, logit=1 / TINY), [0]),
    "a logit": (plain_network(embedding=SMALL, logit=SMALL / 4), [0]),
}


@pytest.mark.parametrize("place", UNDERFLOWS)
def test_the_bound_covers_numbers_that_are_flushed_to_zero(place: str) -> None:
    network, tokens = UNDERFLOWS[place]
    context = np.array([tokens])
    computed = adversarial_logit(network, context, Adversary(FLUSHING, EXP_ULPS, flush=True, worse=-1))
    exact = exact_pointed_logit(network, context)
    assert computed == 0.0 < exact
    assert exact <= rounding_bound(network, context, number_format=FLUSHING)[0] < math.inf


def test_the_bound_counts_the_terms_that_are_not_zero_alone() -> None:
    generator = np.random.default_rng(0)
    dense = random_network(generator, d_vocab=2, n_ctx=1, d_model=200, d_qk=1, d_head=1, n_heads=1, d_vocab_out=1)
    sparse = dana_network(**{**dana_tensors(dense), "W_E": np.eye(2, 200), "W_pos": np.zeros((1, 200))})
    context = np.array([[0]])
    assert rounding_bound(sparse, context, number_format=FLOAT32) < 0.1 * rounding_bound(
        dense, context, number_format=FLOAT32
    )


@pytest.mark.parametrize("name", ["W_E", "W_pos", "W_Q", "W_K", "W_V", "W_O", "W_U"])
def test_nothing_is_claimed_where_a_weight_overflows_the_format(name: str) -> None:
    tensors = dana_tensors(random_network(np.random.default_rng(0)))
    network = dana_network(**{**tensors, name: np.full_like(tensors[name], 1e39)})
    contexts = all_contexts(network, 2)
    assert np.isinf(rounding_bound(network, contexts, number_format=FLOAT32)).all()
    assert np.isfinite(rounding_bound(random_network(np.random.default_rng(0)), contexts, number_format=FLOAT32)).all()


def test_nothing_is_claimed_where_a_weight_that_nothing_reads_overflows_and_makes_nan_of_zero() -> None:
    network = plain_network(copies=2)
    W_E, W_V = np.array(network.W_E), np.array(network.W_V)
    W_E[:, 1], W_V[:, 1] = 0.0, 1e39
    network = dana_network(**{**dana_tensors(network), "W_E": W_E, "W_V": W_V})
    context = np.array([[0]])
    with torch.inference_mode():
        assert torch.isnan(Replica.from_model(network, dtype=torch.float32)(torch.tensor(context))).all()
    assert np.isinf(rounding_bound(network, context, number_format=FLOAT32)).all()
    assert np.isfinite(rounding_bound(network, context, number_format=FLOAT64)).all()


def test_the_bound_covers_an_attention_whose_winner_the_format_cannot_tell() -> None:
    tensors = {name: np.array(t) for name, t in dana_tensors(plain_network(length=2, copies=2, key=50.0)).items()}
    # Both scores get the same large summand, in which float32 loses the difference of 50.
    tensors["W_E"][:, 1], tensors["W_K"][:, 1], tensors["W_V"][:, 1] = 1e10, 1.0, 0.0
    network, context = dana_network(**tensors), np.array([[0, 1]])
    error = largest_torch_error(network, context, "float32")
    assert error >= 0.4
    assert (error <= rounding_bound(network, context, number_format=FLOAT32)).all()


def test_the_bound_covers_a_skip_connection_whose_summands_cancel() -> None:
    big = 1e4
    network = dana_network(
        W_E=np.array([[big + 1 / 3]]),
        W_pos=np.array([[-big]]),
        W_Q=np.zeros((1, 1, 1)),
        W_K=np.zeros((1, 1, 1)),
        W_V=np.zeros((1, 1, 1)),
        W_O=np.zeros((1, 1, 1)),
        W_U=np.ones((1, 1)),
    )
    context = np.array([[0]])
    error = largest_torch_error(network, context, "float32")
    assert error >= 1e-5
    assert (error <= rounding_bound(network, context, number_format=FLOAT32)).all()


@pytest.mark.parametrize("names", [("W_E", "W_Q"), ("W_Q", "W_K"), ("W_V", "W_O"), ("W_O", "W_U"), ("W_V", "W_U")])
def test_nothing_is_claimed_where_a_product_overflows_the_format(names: tuple[str, str]) -> None:
    tensors = dana_tensors(random_network(np.random.default_rng(0)))
    network = dana_network(**{**tensors, **{name: tensors[name] * 1e25 for name in names}})
    contexts = all_contexts(network, 2)
    with torch.inference_mode():
        computed = Replica.from_model(network, dtype=torch.float32)(torch.tensor(contexts))
    assert not torch.isfinite(computed).all()
    assert np.isinf(rounding_bound(network, contexts, number_format=FLOAT32)).all()
    assert np.isfinite(rounding_bound(network, contexts, number_format=FLOAT64)).all()


def test_nothing_is_claimed_where_float64_itself_overflows() -> None:
    tensors = dana_tensors(random_network(np.random.default_rng(0)))
    network = dana_network(**{**tensors, "W_Q": tensors["W_Q"] * 1e200, "W_K": tensors["W_K"] * 1e200})
    for number_format in (FLOAT32, FLOAT64):
        assert np.isinf(rounding_bound(network, all_contexts(network, 2), number_format=number_format)).all()


def test_nothing_is_claimed_for_a_format_too_coarse_for_so_many_terms() -> None:
    network = random_network(np.random.default_rng(0), d_model=100)
    coarse = FloatFormat("bfloat16", 2.0**-8, 2.0**-126, 2.0**127)
    assert np.isinf(rounding_bound(network, np.array([[0]]), number_format=coarse)).all()


def test_nothing_is_claimed_for_an_exponential_that_is_off_by_a_quarter() -> None:
    network = random_network(np.random.default_rng(0))
    assert np.isinf(rounding_bound(network, np.array([[0]]), number_format=FLOAT32, exp_ulps=2.0**22)).all()


def test_nothing_is_claimed_where_a_sum_of_exponentials_may_underflow() -> None:
    network = random_network(np.random.default_rng(0))
    shallow = FloatFormat("shallow", 2.0**-24, 2.0**-28, 2.0**60)
    assert np.isinf(rounding_bound(network, np.array([[0]]), number_format=shallow)).all()


@given(seed=st.integers(0, 2**32 - 1), ulps=st.floats(0.5, 100.0))
def test_a_better_exponential_or_a_finer_format_never_worsens_the_bound(seed: int, ulps: float) -> None:
    network = random_network(np.random.default_rng(seed))
    contexts = all_contexts(network, 2)
    coarse = rounding_bound(network, contexts, number_format=FLOAT32, exp_ulps=2 * ulps)
    assert (rounding_bound(network, contexts, number_format=FLOAT32, exp_ulps=ulps) <= coarse).all()
    assert (rounding_bound(network, contexts, number_format=FLOAT64, exp_ulps=ulps) <= 1e-6 * coarse).all()


def test_contexts_in_many_blocks_have_the_bound_of_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network(np.random.default_rng(0), d_vocab_out=40)
    contexts = all_contexts(network, 3)
    whole = rounding_bound(network, contexts, number_format=FLOAT32)
    monkeypatch.setattr("verify.replica.single_attention._BLOCK_ENTRIES", 40)
    assert np.allclose(rounding_bound(network, contexts, number_format=FLOAT32), whole, rtol=1e-9, atol=0)


def test_no_contexts_have_no_bounds() -> None:
    network = random_network(np.random.default_rng(0))
    assert rounding_bound(network, np.zeros((0, 3), np.int64), number_format=FLOAT32).shape == (0,)


@pytest.mark.parametrize(("number_format", "dtype"), [(FLOAT32, np.float32), (FLOAT64, np.float64)])
def test_given_vectors_are_off_by_their_conversion(number_format: FloatFormat, dtype: type) -> None:
    values = np.append(np.random.default_rng(0).standard_normal(1000) * 10.0 ** np.arange(-20.0, 20.0, 0.04), 0.0)
    found = single_attention._converted(values, number_format)
    moved = np.abs(values.astype(dtype).astype(np.float64) - values)
    assert (moved <= found.error).all() and found.error[-1] == 0.0
    assert (found.error <= 4.0 * number_format.unit_roundoff * np.abs(values) + 1e-36).all()


def mostly_idle_network(generator: np.random.Generator, *, d_head: int, d_qk: int, n_ctx: int, each: int) -> Model:
    """Heads that ask after one last token each, and some that never do; dense values, one-hot tokens and positions."""
    d_vocab, d_model = 4, 4 + n_ctx
    W_Q = np.zeros((d_vocab * each + 2, d_model, d_qk))
    for head in range(d_vocab * each):
        W_Q[head, head // each] = generator.standard_normal(d_qk) * 3.0 * (np.arange(d_qk) == head % d_qk)
    tensors = dana_tensors(
        random_network(
            generator, d_vocab=4, n_ctx=n_ctx, d_model=d_model, n_heads=len(W_Q), d_qk=d_qk, d_head=d_head, zeros=0.2
        )
    )
    one_hot = {"W_E": np.eye(4, d_model), "W_pos": np.eye(n_ctx, d_model, 4) / 2}
    return dana_network(**{**tensors, **one_hot, "W_Q": W_Q})


IDLE = st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 4), st.integers(1, 3), st.integers(1, 9))


def without_grouping(network: Model, contexts: np.ndarray, number_format: FloatFormat) -> np.ndarray:
    """The bound with every head followed in every context."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            single_attention, "_idle", lambda asking, W_Q: np.zeros((len(asking.value), len(W_Q)), dtype=bool)
        )
        return rounding_bound(network, contexts, number_format=number_format)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1), sizes=IDLE)
def test_torch_never_leaves_the_bound_of_heads_that_are_mostly_idle(
    dtype: str, seed: int, sizes: tuple[int, ...]
) -> None:
    generator = np.random.default_rng(seed)
    d_head, d_qk, n_ctx, each, count = sizes
    network = mostly_idle_network(generator, d_head=d_head, d_qk=d_qk, n_ctx=n_ctx, each=each)
    contexts = generator.integers(0, 4, (count, n_ctx))
    bound = rounding_bound(network, contexts, number_format=FORMATS[dtype])
    assert (largest_torch_error(network, contexts, dtype) <= bound).all()
    # All that is left out is that some idle heads are counted after the tokens of their own as well.
    each_head = without_grouping(network, contexts, FORMATS[dtype])
    assert (each_head <= bound * (1.0 + 1e-9)).all()
    assert (bound <= 2.0 * each_head).all()


@pytest.mark.parametrize("kind", ["nothing asks", "one context", "one token", "one head"])
def test_the_bound_of_idle_heads_is_that_of_every_head_where_none_is_counted_twice(kind: str) -> None:
    generator = np.random.default_rng(5)
    network = mostly_idle_network(generator, d_head=2, d_qk=2, n_ctx=3, each=2)
    contexts = all_contexts(network, 1 if kind == "one token" else 3)
    W_Q = np.array(network.W_Q)
    if kind == "nothing asks":
        W_Q[:] = 0.0
    elif kind == "one head":
        W_Q[:-1] = 0.0
    elif kind == "one context":
        contexts = contexts[27:28]
    network = dana_network(**{**dana_tensors(network), "W_Q": W_Q})
    bound = rounding_bound(network, contexts, number_format=FLOAT32)
    each_head = without_grouping(network, contexts, FLOAT32)
    np.testing.assert_allclose(
        bound, each_head, rtol=1e-6 if kind in ("nothing asks", "one head", "one context") else 0.5
    )
    assert (each_head <= bound * (1.0 + 1e-9)).all()


def test_the_bound_of_idle_heads_does_not_depend_on_how_many_are_worked_on_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = mostly_idle_network(np.random.default_rng(6), d_head=2, d_qk=1, n_ctx=3, each=2)
    contexts = all_contexts(network, 3)
    whole = rounding_bound(network, contexts, number_format=FLOAT32)
    monkeypatch.setattr(single_attention, "_BLOCK_ENTRIES", 1)
    np.testing.assert_allclose(rounding_bound(network, contexts, number_format=FLOAT32), whole, rtol=1e-9)


def test_a_head_that_reads_one_of_two_coordinates_is_not_idle() -> None:
    network = mostly_idle_network(np.random.default_rng(5), d_head=1, d_qk=2, n_ctx=2, each=1)
    asking = single_attention._Rounded(np.eye(4, 6) + np.eye(1, 6, 5) / 2, np.zeros((4, 6)))
    assert (single_attention._idle(asking, network.W_Q) == np.append(~np.eye(4, dtype=bool), np.ones((4, 2)), 1)).all()


@pytest.mark.parametrize("name", ["W_K", "W_V", "W_O"])
def test_nothing_is_claimed_where_an_idle_head_overflows_the_format(name: str) -> None:
    network = mostly_idle_network(np.random.default_rng(2), d_head=2, d_qk=1, n_ctx=3, each=2)
    tensors = dana_tensors(network)
    W_E, scaled = np.array(tensors["W_E"]), np.array(tensors[name])
    W_E[0], scaled[-1] = W_E[0] * 1e20, 1e20
    if name == "W_O":
        tensors["W_V"] = np.array(tensors["W_V"])
        tensors["W_V"][-1] = 1.0
    network = dana_network(**{**tensors, "W_E": W_E, name: scaled})
    contexts = np.array([[0, 1, 2], [0, 2, 1]])
    assert np.isinf(rounding_bound(network, contexts, number_format=FLOAT32)).all()
    assert np.isfinite(rounding_bound(network, contexts, number_format=FLOAT64)).all()
    assert np.isfinite(rounding_bound(network, contexts[:, 1:], number_format=FLOAT32)).all()


def test_the_more_products_of_a_sum_may_underflow_the_larger_the_bound() -> None:
    """All values are 0 and what is written is huge: whatever the format flushes to zero is all there is."""
    model = dana_network(
        W_E=np.ones((1, 1)), W_pos=np.zeros((64, 1)), W_Q=np.ones((1, 1, 1)), W_K=np.zeros((1, 1, 1)),
        W_V=np.zeros((1, 1, 1)), W_O=np.full((1, 1, 1), 2.0**115), W_U=np.ones((1, 1)),
    )  # fmt: skip
    few, many = (
        rounding_bound(model, np.zeros((1, length), dtype=np.int64), number_format=FLOAT32)[0] for length in (2, 64)
    )
    assert 5.0 * few < many < math.inf
