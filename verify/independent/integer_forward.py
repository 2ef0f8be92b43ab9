"""What the given weights compute, in integers with proved error bounds: the forward pass of the independent checker.

Page: docs/rigour/certificate.md
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import add, mul

from flint import arb, ctx, fmpz, fmpz_mat

from verify.arithmetic.integers import (
    SMALL,
    Integers,
    compact,
    largest_column_sum,
    matrix_of,
    rescaled,
    row_of,
    split,
    split_matrix,
)
from verify.independent.plain_files import PlainNetwork
from verify.progress import Progress

BITS = 128  # of attention weights, and of balls
_GUARD = 32  # more bits while exponentials are taken


class NoInformationError(Exception):
    """A ball became too wide to say anything; leads to UNDECIDED."""


class IntegerForward:
    """The tensors as exact integers, ready to be run on contexts."""

    def __init__(self, network: PlainNetwork) -> None:
        tensors = network.tensors
        self.network = network
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
    ) -> "Outputs":
        r"""The hidden vectors at the last position, and the features if asked for, with their error bounds.

        For one context and head let $e_s$ be the exponentials, each enclosed as $m 2^x$ within 2 units of $m$, which
        has 128 bits. Shifted to the largest exponent they are integers $E_s$ within 3 units of the true values, so
        with $E = \sum_s E_s \ge 2^{127}$ and $S$ positions

        $$ \Bigl| a_s - \frac{E_s}{E} \Bigr| \le \frac{3 + 3 S}{2^{127} - 3 S} \le \frac{7 (S + 1)}{2^{128}}, $$

        and one more unit of $2^{-128}$ for rounding the quotient down: $\delta = 1 + 7 (S + 1)$ units in all.

        A feature is $\sum_s a_s v_s$ with exact $v_s$, $|v_s| < 2^b$: known within $S \delta$ units of $2^{b - 128}$,
        and one for rounding it down to `feature_bits` bits, at most 128. The hidden vector is
        $x_S + \sum_{h,s} a^h_s u^h_s$ with $u^h_s = v^h_s W_O^h$, each $u$ brought to 128 bits in a common unit,
        rounded down if it is longer: known within $H (S \delta + 1)$ of these units, since $\sum_s a_s \le 1$. Only the
        values that occur, one for each position and token, are multiplied by $W_O$, and the coordinates of one $u^h_s$
        are packed into a single long integer.
        """
        shapes = self.network.sizes()
        d_model, d_qk, d_head, n_heads = (shapes[name] for name in ("d_model", "d_qk", "d_head", "n_heads"))
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
        cut = (largest_value * self.output_norm).bit_length() - BITS  # negative where u is short of 128 bits
        sum_scale = BITS + value_scale + self.output.scale - cut
        delta = 1 + 7 * (length + 1)
        dropped = BITS + 1 - feature_bits

        slots = _Slots.of(d_model, ((n_heads + 1) << 2 * BITS + 1).bit_length())
        sums = [fmpz(0) for _ in contexts]
        features = []
        score_scale = 2 * embedded.scale + self.query.scale + self.key.scale
        for head in range(n_heads):
            query, key = (
                split_matrix(x * _head(tensor, head, d_model, d_qk), d_qk) for tensor in (self.query, self.key)
            )
            value = x * _head(self.value, head, d_model, d_head)
            moved = split_matrix(value * _head(self.output, head, d_head, d_model), d_model)
            packed = [slots.pack(rescaled(row, -cut)) for row in moved]
            weights = {
                last: _exponentials({i: sum(map(mul, query[last], key[i])) for i in seen}, score_scale)
                for last, seen in needed.items()
            }
            attention = [_attention(weights[cell[-1]], cell) for cell in cells]
            for i, cell in enumerate(cells):
                sums[i] += sum(map(mul, attention[i], [packed[k] for k in cell]))
            if keep_features:
                rounded = _weighted_rows(attention, cells, split_matrix(value, d_head), value_bits + dropped)
                features.append(compact(rounded, feature_bits))
            progress(label, (head + 1) / n_heads, f"head {head + 1} of {n_heads}")
        last_rows = [row_of(embedded.values, cell[-1], d_model) for cell in cells]
        # x_S and the sum over the heads, at the finer of their two scales.
        scale = max(sum_scale, embedded.scale)
        return Outputs(
            forward=self,
            hidden=[
                [
                    (h << scale - sum_scale) + (n << scale - embedded.scale)
                    for h, n in zip(slots.unpack(s), row, strict=True)
                ]
                for s, row in zip(sums, last_rows, strict=True)
            ],
            scale=scale,
            error=(n_heads * (length * delta + 1) << BITS) << scale - sum_scale,
            features=features,
            feature_bits=feature_bits,
            features_scale=BITS + value_scale - value_bits - dropped,
            features_error=2 + (length * delta >> dropped),
            last=last_rows,
            last_scale=embedded.scale,
        )

    def _embed(self, pairs: list[tuple[int, int]]) -> Integers:
        """The embedded tokens x = W_E[t] + W_pos[s] of the pairs (s, t), one row each."""
        tokens, positions = self.network.tensors["W_E"], self.network.tensors["W_pos"]
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

    def logits(self) -> Iterator[list[int]]:
        """The logits of one context after the other."""
        columns = self.forward.network.sizes()["d_vocab_out"]
        block = max(1, 2**20 // columns)
        for start in range(0, len(self.hidden), block):
            rows = self.hidden[start : start + block]
            yield from split_matrix(matrix_of(rows) * self.forward.unembedding_matrix, columns)

    def feature_rows(self, with_skip: bool) -> Iterator[list[int]]:
        """The features, one row per context, at `features_scale` and within `features_error`."""
        d_head = self.forward.network.sizes()["d_head"]
        for i, last in enumerate(self.last):
            row = rescaled(last, self.features_scale - self.last_scale) if with_skip else []
            for head in self.features:
                row.extend(head[i * d_head : (i + 1) * d_head])
            yield row


def _exponentials(scores: dict[int, int], scale: int) -> dict[int, tuple[int, int]]:
    """For each score n the pair (m, x), m of 128 bits: exp((n - largest) / 2^scale) is within 2 units of m 2^x."""
    top = max(scores.values())
    result = {}
    with ctx.workprec(BITS + _GUARD):
        for i, score in scores.items():
            ball = arb((score - top, -scale)).exp()
            if not ball.is_finite() or not ball > 0:
                raise NoInformationError("attention scores differ by more than can be told apart")
            mantissa, exponent = map(int, ball.mid().man_exp())
            excess = mantissa.bit_length() - BITS
            m = mantissa >> excess if excess >= 0 else mantissa << -excess
            if not ball.rad() <= arb((1, exponent + excess)):
                raise NoInformationError("attention scores differ by more than can be told apart")
            result[i] = (m, exponent + excess)
    return result


def _attention(weights: dict[int, tuple[int, int]], cell: list[int]) -> list[int]:
    """The attention weights of one context as integers over 2^128; the error is bounded in `IntegerForward.run`."""
    chosen = [weights[i] for i in cell]
    top = max(exponent for _, exponent in chosen)
    scaled = [mantissa >> top - exponent for mantissa, exponent in chosen]
    total = sum(scaled)
    return [(value << BITS) // total for value in scaled]


def _weighted_rows(attention: list[list[int]], cells: list[list[int]], value: list[list[int]], shift: int) -> list[int]:
    """The features of one head, one row for each context, rounded down to integers."""
    result: list[int] = []
    for weights, cell in zip(attention, cells, strict=True):
        columns = zip(*(value[i] for i in cell), strict=True)
        result.extend([sum(map(mul, weights, column)) >> shift for column in columns])
    return result


@dataclass(frozen=True)
class _Slots:
    """Signed integers side by side in one long integer, which adds and scales them all at once."""

    size: int  # bytes of a slot; every integer must stay below half of what it can hold
    offset: int  # half of that, in every slot
    count: int

    @classmethod
    def of(cls, count: int, bits: int) -> "_Slots":
        size = (bits + 1) // 8 + 1
        return cls(size, sum(1 << 8 * size * i + 8 * size - 1 for i in range(count)), count)

    def pack(self, integers: list[int]) -> fmpz:
        half = 1 << 8 * self.size - 1
        data = b"".join((n + half).to_bytes(self.size, "little") for n in integers)
        return fmpz(int.from_bytes(data, "little") - self.offset)

    def unpack(self, packed: fmpz) -> list[int]:
        half = 1 << 8 * self.size - 1
        data = (int(packed) + self.offset).to_bytes(self.size * self.count, "little")
        return [int.from_bytes(data[i : i + self.size], "little") - half for i in range(0, len(data), self.size)]


def _head(tensor: Integers, head: int, rows: int, columns: int) -> fmpz_mat:
    size = rows * columns
    return fmpz_mat(rows, columns, tensor.values[head * size : (head + 1) * size])
