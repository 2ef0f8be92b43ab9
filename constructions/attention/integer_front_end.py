r"""Embeddings, queries, keys and values of small integers, and labels of a network with them.

Page: docs/claims/skip_connection.md
"""

import numpy as np
from flint import fmpq, fmpq_mat

from constructions.attention.exact_skip_connection import without_shifts
from constructions.model.exact_network import ExactFrontEnd
from constructions.numeric.arrays import Int64Array


def integer_front_end(
    *, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int, seed: int | tuple[int, ...] = 0
) -> ExactFrontEnd:
    r"""Draw small integer weights, with scores of modest size in units of ln 2.

    Embeddings are integers of absolute value at most 2 and values at most 1; queries select two random coordinates,
    one key for each, so that scores stay small and attention weights different.

    Args:
        d_vocab: N.
        n_ctx: S.
        d_model: d.
        d_head: $d_h$.
        n_heads: H.
        seed: Seed of every random choice.

    Returns:
        The front end, with $d_{qk} = 2$.

    Example:
        >>> front_end = integer_front_end(d_vocab=3, n_ctx=2, d_model=3, d_head=2, n_heads=1)
        >>> front_end.W_Q[0].ncols(), front_end.d_head
        (2, 2)
    """
    rng = np.random.default_rng(seed)

    def drawn(rows: int, columns: int, largest: int) -> fmpq_mat:
        return fmpq_mat(rows, columns, rng.integers(-largest, largest + 1, rows * columns).tolist())

    def selected() -> fmpq_mat:
        rows = rng.integers(0, d_model, 2)
        return fmpq_mat(d_model, 2, [int(rows[j] == i) for i in range(d_model) for j in range(2)])

    return ExactFrontEnd(
        drawn(d_vocab, d_model, 2),
        drawn(n_ctx, d_model, 2),
        tuple(selected() for _ in range(n_heads)),
        tuple(drawn(d_model, 2, 1) for _ in range(n_heads)),
        tuple(drawn(d_model, d_head, 1) for _ in range(n_heads)),
    )


def label_targets(labels: Int64Array, d_vocab: int) -> tuple[fmpq_mat, fmpq_mat]:
    """Return a stream and an unembedding with two coordinates; each label leads by a margin of at least 1/2, exactly.

    $E_t = (l_t, 1)$ and the columns $(i, -i^2/2)$ of the unembedding give the logits
    $l_t^2 / 2 - (i - l_t)^2 / 2$, without their means.

    Args:
        labels: The labels $l_t$ in 0 .. N - 1, `[T]`.
        d_vocab: N.

    Returns:
        E, `[T, 2]`, and the unembedding, `[2, N]`.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> E, W_U = label_targets(np.array([2]), 3)
        >>> E * W_U
        [-7/6, 1/3, 5/6]
    """
    stream = fmpq_mat(len(labels), 2, [entry for label in labels.tolist() for entry in (label, 1)])
    columns = [fmpq(i) for i in range(d_vocab)], [fmpq(-i * i, 2) for i in range(d_vocab)]
    return stream, without_shifts(fmpq_mat(2, d_vocab, [*columns[0], *columns[1]]))
