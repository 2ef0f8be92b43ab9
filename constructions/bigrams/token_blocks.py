r"""Tokens as pairs of a block and a place in it, and heads whose attention to the first of two tokens is the label.

Page: docs/claims/bigram_heads.md
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from constructions.arrays import Float64Array, Int64Array
from constructions.encoders.scalar_label_code import LabelCode, scalar_label_code
from constructions.errors import HypothesisError, InputError
from constructions.models.model import Model
from constructions.models.shapes import dana_network
from constructions.tasks.task import Task

_SHARE = 40.0  # heads that are closed move the number that names the label by 1 / 40 together


def require_labelled_bigrams(task: Task, claim: str) -> None:
    """Refuse laws, and contexts of other than two tokens, in the name of a claim: `HypothesisError`."""
    if task.n_ctx != 2:
        raise HypothesisError(claim, "contexts of two tokens", f"they have {task.n_ctx}")
    if task.target != "labels":
        raise HypothesisError(claim, "labels", f"the target is {task.target!r}")


@dataclass(frozen=True, eq=False)
class TokenBlocks:
    r"""Labels of bigrams, over tokens $n = b m + l$ in B blocks of m.

    The coordinates of the stream are the m places l, one-hot, the point $u_b = (\cos 2 \pi b / B, \sin 2 \pi b / B)$ of
    the block, and a coordinate that is 1 at the last position and 0 elsewhere.

    Args:
        task: Contexts of two tokens, and labels.
        size: m.
        count: B; the B m tokens are at least those of the vocabulary.
    """

    task: Task
    size: int
    count: int

    @classmethod
    def of(cls, task: Task, size: int, *, claim: str, even: bool = False) -> "TokenBlocks":
        """Blocks of so many tokens, as few as hold the vocabulary.

        Raises:
            HypothesisError: Contexts that are no bigrams, or a task of laws.
            InputError: A size below 1.
        """
        require_labelled_bigrams(task, claim)
        if size < 1:
            raise InputError("a block", f"of {size} tokens", "at least 1")
        count = -(-task.d_vocab // size)
        return cls(task, size, count + count % 2 if even else count)

    @property
    def width(self) -> int:
        """Dimension of the stream, m + 3."""
        return self.size + 3

    @cached_property
    def circle(self) -> Float64Array:
        """The points of the blocks, `[B, 2]`."""
        angles = 2.0 * math.pi * np.arange(self.count) / self.count
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    @property
    def apart(self) -> float:
        r"""$1 - \cos (2 \pi / B)$: by how much the products of points of different blocks are below 1, at least."""
        return 2.0 * math.sin(math.pi / self.count) ** 2 if self.count > 1 else 1.0

    @cached_property
    def answers(self) -> Int64Array:
        """The tokens that are labels, increasing."""
        return np.unique(self.task.labels)

    @cached_property
    def code(self) -> LabelCode:
        """The points of the labels on a line."""
        return scalar_label_code(len(self.answers))

    @cached_property
    def gaps(self) -> Float64Array:
        r"""What the score of the first token has to be above that of the second, `[B, m, B, m]`, by last and first.

        For the label at the point i of K that is $\ln \frac{p}{1 - p}$ with the attention
        $p = \frac12 + \frac{i}{K + 1}$; 0 for bigrams that are not in the task.
        """
        tokens = self.count * self.size
        gaps = np.zeros((tokens, tokens))
        before, last = self.task.contexts.T
        points = self.code.points[np.searchsorted(self.answers, self.task.labels)]
        half = (len(self.answers) + 1) / 2.0
        gaps[last, before] = np.log(half + points) - np.log(half - points)
        return gaps.reshape(self.count, self.size, self.count, self.size)

    @cached_property
    def largest(self) -> float:
        """The largest gap in absolute value, and 1 at least."""
        return max(1.0, float(np.abs(self.gaps).max()))

    def closed(self, n_heads: int) -> float:
        r"""How far below the second the first token's score has to be so that all heads together leak 1/40 at most."""
        return math.log(_SHARE * n_heads * (len(self.answers) + 1))

    def model(self, W_Q: Float64Array, W_K: Float64Array) -> Model:
        r"""The network of these heads: each writes $K + 1$ times its attention to the first token where y is read.

        Args:
            W_Q: Query maps, `[H, m + 3, d_qk]`.
            W_K: Key maps, `[H, m + 3, d_qk]`.
        """
        n_heads, places, last = len(W_Q), self.size, self.size + 2
        tokens, labels = np.arange(self.task.d_vocab), len(self.answers)
        W_E, W_pos = np.zeros((len(tokens), self.width)), np.zeros((2, self.width))
        W_E[tokens, tokens % places] = 1.0
        W_E[:, places:last] = self.circle[tokens // places]
        W_pos[1, last] = 1.0
        W_V, W_O = np.zeros((n_heads, self.width, 1)), np.zeros((n_heads, 1, self.width))
        W_V[:, :places], W_V[:, last] = 1.0, -1.0  # 1 at the first position, 0 at the second
        W_O[:, :, 0] = labels + 1.0
        W_U = np.zeros((self.width, self.task.n_answers))
        W_U[last] = -1.0  # tokens that are no labels; a label that y is within a half of has the logit -1/8 or more
        W_U[:places, self.answers] = self.code.points
        W_U[last, self.answers] = self.code.columns[0] - (1.0 + (labels + 1.0) / 2.0) * self.code.points
        return dana_network(W_E=W_E, W_pos=W_pos, W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O, W_U=W_U)
