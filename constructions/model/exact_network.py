r"""Weights that are rational numbers, with scores counted in units of $\ln 2$: their attention is rational too.

Page: docs/claims/generic_embeddings.md
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, fmpz

from constructions.errors import InputError
from constructions.model.blocks import Attention, Tensor
from constructions.model.model import Model
from constructions.model.shapes import dana_tensors
from constructions.numeric.arrays import Float64Array


@dataclass(frozen=True, eq=False)
class ExactFrontEnd:
    r"""Embeddings and heads over the rationals; the score of position s is $\ln 2$ times $x_S W_Q W_K^T x_s^T$.

    With $k_s = x_S W_Q W_K^T x_s^T$ an integer for every position and context, the attention weights
    $a_s = 2^{k_s} / \sum_r 2^{k_r}$ are rational numbers, and so is everything that the network computes. Whether all
    $k_s$ are integers depends on the contexts; who computes attention has to check it.

    Args:
        W_E: Embeddings of the tokens, `[N, d]`.
        W_pos: Embeddings of the positions, `[S, d]`.
        W_Q: Queries of each head in units of ln 2, H matrices `[d, d_qk]`.
        W_K: Keys of each head, H matrices `[d, d_qk]`.
        W_V: Values of each head, H matrices `[d, d_h]`.

    Raises:
        InputError: Shapes that do not fit together; names the matrix.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 3, made exact.

    Example:
        >>> one = fmpq_mat(1, 1, [1])
        >>> front = ExactFrontEnd(fmpq_mat(2, 1, [0, 1]), fmpq_mat(2, 1, [0, 1]), (one,), (one,), (one,))
        >>> front.n_heads, front.d_vocab, front.n_ctx, front.d_model, front.d_head
        (1, 2, 2, 1, 1)
    """

    W_E: fmpq_mat
    W_pos: fmpq_mat
    W_Q: tuple[fmpq_mat, ...]
    W_K: tuple[fmpq_mat, ...]
    W_V: tuple[fmpq_mat, ...]

    def __post_init__(self) -> None:
        width = self.W_E.ncols()
        _require(self.W_E.nrows() > 0 and width > 0, "W_E", self.W_E, "[N, d] with N, d >= 1")
        _require(self.W_pos.nrows() > 0 and self.W_pos.ncols() == width, "W_pos", self.W_pos, f"[S, {width}]")
        if not len(self.W_Q) == len(self.W_K) == len(self.W_V):
            raise InputError(
                "W_Q, W_K, W_V", f"have {len(self.W_Q)}, {len(self.W_K)}, {len(self.W_V)} heads", "equally many"
            )
        for head, (query, key, value) in enumerate(zip(self.W_Q, self.W_K, self.W_V, strict=True)):
            _require(query.nrows() == width, f"W_Q[{head}]", query, f"[{width}, d_qk]")
            _require(_shape(query) == _shape(self.W_Q[0]), f"W_Q[{head}]", query, f"{list(_shape(self.W_Q[0]))}")
            _require(_shape(key) == _shape(query), f"W_K[{head}]", key, f"{list(_shape(query))}, as W_Q")
            _require(value.nrows() == width, f"W_V[{head}]", value, f"[{width}, d_h]")
            _require(value.ncols() == self.d_head, f"W_V[{head}]", value, f"[{width}, {self.d_head}], as the first")

    @property
    def d_vocab(self) -> int:
        """Number of tokens, N."""
        return self.W_E.nrows()

    @property
    def n_ctx(self) -> int:
        """Number of positions, S."""
        return self.W_pos.nrows()

    @property
    def d_model(self) -> int:
        """Width of the residual stream, d."""
        return self.W_E.ncols()

    @property
    def n_heads(self) -> int:
        """Number of heads, H."""
        return len(self.W_Q)

    @property
    def d_head(self) -> int:
        """Width of a head, d_h; 0 without heads."""
        return self.W_V[0].ncols() if self.W_V else 0


def exact_network(front_end: ExactFrontEnd, W_O: Sequence[fmpq_mat], W_U: fmpq_mat) -> Model:
    r"""Return the rational model of one attention with a skip connection, from attention parameters, outputs and
    unembedding.

    Its logits are $(x_S + \sum_h A^h W_V^h W_O^h) W_U$ at the last position, rational numbers in nats.

    Args:
        front_end: Embeddings, queries, keys and values.
        W_O: Output of each head, H matrices `[d_h, d]`.
        W_U: The unembedding, `[d, N_out]`.

    Returns:
        The model, with one silent head (all its weights zero) if the front end has none.

    Raises:
        InputError: Shapes that do not fit together; names the matrix.

    Example:
        >>> one = fmpq_mat(1, 1, [1])
        >>> front = ExactFrontEnd(fmpq_mat(2, 1, [0, 1]), fmpq_mat(1, 1, [0]), (one,), (one,), (one,))
        >>> network = rounded(exact_network(front, (one,), fmpq_mat(1, 2, [fmpq(1, 3), 0])))
        >>> network.W_U, float(network.W_Q[0, 0, 0])
        (array([[0.33333333, 0.        ]]), 0.6931471805599453)
    """
    if len(W_O) != front_end.n_heads:
        raise InputError("W_O", f"has {len(W_O)} heads", front_end.n_heads)
    for head, output in enumerate(W_O):
        expected = (front_end.d_head, front_end.d_model)
        _require(_shape(output) == expected, f"W_O[{head}]", output, str(list(expected)))
    _require(W_U.nrows() == front_end.d_model, "W_U", W_U, f"[{front_end.d_model}, N]")
    if not W_O:
        nothing = fmpq_mat(front_end.d_model, 1)
        front_end = replace(front_end, W_Q=(nothing,), W_K=(nothing,), W_V=(nothing,))
        W_O = (nothing.transpose(),)
    heads = (front_end.W_Q, front_end.W_K, front_end.W_V, W_O)
    W_Q, W_K, W_V, output = (np.stack([_array(matrix) for matrix in matrices]) for matrices in heads)
    attention = Attention(W_Q, W_K, W_V, output)
    return Model(blocks=(attention,), W_U=_array(W_U), W_E=_array(front_end.W_E), W_pos=_array(front_end.W_pos))


def exact_front_end(model: Model) -> ExactFrontEnd:
    """Return the embeddings and heads of a rational model of one attention with a skip connection.

    Args:
        model: As `exact_network` makes it.

    Returns:
        The front end.

    Raises:
        InputError: A model of another shape, or of float64 tensors.

    Example:
        >>> one = fmpq_mat(1, 1, [1])
        >>> front = ExactFrontEnd(fmpq_mat(2, 1, [0, 1]), fmpq_mat(1, 1, [0]), (one,), (one,), (one,))
        >>> exact_front_end(exact_network(front, (one,), one)).W_E.tolist()
        [[0], [1]]
    """
    _require_rational(model)
    parts = dana_tensors(model)
    heads = (tuple(as_rationals(matrix) for matrix in parts[name]) for name in ("W_Q", "W_K", "W_V"))
    return ExactFrontEnd(as_rationals(model.W_E), as_rationals(model.W_pos), *heads)


def rounded(model: Model) -> Model:
    r"""Return the float64 model nearest to a rational one; W_Q and b_Q absorb the $\ln 2$ of the scores.

    Every entry is rounded once; those of W_Q and b_Q are then multiplied by the float64 nearest to ln 2, and rounded
    again. What the rounded weights do has to be certified again.

    Args:
        model: A rational model of any blocks.

    Returns:
        The float64 model.

    Raises:
        InputError: A model of float64 tensors, or an entry beyond the range of float64.

    Example:
        >>> third = np.array([[[fmpq(1, 3)]]])
        >>> block = Attention(third, third, third, third)
        >>> model = rounded(Model(blocks=(block,), W_U=third[0], W_E=third[0], W_pos=third[0]))
        >>> float(model.W_K[0, 0, 0]), float(model.W_Q[0, 0, 0]) == 1 / 3 * math.log(2)
        (0.3333333333333333, True)
    """
    _require_rational(model)
    return model.with_each(_nearest)


def _nearest(name: str, tensor: Tensor) -> Tensor:
    """Return the nearest float64 of every entry, and for W_Q and b_Q of an attention ln 2 times it."""
    nearest = as_floats(fmpq_mat(1, tensor.size, tensor.ravel().tolist())).reshape(tensor.shape)
    return nearest * math.log(2.0) if name.endswith((".attn.W_Q", ".attn.b_Q")) else nearest


def _array(matrix: fmpq_mat) -> Tensor:
    return np.array(matrix.entries(), dtype=object).reshape(_shape(matrix))


def as_floats(matrix: fmpq_mat) -> Float64Array:
    """Return the nearest float64 of every entry of a rational matrix.

    Args:
        matrix: `[rows, columns]`.

    Returns:
        `[rows, columns]`.

    Raises:
        InputError: An entry beyond the range of float64.

    Example:
        >>> as_floats(fmpq_mat(1, 2, [fmpq(1, 3), 2]))
        array([[0.33333333, 2.        ]])
    """
    rows, columns = _shape(matrix)
    try:
        entries = [int(matrix[i, j].p) / int(matrix[i, j].q) for i in range(rows) for j in range(columns)]
    except OverflowError as error:
        raise InputError("a rational weight", "is beyond the range of float64") from error
    return np.array(entries, dtype=np.float64).reshape(rows, columns)


def stacked(rows: Sequence[Sequence[fmpq]], columns: int) -> fmpq_mat:
    """Stack rows into a matrix, which may have no rows."""
    return fmpq_mat(len(rows), columns, [entry for row in rows for entry in row])


def as_rationals(values: Any) -> fmpq_mat:
    """Return a matrix of integers, fractions or finite floats as exact rationals.

    Args:
        values: A two-dimensional array or a list of rows, of int, fmpz, Fraction, fmpq or float; floats count as the
            dyadic rationals that they are.

    Returns:
        `[rows, columns]`.

    Raises:
        InputError: Not two-dimensional, rows of different lengths, or an entry that is not a finite number.

    Example:
        >>> as_rationals([[1, 0.5], [Fraction(1, 3), fmpq(2, 7)]])
        [  1, 1/2]
        [1/3, 2/7]
    """
    try:
        rows = [list(row) for row in (values.tolist() if isinstance(values, np.ndarray) else values)]
    except TypeError as error:
        raise InputError("values", "is not a matrix", "a non-empty list of rows") from error
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise InputError("values", "is not a matrix", "a non-empty list of rows of one length")
    return fmpq_mat(len(rows), len(rows[0]), [_rational(entry) for row in rows for entry in row])


def _rational(entry: Any) -> fmpq:
    if isinstance(entry, fmpq | fmpz):
        return fmpq(entry)
    try:
        numerator, denominator = Fraction(entry).as_integer_ratio()
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError("values", f"has the entry {entry!r}", "finite rational numbers") from error
    return fmpq(int(numerator), int(denominator))


def _shape(matrix: fmpq_mat) -> tuple[int, int]:
    return matrix.nrows(), matrix.ncols()


def _require_rational(model: Model) -> None:
    if not model.is_rational:
        raise InputError("the model", "has float64 tensors", "rationals")


def _require(holds: bool, name: str, matrix: fmpq_mat, expected: str) -> None:
    if not holds:
        raise InputError(name, f"has the shape {list(_shape(matrix))}", expected)
