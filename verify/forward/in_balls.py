r"""What a given model computes in exact real arithmetic, in balls of any precision (Arb): for small sizes.

The weights become balls, of radius 0 where they are float64 numbers; every operation on balls returns a ball that holds
the exact result for all numbers in its operands. No BLAS takes part, and no rounding is bounded beforehand: where
float64 says too little, more bits say more. Each kind of block is evaluated by one function, on the distinct rows of
the stream (`verify/forward/looks.py`).

In comparison with `verify/forward/float64.py` it is slow. An attention with $H$ heads on $P$ distinct rows, of which
$L$ looks read $S$ rows each, costs $L S H$ exponentials and

$$ P H d_{\mathrm{model}} (2 d_{qk} + d_{\mathrm{head}}) + L S H (d_{qk} + d_{\mathrm{head}})
   + L H d_{\mathrm{head}} d_{\mathrm{out}} $$

multiplications of so many bits; for $T$ contexts of tokens the first attention has $P \le S d_{\mathrm{vocab}}$, and
the last one $L \le T$. Neurons cost their two products and one function value each; a ball takes at least 48 bytes.

Page: docs/rigour/forward.md (Lemmas B1 to B5), docs/rigour/divergence.md (Lemmas F9 and F10).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

from constructions.arrays import Int64Array
from constructions.errors import InputError
from constructions.models.blocks import Activation, Attention, FeedForward, Normalization, Tensor
from constructions.models.construction import require_fit
from constructions.models.model import Model
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.given_numbers import is_masked
from verify.forward.looks import Cells, Looks, distinct_pairs, looks_of, only_last_is_read

MatrixT = TypeVar("MatrixT", arb_mat, fmpq_mat)

_FEWEST_BITS, _MOST_BITS = 2, 10**6
_ROUNDING_BITS = 64  # of the distances to the float64 midpoints; the radii are rounded up whatever this is


def last_in_balls(model: Model, inputs: Int64Array | VectorTask, precision: int) -> arb_mat:
    r"""The vectors at the last position before any block as balls, $x_S = W_E[t_S] + W_{pos}[S]$ for tokens.

    Rigorous because addition of balls is; exact where the sums have at most `precision` bits.

    Args:
        model: The weights.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        precision: Bits of the balls, 2 to 10^6. Operations on the result have the precision of their own context.

    Returns:
        `[T, d_model]`.

    Raises:
        InputError: Inputs that the model cannot read, or no such precision.

    Source: Dana, Pydi, Chevaleyre (2024), equation (1).

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.full((1, 1), 2.0**-100), W_pos=np.ones((1, 1)), W_Q=np.ones((1, 1, 1)),
        ...                   W_K=np.ones((1, 1, 1)), W_V=np.ones((1, 1, 1)), W_O=np.ones((1, 1, 1)), W_U=np.eye(1))
        >>> [last_in_balls(network, np.array([[0]]), bits)[0, 0].is_exact() for bits in (53, 101)]
        [False, True]
    """
    with ctx.workprec(checked_precision(precision)):
        return _Stream.before_any_block(model, inputs).last()


def attention_in_balls(model: Model, inputs: Int64Array | VectorTask, head: int, precision: int) -> arb_mat:
    r"""The attention pattern of one head of a model of one attention, at the last position, as balls.

    $$ a_s = \frac{e^{\sigma_s - c}}{\sum_r e^{\sigma_r - c}}, \qquad
       \sigma_s = \frac{1}{\sqrt m} \langle x_S W_Q + b_Q,\, x_s W_K + b_K \rangle, $$

    where $c$ is the largest midpoint of the scores, one and the same real number for all of them, and the task's query
    stands in the place of $x_S$ where the model takes one.

    Rigorous by Lemma B2; where nothing is known of the scores, the ball is that of all numbers from 0 to 1.

    Args:
        model: The weights: one attention and no other block.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        head: Which head.
        precision: Bits of the balls, 2 to 10^6. Operations on the result have the precision of their own context.

    Returns:
        `[T, S]`.

    Raises:
        InputError: As `last_in_balls`; a model with other blocks, or no such head.

    Source: Dana, Pydi, Chevaleyre (2024), equation (1); Mahdavi et al. (2024), Section 3.

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.ones((1, 2, 1)),
        ...                   W_K=np.array([[[0.0], [-1000.0]]]), W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)),
        ...                   W_U=np.eye(2))
        >>> pattern = attention_in_balls(network, np.array([[0, 1]]), 0, 128)
        >>> abs(pattern[0, 1] / arb(-1000).exp() - 1) < 1e-12
        True
    """
    checked_head(model, head)
    with ctx.workprec(checked_precision(precision)):
        stream = _Stream.before_any_block(model, inputs)
        given = _Given.of(model, 0, stream, inputs)
        shares = given.shares(head)
        length = inputs.n_tokens if isinstance(inputs, VectorTask) else np.shape(inputs)[1]
        return _rows(shares, [cell[-1] for cell in given.looks.cells], length)


def mixed_inputs_in_balls(model: Model, inputs: Int64Array | VectorTask, precision: int) -> arb_mat:
    r"""What the heads of a model of one attention mix at the last position, before $W_V$, as balls.

    $$ Z_t = \mathrm{concat}_h \sum_s a^h_s\, x_s. $$

    Rigorous by Lemma B2.

    Args:
        model: The weights: one attention and no other block.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        precision: Bits of the balls, 2 to 10^6. Operations on the result have the precision of their own context.

    Returns:
        `[T, n_heads * d_model]`.

    Raises:
        InputError: As `last_in_balls`, or a model with other blocks.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 4.

    Example:
        >>> from constructions.models.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> mixed_inputs_in_balls(layer, VectorTask(np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, 1))), 64).str()
        '[0.500000000000000, 0.500000000000000]'
    """
    block = model.attention
    with ctx.workprec(checked_precision(precision)):
        given = _Given.of(model, 0, _Stream.before_any_block(model, inputs), inputs)
        heads = [given.mixed(head, given.rows) for head in range(block.n_heads)]
        return given.of_contexts(heads, block.d_model)


def features_in_balls(model: Model, inputs: Int64Array | VectorTask, precision: int) -> arb_mat:
    r"""What the heads of a model of one attention have read at the last position, before $W_O$, as balls.

    $$ Y_t = \mathrm{concat}_h \sum_s a^h_s\, (x_s W_V^h + b_V^h). $$

    Rigorous by Lemma B2. The cost is written at the head of this module.

    Args:
        model: The weights: one attention and no other block.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        precision: Bits of the balls, 2 to 10^6. Operations on the result have the precision of their own context.

    Returns:
        `[T, n_heads * d_head]`.

    Raises:
        InputError: As `last_in_balls`, or a model with other blocks.

    Source: Dana, Pydi, Chevaleyre (2024), Section 3 (the matrix A of Lemma 2).

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((3, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.array([[[1.0], [0.0]]]), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> third = features_in_balls(network, np.array([[0, 1, 1]]), 256)[0, 0]
        >>> (3 * third).contains(1), third.rad() < arb(2) ** -250
        (True, True)
    """
    block = model.attention
    with ctx.workprec(checked_precision(precision)):
        given = _Given.of(model, 0, _Stream.before_any_block(model, inputs), inputs)
        return given.of_contexts(given.features(), block.d_head)


def logits_in_balls(
    model: Model, inputs: Int64Array | VectorTask, precision: int, *, features: arb_mat | None = None
) -> arb_mat:
    r"""The logits, or outputs, of any model as balls, in nats: the last row of the stream times $W_U$, plus $b_U$.

    Rigorous by Lemma B5. The cost is written at the head of this module.

    Args:
        model: The weights.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        precision: Bits of the balls, 2 to 10^6. Operations on the result have the precision of their own context.
        features: Balls of the features of the same model, of one attention, and inputs, if they are known already.

    Returns:
        `[T, d_vocab_out]`.

    Raises:
        InputError: As `last_in_balls`; features of another shape, or of a model with other blocks.

    Source: Dana, Pydi, Chevaleyre (2024), equation (2).

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> logits_in_balls(network, np.array([[0, 1]]), 64)
        [1.00000000000000, 2.00000000000000]
    """
    with ctx.workprec(checked_precision(precision)):
        stream = _Stream.before_any_block(model, inputs)
        if features is not None:
            block = model.attention
            expected = (len(stream.cells), block.n_heads * block.d_head)
            if (features.nrows(), features.ncols()) != expected:
                raise InputError(f"features has shape {(features.nrows(), features.ncols())}, expected {expected}")
            last = _written(block, features, stream.last() if block.skip else None)
        else:
            last = _passed(model, stream, inputs).last()
        return _shifted(last * _balls(model.W_U), model.b_U)


def rounded_outwards(balls: arb_mat) -> Enclosure:
    r"""The float64 enclosure of a matrix of balls: every number of a ball is within the radius of its midpoint.

    With the float64 $m$ nearest to the middle of the ball, the radius is an upper bound of $|x - m|$ over the ball,
    about half a unit in the last place of $m$ where the ball is narrow, and 0 where the ball is one float64 number. The
    conversions to float64 are not trusted: $|x - m|$ is a ball, and the radius is compared with it exactly (Lemma F10).

    Args:
        balls: `[rows, columns]`.

    Returns:
        Enclosure `[rows, columns]`, with an infinite radius where a ball is not bounded or beyond float64.

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
    if not network.reads_tokens:
        raise InputError("the model reads vectors, expected a task that brings them in the place of contexts of tokens")
    if is_masked(contexts):
        raise InputError("contexts is a masked array, expected integers; fill the masked entries first")
    contexts = np.asarray(contexts)
    if contexts.ndim != 2 or contexts.dtype.kind not in "iu" or not 1 <= contexts.shape[1] <= network.n_ctx:
        expected = f"integers [T, S] with 1 <= S <= {network.n_ctx}"
        raise InputError(f"contexts is {contexts.dtype} of shape {contexts.shape}, expected {expected}")
    if contexts.size and (contexts.min() < 0 or contexts.max() >= network.d_vocab):
        raise InputError(
            f"contexts holds tokens from {contexts.min()} to {contexts.max()}, expected 0 .. {network.d_vocab - 1}"
        )
    return contexts.astype(np.int64)


def first_rows(
    model: Model, inputs: Int64Array | VectorTask, matrix: Callable[[Tensor], MatrixT]
) -> tuple[MatrixT, Cells]:
    """The distinct rows of the stream before any block, made by `matrix`, and which of them each context has where."""
    if isinstance(inputs, VectorTask):
        require_fit(model, inputs)
        firsts = [0 if inputs.shared else t * inputs.n_tokens for t in range(inputs.n_examples)]
        cells = [tuple(range(first, first + inputs.n_tokens)) for first in firsts]
        return matrix(inputs.contexts.reshape(-1, inputs.d_model)), cells
    positions, tokens, cells = distinct_pairs(checked_contexts(model, inputs))
    return matrix(model.W_E[tokens]) + matrix(model.W_pos[positions]), cells


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
class _Stream:
    """The rows of the residual stream of a set of contexts, each once.

    Args:
        rows: The distinct rows, `[P, d]`.
        cells: Which of them each context has at each position, `[T][S]`.
    """

    rows: arb_mat
    cells: Cells

    @classmethod
    def before_any_block(cls, model: Model, inputs: Int64Array | VectorTask) -> "_Stream":
        return cls(*first_rows(model, inputs, _balls))

    def last(self) -> arb_mat:
        """The row at the last position of each context, `[T, d]`."""
        return _rows(self.rows.table(), [cell[-1] for cell in self.cells], self.rows.ncols())


def _passed(model: Model, stream: _Stream, inputs: Int64Array | VectorTask) -> _Stream:
    """The stream after all blocks; where no attention is left, only its last rows."""
    if only_last_is_read(model.blocks, -1):
        stream = _Stream(stream.last(), [(t,) for t in range(len(stream.cells))])
    for place, block in enumerate(model.blocks):
        if isinstance(block, Attention):
            given = _Given.of(model, place, stream, inputs)
            before = _rows(stream.rows.table(), given.looks.queries, block.d_model) if block.skip else None
            features = _side_by_side(given.features(), len(given.looks.queries), block.d_head)
            stream = _Stream(_written(block, features, before), given.looks.cells)
        elif isinstance(block, FeedForward):
            stream = _Stream(_fed_forward(block, stream.rows), stream.cells)
        else:
            stream = _Stream(_normalized(block, stream.rows), stream.cells)
    return stream


@dataclass(frozen=True)
class _Given:
    """What an attention is given: the vectors that ask, the rows that are read, and which reads which.

    Args:
        block: The attention.
        asked: The vectors that ask, after the norm, `[n, d_model]`.
        rows: The rows that are read, after the norm, `[P, d_model]`.
        looks: The pairs of the two.
        unit: What a score is counted in: 1, or the logarithm of 2 where the weights are rational.
    """

    block: Attention
    asked: arb_mat
    rows: arb_mat
    looks: Looks
    unit: arb

    @classmethod
    def of(cls, model: Model, place: int, stream: _Stream, inputs: Int64Array | VectorTask) -> "_Given":
        block = model.blocks[place]
        assert isinstance(block, Attention)
        looks = looks_of(block, stream.cells, only_last=only_last_is_read(model.blocks, place))
        rows = stream.rows if block.norm is None else _normalized(block.norm, stream.rows)
        asked = _balls(inputs.queries) if block.queries == "task" and isinstance(inputs, VectorTask) else rows
        return cls(block, asked, rows, looks, arb.const_log2() if model.is_rational else arb(1))

    def shares(self, head: int) -> list[list[arb]]:
        """The attention weights of one head, for each look those of the rows that it reads."""
        block, width = self.block, self.block.d_qk
        queries = _shifted(self.asked * _balls(block.W_Q[head]), None if block.b_Q is None else block.b_Q[head]).table()
        keys = _shifted(self.rows * _balls(block.W_K[head]), None if block.b_K is None else block.b_K[head]).table()
        scale = self.unit / arb(block.score_root).sqrt()
        shares: list[list[arb]] = [[] for _ in self.looks.queries]
        for read, looks in self.looks.groups.items():
            asking = _rows(queries, [self.looks.queries[look] for look in looks], width)
            scores = asking * _rows(keys, read, width).transpose()
            for look, row in zip(looks, scores.table(), strict=True):
                shares[look] = _softmax(row if scale == 1 else [score * scale for score in row])
        return shares

    def mixed(self, head: int, vectors: arb_mat) -> list[list[arb]]:
        """The means of the vectors of the rows, for each look one of them."""
        shares, table, width = self.shares(head), vectors.table(), vectors.ncols()
        means: list[list[arb]] = [[] for _ in shares]
        for read, looks in self.looks.groups.items():
            weights = arb_mat(len(looks), len(read), [share for look in looks for share in shares[look]])
            for look, row in zip(looks, (weights * _rows(table, read, width)).table(), strict=True):
                means[look] = row
        return means

    def features(self) -> list[list[list[arb]]]:
        """The means of the values, for each head and look."""
        block = self.block
        shifts = [None] * block.n_heads if block.b_V is None else block.b_V
        return [
            self.mixed(head, _shifted(self.rows * _balls(values), shift))
            for head, (values, shift) in enumerate(zip(block.W_V, shifts, strict=True))
        ]

    def of_contexts(self, heads: list[list[list[arb]]], width: int) -> arb_mat:
        """The rows of the looks at the last position of each context, heads one after the other."""
        side_by_side = _side_by_side(heads, len(self.looks.queries), width).table()
        return _rows(side_by_side, [cell[-1] for cell in self.looks.cells], len(heads) * width)


def _written(block: Attention, features: arb_mat, before: arb_mat | None) -> arb_mat:
    """What an attention writes for given features, plus the rows before it where there is a skip connection."""
    output = features * _balls(block.W_O.reshape(block.n_heads * block.d_head, block.d_out))
    return _shifted(output if before is None else before + output, block.b_O)


def _fed_forward(block: FeedForward, rows: arb_mat) -> arb_mat:
    read = rows if block.norm is None else _normalized(block.norm, rows)
    neurons = _shifted(read * _balls(block.W_in), block.b_in)
    activation = _ACTIVATIONS[block.activation]
    fired = arb_mat(neurons.nrows(), neurons.ncols(), [activation(u) for u in neurons.entries()])
    output = fired * _balls(block.W_out)
    return _shifted(rows + output if block.skip else output, block.b_out)


def _normalized(norm: Normalization, rows: arb_mat) -> arb_mat:
    """The normalized rows; an entry less well known than all numbers of at most sqrt(d) is given as all of them."""
    width = norm.width
    unknown = arb(0, math.isqrt(width - 1) + 1)
    gains = _balls(norm.w[None]).entries()
    normalized = []
    for row in rows.table():
        if norm.kind == "layer":
            mean = sum(row, arb(0)) / width
            row = [x - mean for x in row]
        root = (sum((x * x for x in row), arb(0)) / width + arb(norm.epsilon)).sqrt()
        normalized += [_known(x / root, unknown) * gain for x, gain in zip(row, gains, strict=True)]
    return _shifted(arb_mat(rows.nrows(), width, normalized), norm.b)


def _softmax(scores: list[arb]) -> list[arb]:
    """The softmax of balls; a share that is less well known than any number from 0 to 1 is given as all of them."""
    top = max(score.mid() for score in scores)
    powers = [(score - top).exp() for score in scores]
    mass = sum(powers[1:], powers[0])
    # Nothing is raised where the mass may be 0: the quotient is not finite then.
    return [_known(power / mass, _SHARE) for power in powers]


def _sigmoid(u: arb) -> arb:
    return _softmax([u, arb(0)])[0]


def _gelu(u: arb) -> arb:
    return u * _known((-u * arb(0.5).sqrt()).erfc() / 2, _SHARE)


def _gelu_tanh(u: arb) -> arb:
    """With (1 + tanh v) / 2 = sigmoid(2 v)."""
    return u * _sigmoid((arb(8) / arb.pi()).sqrt() * (u + arb(fmpq(44715, 10**6)) * u * u * u))


_SHARE = arb(0.5, 0.5)
_ACTIVATIONS: dict[Activation, Callable[[arb], arb]] = {
    "relu": lambda u: u.max(0),
    "gelu": _gelu,
    "gelu-tanh": _gelu_tanh,
    "silu": lambda u: u * _sigmoid(u),
}


def _known(x: arb, unknown: arb) -> arb:
    """The ball, or the one that holds all numbers that are possible, where that says more."""
    return x if x.is_finite() and x.rad() <= unknown.rad() else unknown


def _shifted(matrix: arb_mat, shift: Tensor | None) -> arb_mat:
    """The matrix with one vector added to each row."""
    return matrix if shift is None else matrix + _rows(_balls(shift[None]).table(), [0] * matrix.nrows(), len(shift))


def _side_by_side(heads: list[list[list[arb]]], count: int, width: int) -> arb_mat:
    """Head by head the rows of the looks, `[count, heads * width]`."""
    entries = [entry for look in range(count) for head in heads for entry in head[look]]
    return arb_mat(count, len(heads) * width, entries)


def _rows(table: list[list[arb]], chosen: Sequence[int], columns: int) -> arb_mat:
    """The chosen rows of a matrix that is given as lists."""
    return arb_mat(len(chosen), columns, [entry for i in chosen for entry in table[i]])


def _balls(matrix: Tensor) -> arb_mat:
    """The matrix in balls: of radius 0 where it is float64, whatever the precision, and around rationals otherwise."""
    rows, columns = matrix.shape
    return arb_mat(rows, columns, matrix.ravel().tolist())


def _float_above(x: arb) -> float:
    """The first of two neighbouring float64 that is surely at least every number of the ball, otherwise infinity."""
    nearest = float(x.upper())
    for bound in (nearest, math.nextafter(nearest, math.inf)):
        if arb(bound) >= x:
            return bound
    return math.inf
