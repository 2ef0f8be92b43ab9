r"""A point of a figure about a layer that reads vectors: the settings, and the examples and the model they make.

Page: docs/experiments.md
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.saturated_layers.sinusoidal_positions import sinusoidal_positions
from constructions.tasks.vectors import VectorTask
from experiments.points import Point, Settings

TOLERANCE = 0.05
"""What a number may be off by and still be held."""

PRINTED_SIZE: dict[str, Any] = {
    "d_model": 64, "d_head": 64, "classes": 100, "steps": 50_000, "rate": 0.001, "last_rate": 0.0,
}  # fmt: skip
"""The sizes of the source; its batches are of 256 examples, ours of all."""


@dataclass(frozen=True)
class LayerPoint(Settings):
    r"""The settings of one trained layer of Mahdavi, Liao and Thrampoulidis.

    Query e and keys $x_s$ are uniform in $[0, 1]^d$. They pass one map with a shift, the sinusoid of their position is
    added (the query stands at 0), and heads with values of one dimension, scores divided by $\sqrt d$, a map to d
    dimensions and a decoder with a shift follow; no skip connection.

    Args:
        examples: T.
        n_ctx: n, keys of a context.
        d_model: d, even.
        d_head: d_h, of queries and keys.
        heads: H.
        context: ``"shared"`` by all examples, or each its ``"own"``.
        targets: ``"labels"``, uniform, or ``"numbers"``, uniform in [0, 1].
        classes: C, for labels.
        data_seed: Of queries, keys and targets.
        seed: Of the first weights.
        steps: Of Adam, each on all examples.
        rate: Its first learning rate; it falls linearly.
        last_rate: The last one.
    """

    examples: int
    n_ctx: int
    d_model: int
    d_head: int
    heads: int
    context: Literal["shared", "own"] = "shared"
    targets: Literal["labels", "numbers"] = "labels"
    classes: int = 10
    data_seed: int = 0
    seed: int = 0
    steps: int = 1024
    rate: float = 0.01
    last_rate: float = 0.0005

    @property
    def answers(self) -> int:
        """How many there are, C, or one number."""
        return self.classes if self.targets == "labels" else 1

    @property
    def contexts(self) -> int:
        """T."""
        return self.examples

    def labels(self) -> Int64Array:
        """Return the class of each example, `[T]`."""
        return self._draw(1).integers(0, self.classes, self.examples)

    def numbers(self) -> Float64Array:
        """Return the number of each example, `[T]`, of float32."""
        return self._draw(2).random(self.examples, dtype=np.float32).astype(np.float64)

    def vectors(self) -> tuple[Float64Array, Float64Array]:
        """Keys `[1 or T, n, 2 d]` and queries `[T, 2 d]`, each with its position behind it, of float32."""
        many = 1 if self.context == "shared" else self.examples
        x = self._draw(3).random((many, self.n_ctx, self.d_model), dtype=np.float32)
        e = self._draw(4).random((self.examples, self.d_model), dtype=np.float32)
        places = sinusoidal_positions(self.n_ctx + 1, self.d_model).astype(np.float32)
        keys = np.concatenate([x, np.broadcast_to(places[1:], x.shape)], axis=2)
        queries = np.concatenate([e, np.broadcast_to(places[0], e.shape)], axis=1)
        return keys.astype(np.float64), queries.astype(np.float64)

    def _draw(self, what: int) -> np.random.Generator:
        return np.random.default_rng([self.examples, self.n_ctx, self.d_model, self.data_seed, what])

    def task(self) -> VectorTask:
        """Return the task whose targets the point learns."""
        keys, queries = self.vectors()
        if self.targets == "numbers":
            return VectorTask(keys, queries, self.numbers()[:, None])
        return VectorTask(keys, queries, np.eye(self.classes)[self.labels()], "classification")

    def model(self, weights: Mapping[str, np.ndarray]) -> Model:
        """Return the model of weights, exactly those that are given.

        Args:
            weights: By the names of `experiments.stacked_layers.forward`, the first map multiplied out.
        """
        w = {name: np.asarray(each, dtype=np.float64) for name, each in weights.items()}
        maps: dict[str, Any] = {name: w[name] for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V")}
        attention = Attention(**maps, skip=False, attends="last", queries="task", score_root=self.d_model)
        return Model(blocks=(attention,), W_U=w["W_U"], b_U=w["b_U"])

    def parameters(self) -> int:
        """Return the number of entries that are trained."""
        d = self.d_model
        return d * (d + 1) + self.heads * 2 * d * (self.d_head + 1) + (d + 1) * self.answers

    def rank(self) -> int:
        r"""Return the certified rank of what frozen heads read, $\min(T, H(n - 1) + 1)$, or $\min(T, H d)$ of own
        contexts.
        """
        wide = self.context == "own" and self.n_ctx > 1
        return min(self.examples, self.heads * (self.d_model if wide else self.n_ctx - 1) + (not wide))

    def bytes(self) -> int:
        """About what a model of a stack takes, forward and backward."""
        return 24 * self.examples * (self.heads * (self.d_model + self.d_head + 2 * self.n_ctx) + 3 * self.d_model)

    def cost(self) -> float:
        """Of the training, beside that of others."""
        inner = self.d_head + self.n_ctx + (self.n_ctx if self.context == "own" else 0)
        return float(self.steps * self.examples * self.heads * self.d_model * 2 * inner + 1)


AnyPoint = Point | LayerPoint
