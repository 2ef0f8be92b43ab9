r"""Bound how far the logits of a network without skip connection are from those of the network that it replaces.

Let the heads h beside those of the network score $\lambda_h$ at the last position and 0 elsewhere, in every context,
and read and write with $M_h = W_V^h W_O^h$. With $k_h = e^{\lambda_h}$ the logits of the two networks differ by exactly

$$ e_t = x_S \Bigl( \sum_h \frac{k_h}{k_h + S - 1} M_h - I \Bigr) W_U
         + \sum_{s < S} x_s \sum_h \frac{1}{k_h + S - 1} M_h W_U . $$

All of it is read off the tensors of the two networks; who built them is not believed.

Page: docs/claims/skip_connection.md
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from constructions.errors import InputError
from constructions.model.model import Model
from constructions.model.shapes import dana_tensors
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts
from verify.arithmetic.enclosure import Enclosure
from verify.forward.in_balls import rounded_outwards
from verify.linear_algebra.norms import float_above

_BITS = 128  # beside those that tell 1 from k / (k + S - 1)
_STEEPEST = 2.0**20


def enclose_skip_error(network: Model, model: Model, contexts: Int64Array) -> Enclosure:
    """Enclose the logits of `model` minus those of `network`, in real arithmetic.

    Args:
        network: One attention layer with a skip connection.
        model: The same without, with one coordinate more, which is 1 at the last position, and with heads after those
            of the network that score by this coordinate alone.
        contexts: Tokens, `[T, S]` of the full length S.

    Returns:
        $e_t$, `[T, N]`, in the unit of the logits.

    Raises:
        InputError: Two networks that are not as above (names the tensor), rational weights, or contexts of another
            length or of other tokens.

    Example:
        >>> from constructions.attention.skip_connection_head import skip_connection_head
        >>> from constructions.model.shapes import dana_network
        >>> none = np.zeros((0, 2, 1))
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((3, 2)), W_Q=none, W_K=none, W_V=none,
        ...                        W_O=np.zeros((0, 1, 2)), W_U=np.eye(2))
        >>> model = skip_connection_head(network, sharpness=40.0).model
        >>> error = enclose_skip_error(network, model, np.array([[0, 0, 1]]))
        >>> bool((abs(error.midpoint - 2 * np.exp(-40.0) * np.array([[1, -1]])) < 1e-30).all())
        True
    """
    heads = _copying_heads(network, model)
    tokens = checked_contexts(contexts, d_vocab=network.d_vocab, n_ctx=network.n_ctx).tolist()
    with ctx.workprec(heads.bits):
        parts = _parts(network, heads)
        rows = [_sum_of_rows([parts[s][token] for s, token in enumerate(context)]) for context in tokens]
        return rounded_outwards(arb_mat(rows))


def largest_skip_error(network: Model, model: Model) -> float:
    r"""Bound the largest difference of a logit over *all* $N^S$ contexts, in the unit of the logits.

    $e_t$ is a sum of one term for each position and the token there, so its largest and its least value are the sums
    of those of the terms: the bound is attained, except for its rounding.

    Args:
        network: As for `enclose_skip_error`.
        model: Likewise.

    Returns:
        The bound.

    Raises:
        InputError: Two networks that are not as there, or rational weights.
    """
    heads = _copying_heads(network, model)
    with ctx.workprec(heads.bits):
        parts = _parts(network, heads)
        largest = arb(0)
        for j in range(network.d_vocab_out):
            columns = [[row[j] for row in rows] for rows in parts]
            above = sum((_largest(column) for column in columns), arb(0))
            below = sum((_largest([-x for x in column]) for column in columns), arb(0))
            largest = _largest([largest, above, below])
        return float_above(largest)


@dataclass(frozen=True, eq=False)
class _CopyingHeads:
    """The scores of the copying heads at the last position, and their value and output maps.

    Args:
        scores: The two factors of each $\\lambda_h$, in nats.
        values: W_V without the new coordinate, which no head reads, one matrix for each head.
        outputs: W_O.
    """

    scores: list[tuple[float, float]]
    values: list[Any]
    outputs: list[Any]

    @property
    def bits(self) -> int:
        r"""A precision that separates $k / (k + S - 1)$ from 1, which needs $\lambda / \log 2$ bits."""
        return _BITS + int(2 * max((abs(query * key) for query, key in self.scores), default=0.0))


def _copying_heads(network: Model, model: Model) -> _CopyingHeads:
    """Return the heads after those of the network; refuse a model that differs from the network in anything else."""
    own, block = dana_tensors(network), model.attention
    if network.is_rational or model.is_rational:
        raise InputError("the network", "has rational weights", "float64 weights; rational logits can be compared")
    wanted = {"kind": "attention", **network.attention.options(), "skip": False}
    plain = all(getattr(block, name) is None for name in ("b_Q", "b_K", "b_V", "b_O"))
    if len(model.blocks) != 1 or block.options() != wanted or not plain or model.b_U is not None:
        raise InputError("the model", f"has the options {model.options()}", "those of the network, without skip")
    count = network.n_heads
    new_row = np.zeros((network.n_ctx, 1))
    new_row[-1] = 1.0
    parts = {
        "W_E": (model.W_E, np.concatenate([own["W_E"], np.zeros((network.d_vocab, 1))], axis=1)),
        "W_pos": (model.W_pos, np.concatenate([own["W_pos"], new_row], axis=1)),
        "W_U": (model.W_U, own["W_U"]),
    }
    if count:
        for name in ("W_Q", "W_K", "W_V"):
            parts[name] = getattr(block, name)[:count], np.pad(own[name], ((0, 0), (0, 1), (0, 0)))
        parts["W_O"] = block.W_O[:count], own["W_O"]
    for name, (actual, expected) in parts.items():
        if not np.array_equal(actual, expected):
            raise InputError(f"{name} of the model", "differs", "that of the network, with the new coordinate")
    queries, keys, values = block.W_Q[count:], block.W_K[count:], block.W_V[count:]
    scored = [(float(query[-1, 0]), float(key[-1, 0])) for query, key in zip(queries, keys, strict=True)]
    for name, maps in (("W_Q", queries), ("W_K", keys)):
        rest = maps.copy()
        rest[:, -1, 0] = 0.0
        if rest.any():
            raise InputError(f"{name} of the model", "reads more than the new coordinate", "0 elsewhere")
    if values[:, -1].any():
        raise InputError("W_V of the model", "reads the new coordinate", "0 there")
    if not all(abs(query * key) <= _STEEPEST for query, key in scored):
        raise InputError("a score of a copying head", "is out of range", f"at most {_STEEPEST:g} nats")
    return _CopyingHeads(scored, values[:, :-1].tolist(), block.W_O[count:].tolist())


def _parts(network: Model, heads: _CopyingHeads) -> list[list[list[arb]]]:
    """Return the contribution of each token at each position to the difference of each logit, `[S][N][outputs]`."""
    width, length = network.d_model, network.n_ctx
    at_last = arb_mat(width, width, [-int(i == j) for i in range(width) for j in range(width)])
    at_others = arb_mat(width, width)
    for (query, key), values, outputs in zip(heads.scores, heads.values, heads.outputs, strict=True):
        power = (arb(query) * arb(key)).exp()
        copied = arb_mat(values) * arb_mat(outputs)
        at_last += copied * (power / (power + length - 1))
        at_others += copied * (1 / (power + length - 1))
    unembedding = arb_mat(network.W_U.tolist())
    parts = []
    for s, position in enumerate(network.W_pos.tolist()):
        inputs = arb_mat(
            [[arb(x) + arb(p) for x, p in zip(row, position, strict=True)] for row in network.W_E.tolist()]
        )
        parts.append((inputs * ((at_last if s == length - 1 else at_others) * unembedding)).tolist())
    return parts


def _sum_of_rows(rows: list[list[arb]]) -> list[arb]:
    return [sum(column, arb(0)) for column in zip(*rows, strict=True)]


def _largest(values: list[arb]) -> arb:
    """Return a ball that contains the largest of some numbers."""
    largest = values[0]
    for value in values[1:]:
        largest = largest.max(value)
    return largest
