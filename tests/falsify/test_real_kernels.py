"""Kernels of torch, and imitations of others, against what is proved of every run (docs/rigour/runs.md).

What the page counts as a run has to keep to it, in models made to break each kernel; what the page names as no run is
shown to leave it, so that a name is no excuse for a bound that is wrong.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from constructions.model.blocks import Attention, Block, FeedForward, Normalization
from constructions.model.model import Model
from verify.forward.logits import logit_chunks
from verify.runs.every_run import ProvedArgmax, every_run
from verify.runs.exact_runs import exact_runs
from verify.runs.formats import FLOAT32
from verify.runs.rounding import rounding_bound

WIDTH, TOKENS, ANSWERS, LENGTH = 16, 7, 9, 3
CONTEXTS = np.stack(np.unravel_index(np.arange(TOKENS**LENGTH), [TOKENS] * LENGTH), 1)[::2]
ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": functional.gelu,
    "gelu-tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
}
Rounded = Callable[[torch.Tensor], torch.Tensor]


def model_of(
    seed: int, *, kind: Any, activation: Any = "relu", away: float = 0.0, scores: float = 1.0, tie: float = 0.0
) -> Model:
    """A transformer of random weights.

    Args:
        seed: Of the weights.
        kind: Of its normalizations.
        activation: Of its neurons.
        away: How far the rows are from 0, all entries in one direction.
        scores: How large its scores are.
        tie: How much answers differ from others; by default they have nothing to do with each other.
    """
    rng = np.random.default_rng(seed)

    def tensor(*shape: int) -> np.ndarray:
        return rng.normal(0.0, 1.0 / np.sqrt(shape[-2]), shape).astype(np.float32).astype(np.float64)

    def norm() -> Normalization | None:
        return None if kind is None else Normalization(kind, w=1.0 + 0.1 * tensor(1, WIDTH)[0])

    maps, b = (2, WIDTH, 4), 0.1 * tensor(3, 2, 4)
    attention = Attention(
        scores * tensor(*maps), tensor(*maps), tensor(*maps), tensor(2, 4, WIDTH),
        b_Q=b[0], b_K=b[1], b_V=b[2], b_O=tensor(1, WIDTH)[0], norm=norm(), attends="causal", score_root=4,
    )  # fmt: skip
    neurons = FeedForward(
        tensor(WIDTH, 32), tensor(32, WIDTH), b_in=tensor(1, 32)[0], b_out=tensor(1, WIDTH)[0], activation=activation,
        norm=norm(),
    )  # fmt: skip
    last: tuple[Block, ...] = () if kind is None else (Normalization(kind, w=np.ones(WIDTH)),)
    W_U = tensor(WIDTH, ANSWERS)
    if tie:
        W_U[:, 1:] = W_U[:, :1] + tie * W_U[:, 1:]
    rows = tensor(TOKENS, WIDTH) + np.float64(np.float32(away))
    return Model(
        (attention, neurons, *last), W_U, W_E=rows, W_pos=tensor(LENGTH, WIDTH), b_U=tie * tensor(1, ANSWERS)[0]
    )


MODELS = {
    "layer": model_of(0, kind="layer", activation="gelu"),
    "layer, tanh": model_of(1, kind="layer", activation="gelu-tanh"),
    "rms": model_of(2, kind="rms", activation="silu"),
    "no norm": model_of(3, kind=None),
    "far from 0": model_of(4, kind="layer", away=100.0),
    "large scores": model_of(5, kind="layer", scores=60.0),
    "answers that hardly differ": model_of(6, kind=None, tie=2.0**-12),
    "they hardly differ, with norms": model_of(7, kind="layer", tie=2.0**-10),
}


def torch_run(model: Model, contexts: np.ndarray, *, attend: Any = None, product: Rounded = lambda x: x) -> np.ndarray:
    """The logits by the kernels that programs call: `addmm`, `layer_norm`, `rms_norm`, `gelu`, attention in one."""

    def on(x: np.ndarray) -> torch.Tensor:
        return torch.tensor(x, dtype=torch.float32)

    def mapped(x: torch.Tensor, W: np.ndarray, b: np.ndarray | None) -> torch.Tensor:
        start = torch.zeros(W.shape[1]) if b is None else on(b)
        y = torch.addmm(start, product(x.reshape(-1, x.shape[-1])), product(on(W)))
        return y.reshape(*x.shape[:-1], -1)

    def normalized(x: torch.Tensor, norm: Normalization | None) -> torch.Tensor:
        if norm is None:
            return x
        if norm.kind == "layer":
            return functional.layer_norm(x, (WIDTH,), on(norm.w), None, norm.epsilon)
        return functional.rms_norm(x, (WIDTH,), on(norm.w), norm.epsilon)

    x = on(model.W_E)[torch.tensor(contexts)] + on(model.W_pos[: contexts.shape[1]])
    for block in model.blocks:
        if isinstance(block, Normalization):
            x = normalized(x, block)
            continue
        read = normalized(x, block.norm)
        if isinstance(block, FeedForward):
            x = x + mapped(
                ACTIVATIONS[block.activation](mapped(read, block.W_in, block.b_in)), block.W_out, block.b_out
            )
            continue
        q, k, v = (
            mapped(read, W.transpose(1, 0, 2).reshape(WIDTH, -1), None if b is None else b.reshape(-1))
            .unflatten(-1, (2, 4))
            .transpose(1, 2)
            for W, b in ((block.W_Q, block.b_Q), (block.W_K, block.b_K), (block.W_V, block.b_V))
        )
        mixed = attend(q, k, v).transpose(1, 2).flatten(2)
        x = x + mapped(mixed, block.W_O.reshape(-1, WIDTH), block.b_O)
    return mapped(x[:, -1], model.W_U, model.b_U).double().numpy()


def by(backend: SDPBackend) -> Any:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    return attend


def masked(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    scores = q @ k.transpose(-1, -2) * 0.5
    return scores.masked_fill(torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1), -torch.inf)


def eager(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(masked(q, k), -1) @ v


def of_powers_of_two(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """As kernels for GPUs: the scale and log2 e are one factor, of the scores and of the largest of them."""
    scores = masked(q, k) * torch.tensor(np.log2(np.e), dtype=torch.float32)
    powers = torch.exp2(scores - scores.amax(-1, keepdim=True))
    return (powers @ v) / powers.sum(-1, keepdim=True)


ATTENTIONS = {
    "eager": eager, "math": by(SDPBackend.MATH), "flash": by(SDPBackend.FLASH_ATTENTION), "exp2": of_powers_of_two,
}  # fmt: skip


def left(run: np.ndarray, found: ProvedArgmax) -> int:
    """In how many contexts a run has another answer than is proved, or one that leads by less."""
    proved = np.flatnonzero(found.place[: len(run)] >= 0)
    top = found.place[proved]
    others = np.where(np.arange(run.shape[1]) == top[:, None], -np.inf, run[proved]).max(axis=1)
    return int((run[proved, top] - others < found.lead[proved]).sum())


@pytest.mark.parametrize("name", MODELS)
def test_kernels_of_torch_keep_to_what_is_proved(name: str) -> None:
    model, threads = MODELS[name], torch.get_num_threads()
    found = every_run(model, CONTEXTS, number_format=FLOAT32)
    proved, exact = found.place >= 0, np.concatenate([x.midpoint for _, x in logit_chunks(model, CONTEXTS)])
    bound = rounding_bound(model, CONTEXTS, number_format=FLOAT32)[:, None] + 1e-9
    assert proved.mean() > 0.3
    try:
        for attend in ATTENTIONS.values():
            for count, batch in ((1, 1), (1, len(CONTEXTS)), (2, 16), (2, len(CONTEXTS))):
                torch.set_num_threads(count)
                parts = [torch_run(model, CONTEXTS[i : i + batch], attend=attend) for i in range(0, 40, batch)]
                run = np.concatenate(parts)
                assert left(run, found) == 0
                assert (np.abs(run - exact[: len(run)]) <= bound[: len(run)]).all()
    finally:
        torch.set_num_threads(threads)


def to_bits(bits: int) -> Rounded:
    """Rounded to so many bits of the significand."""

    def rounded(x: torch.Tensor) -> torch.Tensor:
        mantissa, exponent = torch.frexp(x)
        return torch.ldexp(torch.round(mantissa * 2.0**bits), exponent - bits)

    return rounded


def of_short_scores(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(masked(q, k).bfloat16().float(), -1) @ v


EXCLUDED = {
    "TF32": {"product": to_bits(11)},
    "bfloat16 products": {"product": to_bits(8)},
    "a softmax of bfloat16 scores": {"attend": of_short_scores},
}


@pytest.mark.parametrize("name", EXCLUDED)
def test_what_the_page_excludes_does_leave_what_is_proved(name: str) -> None:
    """Some proved answer is another one there, or a lead is smaller than every run's."""
    base = model_of(7, kind="layer", tie=2.0**-10, scores=30.0)
    found = every_run(base, CONTEXTS, number_format=FLOAT32)
    assert left(torch_run(base, CONTEXTS, **{"attend": eager, **EXCLUDED[name]}), found) > 0


def test_a_variance_by_means_of_squares_leaves_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in flax by default: far from 0 its cancellation leaves nothing."""
    rows = np.random.default_rng(8).normal(size=(TOKENS, WIDTH)) + 2000.0
    last = Normalization("layer", w=np.ones(WIDTH))
    model = Model((last,), np.eye(WIDTH), W_E=rows.astype(np.float32).astype(np.float64), W_pos=np.zeros((1, WIDTH)))
    contexts = np.arange(TOKENS)[:, None]

    def by_squares(x: torch.Tensor, shape: Any, w: torch.Tensor, b: Any, epsilon: float) -> torch.Tensor:
        mean = x.mean(-1, keepdim=True)
        variance = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp(min=0.0)
        return (x - mean) / torch.sqrt(variance + epsilon) * w

    found = every_run(model, contexts, number_format=FLOAT32)
    proved = np.flatnonzero(found.place >= 0)
    assert left(torch_run(model, contexts), found) == 0
    monkeypatch.setattr(functional, "layer_norm", by_squares)
    assert len(proved) and left(torch_run(model, contexts), found) > 0


@pytest.mark.parametrize(("asks", "attends"), [(0.0, "last"), (0.0, "causal"), (1.0, "last"), (1.0, "causal")])
def test_nothing_is_proved_where_an_average_that_is_divided_at_its_end_overflows(asks: float, attends: Any) -> None:
    """A kernel in blocks adds up all values before it divides by the sum of the weights."""
    length, one = 64, np.ones((1, 1, 1))
    proved, finite = [], []
    # Two tokens that are alike, in more contexts than there are rows, so that idle heads are worth a mean of rows.
    contexts = np.random.default_rng(0).integers(0, 2, (2 * length + 1, length))
    for power in range(96, 128, 2):
        block = Attention(asks * one, asks * one, 2.0**power * one, one, skip=False, attends=attends)
        model = Model((block,), np.array([[1.0, 0.5]]), W_E=np.ones((2, 1)), W_pos=np.zeros((length, 1)))
        q = torch.full((1, 1, length, 1), asks)
        mixed = by(SDPBackend.FLASH_ATTENTION)(q, q, torch.full_like(q, 2.0**power))[0, 0, -1].double().numpy()
        memorized = exact_runs(model, contexts, np.zeros(len(contexts), dtype=int)).memorized
        place = every_run(model, contexts, number_format=FLOAT32).place
        bounded = np.isfinite(rounding_bound(model, contexts, number_format=FLOAT32))
        proved.append([memorized.all(), (place == 0).all(), bounded.all()])
        finite.append(bool(np.isfinite(mixed).all()))
        if not finite[-1]:
            assert not memorized.any() and (place == -1).all() and not bounded.any()
    assert all(proved[0]) and not finite[-1], "the test has no teeth"
