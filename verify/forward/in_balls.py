r"""What the given weights compute in exact real arithmetic, in balls of any precision (Arb): for small sizes.

The weights are float64 numbers and become balls of radius 0; every operation on balls returns a ball that holds the
exact result for all numbers in its operands. No BLAS takes part, and no rounding is bounded beforehand: where float64
says too little, more bits say more. In comparison with `verify/forward/float64.py` it is slow: for $T$ contexts of
length $S$, $H$ heads and $P$ distinct pairs of a position and a token, the time is that of $T S H$ exponentials and of

$$ P H d_{\mathrm{model}} (2 d_{qk} + d_{\mathrm{head}}) + T S H (d_{qk} + d_{\mathrm{head}})
   + T d_{\mathrm{model}} (H d_{\mathrm{head}} + d_{\mathrm{vocab\,out}}) $$

multiplications of so many bits, and a ball takes at least 48 bytes.

Page: docs/rigour/divergence.md (Lemmas F8 and F9).
"""

import math
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.models.model import Model
from verify.arithmetic.enclosure import Enclosure

Float64Array = NDArray[np.float64]
Int64Array = NDArray[np.int64]

_FEWEST_BITS, _MOST_BITS = 2, 10**6
_ROUNDING_BITS = 64  # of the distances to the float64 midpoints; the radii are rounded up whatever this is


def last_in_balls(network: Model, contexts: Int64Array, precision: int) -> arb_mat:
    r"""The vectors at the last position as balls, $x_S = W_E[t_S] + W_{pos}[S]$.

    Rigorous because addition of balls is; exact where the sums have at most `precision` bits.

    Args:
        network: The weights.
        contexts: Tokens, `[T, S]` with `S <= n_ctx`.
        precision: Bits of the balls, 2 to 10^6. Operations on the result have the precision of their own context.

    Returns:
        `[T, d_model]`.

    Raises:
        InputError: Contexts of a wrong shape or type, tokens out of range, or no such precision.

    Source: Dana, Pydi, Chevaleyre (2024), equation (1). Page: docs/rigour/divergence.md

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.full((1, 1), 2.0**-100), W_pos=np.ones((1, 1)), W_Q=np.ones((1, 1, 1)),
        ...                   W_K=np.ones((1, 1, 1)), W_V=np.ones((1, 1, 1)), W_O=np.ones((1, 1, 1)), W_U=np.eye(1))
        >>> [last_in_balls(network, np.array([[0]]), bits)[0, 0].is_exact() for bits in (53, 101)]
        [False, True]
    """
    contexts = checked_contexts(network, contexts)
    with ctx.workprec(checked_precision(precision)):
        return _last(_Lookup.of(network, contexts))


def attention_in_balls(network: Model, contexts: Int64Array, head: int, precision: int) -> arb_mat:
    r"""The attention pattern of one head at the last position as balls.

    $$ a_s = \frac{e^{\sigma_s - c}}{\sum_r e^{\sigma_r - c}}, \qquad \sigma_s = \langle x_S W_Q,\, x_s W_K \rangle, $$

    where $c$ is the largest midpoint of the scores, one and the same real number for all of them.

    Rigorous by Lemma F8; where nothing is known of the scores, the ball is that of all numbers from 0 to 1.

    Args:
        network: The weights.
        contexts: Tokens, `[T, S]` with `S <= n_ctx`.
        head: Which head.
        precision: Bits of the balls, 2 to 10^6. Operations on the result have the precision of their own context.

    Returns:
        `[T, S]`.

    Raises:
        InputError: As `last_in_balls`, or no such head.

    Source: Dana, Pydi, Chevaleyre (2024), equation (1). Page: docs/rigour/divergence.md

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.ones((1, 2, 1)),
        ...                   W_K=np.array([[[0.0], [-1000.0]]]), W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)),
        ...                   W_U=np.eye(2))
        >>> pattern = attention_in_balls(network, np.array([[0, 1]]), 0, 128)
        >>> abs(pattern[0, 1] / arb(-1000).exp() - 1) < 1e-12
        True
    """
    contexts = checked_contexts(network, contexts)
    checked_head(network, head)
    with ctx.workprec(checked_precision(precision)):
        pattern = _attention(network, _Lookup.of(network, contexts), head)
        return arb_mat(len(pattern), contexts.shape[1], [share for row in pattern for share in row])


def features_in_balls(network: Model, contexts: Int64Array, precision: int) -> arb_mat:
    r"""What the heads have read, before $W_O$, as balls.

    $$ Y_t = \mathrm{concat}_h \sum_s a^h_s\, x_s W_V^h. $$

    Rigorous by Lemma F8. The cost is written at the head of this module.

    Args:
        network: The weights.
        contexts: Tokens, `[T, S]` with `S <= n_ctx`.
        precision: Bits of the balls, 2 to 10^6. Operations on the result have the precision of their own context.

    Returns:
        `[T, n_heads * d_head]`.

    Raises:
        InputError: As `last_in_balls`.

    Source: Dana, Pydi, Chevaleyre (2024), Section 3 (the matrix A of Lemma 2). Page: docs/rigour/divergence.md

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((3, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.array([[[1.0], [0.0]]]), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> third = features_in_balls(network, np.array([[0, 1, 1]]), 256)[0, 0]
        >>> (3 * third).contains(1), third.rad() < arb(2) ** -250
        (True, True)
    """
    contexts = checked_contexts(network, contexts)
    with ctx.workprec(checked_precision(precision)):
        return _features(network, _Lookup.of(network, contexts))


def logits_in_balls(
    network: Model, contexts: Int64Array, precision: int, *, features: arb_mat | None = None
) -> arb_mat:
    r"""The logits at the last position as balls, in nats.

    $$ \mathrm{logits}_t = (x_S + Y_t W_O)\, W_U. $$

    Rigorous by Lemma F8. The cost is written at the head of this module.

    Args:
        network: The weights.
        contexts: Tokens, `[T, S]` with `S <= n_ctx`.
        precision: Bits of the balls, 2 to 10^6. Operations on the result have the precision of their own context.
        features: Balls of the features of the same network and contexts, if they are known already.

    Returns:
        `[T, d_vocab_out]`.

    Raises:
        InputError: As `last_in_balls`, or features of another shape.

    Source: Dana, Pydi, Chevaleyre (2024), equation (2). Page: docs/rigour/divergence.md

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> logits_in_balls(network, np.array([[0, 1]]), 64)
        [1.00000000000000, 2.00000000000000]
    """
    contexts = checked_contexts(network, contexts)
    columns = network.n_heads * network.d_head
    if features is not None and (features.nrows(), features.ncols()) != (len(contexts), columns):
        shape = (features.nrows(), features.ncols())
        raise InputError(f"features has shape {shape}, expected {(len(contexts), columns)}")
    with ctx.workprec(checked_precision(precision)):
        lookup = _Lookup.of(network, contexts)
        read = _features(network, lookup) if features is None else features
        return (_last(lookup) + read * _exact(network.W_O.reshape(columns, network.d_model))) * _exact(network.W_U)


def rounded_outwards(balls: arb_mat) -> Enclosure:
    r"""The float64 enclosure of a matrix of balls: every number of a ball is within the radius of its midpoint.

    With the float64 $m$ nearest to the middle of the ball, the radius is an upper bound of $|x - m|$ over the ball,
    about half a unit in the last place of $m$ where the ball is narrow, and 0 where the ball is one float64 number. The
    conversions to float64 are not trusted: $|x - m|$ is a ball, and the radius is compared with it exactly (Lemma F9).

    Args:
        balls: `[rows, columns]`.

    Returns:
        Enclosure `[rows, columns]`, with an infinite radius where a ball is not bounded or beyond float64.

    Page: docs/rigour/divergence.md

    Example:
        >>> third = rounded_outwards(arb_mat([[arb(1) / 3, 0.5]]))
        >>> third.midpoint.tolist(), bool(third.radius[0, 0] < 1e-16), float(third.radius[0, 1])
        ([[0.3333333333333333, 0.5]], True, 0.0)
    """
    entries = balls.entries()
    midpoints = [float(x.mid()) for x in entries]
    with ctx.workprec(_ROUNDING_BITS):
        radii = [_float_above(abs(x - m)) for x, m in zip(entries, midpoints, strict=True)]
    shape = (balls.nrows(), balls.ncols())
    return Enclosure(np.reshape(midpoints, shape), np.reshape(radii, shape))


def checked_contexts(network: Model, contexts: Int64Array) -> Int64Array:
    """The contexts as int64 `[T, S]`, or an `InputError` where the network cannot read them."""
    contexts = np.asarray(contexts)
    if contexts.ndim != 2 or contexts.dtype.kind not in "iu" or not 1 <= contexts.shape[1] <= network.n_ctx:
        expected = f"integers [T, S] with 1 <= S <= {network.n_ctx}"
        raise InputError(f"contexts is {contexts.dtype} of shape {contexts.shape}, expected {expected}")
    if contexts.size and (contexts.min() < 0 or contexts.max() >= network.d_vocab):
        raise InputError(
            f"contexts holds tokens from {contexts.min()} to {contexts.max()}, expected 0 .. {network.d_vocab - 1}"
        )
    return contexts.astype(np.int64)


def checked_head(network: Model, head: int) -> None:
    """Raise an `InputError` where the network has no such head."""
    if not 0 <= head < network.n_heads:
        raise InputError(f"head = {head}, expected 0 .. {network.n_heads - 1}")


def checked_precision(precision: int) -> int:
    """The number of bits, or an `InputError` where balls cannot have it."""
    # True and False are integers, and too few bits.
    if not (isinstance(precision, (int, np.integer)) and _FEWEST_BITS <= precision <= _MOST_BITS):
        raise InputError(f"precision = {precision!r}, expected an integer from {_FEWEST_BITS} to {_MOST_BITS}, in bits")
    return int(precision)


@dataclass(frozen=True)
class _Lookup:
    """What a set of contexts reads, each vector once.

    Args:
        vectors: The vectors x at all pairs of a position and a token that occur, `[pairs, d_model]`.
        cells: Which of them each context has at each position, `[T][S]`.
    """

    vectors: arb_mat
    cells: list[list[int]]

    @classmethod
    def of(cls, network: Model, contexts: Int64Array) -> "_Lookup":
        index: dict[tuple[int, int], int] = {}
        cells = [[index.setdefault(pair, len(index)) for pair in enumerate(context)] for context in contexts.tolist()]
        positions, tokens = np.array(list(index), dtype=np.int64).reshape(-1, 2).T
        return cls(_exact(network.W_E[tokens]) + _exact(network.W_pos[positions]), cells)


def _last(lookup: _Lookup) -> arb_mat:
    return _rows(lookup.vectors.table(), [cell[-1] for cell in lookup.cells], lookup.vectors.ncols())


def _attention(network: Model, lookup: _Lookup, head: int) -> list[list[arb]]:
    """The attention of one head, `[T][S]`."""
    queries = (lookup.vectors * _exact(network.W_Q[head])).table()
    keys = (lookup.vectors * _exact(network.W_K[head])).table()
    pattern = []
    for cell in lookup.cells:
        query = _rows(queries, cell[-1:], network.d_qk)
        scores = query * _rows(keys, cell, network.d_qk).transpose()
        pattern.append(_softmax(scores.entries()))
    return pattern


def _features(network: Model, lookup: _Lookup) -> arb_mat:
    rows: list[list[arb]] = [[] for _ in lookup.cells]
    for head in range(network.n_heads):
        values = (lookup.vectors * _exact(network.W_V[head])).table()
        for row, cell, shares in zip(rows, lookup.cells, _attention(network, lookup, head), strict=True):
            row += (arb_mat(1, len(cell), shares) * _rows(values, cell, network.d_head)).entries()
    return arb_mat(len(rows), network.n_heads * network.d_head, [entry for row in rows for entry in row])


def _softmax(scores: list[arb]) -> list[arb]:
    """The softmax of balls; a share that is less well known than any number from 0 to 1 is given as all of them."""
    top = max(score.mid() for score in scores)
    powers = [(score - top).exp() for score in scores]
    mass = sum(powers[1:], powers[0])
    unknown = arb(0.5, 0.5)
    # Nothing is raised where the mass may be 0: the quotient is not finite then.
    shares = [power / mass for power in powers]
    return [share if share.is_finite() and share.rad() <= unknown.rad() else unknown for share in shares]


def _rows(table: list[list[arb]], chosen: list[int], columns: int) -> arb_mat:
    """The chosen rows of a matrix that is given as lists."""
    return arb_mat(len(chosen), columns, [entry for i in chosen for entry in table[i]])


def _exact(matrix: Float64Array) -> arb_mat:
    """The matrix in balls of radius 0, whatever the precision: Arb takes over a float64 as it is."""
    rows, columns = matrix.shape
    return arb_mat(rows, columns, matrix.ravel().tolist())


def _float_above(x: arb) -> float:
    """The first of two neighbouring float64 that is surely at least every number of the ball, otherwise infinity."""
    nearest = float(x.upper())
    for bound in (nearest, math.nextafter(nearest, math.inf)):
        if arb(bound) >= x:
            return bound
    return math.inf
