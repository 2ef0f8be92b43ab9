"""What the given weights compute, in integers with proved error bounds: the forward pass of the independent checker.

Page: docs/rigour/certificate.md
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import add, mul
from typing import Any

from flint import arb, ctx, fmpz, fmpz_mat

from verify.arithmetic.integers import (
    SMALL,
    Integers,
    compact,
    largest_column_sum,
    matrix_of,
    rescaled,
    row_of,
    rows_of,
    shifted,
    split,
    split_matrix,
)
from verify.independent.ball_forward import NoInformationError
from verify.independent.plain_model import PlainModel
from verify.progress import Progress

BITS = 128  # of attention weights, and of balls
FEW_BITS = 60  # of attention weights that FLINT multiplies fastest
_GUARD = 32  # more bits while exponentials are taken
_ROOM = (
    64  # a context whose largest score is so many bits below that of its last token needs no exponentials of its own
)
_DENSE = 32  # a product of all queries with all keys is made if it is at most so many times what is needed
_CHUNK = 4096  # contexts whose attention weights are in memory together


class IntegerForward:
    """The tensors of a network of one attention as exact integers, ready to be run on contexts."""

    def __init__(self, network: PlainModel) -> None:
        tensors = {name.rpartition(".")[2]: tensor for name, tensor in network.tensors.items()}
        self.tensors = tensors
        self.query, self.key, self.value, self.output, self.unembedding = (
            Integers.exact(tensors[name].values) for name in ("W_Q", "W_K", "W_V", "W_O", "W_U")
        )
        d_model, columns = tensors["W_U"].shape
        self.unembedding_matrix = fmpz_mat(d_model, columns, self.unembedding.values)
        self.unembedding_norm = largest_column_sum(self.unembedding.values, columns)
        width = tensors["W_O"].shape[1] * d_model
        heads = [self.output.values[start : start + width] for start in range(0, len(self.output.values), width or 1)]
        self.output_norm = max((largest_column_sum(head, d_model) for head in heads), default=0)

    def run(
        self,
        contexts: list[tuple[int, ...]],
        *,
        keep_features: bool,
        label: str,
        progress: Progress,
        feature_bits: int = SMALL,
        bits: int = BITS,
    ) -> "Outputs":
        r"""The hidden vectors at the last position, and the features if asked for, with their error bounds.

        Let b be the bits of attention weights. For one context and head let $e_s$ be the exponentials, each enclosed
        as $m 2^x$ within 2 units of $m$, which has b bits. In a common unit that is at most that of the largest they
        are integers $E_s$ with $E = \sum_s E_s$, so that with $S$ positions

        $$ \Bigl| a_s - \frac{E_s}{E} \Bigr| \le \frac{3 + 3 S}{2^{b-1} - 3 S} \le \frac{7 (S + 1)}{2^b}, $$

        and one more unit of $2^{-b}$ for rounding the quotient down: $\delta = 1 + 7 (S + 1)$ units in all.

        A feature is $\sum_s a_s v_s$ with exact $v_s$, $|v_s| < 2^c$: known within $S \delta$ units of $2^{c - b}$,
        and one for rounding it down to `feature_bits` bits, at most b. The hidden vector is
        $x_S + \sum_{h,s} a^h_s u^h_s$ with $u^h_s = v^h_s W_O^h$, each $u$ brought to b bits in a common unit,
        rounded down if it is longer: known within $H (S \delta + 1)$ of these units, since $\sum_s a_s \le 1$. Only
        the values that occur, one for each position and token, are multiplied by $W_O$; the sum over the heads is one
        product of matrices for each of them, with the weights of all contexts that it stands in.
        """
        (n_heads, d_model, d_qk), d_head = self.tensors["W_Q"].shape, self.tensors["W_V"].shape[2]
        length = len(contexts[0])
        pairs = sorted({pair for context in contexts for pair in enumerate(context)})
        index = {pair: i for i, pair in enumerate(pairs)}
        cells = [[index[pair] for pair in enumerate(context)] for context in contexts]
        needed: dict[int, set[int]] = {}  # the positions seen from each last token
        for cell in cells:
            needed.setdefault(cell[-1], set()).update(cell)
        embedded = self._embed(pairs)
        x = fmpz_mat(len(pairs), d_model, embedded.values)

        # |v| <= largest_value and |u| <= largest_value * output_norm: the scales of all heads follow from that.
        row_sum = max(sum(map(abs, row)) for row in split(embedded.values, d_model))
        largest_value = row_sum * self.value.largest()
        value_bits = largest_value.bit_length()
        value_scale = embedded.scale + self.value.scale
        cut = (largest_value * self.output_norm).bit_length() - bits  # negative where u is short of that many bits
        sum_scale = bits + value_scale + self.output.scale - cut
        delta = 1 + 7 * (length + 1)
        dropped = bits + 1 - feature_bits

        powers: list[dict[int, _Exponentials]] = []
        values: list[list[list[int]]] = []
        moved: list[list[list[Any]]] = []
        score_scale = 2 * embedded.scale + self.query.scale + self.key.scale
        for head in range(n_heads):
            query, key = (x * _head(tensor, head, d_model, d_qk) for tensor in (self.query, self.key))
            powers.append(
                {last: _Exponentials.of(scores, score_scale, bits) for last, scores in _scores(query, key, needed)}
            )
            value = x * _head(self.value, head, d_model, d_head)
            moved.append([rescaled(row, -cut) for row in rows_of(value * _head(self.output, head, d_head, d_model))])
            values.append(split_matrix(value, d_head) if keep_features else [])
            progress(label, (head + 1) / (2 * n_heads), f"head {head + 1} of {n_heads}")
        reads = [fmpz_mat(n_heads, d_model, [n for of_head in moved for n in of_head[r]]) for r in range(len(pairs))]
        sums: list[list[Any]] = []
        features: list[list[int]] = [[] for _ in range(n_heads)]
        for start in range(0, len(cells), _CHUNK):
            chunk = cells[start : start + _CHUNK]
            attention = [[of_head[cell[-1]].attention(cell) for cell in chunk] for of_head in powers]
            sums += _sum_over_heads(attention, chunk, reads, d_model)
            if keep_features:
                for kept, weights, value in zip(features, attention, values, strict=True):
                    kept += _weighted_rows(weights, chunk, value, value_bits + dropped)
            done = min(start + _CHUNK, len(cells))
            progress(label, (1 + done / len(cells)) / 2, f"context {done} of {len(cells)}")
        last_rows = [row_of(embedded.values, cell[-1], d_model) for cell in cells]
        # x_S and the sum over the heads, at the finer of their two scales.
        scale = max(sum_scale, embedded.scale)
        skip = {
            r: [fmpz(n) << scale - embedded.scale for n in row_of(embedded.values, r, d_model)]
            for r in {cell[-1] for cell in cells}
        }
        return Outputs(
            forward=self,
            hidden=[
                list(map(add, rescaled(s, scale - sum_scale), skip[cell[-1]]))
                for s, cell in zip(sums, cells, strict=True)
            ],
            scale=scale,
            error=(n_heads * (length * delta + 1) << bits) << scale - sum_scale,
            features=[compact(kept, feature_bits) for kept in features] if keep_features else [],
            feature_bits=feature_bits,
            features_scale=bits + value_scale - value_bits - dropped,
            features_error=2 + (length * delta >> dropped),
            last=last_rows,
            last_scale=embedded.scale,
        )

    def _embed(self, pairs: list[tuple[int, int]]) -> Integers:
        """The embedded tokens x = W_E[t] + W_pos[s] of the pairs (s, t), one row each."""
        tokens, positions = self.tensors["W_E"], self.tensors["W_pos"]
        width = tokens.shape[1]
        exact = Integers.exact([x for s, t in pairs for part in (tokens.row(t), positions.row(s)) for x in part])
        rows = split(exact.values, width)
        return Integers([n for t, s in zip(rows[::2], rows[1::2], strict=True) for n in map(add, t, s)], exact.scale)


@dataclass
class Outputs:
    """What the network does with some contexts, in integers; each error is in units of its scale."""

    forward: IntegerForward
    hidden: list[list[Any]]  # integers of FLINT
    scale: int
    error: int
    features: list[Sequence[int]]
    feature_bits: int
    features_scale: int
    features_error: int
    last: list[Sequence[int]]
    last_scale: int

    @property
    def logit_scale(self) -> int:
        return self.scale + self.forward.unembedding.scale

    @property
    def logit_error(self) -> int:
        """Bound of the absolute error of every logit, in units of `logit_scale`."""
        return self.error * self.forward.unembedding_norm

    def logits(self) -> Iterator[list[Any]]:
        """The logits of one context after the other, integers of FLINT."""
        columns = self.forward.tensors["W_U"].shape[1]
        block = max(1, 2**20 // columns)
        for start in range(0, len(self.hidden), block):
            rows = self.hidden[start : start + block]
            yield from rows_of(matrix_of(rows) * self.forward.unembedding_matrix)

    def feature_rows(self, with_skip: bool) -> Iterator[list[int]]:
        """The features, one row per context, at `features_scale` and within `features_error`."""
        d_head = self.forward.tensors["W_V"].shape[2]
        for i, last in enumerate(self.last):
            row = rescaled(last, self.features_scale - self.last_scale) if with_skip else []
            for head in self.features:
                row.extend(head[i * d_head : (i + 1) * d_head])
            yield row


@dataclass(frozen=True)
class _Exponentials:
    """What one last token sees: of each row the pair (m, x) with the exponential within 2 units of m 2^x.

    In units of `_ROOM` bits less than the largest of them they are the integers `common`, the sum of which over a
    context is at least 2^(bits - 1) unless the largest score of the context lies further below.
    """

    bits: int
    pairs: dict[int, tuple[int, int]]
    common: dict[int, int]

    @classmethod
    def of(cls, scores: dict[int, fmpz], scale: int, bits: int) -> "_Exponentials":
        pairs = _exponentials(scores, scale, bits)
        top = max(exponent for _, exponent in pairs.values()) - _ROOM
        return cls(bits, pairs, {i: shifted(m, exponent - top) for i, (m, exponent) in pairs.items()})

    def attention(self, cell: list[int]) -> list[int]:
        """The attention weights of one context in units of 2^-bits; their error is bounded in `IntegerForward.run`."""
        common, bits = self.common, self.bits
        chosen = [common[i] for i in cell]
        total = sum(chosen)
        if total >> bits - 1:
            return [(value << bits) // total for value in chosen]
        top = max(self.pairs[i][1] for i in cell)
        chosen = [self.pairs[i][0] >> top - self.pairs[i][1] for i in cell]
        total = sum(chosen)
        return [(value << bits) // total for value in chosen]


def _scores(query: fmpz_mat, key: fmpz_mat, needed: dict[int, set[int]]) -> Iterator[tuple[int, dict[int, fmpz]]]:
    """Each last token with the scores of what it sees: of all keys at once, unless most would not be needed."""
    width = query.ncols()
    rows = list(rows_of(query)) if width else [[] for _ in range(query.nrows())]
    if len(needed) * key.nrows() <= _DENSE * sum(map(len, needed.values())):
        asked = fmpz_mat(len(needed), width, [n for last in needed for n in rows[last]])
        for (last, seen), scores in zip(needed.items(), rows_of(asked * key.transpose()), strict=True):
            yield last, {i: scores[i] for i in seen}
        return
    keys = list(rows_of(key))
    for last, seen in needed.items():
        yield last, {i: sum(map(mul, rows[last], keys[i]), fmpz(0)) for i in seen}


def _exponentials(scores: dict[int, fmpz], scale: int, bits: int = BITS) -> dict[int, tuple[int, int]]:
    """For each score n the pair (m, x), m of so many bits: exp((n - largest) / 2^scale) is within 2 units of m 2^x."""
    top = max(scores.values())
    result = {}
    with ctx.workprec(bits + _GUARD):
        unit = arb((1, -scale))
        for i, score in scores.items():
            ball = (arb(score - top) * unit).exp()
            if not ball.is_finite() or not ball > 0:
                raise NoInformationError("attention scores differ by more than can be told apart")
            mantissa, exponent = map(int, ball.mid().man_exp())
            excess = mantissa.bit_length() - bits
            m = mantissa >> excess if excess >= 0 else mantissa << -excess
            if not ball.rad() <= arb((1, exponent + excess)):
                raise NoInformationError("attention scores differ by more than can be told apart")
            result[i] = (m, exponent + excess)
    return result


def _sum_over_heads(
    attention: list[list[list[int]]], cells: list[list[int]], reads: list[fmpz_mat], width: int
) -> list[list[Any]]:
    """For each context the sum over heads and positions of the attention weight times the row that is read."""
    readers: dict[int, list[tuple[int, int]]] = {}
    for i, cell in enumerate(cells):
        for k, r in enumerate(cell):
            readers.setdefault(r, []).append((i, k))
    parts: list[list[list[Any]]] = [[] for _ in cells]
    of_context = [list(zip(*of_heads, strict=True)) for of_heads in zip(*attention, strict=True)]
    of_context = of_context or [[()] * len(cell) for cell in cells]  # no heads
    for r, members in readers.items():
        entries = list(chain.from_iterable(of_context[i][k] for i, k in members))
        weights = fmpz_mat(len(members), len(attention), entries)
        for (i, _), row in zip(members, rows_of(weights * reads[r]), strict=True):
            parts[i].append(row)
    return [list(map(sum, zip(*rows, strict=True))) for rows in parts] if width else []


def _weighted_rows(attention: list[list[int]], cells: list[list[int]], value: list[list[int]], shift: int) -> list[int]:
    """The features of one head, one row for each context, rounded down to integers."""
    result: list[int] = []
    for weights, cell in zip(attention, cells, strict=True):
        columns = zip(*(value[i] for i in cell), strict=True)
        result.extend([sum(map(mul, weights, column)) >> shift for column in columns])
    return result


def _head(tensor: Integers, head: int, rows: int, columns: int) -> fmpz_mat:
    size = rows * columns
    return fmpz_mat(rows, columns, tensor.values[head * size : (head + 1) * size])
