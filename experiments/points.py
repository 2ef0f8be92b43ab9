r"""A point of a figure: the settings of one trained model, and the task and the model that they and its weights make.

Page: docs/experiments.md
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from constructions.errors import InputError
from constructions.formats.files import canonical_json
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.task import Task

Maps = Literal["own", "shared"]
Targets = Literal["labels", "distributions", "parity"]
Protocol = Literal["all contexts", "fixed sample", "sample of the text"]

VERSION = 1  # of what settings mean: another one makes other keys
_BATCHES, _BATCH, _LARGE_BATCH, _MANY = 64, 256, 1024, 50  # of the fixed sample; large ones of more tokens than many
_TEXT = 1000, 1024  # batches of the text, and the draws in each

TEXT: dict[str, Any] = {"protocol": "sample of the text", "steps": 10_000, "rate": 0.001, "last_rate": 0.001}
"""How the text of Dana, Pydi and Chevaleyre trains: ten epochs of its sample."""


@dataclass(frozen=True)
class Settings:
    """What decides a trained model."""

    @property
    def key(self) -> str:
        """The name of the point: a hash of its settings, so that nothing but them decides what it is."""
        return hashlib.sha256(canonical_json({**self.settings(), "version": VERSION}).encode()).hexdigest()[:24]

    @property
    def shape(self) -> str:
        """What points have in common that are trained as one stack: all but their seeds."""
        return canonical_json({**self.settings(), "data_seed": "any", "seed": "any"})

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return {k: v.hex() if isinstance(v, float) else v for k, v in asdict(self).items()}


@dataclass(frozen=True)
class Point(Settings):
    r"""The settings of one trained model, on all contexts of N tokens and length S.

    The logits are $(x_S + \sum_h \sum_s a^h_s x_s W_V^h W_O^h)\, W_U$, scores divided by $\sqrt{d_h}$, as in equations
    (1) and (2) of Dana, Pydi and Chevaleyre. With maps that are ``shared``, as in their program, all heads read through
    one map $d \to d_h$ and write through one $d_h \to d$, and positions are known to the heads alone. With `neurons` a
    layer of GELU neurons follows the heads.

    Args:
        tokens: N.
        d_model: d.
        d_head: d_h, of queries, keys and values.
        heads: H, 0 for none.
        length: S.
        maps: ``"own"`` or ``"shared"``.
        neurons: Of the feed-forward layer; 0 for none.
        layers: How often heads, and neurons, stand one after the other; positions before the last one read causally.
        targets: ``"labels"``, uniform; ``"distributions"`` of Dirichlet(1); or ``"parity"`` of the bits before a last
            0.
        data_seed: Of the targets.
        seed: Of the first weights and of the sample.
        protocol: What a step sees: ``"all contexts"``, or the next 256 of a ``"fixed sample"`` of 64 x 256, of more
            than 50 tokens the next 1,024 of 64 x 1,024, as in the authors' program; or the next 1,024 of a ``"sample of
            the text"``, which is of 1,000 x 1,024.
        steps: Of Adam.
        rate: Its first learning rate; it falls linearly.
        last_rate: The last one.
    """

    tokens: int
    d_model: int
    d_head: int
    heads: int
    length: int = 2
    maps: Maps = "own"
    neurons: int = 0
    layers: int = 1
    targets: Targets = "labels"
    data_seed: int = 0
    seed: int = 0
    protocol: Protocol = "all contexts"
    steps: int = 4096
    rate: float = 0.01
    last_rate: float = 0.0005

    def __post_init__(self) -> None:
        if self.targets == "parity" and self.tokens != 2:
            raise InputError("tokens", f"= {self.tokens}", "2 for the parity of bits")
        if self.maps == "shared" and (self.layers > 1 or not self.heads or self.neurons):
            found = f"{self.layers} layers of {self.heads} heads and {self.neurons} neurons"
            raise InputError("maps", f"= 'shared' with {found}", "heads in one, and no neurons")
        if self.layers > 1 and self.length != 2:
            raise InputError("layers", f"= {self.layers} with contexts of {self.length}", "2 tokens there")

    @property
    def answers(self) -> int:
        """How many there are, N."""
        return self.tokens

    @property
    def contexts(self) -> int:
        """T, of which each is asked."""
        return len(self.rows)

    @property
    def rows(self) -> Int64Array:
        """Which of all N^S contexts, in lexicographic order, the task asks, `[T]`."""
        step = 2 if self.targets == "parity" else 1
        return np.arange(0, self.tokens**self.length, step)

    def goal(self) -> Int64Array | Float64Array:
        """Return the targets: distributions `[T, N]` where there are some, labels `[T]` otherwise."""
        return self.distributions() if self.targets == "distributions" else self.labels()

    def labels(self) -> Int64Array:
        """Return the label of each context, `[T]`."""
        if self.targets == "parity":
            return all_contexts(2, self.length)[self.rows].sum(axis=1) % 2
        return self._draw().integers(0, self.tokens, self.contexts)

    def distributions(self) -> Float64Array:
        """Return the distribution of each context, `[T, N]`: multiples of 2^-20 whose sum is exactly 1."""
        distributions = self._draw().dirichlet(np.ones(self.tokens), self.contexts)
        rounded, likeliest = (
            np.round(distributions * 2**20) / 2**20,
            (np.arange(self.contexts), distributions.argmax(axis=1)),
        )
        rounded[likeliest] += 1 - rounded.sum(axis=1)
        return rounded

    def _draw(self) -> np.random.Generator:
        return np.random.default_rng([self.tokens, self.length, self.data_seed])

    def task(self) -> Task:
        """Return the task whose targets the point learns."""
        contexts = all_contexts(self.tokens, self.length)[self.rows]
        if self.targets == "distributions":
            return array_task(contexts, distributions=self.distributions(), vocabulary=self.tokens)
        return array_task(contexts, next_tokens=self.labels(), vocabulary=self.tokens, target="labels")

    def model(self, weights: Mapping[str, np.ndarray]) -> Model:
        """Return the model of weights, exactly those that are given.

        Args:
            weights: By the names of `experiments.stacked_heads.forward`, shared maps folded.
        """
        w = {name: np.asarray(each, dtype=np.float64) for name, each in weights.items()}
        blocks: list[Attention | FeedForward] = []
        for i in range(self.layers):
            attends = "last" if i == self.layers - 1 else "causal"
            if self.heads:
                maps: dict[str, Any] = {name: w[f"{i}.{name}"] for name in ("W_Q", "W_K", "W_V", "W_O")}
                blocks.append(Attention(**maps, attends=attends, score_root=self.d_head))
            if self.neurons:
                layer: dict[str, Any] = {name: w[f"{i}.{name}"] for name in ("W_in", "b_in", "W_out", "b_out")}
                blocks.append(FeedForward(**layer, activation="gelu"))
        return Model(blocks=tuple(blocks), W_U=w["W_U"], W_E=w["W_E"], W_pos=w["W_pos"])

    def sample(self) -> Int64Array:
        """Return the contexts in each batch of the sample, `[64, 256]`, `[64, 1024]` or `[1000, 1024]`."""
        draw = np.random.default_rng([7, self.contexts, self.data_seed, self.seed])
        own = _BATCHES, _LARGE_BATCH if self.tokens > _MANY else _BATCH
        return draw.integers(0, self.contexts, own if self.protocol == "fixed sample" else _TEXT)

    def parameters(self) -> int:
        """Return the number of entries that are trained."""
        inner = self.d_model if self.maps == "own" else self.d_head
        heads = 4 * self.heads * inner * self.d_head
        neurons = 2 * self.d_model * self.neurons + self.neurons + self.d_model if self.neurons else 0
        shared = 2 * self.d_model * self.d_head if self.maps == "shared" else 0
        return self.length * inner + 2 * self.tokens * self.d_model + shared + self.layers * (heads + neurons)

    def rank(self) -> int:
        r"""Return the certified rank of frozen features, $\min(T, n + H \min(d_h, n))$ with $n = \min(d, N)$ (Theorem
        S5).

        A head that is wider than d reads no more than the d dimensions of its input.
        """
        n = min(self.d_model, self.tokens)
        return min(self.contexts, n + self.heads * min(self.d_head, n))

    def bytes(self) -> int:
        """About what a model of a stack takes, forward and backward."""
        entries = self.length * self.heads + 2 * self.neurons + 4 * self.d_model + 3 * self.tokens
        return 24 * self.tokens**self.length * entries

    def cost(self) -> float:
        """Of the training, beside that of others."""
        inner = self.heads * (self.d_head + 3 * self.d_model) + self.d_model * (self.tokens + 2 * self.neurons)
        return float(self.steps * self.tokens**self.length * inner * self.layers + 1)
