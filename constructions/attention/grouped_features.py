r"""Products with the features of many contexts, without the features: contexts are grouped by position and token.

A row of the features is $\mathrm{concat}_h \sum_s a^h_s x_s W_V^h$, and $x_s$ depends on the position s and the token
there alone. So for $Q = (Q^h)$ the product is $\sum_s \sum_h a^h_s (x_s W_V^h Q^h)$: the last factor is one of N S
rows for each head, and the contexts that share it are one product of matrices, $T S H r$ multiplications instead of
$T H d_h r$.

Page: docs/tail.md
"""

import numpy as np

from constructions.model.attention import AttentionWeights, attention
from constructions.numeric.arrays import Float32Array, Int64Array


class GroupedFeatures:
    """The features of contexts, `[T, n_heads * d_head]`, as a linear map in float32.

    Args:
        weights: A network or a front end.
        contexts: Tokens, `[T, S]`.

    Raises:
        InputError: As `attention`.

    Example:
        >>> from constructions.attention.families import random_attention
        >>> from constructions.model.attention import features
        >>> weights = random_attention(d_vocab=3, n_ctx=2, d_model=4, n_heads=2, d_head=3, seed=0)
        >>> contexts = np.array([[0, 1], [2, 1], [0, 0]])
        >>> grouped, output = GroupedFeatures(weights, contexts), np.ones((6, 2), dtype=np.float32)
        >>> bool(np.allclose(grouped.times(output), features(weights, contexts) @ output, rtol=1e-5, atol=1e-5))
        True
    """

    def __init__(self, weights: AttentionWeights, contexts: Int64Array) -> None:
        self.n_heads, _, self.d_head = weights.W_V.shape
        size, n_ctx = contexts.shape
        self.orders = [np.argsort(contexts[:, s], kind="stable") for s in range(n_ctx)]
        self.patterns = np.empty((n_ctx, size, self.n_heads), dtype=np.float32)
        for head in range(self.n_heads):
            pattern = attention(weights, contexts, head)
            for s, order in enumerate(self.orders):
                self.patterns[s, :, head] = pattern[order, s]
        self.groups: list[tuple[int, int, slice]] = []  # position, place among the rows x_s, contexts in their order
        embedded = []
        for s, order in enumerate(self.orders):
            tokens, starts = np.unique(contexts[order, s], return_index=True)
            for token, start, stop in zip(tokens, starts, [*starts[1:], size], strict=True):
                self.groups.append((s, len(embedded), slice(int(start), int(stop))))
                embedded.append(weights.W_E[token] + weights.W_pos[s])
        rows = np.array(embedded).reshape(len(embedded), weights.W_E.shape[1])
        self.values = (rows @ weights.W_V).astype(np.float32)  # [n_heads, groups, d_head]

    @property
    def size(self) -> int:
        """Numbers that are kept."""
        return self.patterns.size

    def times(self, output: Float32Array) -> Float32Array:
        """Return the features times a matrix `[n_heads * d_head, r]`: `[T, r]`."""
        columns = output.shape[1]
        read = np.matmul(self.values, output.reshape(self.n_heads, self.d_head, columns))
        read = np.ascontiguousarray(read.transpose(1, 0, 2))
        result = np.zeros((self.patterns.shape[1], columns), dtype=np.float32)
        part = np.empty_like(result)
        for s, place, rows in self.groups:
            np.matmul(self.patterns[s, rows], read[place], out=part[rows])
            if rows.stop == len(part):
                result[self.orders[s]] += part
        return result

    def transposed_times(self, gradient: Float32Array) -> Float32Array:
        """Return the transposed features times a matrix `[T, r]`: `[n_heads * d_head, r]`."""
        columns = gradient.shape[1]
        read = np.empty((len(self.groups), self.n_heads, columns), dtype=np.float32)
        at = -1
        for s, place, rows in self.groups:
            if s != at:
                ordered, at = gradient[self.orders[s]], s
            np.matmul(self.patterns[s, rows].T, ordered[rows], out=read[place])  # pyright: ignore[reportPossiblyUnboundVariable]
        result = np.matmul(self.values.transpose(0, 2, 1), np.ascontiguousarray(read.transpose(1, 0, 2)))
        return result.reshape(self.n_heads * self.d_head, columns)
