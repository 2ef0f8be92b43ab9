"""Copy the last embedding by a head: the printed head, and two repairs that always attend to the last position.

Pages: docs/claims/skip_connection.md, docs/claims/long_last_position.md
"""

from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat

from constructions.errors import HypothesisError, InputError
from constructions.model.exact_network import as_rationals


@dataclass(frozen=True, eq=False)
class SkipHead:
    r"""Embeddings and one head whose scores $\lambda\, x_S W_Q W_K^\top x_s^\top$ should favour the last position.

    Args:
        W_E: Embeddings of the tokens, `[N, d]`.
        W_pos: Embeddings of the positions, `[S, d]`.
        W_Q: Queries, `[d, d_qk]`.
        W_K: Keys, `[d, d_qk]`.
    """

    W_E: fmpq_mat
    W_pos: fmpq_mat
    W_Q: fmpq_mat
    W_K: fmpq_mat

    @property
    def form(self) -> fmpq_mat:
        """The bilinear form of the scores, $W_Q W_K^T$, `[d, d]`."""
        return self.W_Q * self.W_K.transpose()


def identity_skip_head(W_E: fmpq_mat, W_pos: fmpq_mat) -> SkipHead:
    r"""Return the printed head, $W_{QK} = \lambda I$, on the given embeddings.

    It attends to the position with the largest $\langle x_S, x_s \rangle$, which need not be the last one.

    Args:
        W_E: Embeddings of the tokens, `[N, d]`.
        W_pos: Embeddings of the positions, `[S, d]`.

    Returns:
        The head.

    Raises:
        InputError: Embeddings of different widths.

    Source: Dana, Pydi, Chevaleyre (2024), Section 4.1 and Appendix A.2.

    Example:
        >>> identity_skip_head(fmpq_mat(1, 2, [1, 0]), fmpq_mat(1, 2, [0, 1])).form
        [1, 0]
        [0, 1]
    """
    _require_fit(W_E, W_pos)
    identity = as_rationals(np.eye(W_E.ncols()))
    return SkipHead(W_E, W_pos, identity, identity)


def long_last_position(W_E: fmpq_mat, W_pos: fmpq_mat, *, direction: fmpq_mat) -> SkipHead:
    r"""Make $W_{QK} = \lambda I$ work: put a long vector $R u$ at the last position.

    With $x_S = e_c + R u$,

    $$ \langle x_S, x_S - x_s \rangle = R^2 |u|^2 + R \langle u, 2 e_c - x_s \rangle + \langle e_c, e_c - x_s \rangle
       \ge 1 $$

    for every last token c and every $x_s$, $s < S$, if $R |u|^2 \ge b + q + |u|^2 + 1$ where b and q are the largest
    absolute values of the two products: then it is at least $R (R |u|^2 - b) - q \ge R (1 + q) - q \ge 1$, as R >= 1.

    Args:
        W_E: Embeddings of the tokens, `[N, d]`.
        W_pos: Embeddings of the positions, `[S, d]`; the last row is replaced.
        direction: u, not 0, `[1, d]`.

    Returns:
        The head; its gaps are at least 1 in every context of tokens.

    Raises:
        InputError: Embeddings or a direction of different widths.
        HypothesisError: The direction is 0.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Section 4.1.

    Example:
        >>> head = long_last_position(fmpq_mat(2, 1, [1, 2]), fmpq_mat(2, 1, [3, 0]), direction=fmpq_mat(1, 1, [1]))
        >>> head.W_pos
        [ 3]
        [11]
    """
    length = _squared_length(W_E, W_pos, direction)
    tokens, others = W_E.tolist(), _before_last(W_E, W_pos)
    [axis] = direction.tolist()
    linear = max(
        (abs(_dot(axis, [2 * e - x for e, x in zip(c, o, strict=True)])) for c in tokens for o in others),
        default=fmpq(0),
    )
    constant = max(
        (abs(_dot(c, [e - x for e, x in zip(c, o, strict=True)])) for c in tokens for o in others), default=fmpq(0)
    )
    factor = ((linear + constant + 1) / length).ceil() + 1
    identity = as_rationals(np.eye(W_E.ncols()))
    return SkipHead(W_E, _with_last(W_pos, direction * factor), identity, identity)


def rank_one_skip_head(W_E: fmpq_mat, W_pos: fmpq_mat, *, direction: fmpq_mat) -> SkipHead:
    r"""Attend to the last position with $W_{QK} = \lambda u^\top u$ of rank one and $R u$ at the last position.

    The gap is $\langle x_S, u \rangle \langle x_S - x_s, u \rangle$, a product of two numbers that are at least 1 if
    $R |u|^2 \ge 1 + \langle x_s - e_c, u \rangle$ and $R |u|^2 \ge 1 - \langle e_c, u \rangle$ for every c and
    $x_s$, $s < S$. It needs one number for each query and key.

    Args:
        W_E: Embeddings of the tokens, `[N, d]`.
        W_pos: Embeddings of the positions, `[S, d]`; the last row is replaced.
        direction: u, not 0, `[1, d]`.

    Returns:
        The head; its gaps are at least 1 in every context of tokens.

    Raises:
        InputError: Embeddings or a direction of different widths.
        HypothesisError: The direction is 0.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Section 4.1.

    Example:
        >>> head = rank_one_skip_head(fmpq_mat(2, 1, [1, 2]), fmpq_mat(2, 1, [3, 0]), direction=fmpq_mat(1, 1, [1]))
        >>> head.W_pos, head.form
        ([3]
        [5], [1])
    """
    length = _squared_length(W_E, W_pos, direction)
    [axis] = direction.tolist()
    tokens = [_dot(axis, token) for token in W_E.tolist()]
    others = [_dot(axis, other) for other in _before_last(W_E, W_pos)]
    least = max([1 - min(tokens), *(1 + other - min(tokens) for other in others)])
    column = direction.transpose()
    return SkipHead(W_E, _with_last(W_pos, direction * (least / length).ceil()), column, column)


def _squared_length(W_E: fmpq_mat, W_pos: fmpq_mat, direction: fmpq_mat) -> fmpq:
    _require_fit(W_E, W_pos)
    if (direction.nrows(), direction.ncols()) != (1, W_E.ncols()):
        raise InputError("direction", f"is {direction.nrows()} x {direction.ncols()}", f"[1, {W_E.ncols()}]")
    [axis] = direction.tolist()
    if not any(entry != 0 for entry in axis):
        raise HypothesisError("A head that attends to the last position", "a direction u != 0", "u = 0")
    return _dot(axis, axis)


def _require_fit(W_E: fmpq_mat, W_pos: fmpq_mat) -> None:
    if W_E.ncols() != W_pos.ncols() or not W_E.nrows() or not W_pos.nrows() or not W_E.ncols():
        raise InputError(
            "W_E", f"is {W_E.nrows()} x {W_E.ncols()} and W_pos {W_pos.nrows()} x {W_pos.ncols()}", "[N, d] and [S, d]"
        )


def _before_last(W_E: fmpq_mat, W_pos: fmpq_mat) -> list[list[fmpq]]:
    """Return all $x_{s,n}$ with s < S."""
    return [
        [a + b for a, b in zip(token, position, strict=True)]
        for position in W_pos.tolist()[:-1]
        for token in W_E.tolist()
    ]


def _with_last(W_pos: fmpq_mat, row: fmpq_mat) -> fmpq_mat:
    return fmpq_mat(W_pos.nrows(), W_pos.ncols(), [*W_pos.entries()[: -W_pos.ncols()], *row.entries()])


def _dot(a: list[fmpq], b: list[fmpq]) -> fmpq:
    return sum((x * y for x, y in zip(a, b, strict=True)), fmpq(0))
