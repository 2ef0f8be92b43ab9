r"""What a given model computes in exact real arithmetic, in balls of any precision (Arb): for small sizes.

The weights become balls, of radius 0 where they are float64 numbers; every operation on balls returns a ball that holds
the exact result for all numbers in its operands. No BLAS takes part, and no rounding is bounded beforehand: where
float64 says too little, more bits say more.

It is slow. An attention with $H$ heads on $P$ distinct rows, with $L$ pairs of $S$ rows each, costs $L S H$
exponentials and

$$ P H d_{\mathrm{model}} (2 d_{qk} + d_{\mathrm{head}}) + L S H (d_{qk} + d_{\mathrm{head}})
   + L H d_{\mathrm{head}} d_{\mathrm{out}} $$

multiplications of so many bits; for $T$ contexts of tokens the first attention has $P \le S d_{\mathrm{vocab}}$, and
the last one $L \le T$. Neurons cost their two products and one function value each; a ball takes at least 48 bytes.

Page: docs/rigour/forward.md (Lemmas B1 to B5), docs/rigour/divergence.md (Lemma F4).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from constructions.errors import InputError
from constructions.model.blocks import Activation, Attention, Normalization, Tensor
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.vectors import Vectors
from verify.arithmetic.ball_products import Digits, worth_digits
from verify.arithmetic.enclosure import Enclosure
from verify.forward.matrices import InMatrices
from verify.forward.rotary import angles
from verify.forward.walk import Prefixes, Stream, passed, read_out, stream_of

_FEWEST_BITS, _MOST_BITS = 2, 10**6
_GUARD_BITS = 16  # more than those in which a ball is known
_LEAST_BITS = 128  # wherever the balls have so many: a row of which little is known may not be read at all
_ROUNDING_BITS = 64  # of the distances to the float64 midpoints; the radii are rounded up whatever this is


class InBalls(InMatrices[arb_mat]):
    """The walk's operations on balls, of the precision of the context in which they run.

    Args:
        model: The model; scores of a rational one count in units of the logarithm of 2.

    Example:
        >>> from constructions.model.blocks import Normalization
        >>> model = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.eye(2))
        >>> InBalls(model).normalize(arb_mat([[3, 4]]), Normalization("rms", w=np.ones(2), epsilon=2.0**-80))[0, 0]
        [0.848528137423857 +/- 2.99e-16]
    """

    kind = arb_mat

    def __init__(self, model: Model) -> None:
        self._unit = arb.const_log2() if model.is_rational else arb(1)
        self._cut: tuple[arb_mat, Digits | None] | None = None

    def exact(self, x: Tensor) -> arb_mat:
        """Of radius 0 where it is float64, whatever the precision, and around rationals otherwise."""
        rows, columns = x.shape
        return arb_mat(rows, columns, x.ravel().tolist())

    def product(self, rows: arb_mat, W: Tensor) -> arb_mat:
        """By digits where that is faster (Lemma B8); rows that several maps read one after the other are cut once."""
        if W.dtype != np.float64 or not worth_digits(rows.nrows(), *W.shape):
            return super().product(rows, W)
        if self._cut is None or self._cut[0] is not rows:
            self._cut = rows, Digits.of(rows)
        digits = self._cut[1]
        return super().product(rows, W) if digits is None else digits.times(W)

    def activate(self, rows: arb_mat, activation: Activation) -> arb_mat:
        """Return the activations of the entries (Lemma B4)."""
        return arb_mat(rows.nrows(), rows.ncols(), [_ACTIVATIONS[activation](u) for u in rows.entries()])

    def weights(self, scores: list[arb], root: int) -> list[arb]:
        scale = self._unit / arb(root).sqrt()
        return _softmax(scores if scale == 1 else [score * scale for score in scores])

    def scaled(self, score: arb, root: int) -> arb:
        return score * self._unit / arb(root).sqrt()

    def softcap_entries(self, x: arb, c: float) -> arb:
        return c * _known((x / c).tanh(), _SIGNED)

    def clip(self, heads: list[arb_mat], c: float) -> list[arb_mat]:
        return [arb_mat(x.nrows(), x.ncols(), [u.min(c).max(-c) for u in x.entries()]) for x in heads]

    def angles(self, block: Attention, position: int) -> list[tuple[arb, arb]]:
        return angles(block, position)

    def normalize(self, rows: arb_mat, norm: Normalization) -> arb_mat:
        """Return the normalized rows (Lemma B3).

        An entry less well known than all numbers of at most sqrt(d) is given as all of them.
        """
        width = norm.width
        unknown = arb(0, math.isqrt(width - 1) + 1)
        gains = self.exact(norm.w[None]).entries()
        normalized = []
        for row in rows.table():
            if norm.kind == "layer":
                mean = sum(row, arb(0)) / width
                row = [x - mean for x in row]
            root = (sum((x * x for x in row), arb(0)) / width + arb(norm.epsilon)).sqrt()
            normalized += [_known(x / root, unknown) * gain for x, gain in zip(row, gains, strict=True)]
        z = arb_mat(rows.nrows(), width, normalized)
        return z if norm.b is None else self.add_bias(z, norm.b)


def logits_in_balls(model: Model, inputs: Int64Array | Vectors | Prefixes, precision: int) -> arb_mat:
    r"""Return the logits, or outputs, of any model as balls, in nats: the last row of the stream times $W_U$, plus
    $b_U$.

    Rigorous by Lemma B5. The cost is written at the head of this module.

    Args:
        model: The weights.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, contexts of several lengths, or the task that brings vectors.
        precision: Bits of the balls, 2 to 10^6; fewer where less is known (`bits_worth`). Operations on the result have
            the precision of their own context.

    Returns:
        `[T, d_vocab_out]`.

    Raises:
        InputError: Inputs that the model cannot read, or no such precision.

    Source: Dana, Pydi, Chevaleyre (2024), equation (2).

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> logits_in_balls(network, np.array([[0, 1]]), 64)
        [1.00000000000000, 2.00000000000000]
    """
    checked_precision(precision)
    [(_, outputs)] = logit_chunks_in_balls(model, inputs, precision, rows=len(inputs))
    return outputs


def logit_chunks_in_balls(
    model: Model,
    inputs: Int64Array | Vectors | Prefixes,
    precision: int,
    *,
    rows: int,
    seen: Callable[[int, Stream[arb_mat]], None] = lambda place, stream: None,
) -> Iterator[tuple[int, arb_mat]]:
    """Yield the same, of so many contexts at a time, with the first of each: all blocks are passed at once.

    Args:
        model: The weights.
        inputs: As for `logits_in_balls`.
        precision: As for `logits_in_balls`.
        rows: Contexts whose outputs are balls at the same time.
        seen: Called before each block with its place and the stream.
    """
    with ctx.workprec(precision):
        arithmetic = InBalls(model)
        stream = stream_of(arithmetic, model, inputs)
        for place in range(len(model.blocks)):
            seen(place, stream)
            with ctx.workprec(bits_worth(stream)):
                stream = passed(arithmetic, model, stream, [place])
        bits = bits_worth(stream)
    for start in range(0, max(1, len(inputs)), max(1, rows)):
        with ctx.workprec(bits):
            some = replace(stream, cells=stream.cells[start : start + max(1, rows)])
            outputs, row_of = read_out(arithmetic, model, some)
            chunk = arithmetic.gather(outputs, row_of)
        yield start, chunk


def bits_worth(stream: Stream[arb_mat]) -> int:
    """Return the bits that operations on these rows are worth: those in which they are known, and 16; at least 128.

    Balls lose bits with each block, so that the last ones of a deep model need far fewer than the first. A row is known
    as well as its best entry, a context as well as its worst row, which all that it computes will read, and all of them
    as well as the best context. A rounding of an entry of that row is at most 2^-16 of its radius.

    Example:
        >>> rows = arb_mat([[arb(1, 2.0**-20), arb(1, 2.0**-10)], [arb(1, 2.0**-15)] * 2])
        >>> with ctx.workprec(1000):
        ...     bits_worth(Stream(rows, np.array([[0, 1]]), np.array([0, 1])))
        128
    """
    known = np.array([max(x.rel_accuracy_bits() for x in row) for row in stream.rows.tolist()], dtype=object)
    worst = np.where(stream.cells >= 0, known[stream.cells], ctx.prec).min(axis=1)
    return min(ctx.prec, max(int(worst.max(initial=0)) + _GUARD_BITS, _LEAST_BITS))


def rounded_outwards(balls: arb_mat) -> Enclosure:
    r"""Return the float64 enclosure of a matrix of balls: every number of a ball is within the radius of its midpoint.

    With the float64 $m$ nearest to the middle of the ball, the radius is an upper bound of $|x - m|$ over the ball,
    about half a unit in the last place of $m$ where the ball is narrow, and 0 where the ball is one float64 number. The
    conversions to float64 are not trusted: $|x - m|$ is a ball, and the radius is compared with it exactly (Lemma F4).

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


def checked_precision(precision: int) -> int:
    """Return the number of bits as an integer; raise `InputError` if balls cannot have that precision."""
    # True and False are integers, and too few bits.
    if not (isinstance(precision, (int, np.integer)) and _FEWEST_BITS <= precision <= _MOST_BITS):
        raise InputError("precision", f"= {precision!r}", f"an integer from {_FEWEST_BITS} to {_MOST_BITS}, in bits")
    return int(precision)


def _softmax(scores: list[arb]) -> list[arb]:
    """Return the softmax of balls; a share that is less well known than any number from 0 to 1 is given as all
    of them.
    """
    top = max(score.mid() for score in scores)
    powers = [(score - top).exp() for score in scores]
    mass = sum(powers[1:], powers[0])
    # Nothing is raised where the mass may be 0: the quotient is not finite then.
    return [_known(power / mass, _SHARE) for power in powers]


def _sigmoid(u: arb) -> arb:
    """Return the first share of the softmax of u and 0."""
    if float(u) > 0.0:  # of the middle; either quotient holds the share
        share = 1 / (1 + (-u).exp())
    else:
        power = u.exp()
        share = power / (1 + power)
    return share if share.rel_accuracy_bits() > _SURELY_KNOWN else _known(share, _SHARE)


def _gelu(u: arb) -> arb:
    return u * _known((-u * arb(0.5).sqrt()).erfc() / 2, _SHARE)


def _gelu_tanh(u: arb, twice_root: arb) -> arb:
    """With (1 + tanh v) / 2 = sigmoid(2 v)."""
    return u * _sigmoid(twice_root * (u + arb(fmpq(44715, 10**6)) * u * u * u))


_SURELY_KNOWN = 8  # bits: the radius is a small part of a middle that is hardly larger than what is possible
_SHARE, _SIGNED = arb(0.5, 0.5), arb(0, 1)
_ACTIVATIONS: dict[Activation, Callable[[arb], arb]] = {
    "relu": lambda u: u.max(0),
    "gelu": _gelu,
    "gelu-tanh": lambda u: _gelu_tanh(u, (arb(8) / arb.pi()).sqrt()),
    "gelu-bloom": lambda u: _gelu_tanh(u, arb(fmpq(2 * 79788456, 10**8))),
    "silu": lambda u: u * _sigmoid(u),
}


def _known(x: arb, unknown: arb) -> arb:
    """Return the ball, or the one that holds all numbers that are possible, where that says more."""
    if x.rel_accuracy_bits() > _SURELY_KNOWN:
        return x
    return x if x.is_finite() and x.rad() <= unknown.rad() else unknown


def _float_above(x: arb) -> float:
    """Return the first of two neighbouring float64 that is surely at least every number of the ball, otherwise
    infinity.
    """
    nearest = float(x.upper())
    for bound in (nearest, math.nextafter(nearest, math.inf)):
        if arb(bound) >= x:
            return bound
    return math.inf
