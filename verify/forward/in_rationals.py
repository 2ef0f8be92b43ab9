r"""What a rational model computes, in exact rationals.

Page: docs/rigour/linear_algebra.md, docs/rigour/forward.md (Lemma B6)
"""

import math

import numpy as np
from flint import fmpq, fmpq_mat

from constructions.errors import HypothesisError, InputError, ResourceError
from constructions.model.blocks import Activation, Attention, Block, FeedForward, Normalization, Tensor
from constructions.model.exact_network import ExactFrontEnd, as_rationals, exact_network
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts
from constructions.tasks.vectors import Vectors
from verify.forward.matrices import InMatrices
from verify.forward.walk import Heads, passed, read_out, stream_of

_MOST_BITS = 2**24  # of one attention weight before normalization


class InRationals(InMatrices[fmpq_mat]):
    """The walk's operations on rationals; scores count in units of ln 2, and have to be integers."""

    kind = fmpq_mat

    def exact(self, x: Tensor) -> fmpq_mat:
        """Float64 numbers as the dyadic rationals that they are."""
        rows, columns = x.shape
        return fmpq_mat(rows, columns, x.ravel().tolist()) if x.dtype == object else as_rationals(x)

    def normalize(self, rows: fmpq_mat, norm: Normalization) -> fmpq_mat:
        raise HypothesisError("exact evaluation", "no normalization", f"one of the kind {norm.kind!r}")

    def activate(self, rows: fmpq_mat, activation: Activation) -> fmpq_mat:
        if activation != "relu":
            raise HypothesisError("exact evaluation", "ReLU", f"the activation {activation!r}")
        return fmpq_mat(rows.nrows(), rows.ncols(), [max(u, fmpq(0)) for u in rows.entries()])

    def softcap_entries(self, x: fmpq, c: float) -> fmpq:
        raise HypothesisError("exact evaluation", "no cap", f"one at {c}")

    def clip(self, heads: list[fmpq_mat], c: float) -> list[fmpq_mat]:
        raise HypothesisError("exact evaluation", "no clip", f"one at {c}")

    def scaled(self, score: fmpq, root: int) -> fmpq:
        raise HypothesisError("exact evaluation", "scores in units of ln 2 only", "slopes in nats")

    def angles(self, block: Attention, position: int) -> list[tuple[fmpq, fmpq]]:
        raise HypothesisError("exact evaluation", "no rotary positions", f"frequencies {block.frequencies}")

    def weights(self, scores: list[fmpq], root: int) -> list[fmpq]:
        exponents = [exponent_of(score, root) for score in scores]
        least = min(exponents)
        powers = [1 << _bounded(exponent - least) for exponent in exponents]
        return [fmpq(power, sum(powers)) for power in powers]


def exact_outputs(front_end: ExactFrontEnd, contexts: Int64Array) -> fmpq_mat:
    r"""Return the last embeddings and the features of every context, exactly: $[x_S \mid Y]$, `[T, d + H d_h]`.

    The attention of a head to position s is $2^{k_s - k} / \sum_r 2^{k_r - k}$ with the least score k of the context: a
    quotient of integers.

    Args:
        front_end: The rational front end.
        contexts: Tokens, `[T, S]`.

    Returns:
        A row for each context: the last embedding, then the features of one head after the other.

    Raises:
        InputError: Contexts that are not tokens of this front end.
        HypothesisError: A score that is not an integer multiple of ln 2.
        ResourceError: Scores of a context that differ by more than 2^24 ln 2.

    Example:
        >>> from constructions.model.exact_network import as_rationals
        >>> one, line = as_rationals([[1]]), as_rationals([[0], [1]])
        >>> exact_outputs(ExactFrontEnd(line, line, (one,), (one,), (one,)), np.array([[0, 1], [1, 1]]))
        [2, 32/17]
        [2,   9/5]
    """
    silent = [fmpq_mat(front_end.d_head, front_end.d_model)] * front_end.n_heads
    network = exact_network(front_end, silent, fmpq_mat(front_end.d_model, 1))
    arithmetic = InRationals()
    stream = stream_of(arithmetic, network, np.array(tokens_of(front_end, contexts)))
    heads = Heads.of(arithmetic, network.attention, stream)
    pairs = heads.pairs(stream.cells, only_last=True)
    features = arithmetic.gather(arithmetic.side_by_side(heads.mixed(pairs)), pairs.cells[:, 0]).tolist()
    columns = front_end.n_heads * front_end.d_head  # a network without heads has a silent one
    last = arithmetic.gather(stream.rows, stream.cells[:, -1]).tolist()
    entries = [entry for row, read in zip(last, features, strict=True) for entry in row + read[:columns]]
    return fmpq_mat(len(last), front_end.d_model + columns, entries)


def exact_network_logits(model: Model, inputs: Int64Array | Vectors) -> fmpq_mat:
    r"""Return the logits of a rational model, exactly: `[T, d_vocab_out]`, in nats.

    Its scores $\frac{1}{\sqrt m} \langle q, k \rangle$ are in units of $\ln 2$ and have to be integers where they are
    looked at.

    Args:
        model: The rational model: any stack of attention and ReLU blocks.
        inputs: Tokens, `[T, S]`, or the task that brings vectors, whose float64 numbers are dyadic rationals.

    Returns:
        A row for each context.

    Raises:
        InputError: Inputs that the model cannot read, or a model of float64 tensors.
        HypothesisError: A score that is not an integer multiple of ln 2, or a block whose values are not rational.
        ResourceError: Scores of a context that differ by more than 2^24 ln 2.

    Example:
        >>> from constructions.model.exact_network import as_rationals, exact_network
        >>> one, line = as_rationals([[1]]), as_rationals([[0], [1]])
        >>> front_end = ExactFrontEnd(line, line, (one,), (one,), (one,))
        >>> exact_network_logits(exact_network(front_end, (one,), as_rationals([[5, 0]])), np.array([[0, 1]]))
        [330/17, 0]
        >>> outputs = np.array([[fmpq(2)], [fmpq(1, 3)]])
        >>> neurons = FeedForward(np.array([[fmpq(1), fmpq(-1)]]), outputs, skip=False)
        >>> embeddings, one = np.array([[fmpq(-1)], [fmpq(2)]]), np.array([[fmpq(1)]])
        >>> model = Model(blocks=(neurons,), W_U=one, W_E=embeddings, W_pos=0 * one)
        >>> exact_network_logits(model, np.array([[0], [1]]))
        [1/3]
        [  4]
    """
    if not model.is_rational:
        raise InputError("the model", "has float64 tensors", "rationals: balls enclose what float64 tensors do")
    if not model.plain:
        raise HypothesisError("exact evaluation", "plain blocks", f"the options {model.options()}")
    for place, block in enumerate(model.blocks):
        _require_rational(place, block)
    arithmetic = InRationals()
    outputs, row_of = read_out(arithmetic, model, passed(arithmetic, model, stream_of(arithmetic, model, inputs)))
    return arithmetic.gather(outputs, row_of)


def exponent_of(score: fmpq, root: int) -> int:
    """Return the integer that a score in units of ln 2 over the square root of `root` is, or a `HypothesisError`."""
    if root == 1 and score.q == 1:
        return int(score.p)
    square = score * score / root
    size = math.isqrt(int(square.p))
    if square.q != 1 or size * size != int(square.p):
        found = f"one is {score} ln 2" if root == 1 else f"one is {score} / sqrt({root}) ln 2"
        raise HypothesisError("exact attention", "scores that are integer multiples of ln 2", found)
    return size if score > 0 else -size


def tokens_of(front_end: ExactFrontEnd, contexts: Int64Array) -> list[list[int]]:
    """Return the contexts as lists, or an `InputError` where they are not tokens of this front end."""
    return checked_contexts(contexts, d_vocab=front_end.d_vocab, n_ctx=front_end.n_ctx).tolist()


def _require_rational(place: int, block: Block) -> None:
    """Raise a `HypothesisError` where rational rows do not become rational rows."""
    found = None
    if isinstance(block, Normalization) or getattr(block, "norm", None) is not None:
        found = "has a normalization"
    elif isinstance(block, FeedForward) and block.activation != "relu":
        found = f"has the activation {block.activation!r}"
    if found:
        raise HypothesisError(
            "exact evaluation", "attention and ReLU blocks without normalization", f"block {place} {found}"
        )


def _bounded(exponent: int) -> int:
    if exponent > _MOST_BITS:
        raise ResourceError(f"scores that differ by {exponent} ln 2 give rationals too long to compute with")
    return exponent
