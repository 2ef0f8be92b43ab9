"""Small random models of every kind of block and of every option, from a seed: smooth, hard, tied, huge, or of no head.

`byheart.testing.strategies.models` draws models that shrink; these are drawn from one number, so that thousands are
the same wherever they are drawn.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from constructions.model.blocks import Attention, Block, FeedForward, Normalization
from constructions.model.model import Model

ACTIVATIONS = ("relu", "gelu", "gelu-tanh", "gelu-bloom", "silu")
_HOSTILE = (1e12, -1e30, 1e60, 1e-30, -(2.0**-52), 5e-324, -700.25, 1.0 + 2.0**-52)
Rng = np.random.Generator


class Pen:
    """Draws tensors of one style, and blocks of them.

    Args:
        rng: Where everything is drawn from.
        style: ``"normal"``, ``"eighths"``, ``"integers"``, or ``"hostile"``: a few numbers that are huge or tiny.
        sharpness: What query maps are multiplied by; 512 makes heads hard.
    """

    def __init__(self, rng: Rng, style: str = "normal", sharpness: float = 1.0) -> None:
        self.rng, self.style, self.sharpness = rng, style, sharpness

    def tensor(self, *shape: int) -> np.ndarray:
        """Draw a tensor of the style."""
        rng = self.rng
        if self.style == "normal":
            return rng.standard_normal(shape)
        if self.style == "eighths":
            return rng.integers(-16, 17, shape) / 8.0
        drawn = rng.integers(-2, 3, shape).astype(np.float64)
        if self.style == "hostile":
            drawn = np.where(rng.random(shape) < 0.05, rng.choice(_HOSTILE, shape), drawn)
        return drawn

    def perhaps(self, chance: float, *shape: int) -> np.ndarray | None:
        """Draw a tensor, or none."""
        return self.tensor(*shape) if self.rng.random() < chance else None

    def is_so(self, chance: float) -> bool:
        """Draw a truth."""
        return bool(self.rng.random() < chance)

    def norm(self, width: int, kind: Any = None) -> Normalization:
        """Draw a normalization."""
        kind = kind or str(self.rng.choice(["layer", "rms"]))
        return Normalization(
            kind, self.tensor(width), self.perhaps(0.5, width), float(self.rng.choice([1e-5, 2.0**-10, 0.25]))
        )

    def norm_perhaps(self, chance: float, width: int) -> Normalization | None:
        """Draw a normalization, or none."""
        return self.norm(width) if self.is_so(chance) else None

    def attention(self, width: int, *, of_task: bool = False) -> Attention:
        """Draw an attention: a plain one, or one with options that only models of other programs have."""
        rng, rare = self.rng, not of_task and self.is_so(0.3)
        skip = not of_task and self.is_so(0.6)
        out = width if skip else int(rng.integers(1, 4))
        heads, d_qk, d_head = int(rng.integers(0, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
        keys = int(rng.choice([k for k in range(1, heads + 1) if heads % k == 0])) if rare and heads else heads
        options: dict[str, Any] = {}
        if rare and heads:
            d_qk = 2 * d_qk
            options = {
                "frequencies": np.abs(self.tensor(int(rng.integers(1, d_qk // 2 + 1)))) if self.is_so(0.5) else None,
                "turned": str(rng.choice(["halves", "neighbours"])),
                "slopes": self.perhaps(0.3, heads),
                "clip": float(rng.choice([0.5, 1.5])) if self.is_so(0.2) else None,
                "score_cap": float(rng.choice([1.0, 4.0])) if self.is_so(0.3) else None,
                "post_norm": self.norm_perhaps(0.3, out),
                "norms_all": self.is_so(0.3),
            }
            if self.is_so(0.4):
                wide = options["norms_all"] or self.is_so(0.5)
                options["q_norm"] = self.norm(heads * d_qk if wide else d_qk, "rms")
                options["k_norm"] = self.norm(keys * d_qk if wide else d_qk, "rms")
        return Attention(
            self.sharpness * self.tensor(heads, width, d_qk), self.tensor(keys, width, d_qk),
            self.tensor(keys, width, d_head), self.tensor(heads, d_head, out),
            self.perhaps(0.4, heads, d_qk), self.perhaps(0.4, keys, d_qk),
            self.perhaps(0.4, keys, d_head), self.perhaps(0.4, out),
            norm=None if of_task else self.norm_perhaps(0.4, width), skip=skip,
            attends="last" if of_task else rng.choice(["last", "causal", "all"]).item(),
            queries="task" if of_task else "stream", score_root=int(rng.choice([1, 2, 3, 4, 9])), **options,
        )  # fmt: skip

    def feed_forward(self, width: int, before: Block | None) -> FeedForward:
        """Draw neurons, perhaps none, perhaps gated or parallel to the attention in front."""
        skip = self.is_so(0.6)
        out, neurons, gated = width if skip else int(self.rng.integers(1, 4)), int(self.rng.integers(0, 5)), None
        if self.is_so(0.25):
            gated = self.tensor(width, neurons)
        may_be_parallel = skip and isinstance(before, Attention) and before.skip
        return FeedForward(
            self.tensor(width, neurons), self.tensor(neurons, out), self.perhaps(0.5, neurons), self.perhaps(0.5, out),
            activation=self.rng.choice(ACTIVATIONS).item(), norm=self.norm_perhaps(0.4, width), skip=skip,
            W_gate=gated, b_gate=None if gated is None else self.perhaps(0.5, neurons),
            post_norm=self.norm_perhaps(0.15, out), parallel=may_be_parallel and self.is_so(0.3),
        )  # fmt: skip


def random_pen(rng: Rng) -> Pen:
    """Draw a style and how hard the heads are."""
    return Pen(
        rng,
        str(rng.choice(["normal", "normal", "eighths", "eighths", "integers", "hostile"])),
        float(rng.choice([1.0, 1.0, 1.0, 8.0, 512.0])),
    )


def random_model(
    rng: Rng, *, tokens: int = 3, length: int = 3, outputs: int | None = None, vectors: bool = False
) -> Model:
    """Draw a model of at most four blocks.

    Args:
        rng: Where it is drawn from.
        tokens: How many tokens it reads.
        length: How many positions it has.
        outputs: How many outputs it has; by default as many as tokens, and then the readout may be tied.
        vectors: Whether the task brings vectors.
    """
    pen = random_pen(rng)
    first = width = int(rng.integers(1, 4))
    blocks: list[Block] = []
    for place in range(int(rng.integers(1 if vectors else 0, 5))):
        kind = rng.choice(["attention", "attention", "feed-forward", "normalization"])
        of_task = vectors and not place and pen.is_so(0.6)
        block: Block
        if kind == "attention" or of_task:
            block = pen.attention(width, of_task=of_task)
        elif kind == "feed-forward":
            block = pen.feed_forward(width, blocks[-1] if blocks else None)
        else:
            block = pen.norm(width)
        blocks.append(block)
        width = block.width if isinstance(block, Normalization) else block.d_out
    ends: dict[str, Any] = {}
    if not vectors:
        ends = {"W_E": pen.tensor(tokens, first)}
        ends |= {"positions": length} if pen.is_so(0.25) else {"W_pos": pen.tensor(length, first)}
    tied = not vectors and outputs is None and width == first and pen.is_so(0.3)
    readout = ends["W_E"].T.copy() if tied else pen.tensor(width, outputs or tokens)
    return Model(
        blocks=tuple(blocks),
        W_U=readout,
        b_U=pen.perhaps(0.4, readout.shape[1]),
        logit_divisor=3.0 if pen.is_so(0.1) else None,
        logit_cap=2.0 if pen.is_so(0.1) else None,
        **ends,
    )


def one_attention(rng: Rng, *, tokens: int = 3, length: int = 3, outputs: int | None = None) -> Model:
    """Draw a model of one plain attention over tokens, whose features have a rank; perhaps without a head."""
    pen = random_pen(rng)
    d, d_head, heads = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(0, 4))
    head = Attention(
        pen.sharpness * pen.tensor(heads, d, 2), pen.tensor(heads, d, 2), pen.tensor(heads, d, d_head),
        pen.tensor(heads, d_head, d),
    )  # fmt: skip
    readout = pen.tensor(d, outputs or tokens)
    return Model(blocks=(head,), W_U=readout, W_E=pen.tensor(tokens, d), W_pos=pen.tensor(length, d))


def one_layer(rng: Rng, *, outputs: int) -> Model:
    """Draw a model of one attention whose query the task brings, over vectors; perhaps without a head."""
    pen = random_pen(rng)
    d, d_head, heads, out = (int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(0, 4)), 3)
    head = Attention(
        pen.sharpness * pen.tensor(heads, d, 2), pen.tensor(heads, d, 2), pen.tensor(heads, d, d_head),
        pen.tensor(heads, d_head, out), skip=False, queries="task",
    )  # fmt: skip
    return Model(blocks=(head,), W_U=pen.tensor(out, outputs))


Draw = Callable[..., Model]
