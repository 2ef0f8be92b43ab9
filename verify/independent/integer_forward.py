"""What the given weights compute, in integers with proved error bounds: the forward pass of the independent checker.

Page: docs/rigour/certificate.md
"""

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, repeat
from operator import add, floordiv, mul, sub
from typing import Any

from flint import arb, ctx, fmpz, fmpz_mat

from verify.arithmetic.integers import (
    Integers,
    compact,
    largest_column_sum,
    matrix_of,
    rescaled,
    row_of,
    rows_of,
    shifted,
    split,
)
from verify.independent.ball_forward import NoInformationError
from verify.independent.plain.plain_model import PlainModel
from verify.progress import Progress

BITS = 128  # of attention weights, and of balls
FEW_BITS = 52  # of attention weights that are quickest: they fit into a word, a sum over the heads into two
_GUARD = 32  # more bits while exponentials are taken
_ROOM = 40  # bits that the sum over a context may lie below the largest exponential of its last token
_DENSE = 32  # a product of all queries with all keys is made if it is at most so many times what is needed
_WORD = 64  # bits
_TOGETHER = 2**20  # attention weights, or logits, that are in memory together
_TOLD = 1024  # contexts between two words about the progress


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
        label: str,
        progress: Progress,
        feature_bits: int = 0,
        bits: int = BITS,
    ) -> "Outputs":
        r"""The hidden vectors at the last position, and the features if asked for, with their error bounds.

        Let b be the bits of attention weights. For one context and head let $e_s$ be the exponentials in a common unit,
        each within $3 \max(1, 2^{1 - b} E_s)$ of an integer $E_s$, and $E = \sum_s E_s \ge 2^{b - 1}$. With S positions

        $$ \Bigl| a_s - \frac{E_s}{E} \Bigr| \le \frac{3 + 3 S}{2^{b-1} - 3 S} \le \frac{7 (S + 1)}{2^b}, $$

        and one more unit of $2^{-b}$ for rounding the quotient down: $\delta = 1 + 7 (S + 1)$ units in all.

        A feature is $\sum_s a_s v_s$ with exact $v_s$, $|v_s| < 2^c$: known within $S \delta$ units of $2^{c - b}$,
        and one for rounding it down to `feature_bits` bits, at most b. The hidden vector is
        $x_S + \sum_{h,s} a^h_s u^h_s$ with $u^h_s = v^h_s W_O^h$, each $u$ brought to b bits in a common unit,
        rounded down if it is longer: known within $H (S \delta + 1)$ of these units, since $\sum_s a_s \le 1$, and one
        power of $2^{64}$ below that error for rounding it down. Only the values that occur, one for each position and
        token, are multiplied by $W_O$; the coordinates of each are packed into one integer (`_Slots`).
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
        values = [x * _head(self.value, head, d_model, d_head) for head in range(n_heads)]
        largest_value = max((abs(int(n)) for value in values for n in value.entries()), default=0)
        value_bits = largest_value.bit_length()
        value_scale = embedded.scale + self.value.scale
        cut = (largest_value * self.output_norm).bit_length() - bits  # negative where u is short of that many bits
        delta = 1 + 7 * (length + 1)
        dropped = bits + 1 - feature_bits

        # A head adds at most 2^(2 bits) to a coordinate; a feature is at most 2^(bits + value_bits).
        stream, of_head = _Slots(d_model, 2 * bits + n_heads.bit_length()), _Slots(d_head, bits + value_bits)
        off = 2 * (length - 1) * delta  # of the weights of a context together
        error = n_heads * (off + 1) << bits
        below = max(0, error.bit_length() - 1) // _WORD * _WORD  # bits of a sum over the heads below its error
        sum_scale = bits + value_scale + self.output.scale - cut - below

        powers: dict[int, list[_Exponentials]] = {last: [] for last in needed}
        moved: list[list[Any]] = []
        score_scale = 2 * embedded.scale + self.query.scale + self.key.scale
        for head, value in enumerate(values):
            query, key = (x * _head(tensor, head, d_model, d_qk) for tensor in (self.query, self.key))
            for last, scores in _scores(query, key, needed):
                powers[last].append(_Exponentials.of(scores, score_scale, bits))
            written = (value * _head(self.output, head, d_head, d_model)).entries()
            moved.append(stream.packed(fmpz_mat(len(pairs), d_model, rescaled(written, -cut))))
            progress(label, (head + 1) / (2 * n_heads), f"head {head + 1} of {n_heads}")
        columns = [fmpz_mat(n_heads, 1, [packed[r] for packed in moved]) for r in range(len(pairs))]
        sums: list[list[int]] = [[] for _ in cells]
        for done, (i, packed) in enumerate(_mixed(cells, powers, columns, bits), 1):
            sums[i] = stream.unpacked([packed], below)
            if done % _TOLD == 0:
                progress(label, (1 + done / len(cells)) / 2, f"context {done} of {len(cells)}")
        features: list[Sequence[int]] = [[] for _ in cells]
        if feature_bits:
            kept = [list(map(int, row)) for row in zip(*map(of_head.packed, values), strict=True)]
            for i, weights in _attention(cells, powers, bits):
                rest: Iterable[int] = repeat(1 << bits, n_heads)
                for row in weights:
                    rest = map(sub, rest, row)
                weights.append(list(rest))
                terms = (map(mul, row, kept[r]) for r, row in zip(cells[i], weights, strict=True))
                numbers = of_head.unpacked(map(sum, zip(*terms, strict=True)), value_bits + dropped)
                features[i] = compact(numbers, feature_bits)
        last_rows = [row_of(embedded.values, cell[-1], d_model) for cell in cells]
        # x_S and the sum over the heads, at the finer of their two scales.
        scale = max(sum_scale, embedded.scale)
        skip = {
            r: rescaled(row_of(embedded.values, r, d_model), scale - embedded.scale)
            for r in {cell[-1] for cell in cells}
        }
        return Outputs(
            forward=self,
            hidden=[
                list(map(add, rescaled(s, scale - sum_scale), skip[cell[-1]]))
                for s, cell in zip(sums, cells, strict=True)
            ],
            scale=scale,
            error=(error >> below) + 2 << scale - sum_scale,
            features=features,
            feature_bits=feature_bits,
            features_scale=bits + value_scale - value_bits - dropped,
            features_error=2 + (off >> dropped),
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
    hidden: list[list[int]]
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

    def logits(self) -> Iterator[fmpz_mat]:
        """The logits of some contexts after the others, one row for each."""
        together = max(1, _TOGETHER // self.forward.tensors["W_U"].shape[1])
        for start in range(0, len(self.hidden), together):
            yield matrix_of(self.hidden[start : start + together]) * self.forward.unembedding_matrix

    def feature_rows(self, with_skip: bool) -> Iterator[list[int]]:
        """The features, one row per context, at `features_scale` and within `features_error`."""
        for last, features in zip(self.last, self.features, strict=True):
            yield [*(rescaled(last, self.features_scale - self.last_scale) if with_skip else []), *features]


@dataclass(frozen=True)
class _Exponentials:
    """What one last token sees: of each row the pair (m, x) with the exponential within 2 units of m 2^x.

    In units of `_ROOM` bits less than the largest of them they are the integers `common`, below 2^(bits + _ROOM), the
    sum of which over a context is at least 2^(bits - 1) unless the largest score of the context lies further below.
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
        """The attention weights of one context in units of 2^-bits, from a common unit of its own."""
        top = max(self.pairs[i][1] for i in cell)
        chosen = [self.pairs[i][0] >> top - self.pairs[i][1] for i in cell]
        total = sum(chosen)
        return [(value << self.bits) // total for value in chosen]


class _Slots:
    """Rows of integers packed into one integer each, in places of 64-bit words: linear maps act on all at once."""

    def __init__(self, width: int, bits: int) -> None:
        """Places for `width` integers of at most so many bits and a sign."""
        self.words = bits // _WORD + 1
        ones = sum(1 << _WORD * self.words * j for j in range(width))
        self.length, self.halves = width * self.words * _WORD // 8, ones << _WORD * self.words - 1
        self.places = fmpz_mat(width, 1, [1 << _WORD * self.words * j for j in range(width)])

    def packed(self, matrix: fmpz_mat) -> list[Any]:
        """The integers sum_j n_j 2^(place j), one for each row."""
        return (matrix * self.places).entries()

    def unpacked(self, packed: Iterable[Any], shift: int) -> list[int]:
        """The integers of rows, one after the other, times 2^-shift, rounded down; each must fit into its place."""
        words = array("Q", b"".join((int(n) + self.halves).to_bytes(self.length, "little") for n in packed))
        if sys.byteorder == "big":
            words.byteswap()
        low, rest = divmod(shift, _WORD)
        top, *others = range(self.words - 1, low - 1, -1)
        result = [word - (1 << _WORD - 1) for word in words[top :: self.words]]
        for place in others:
            result = [n << _WORD | word for n, word in zip(result, words[place :: self.words], strict=True)]
        return [n >> rest for n in result] if rest else result


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
            # The radius is below 2^-bits times the power of two above the midpoint: one unit of m.
            if not (ball.is_finite() and ball.rel_accuracy_bits() >= bits):
                raise NoInformationError("attention scores differ by more than can be told apart")
            mantissa, exponent = ball.mid().man_exp()
            excess = mantissa.bit_length() - bits
            result[i] = (int(shifted(mantissa, -excess)), int(exponent) + excess)
    return result


def _attention(
    cells: list[list[int]], powers: dict[int, list[_Exponentials]], bits: int
) -> Iterator[tuple[int, list[list[int]]]]:
    """Of each context, not in their order, and each row but its last the attention weights of all heads."""
    least = 1 << bits - 1
    for last, group in groupby(sorted(range(len(cells)), key=lambda i: cells[i][-1]), lambda i: cells[i][-1]):
        heads, contexts = powers[last], list(group)
        common = {r: [each.common[r] for each in heads] for r in {r for i in contexts for r in cells[i]}}
        raised = {r: [n << bits for n in row] for r, row in common.items()}
        for i in contexts:
            cell = cells[i]
            added: Iterable[int] = common[last]
            for r in cell[:-1]:
                added = map(add, added, common[r])
            totals = list(added)
            few = min(totals, default=least) < least and [h for h, total in enumerate(totals) if total < least]
            for head in few or ():
                totals[head] = least
            weights = [list(map(floordiv, raised[r], totals)) for r in cell[:-1]]
            for head in few or ():
                for row, weight in zip(weights, heads[head].attention(cell), strict=False):
                    row[head] = weight
            yield i, weights


def _mixed(
    cells: list[list[int]], powers: dict[int, list[_Exponentials]], columns: list[fmpz_mat], bits: int
) -> Iterator[tuple[int, Any]]:
    r"""Of each context, not in their order, the sum of what all heads read, in units of 2^-bits.

    Attention weights sum to 1, so that $\sum_s A_s U_s = 2^b U_{last} + \sum_{s < last} A_s (U_s - U_{last})$.

    Args:
        cells: The rows that the contexts read.
        powers: What each last token sees, of each head.
        columns: Of each row what the heads read of it, `[n_heads, 1]`.
        bits: Of attention weights.
    """
    heads = columns[0].nrows()
    whole = fmpz_mat(1, heads, [1 << bits] * heads)
    together = max(1, _TOGETHER // max(1, len(cells[0]) * heads))
    for _, part in groupby(enumerate(_attention(cells, powers, bits)), lambda each: each[0] // together):
        reading: dict[tuple[int, int], tuple[list[int], list[list[int]]]] = {}
        sums: dict[int, Any] = {}
        for _, (i, weights) in part:
            *others, last = cells[i]
            sums[i] = fmpz(0)
            for r, row in zip(others, weights, strict=True):
                contexts, rows = reading.setdefault((last, r), ([], []))
                contexts.append(i)
                rows.append(row)
        ends = {last: (whole * columns[last])[0, 0] for last in {cells[i][-1] for i in sums}}
        for (last, r), (contexts, rows) in reading.items():
            products = fmpz_mat(rows) * (columns[r] - columns[last])
            for i, n in zip(contexts, products.entries(), strict=True):
                sums[i] += n
        yield from ((i, n + ends[cells[i][-1]]) for i, n in sums.items())


def _head(tensor: Integers, head: int, rows: int, columns: int) -> fmpz_mat:
    size = rows * columns
    return fmpz_mat(rows, columns, tensor.values[head * size : (head + 1) * size])
