"""The walk's operations on matrices of FLINT, one row for each distinct row of the stream: of balls, or of rationals.

Page: docs/rigour/forward.md
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from flint import arb_mat, fmpq_mat

from constructions.model.blocks import Activation, Attention, Normalization, Tensor
from constructions.numeric.arrays import BoolArray, Int64Array
from verify.forward.attention_pairs import AttentionPairs
from verify.forward.rotary import turned_entries

M = TypeVar("M", arb_mat, fmpq_mat)


class InMatrices(ABC, Generic[M]):
    """The operations that sums, products and quotients are enough for; rows of heads are a list of matrices."""

    kind: Any  # the class of M

    @abstractmethod
    def exact(self, x: Tensor) -> M:
        """Exact numbers."""

    @abstractmethod
    def weights(self, scores: list[Any], root: int) -> list[Any]:
        """Return the softmax of scores that are still to be divided by the square root of `root`."""

    @abstractmethod
    def scaled(self, score: Any, root: int) -> Any:
        """Return a score divided by the square root of `root`."""

    @abstractmethod
    def normalize(self, rows: M, norm: Normalization) -> M:
        """Return the rows after a normalization."""

    @abstractmethod
    def activate(self, rows: M, activation: Activation) -> M:
        """Return the activation of each entry."""

    def embed(self, a: Tensor, b: Tensor) -> M:
        return self.exact(a) + self.exact(b)

    def gather(self, rows: M, chosen: Int64Array) -> M:
        return self._chosen(rows.tolist(), chosen.tolist(), rows.ncols())

    def concat(self, parts: Sequence[M]) -> M:
        entries = [entry for part in parts for entry in part.entries()]
        return self.kind(sum(part.nrows() for part in parts), parts[0].ncols(), entries)

    def add(self, rows: M, others: M) -> M:
        return rows + others

    def materialize(self, rows: M) -> M:
        return rows

    def subtract(self, rows: M, others: M) -> M:
        return rows - others

    def mean(self, rows: M, read: Int64Array) -> M:
        table = rows.tolist()
        means = [
            sum(column[1:], column[0]) / len(some)
            for some in read.tolist()
            for column in zip(*(table[i] for i in some), strict=True)
        ]
        return self.kind(len(read), rows.ncols(), means)

    def add_bias(self, rows: M, b: Tensor) -> M:
        return rows + self._chosen(self.exact(b[None]).tolist(), [0] * rows.nrows(), len(b))

    @abstractmethod
    def softcap_entries(self, x: Any, c: float) -> Any:
        """c tanh(x / c)."""

    @abstractmethod
    def clip(self, heads: list[M], c: float) -> list[M]:
        """Return the rows of heads with every entry cut off at -c and c."""

    @abstractmethod
    def angles(self, block: Attention, position: int) -> list[tuple[Any, Any]]:
        """Cosine and sine of each pair of entries at a position."""

    def multiply(self, rows: M, others: M) -> M:
        entries = [x * y for x, y in zip(rows.entries(), others.entries(), strict=True)]
        return self.kind(rows.nrows(), rows.ncols(), entries)

    def normalize_heads(self, heads: list[M], norm: Normalization, together: bool) -> list[M]:
        width = heads[0].ncols()
        if together:
            return self._apart(self.normalize(self.side_by_side(heads), norm), width)
        parts = [norm] * len(heads) if norm.width == width else norm_parts(norm, width)
        return [self.normalize(head, part) for head, part in zip(heads, parts, strict=True)]

    def _apart(self, rows: M, width: int) -> list[M]:
        table = rows.tolist()
        count = rows.ncols() // width
        return [
            self.kind(len(table), width, [x for row in table for x in row[h * width : (h + 1) * width]])
            for h in range(count)
        ]

    def rope(self, heads: list[M], block: Attention, positions: Int64Array) -> list[M]:
        first, second = turned_entries(block)
        known = {position: self.angles(block, position) for position in set(positions.tolist())}
        turned = []
        for head in heads:
            table = head.tolist()
            for row, position in zip(table, positions.tolist(), strict=True):
                pairs = list(zip(row[first], row[second], known[position], strict=True))
                row[first] = [a * cos - b * sin for a, b, (cos, sin) in pairs]
                row[second] = [b * cos + a * sin for a, b, (cos, sin) in pairs]
            turned.append(self._chosen(table, range(len(table)), head.ncols()))
        return turned

    def softcap(self, outputs: M, divisor: float | None, cap: float | None) -> M:
        entries = outputs.entries()
        if divisor is not None:
            by = self.exact(np.array([[divisor]]))[0, 0]
            entries = [x / by for x in entries]
        if cap is not None:
            entries = [self.softcap_entries(x, cap) for x in entries]
        return self.kind(outputs.nrows(), outputs.ncols(), entries)

    def product(self, rows: M, W: Tensor) -> M:
        """Return the rows times an exact matrix."""
        return rows * self.exact(W)

    def linear(self, rows: M, W: Tensor, b: Tensor | None) -> M:
        y = self.product(rows, W)
        return y if b is None else self.add_bias(y, b)

    def unembed(self, rows: M, W: Tensor, b: Tensor | None) -> M:
        return self.linear(rows, W, b)

    def nonzero(self, rows: M) -> BoolArray:
        entries = [not entry == 0 for entry in rows.entries()]  # what is not known to be 0
        return np.array(entries, dtype=bool).reshape(rows.nrows(), rows.ncols())

    def project_heads(self, rows: M, maps: Tensor, shifts: Tensor | None) -> list[M]:
        if not len(maps):
            return []
        side_by_side = np.ascontiguousarray(maps.transpose(1, 0, 2)).reshape(maps.shape[1], -1)
        return self._apart(
            self.linear(rows, side_by_side, None if shifts is None else shifts.reshape(-1)), maps.shape[2]
        )

    def repeat_heads(self, rows: M, heads: int) -> list[M]:
        return [rows] * heads

    def select_heads(self, x: list[M], heads: Sequence[int]) -> list[M]:
        return [x[head] for head in heads]

    def uniform_attention(self, value: list[M], _: int) -> list[M]:
        return value

    def project_output(self, mixed: list[M], block: Attention, heads: Sequence[int] | None = None) -> M:
        W_O = block.W_O if heads is None else block.W_O[list(heads)]
        return self.product(self.side_by_side(mixed), W_O.reshape(len(W_O) * block.d_head, block.d_out))

    def side_by_side(self, heads: list[M]) -> M:
        """Return the rows of all heads, `[P, heads * n]`."""
        tables = [head.tolist() for head in heads]
        entries = [entry for rows in zip(*tables, strict=True) for row in rows for entry in row]
        return self.kind(heads[0].nrows(), sum(head.ncols() for head in heads), entries)

    def patterns(self, block: Attention, query: M, key: M, pairs: AttentionPairs, head: int = 0) -> list[list[Any]]:
        """Return the attention weights of one head, for each pair those of the rows that it reads, in their order."""
        queries, keys = query.tolist(), key.tolist()
        slope = None if block.slopes is None else self.exact(block.slopes[head, None, None])[0, 0]
        found: dict[int, list[Any]] = {}
        for asking, read, places in _groups(pairs):
            scores = self._chosen(queries, asking, block.d_qk) * self._chosen(keys, read, block.d_qk).transpose()
            for pair, row in zip(places, scores.tolist(), strict=True):
                root = block.score_root
                if block.score_cap is not None:
                    row, root = [self.softcap_entries(self.scaled(x, root), block.score_cap) for x in row], 1
                if slope is not None:
                    # What is read are the first positions, in their order, whoever reads them.
                    row, root = [self.scaled(x, root) + slope * j for j, x in enumerate(row)], 1
                found[pair] = self.weights(row, root)
        return [found[pair] for pair in range(len(found))]

    def attend(self, block: Attention, query: list[M], key: list[M], value: list[M], pairs: AttentionPairs) -> list[M]:
        heads = []
        for h, (q, k, v) in enumerate(zip(query, key, value, strict=True)):
            shares, table, means = self.patterns(block, q, k, pairs, h), v.tolist(), {}
            for _, read, places in _groups(pairs):
                weights = self.kind(len(places), len(read), [share for pair in places for share in shares[pair]])
                rows = (weights * self._chosen(table, read, v.ncols())).tolist()
                means |= dict(zip(places, rows, strict=True))
            heads.append(self._chosen([means[pair] for pair in range(len(means))], range(len(means)), v.ncols()))
        return heads

    def _chosen(self, table: list[list[Any]], chosen: Sequence[int], columns: int) -> M:
        """Return the chosen rows of a matrix that is given as lists."""
        return self.kind(len(chosen), columns, [entry for i in chosen for entry in table[i]])


def norm_parts(norm: Normalization, width: int) -> list[Normalization]:
    """Return the normalization of each head, where the gains of all lie side by side."""
    count = norm.width // width
    gains = norm.w.reshape(count, width)
    shifts = [None] * count if norm.b is None else list(norm.b.reshape(count, width))
    return [Normalization(norm.kind, w, b, norm.epsilon) for w, b in zip(gains, shifts, strict=True)]


def _groups(pairs: AttentionPairs) -> list[tuple[list[int], list[int], list[int]]]:
    """Return the pairs that read the same rows: which rows ask, which are read, and which pairs these are."""
    positions = pairs.asking.shape[1]
    alike = bool(pairs.allowed.all())
    groups: dict[tuple[int, int], list[int]] = {}
    for pair, place in enumerate(pairs.kept.tolist()):
        groups.setdefault((place // positions, 0 if alike else place % positions), []).append(pair)
    asked = pairs.asked
    return [
        (asked[places].tolist(), pairs.read[context, pairs.allowed[position]].tolist(), places)
        for (context, position), places in groups.items()
    ]
