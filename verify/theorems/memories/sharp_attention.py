r"""Judge, exactly and in balls, the limit of a head whose scores are multiplied by a growing number.

Page: docs/claims/skip_connection.md
"""

from dataclasses import dataclass

from flint import arb, ctx, fmpq, fmpq_mat

from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts

_BITS = 128


@dataclass(frozen=True, eq=False)
class SharpAttention:
    r"""The attention with scores $\lambda\, x_S W x_s^\top$, and its limit for $\lambda \to \infty$.

    Exact rationals are exact; balls hold the exact value. Distances are largest absolute values of coordinates.

    Args:
        gaps: $g_s = x_S W (x_S - x_s)^\top$, `[T, S]`; the last column is 0.
        last: $x_S$, `[T, d]`.
        limit: L, the mean of the $x_s$ over the positions of the smallest gap, `[T, d]`.
        share_of_last: Attention to the last position, T balls.
        distance_to_last: Distance of the attention's output $A = \sum_s a_s x_s$ to $x_S$, T balls.
        distance_to_limit: Of A to L, T balls.
        bound: $\sum_s e^{-\lambda (g_s - \min g)} |x_s - L|$ over the positions beyond the smallest gap, T balls: no
            less than the distance to the limit.
    """

    gaps: fmpq_mat
    last: fmpq_mat
    limit: fmpq_mat
    share_of_last: tuple[arb, ...]
    distance_to_last: tuple[arb, ...]
    distance_to_limit: tuple[arb, ...]
    bound: tuple[arb, ...]

    @property
    def converges_to_last(self) -> bool:
        """Whether the limit is $x_S$ in every context, decided exactly."""
        return self.limit == self.last

    @property
    def smallest_gap(self) -> fmpq | None:
        """Smallest gap of an earlier position over all contexts; `None` for contexts of one token."""
        before = [gap for row in self.gaps.tolist() for gap in row[:-1]]
        return min(before) if before else None


def enclose_sharp_attention(
    W_E: fmpq_mat, W_pos: fmpq_mat, form: fmpq_mat, contexts: Int64Array, *, sharpness: fmpq | int
) -> SharpAttention:
    r"""Enclose the average of a head with scores $\lambda\, x_S W x_s^\top$, and compute its limit exactly.

    The weights are $a_s = e^{-\lambda g_s} / \sum_r e^{-\lambda g_r}$ with the rational gaps
    $g_s = x_S W (x_S - x_s)^\top$. Positions of the smallest gap m have equal weights, so $A - L$ is the sum of
    $a_s (x_s - L)$ over the others, and there $a_s \le e^{-\lambda (g_s - m)}$. Gaps, differences and limits are
    rational; only exponentials, sums and quotients are balls.

    Args:
        W_E: Embeddings of the tokens, `[N, d]`.
        W_pos: Embeddings of the positions, `[S, d]`.
        form: W, `[d, d]`.
        contexts: Tokens, `[T, S]`.
        sharpness: $\lambda > 0$.

    Returns:
        The exact gaps and limits and the enclosures.

    Raises:
        InputError: Shapes that do not fit, no such tokens, or $\lambda \le 0$.

    Source: Dana, Pydi, Chevaleyre (2024), Section 4.1, the limit that is claimed there.

    Example:
        >>> import numpy as np
        >>> found = enclose_sharp_attention(fmpq_mat(1, 1, [1]), fmpq_mat(2, 1, [1, 0]), fmpq_mat(1, 1, [1]),
        ...                                 np.array([[0, 0]]), sharpness=10)
        >>> found.gaps, found.limit, found.last, found.share_of_last[0] < 1e-4
        ([-1, 0], [2], [1], True)
    """
    sharpness = fmpq(sharpness)
    tokens = _checked(W_E, W_pos, form, contexts)
    if not sharpness > 0:
        raise InputError("sharpness", f"is {sharpness}", "a positive number")
    length, width = W_pos.nrows(), W_pos.ncols()
    embeddings, positions = W_E.tolist(), W_pos.tolist()
    gaps, lasts, limits = [], [], []
    balls: list[tuple[arb, arb, arb, arb]] = []
    with ctx.workprec(_BITS):
        for context in tokens:
            inputs = [
                [a + b for a, b in zip(embeddings[token], positions[s], strict=True)] for s, token in enumerate(context)
            ]
            query = (fmpq_mat(1, width, inputs[-1]) * form).entries()
            row = [_dot(query, _minus(inputs[-1], x)) for x in inputs]
            least = min(row)
            nearest = [x for x, gap in zip(inputs, row, strict=True) if gap == least]
            limit = [sum(column, fmpq(0)) / len(nearest) for column in zip(*nearest, strict=True)]
            powers = [arb(-sharpness * (gap - least)).exp() for gap in row]
            total = sum(powers, arb(0))
            shares = [power / total for power in powers]
            # Positions of the smallest gap add up to nothing here, exactly; leaving them out keeps small sums accurate.
            beyond = [s for s in range(length) if row[s] != least]
            balls.append(
                (
                    shares[-1],
                    _size(
                        [
                            sum((shares[s] * arb(_minus(x, inputs[-1])[j]) for s, x in enumerate(inputs)), arb(0))
                            for j in range(width)
                        ]
                    ),
                    _size(
                        [
                            sum((shares[s] * arb(_minus(inputs[s], limit)[j]) for s in beyond), arb(0))
                            for j in range(width)
                        ]
                    ),
                    sum(
                        (powers[s] * arb(max(abs(entry) for entry in _minus(inputs[s], limit))) for s in beyond), arb(0)
                    ),
                )
            )
            gaps.extend(row)
            lasts.extend(inputs[-1])
            limits.extend(limit)
    count = len(tokens)
    share, to_last, to_limit, bound = zip(*balls, strict=True)
    return SharpAttention(
        gaps=fmpq_mat(count, length, gaps),
        last=fmpq_mat(count, width, lasts),
        limit=fmpq_mat(count, width, limits),
        share_of_last=share,
        distance_to_last=to_last,
        distance_to_limit=to_limit,
        bound=bound,
    )


def _checked(W_E: fmpq_mat, W_pos: fmpq_mat, form: fmpq_mat, contexts: Int64Array) -> list[list[int]]:
    width = W_E.ncols()
    if not width or W_pos.ncols() != width or (form.nrows(), form.ncols()) != (width, width):
        raise InputError(
            "W_E",
            f"has {width} columns, W_pos {W_pos.ncols()} and form is {form.nrows()} x {form.ncols()}",
            "one width d >= 1",
        )
    return checked_contexts(contexts, d_vocab=W_E.nrows(), n_ctx=W_pos.nrows()).tolist()


def _size(vector: list[arb]) -> arb:
    largest = abs(vector[0])
    for entry in vector[1:]:
        largest = largest.max(abs(entry))
    return largest


def _minus(a: list[fmpq], b: list[fmpq]) -> list[fmpq]:
    return [x - y for x, y in zip(a, b, strict=True)]


def _dot(a: list[fmpq], b: list[fmpq]) -> fmpq:
    return sum((x * y for x, y in zip(a, b, strict=True)), fmpq(0))
