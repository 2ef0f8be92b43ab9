r"""Enclose the contribution of each token at each position to the logits of one layer of attention.

Page: docs/rigour/domains.md
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat, ctx

from constructions.errors import InputError
from constructions.model.blocks import Tensor
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from verify.arithmetic.enclosure import Enclosure
from verify.forward.in_balls import rounded_outwards

_BITS = 128


@dataclass(frozen=True, eq=False)
class AttentionTables:
    r"""The parts that make up the logits of a model with one attention, for all tokens allowed at each position.

    With $e^h_s(t) = \exp(\sigma^h_s(t) - c_h)$, where $\sigma^h_s(t)$ is the score that head $h$ gives the token $t$ at
    position $s$ for a given token at the last position, and $c_h$ any real number,

    $$ \mathrm{logits} = D + \sum_h \frac{\sum_s e^h_s(t_s)\, v^h_s(t_s)}{\sum_s e^h_s(t_s)}, $$

    where $v^h_s(t)$ are logits that a value brings, and $D$ those that the last position brings by itself
    (Lemma W1).

    Args:
        values: $v^h_s$ of each head, all positions one below the other, `[tokens of all positions, d_vocab_out]`.
        keys: For each head, the keys, likewise, as balls.
        model: The weights.
        tokens: The tokens of each position.
    """

    values: list[Enclosure]
    keys: list[arb_mat]
    model: Model
    tokens: tuple[Int64Array, ...]

    @classmethod
    def of(cls, model: Model, tokens: Sequence[Int64Array]) -> "AttentionTables":
        """Return the tables of a model for which `is_one_attention` is true.

        Args:
            model: The weights.
            tokens: The tokens that each position may hold, S arrays with S at most `n_ctx`.

        Raises:
            InputError: A model of another shape.
        """
        if not is_one_attention(model):
            raise InputError("the model", f"has the options {model.options()}", "one attention without a norm")
        block = model.attention
        with ctx.workprec(_BITS):
            rows = _rows(model, [(s, int(t)) for s, here in enumerate(tokens) for t in here])
            readout = _matrix(model.W_U)
            values, keys = [], []
            for head in range(block.n_heads):
                moved = _shifted(rows * _matrix(block.W_V[head]), block.b_V, head) * _matrix(block.W_O[head]) * readout
                values.append(rounded_outwards(moved))
                keys.append(_shifted(rows * _matrix(block.W_K[head]), block.b_K, head))
        return cls(values, keys, model, tuple(tokens))

    def powers(self, last: int) -> list[Enclosure]:
        """Return $e^h_s$ of each head, `[tokens of all positions]`, if the last position has the token `last`.

        The shift $c_h$ is the middle of the ball of the largest score, itself a real number.
        """
        block, length = self.model.attention, len(self.tokens)
        powers = []
        with ctx.workprec(_BITS):
            asks = _rows(self.model, [(length - 1, last)])
            root = arb(block.score_root).sqrt()
            for head, keys in enumerate(self.keys):
                query = _shifted(asks * _matrix(block.W_Q[head]), block.b_Q, head)
                scores = [score / root for score in (query * keys.transpose()).entries()]
                top = max(score.mid() for score in scores)
                powers.append(rounded_outwards(arb_mat([[(score - top).exp() for score in scores]]))[0])
        return powers

    def direct(self, last: int) -> Enclosure:
        """Return $D$, `[d_vocab_out]`: the contribution of the skip connection at the last position, and the shifts."""
        block, model, length = self.model.attention, self.model, len(self.tokens)
        with ctx.workprec(_BITS):
            row = _rows(model, [(length - 1, last)]) if block.skip else arb_mat(1, block.d_out)
            if block.b_O is not None:
                row += _matrix(block.b_O[None])
            logits = row * _matrix(model.W_U)
            return rounded_outwards(logits if model.b_U is None else logits + _matrix(model.b_U[None]))[0]


def is_one_attention(model: Model) -> bool:
    """Tell whether a model reads tokens and is one float64 attention with at least one head and no norm."""
    kinds = [block.options()["kind"] for block in model.blocks]
    plain = model.reads_tokens and not model.is_rational and kinds == ["attention"] and model.plain
    return plain and model.attention.norm is None and model.attention.n_heads > 0


def _rows(model: Model, pairs: list[tuple[int, int]]) -> arb_mat:
    """Return the stream at each pair of a position and a token."""
    assert model.W_E is not None and model.W_pos is not None
    positions, tokens = (list(values) for values in zip(*pairs, strict=True))
    return _matrix(model.W_E[tokens]) + _matrix(model.W_pos[positions])


def _matrix(tensor: Tensor) -> arb_mat:
    """Convert float64 numbers to balls of radius 0."""
    rows, columns = tensor.shape
    return arb_mat(rows, columns, tensor.ravel().tolist())


def _shifted(rows: arb_mat, shifts: Tensor | None, head: int) -> arb_mat:
    if shifts is None:
        return rows
    return rows + _matrix(np.repeat(shifts[head][None], rows.nrows(), axis=0))
