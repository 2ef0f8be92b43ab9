r"""Store words in the rows of last tokens, or half of them with the subjects and half with the relations.

The rows of a pair exchange codes of theirs: a group $\gamma$ and a place $\rho$. A row picks its word by
$w - M |\gamma - g|^2$, folds $\gamma$ away, and is silent unless $\rho$ is the place of a digit.

Page: docs/claims/object_words.md
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from constructions.counted import counted
from constructions.memories.object_words.digits import Digits
from constructions.memories.object_words.words import Columns, Words
from constructions.model.blocks import Attention, Block, FeedForward
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import Task

_FINE = 9
"""Codes of places are so many bits below those of groups."""


class Grid(NamedTuple):
    r"""Groups as points $(\gamma_1, \gamma_2)$ of a grid, counted from its middle: so their squares stay small.

    Args:
        x: $\gamma_1$ from 0, `[G]`.
        y: $\gamma_2$ from its middle, `[G]`; all 0 on a line.
        middle: That of $\gamma_1$.
    """

    x: Int64Array
    y: Int64Array
    middle: int

    @classmethod
    def of(cls, groups: int, *, line: bool = False) -> "Grid":
        """Return a nearly square grid of the groups, or a line."""
        wide = groups if line else max(1, round(groups**0.5))
        rows = np.arange(groups) // wide
        return cls(np.arange(groups) % wide, rows - int(rows.max()) // 2, (wide - 1) // 2)

    @property
    def bits(self) -> int:
        """Bits of the numbers x."""
        return int(self.x.max()).bit_length()

    @property
    def edge(self) -> Float64Array:
        r"""The largest $|\gamma_1|$ for each $|\gamma_2|$, and that $|\gamma_2|$: sums of terms are largest there,
        `[rows, 2]`.
        """
        x, y = np.abs(self.x - self.middle), np.abs(self.y)
        widest = np.zeros(int(y.max()) + 1)
        np.maximum.at(widest, y, x)
        return np.stack([widest, np.arange(float(len(widest)))], axis=1)

    @property
    def turned(self) -> Float64Array:
        """Sign after the folds of x to 0: -1 if they reverse the rest of the number, else 1, `[G]`."""
        remainder, signs = self.x, np.ones(len(self.x))
        for bit in reversed(range(1, self.bits + 1)):
            signs = signs * np.where(remainder >= 2 ** (bit - 1), -1.0, 1.0)
            remainder = np.minimum(remainder, 2**bit - 1 - remainder)
        return signs

    def folds(self, width: int) -> list[Block]:
        """Return the folds of column 1, which holds 1 + x and the rest of the number."""
        column = np.eye(width, 1, -1)
        middles = [(2.0**bit + 1.0) / 2.0 for bit in reversed(range(1, self.bits + 1))]
        return [FeedForward(column, -2.0 * column.T, np.array([-middle])) for middle in middles]


@dataclass(frozen=True, eq=False)
class _PairWords(Words):
    """Common parts of both kinds of words of pairs.

    Args:
        columns: Subjects and relations.
        digits: The digits of a word.
        on_a_line: Whether groups lie on a line, of one column less.
    """

    columns: Columns
    digits: Digits
    on_a_line: bool = False

    def table(self, task: Task) -> Int64Array:
        return self.columns.table(task)

    @property
    @abstractmethod
    def slots(self) -> int:
        """Facts in a row, at most."""

    @property
    @abstractmethod
    def far(self) -> int:
        """Distance of the codes of the halves from those of places; 0 if there are none."""

    @property
    def groups(self) -> int:
        """G."""
        return -(-self.slots // self.digits.places)

    @property
    def grid(self) -> Grid:
        """The codes of groups."""
        return Grid.of(self.groups, line=self.on_a_line)

    @property
    def coded(self) -> int:
        """Columns of the code of a group with the rest of the number, and of minus its square."""
        return 2 if self.on_a_line else 3

    @property
    def centred_places(self) -> Int64Array:
        """The codes of the places, `[m]`."""
        return np.arange(self.digits.places) - (self.digits.places - 1) // 2

    def codes(self, index: Int64Array, behind: Int64Array) -> Float64Array:
        r"""Return $\xi = \gamma_1 \pm \tau$, $\gamma_2$, and $\tau^2 - \xi^2 - \gamma_2^2$, where $\tau$ is the rest
        divided by 2^9.
        """
        grid, group = self.grid, index // self.digits.places
        tail = (self.centred_places[index % self.digits.places] + behind) * grid.turned[group] / 2.0**_FINE
        x, y = (grid.x[group] - grid.middle).astype(np.float64), grid.y[group].astype(np.float64)
        codes = np.stack([x + tail, y, -(x**2) - 2.0 * x * tail - y**2], axis=1)
        return codes[:, [0, 2]] if self.on_a_line else codes

    def packed(self, table: Int64Array) -> Float64Array:
        """Return the words of objects by slots, -1 for none: `[rows, slots]` to `[rows, G]`."""
        m = self.digits.places
        slots = np.full((len(table), self.groups * m), -1)
        slots[:, : table.shape[1]] = table
        return np.stack([self.digits.words(slots[:, g * m : (g + 1) * m]) for g in range(self.groups)], axis=1)

    def picking(self, flag: bool) -> FeedForward:
        r"""Return the word of the group that the other row names, with $\xi$ moved above 0, and a flag if there is
        one.
        """
        grid, M, G, d = self.grid, self.digits.top, self.groups, self.width
        kept = 2 if flag else 1
        W_in, W_out = np.zeros((d, G + kept)), np.zeros((G + kept, 1 + kept))
        x = grid.x - grid.middle
        W_in[:G, :G] = np.eye(G)
        W_in[G, :G], W_in[G + self.coded - 1, :G] = -2.0 * M * x, -M  # the codes are minus those of the other row
        if not self.on_a_line:
            W_in[G + 1, :G] = -2.0 * M * grid.y
        W_in[G, G] = -1.0
        if flag:
            W_in[d - 1, G + 1] = 1.0
        W_out[:G, 0], W_out[G:, 1:] = 1.0, np.eye(kept)
        b_in = np.concatenate([-M * (x**2 + grid.y**2), [grid.middle + 1.0, 1.0][:kept]])
        return FeedForward(W_in, W_out, b_in, skip=False)

    def placing(self, reads: Float64Array, shift: float) -> list[Block]:
        r"""Map the word in column 0 and $\delta$ = row @ reads + shift to $B^{-i} w$ for place i, else 0.

        With $C = \sum_j (\delta - \rho_j)_ +$ the neuron of a place takes $M (2 C - $ its tangent$)$ away, which is 0
        there and at least M at other integers.
        """
        m, M, rho = self.digits.places, self.digits.top, self.centred_places
        before = 1 - int(rho[0])  # delta + before is above 0 from the first place on
        W_in, W_out = np.zeros((len(reads), m + 2)), np.zeros((m + 2, 3))
        W_in[:, 1:], W_in[0, 0] = reads[:, None], 1.0
        W_out[0, 0], W_out[1:-1, 1], W_out[-1, 2] = 1.0, 1.0, 1.0
        knots = FeedForward(W_in, W_out, np.concatenate([[0.0], shift - rho, [shift + before]]), skip=False)
        k = np.arange(m)
        scale, slope = 2.0 ** (-self.digits.bits * k), 2.0 * k + 1.0
        place = FeedForward(
            W_in=np.stack([scale, -2.0 * M * scale, M * slope * scale]),
            b_in=-M * (k + 1.0) ** 2 * scale,
            W_out=np.ones((m, 1)),
            skip=False,
        )
        return [knots, place]

    def fit(self, precision: int) -> bool:
        """Tell whether no sum of firing neurons rounds, and the silent ones stay silent: Theorem OW3."""
        m, M = self.digits.places, self.digits.top
        tail = (np.abs(self.centred_places).max() + self.far) / 2.0**_FINE
        room = self.digits.spare / self.digits.base
        if m == 1 or max(self.slots, 2) < m or precision < 24 or 2.0 * tail >= room:
            return False
        x, y = self.grid.edge.T
        tails = np.array([-tail, 0.0, tail])[:, None, None]
        terms = _Terms.of(
            np.ones(1), 2.0 * x * (x[:, None] + tails), 2.0 * y * y[:, None],
            -(x[:, None] ** 2) - 2.0 * x[:, None] * tails - y[:, None] ** 2, -(x**2) - y**2,
        )  # fmt: skip
        units = 2.0**precision * min(1.0, M / 2.0 ** (_FINE - 1))
        own_parts = terms.parts[:, *np.diag_indices(len(x))]
        if M * own_parts.max() > units or not terms.stay_below(room - 2.0 * tail, precision):
            return False
        reach = np.abs(self.centred_places).max() + 2 * self.far + 1
        delta, slopes = np.arange(-reach, reach + 1.0)[:, None], 2.0 * np.arange(float(m)) + 1.0
        places = self.centred_places.astype(np.float64)
        knots = np.maximum(delta - places, 0.0).sum(axis=1, keepdims=True)
        ramp = np.maximum(delta + 1.0 - places[0], 0.0)
        terms = _Terms.of(np.ones(1), -2.0 * knots, slopes * ramp, -((slopes + 1.0) ** 2) / 4.0)
        own_parts = terms.parts[delta == places]
        return M * own_parts.max() <= 2.0**precision and terms.stay_below(room, precision)


class _Terms(NamedTuple):
    """Sums of terms, in units of M.

    Args:
        parts: What positive terms add up to, or negative ones, whichever is more.
        sizes: What both do.
    """

    parts: Float64Array
    sizes: Float64Array

    @classmethod
    def of(cls, *terms: Float64Array) -> "_Terms":
        """Collect terms by rows and neurons."""
        stacked = np.stack(np.broadcast_arrays(*terms))
        above, below = np.maximum(stacked, 0.0).sum(axis=0), np.maximum(-stacked, 0.0).sum(axis=0)
        return cls(np.maximum(above, below), above + below)

    def stay_below(self, room: float, precision: int) -> bool:
        """Tell whether sums below -room are not rounded above 0: four roundings at most, of all terms."""
        return room > 5.0 * 2.0**-precision * float(self.sizes.max())


class LastWords(_PairWords):
    """Words in the rows of last tokens, which may also be first tokens: a head brings the code of the first token."""

    @property
    def slots(self) -> int:
        return len(self.columns.subjects)

    @property
    def far(self) -> int:
        return 0

    @property
    def width(self) -> int:
        return self.groups + self.coded

    @property
    def where(self) -> str:
        return f"{counted(self.groups, 'word')} for each of {counted(len(self.columns.relations), 'last token')}"

    def embedding(self, table: Int64Array, d_vocab: int) -> Float64Array:
        W_E = np.zeros((d_vocab, self.width))
        W_E[self.columns.relations, : self.groups] = self.packed(table.T)
        W_E[self.columns.subjects, self.groups :] = self.codes(np.arange(self.slots), np.zeros(1, dtype=np.int64))
        return W_E

    def blocks(self, shift: Float64Array | None = None) -> list[Block]:
        d, one = self.width, 2.0**_FINE
        nothing, codes = np.zeros((1, d, 1)), np.eye(d)[None, :, self.groups :]
        swap = Attention(nothing, nothing, codes, -2.0 * codes.transpose(0, 2, 1))
        placed = self.placing(np.array([0.0, one]), -one)
        return [swap, self.picking(False), *self.grid.folds(2), *placed, *self.digits.folds(shift)]

    def entries(self) -> int:
        d, G, m = self.width, self.groups, self.digits.places
        head, pick = 2 * d * (1 + self.coded), (d + 3) * (G + 1)
        return head + pick + 5 * self.grid.bits + 6 * (m + 2) + 5 * m + self.digits.fold_entries


class BothWords(_PairWords):
    """Half of the facts in the rows of subjects and half in those of relations; each row has those about one half.

    Tokens have a half of their own. If the halves of a pair are the same the subject's row has its fact, else the
    relation's; the other row is silent, and a head adds both.
    """

    @property
    def halves(self) -> tuple[int, int]:
        """Number of subjects, and of relations, in the first half."""
        return -(-len(self.columns.subjects) // 2), -(-len(self.columns.relations) // 2)

    @property
    def slots(self) -> int:
        return max(self.halves)

    @property
    def far(self) -> int:
        return self.digits.places // 2 + 1

    @property
    def width(self) -> int:
        return self.groups + self.coded + 1

    @property
    def where(self) -> str:
        tokens = len(self.columns.subjects) + len(self.columns.relations)
        return f"{counted(self.groups, 'word')} for each of {tokens} subjects and relations"

    def embedding(self, table: Int64Array, d_vocab: int) -> Float64Array:
        subjects, relations = table.shape
        numbers = np.arange(subjects), np.arange(relations)
        half = [np.where(n >= first, 1, 0) for n, first in zip(numbers, self.halves, strict=True)]
        index = [n - h * first for n, h, first in zip(numbers, half, self.halves, strict=True)]
        s, r = np.nonzero(table >= 0)
        same = half[0][s] == half[1][r]
        rows = [np.full((n, self.slots), -1) for n in table.shape]
        rows[0][s[same], index[1][r[same]]] = table[s[same], r[same]]
        rows[1][r[~same], index[0][s[~same]]] = table[s[~same], r[~same]]
        W_E = np.zeros((d_vocab, self.width))
        # A row has facts about the tokens of its own half if it is a subject's, of the other half if a relation's.
        for side, tokens, wanted in zip((0, 1), (self.columns.subjects, self.columns.relations), (1, -1), strict=True):
            sign = 2 * half[side] - 1
            codes = self.codes(index[side], self.far * sign)
            W_E[tokens] = np.column_stack([self.packed(rows[side]), codes, wanted * sign])
        return W_E

    def blocks(self, shift: Float64Array | None = None) -> list[Block]:
        d, one = self.width, 2.0**_FINE
        nothing, codes = np.zeros((1, d, 1)), np.eye(d)[None, :, self.groups : d - 1]
        swap = Attention(nothing, nothing, codes, -2.0 * codes.transpose(0, 2, 1), attends="all")
        placed = self.placing(np.array([0.0, one, -float(self.far)]), self.far - one)
        single = np.ones((1, 1, 1))
        both = Attention(0.0 * single, 0.0 * single, single, 2.0 * single, b_O=shift, skip=False)
        return [swap, self.picking(True), *self.grid.folds(3), *placed, *self.digits.folds(None), both]

    def entries(self) -> int:
        d, G, m = self.width, self.groups, self.digits.places
        head, pick = 2 * d * (1 + self.coded), (d + 4) * (G + 2)
        return head + pick + 7 * self.grid.bits + 7 * (m + 2) + 5 * m + self.digits.fold_entries + 4
