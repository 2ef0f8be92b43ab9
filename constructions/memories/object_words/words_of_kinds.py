r"""Words for relations that have objects of several kinds: the relation says the word, the digit and the kind.

As with long words, what selects a digit adds nothing to it. Beside the word goes what is added to its digit, so that
the objects of all kinds lie on one line, or a number of the kind, which a second parabola reads.

Page: docs/claims/object_words.md
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from constructions.counted import counted
from constructions.memories.object_words.digits import Digits
from constructions.memories.object_words.kinds import Kinds, Slots, on_a_line, shared_digits
from constructions.memories.object_words.readouts import Readout
from constructions.memories.object_words.words import Columns, Words
from constructions.memories.object_words.words_of_subjects import HARD
from constructions.model.blocks import Attention, Block, FeedForward
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import Task

MOST_RELATIONS = 256
"""Of more, blocks have more entries than words save."""


@dataclass(frozen=True, eq=False)
class KindWords(Words):
    r"""Words of digits of unequal length in the rows of subjects.

    A *type* is a digit and a kind. The row of a relation of the type t is -t in the column of its word and
    $-(\tau + 1)$ elsewhere, of $\tau$ types.

    Args:
        columns: Subjects and relations.
        kinds: Kinds of the objects.
        slots: Where the digits are.
        line: Whether one parabola reads all kinds; else a second one reads which kind it is.
        outputs: What names the kind in the second column, or is added to the first, `[q]`.
    """

    columns: Columns
    kinds: Kinds
    slots: Slots
    line: bool
    outputs: Float64Array

    @property
    def digits(self) -> Digits:  # type: ignore[override]
        """The longest digits, as many as the fullest word has."""
        return Digits(int(self.kinds.sizes.max()), int(self.kinds.bits.max()), self.slots.places)

    @property
    def width(self) -> int:
        return self.slots.words

    @property
    def where(self) -> str:
        return f"{counted(self.width, 'word')} for each of {counted(len(self.columns.subjects), 'subject')}"

    @cached_property
    def types(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Kind and digit of each type, in the order of what the kind adds, and the type of each relation."""
        order = np.argsort(np.argsort(self.outputs, kind="stable"))
        pairs = np.stack([order[self.kinds.of_relation], self.slots.of_relation], axis=1)
        types, own = np.unique(pairs, axis=0, return_inverse=True)
        return np.argsort(order)[types[:, 0]], types[:, 1], own.reshape(-1)

    def has_room(self, precision: int) -> bool:
        return self.slots.top <= precision

    def fit(self, precision: int) -> bool:
        r"""Whether every run leaves the digit and the number of the kind exactly: Theorem OW5."""
        units = 2.0**precision
        top, C = self.slots.top, int(self.kinds.bits.max())
        added = self._steps[:, -1:] * np.maximum(
            np.arange(len(self._steps)) - np.arange(len(self._steps))[:, None] + 1, 0
        )
        most = max(np.maximum(added, 0.0).sum(axis=0).max(), np.maximum(-added, 0.0).sum(axis=0).max())
        if precision < 24 or self.slots.places == 1 or most > units:
            return False
        largest = 2.0 ** (C + 1) + self.outputs.max() + self.middle  # of the sum that joins both columns
        return not self.line or largest * 2.0 ** (top - C) <= units

    def table(self, task: Task) -> Int64Array:
        return self.columns.table(task)

    def embedding(self, table: Int64Array, d_vocab: int) -> Float64Array:
        slots = self.slots
        W_E = np.zeros((d_vocab, self.width))
        W_E[self.columns.subjects] = self._words(table)
        _, digit, own = self.types
        rows = np.full((len(digit), self.width), -(len(digit) + 1.0))
        rows[np.arange(len(digit)), slots.word[digit]] = -np.arange(len(digit))
        W_E[self.columns.relations] = rows[own]
        return W_E

    def _words(self, table: Int64Array) -> Float64Array:
        """Return the words of a table of objects, `[S, G]`; a digit below an odd one is reflected."""
        kinds, slots = self.kinds, self.slots
        words, above = np.zeros((len(table), self.width)), np.zeros((len(table), self.width), dtype=np.int64)
        for slot in np.lexsort((-slots.place, slots.word)):
            base, word = 2 ** int(slots.bits[slot]), slots.word[slot]
            digit = np.full(len(table), base // 2)
            for relation in np.flatnonzero(slots.of_relation == slot):
                own, kind = table[:, relation], kinds.of_relation[relation]
                digit = np.where(own >= 0, kinds.number[own] + kinds.spare[kind], digit)
            about = base - min(int(slots.place[slot]), 1)  # nothing is below the lowest digit
            above[:, word] = np.where(above[:, word] % 2 == 0, digit, about - digit)
            words[:, word] += above[:, word] * 2.0 ** int(slots.below[slot])
        return words

    @property
    def _steps(self) -> Float64Array:
        """Of neurons $(t - k + 1)_+$ the sums that say of each type what place it has not, and its output."""
        kind, digit, _ = self.types
        others = (self.slots.place[digit][:, None] != np.arange(self.slots.places)).astype(np.float64)
        values = np.hstack([others, self.outputs[kind][:, None]])
        return np.diff(np.vstack([np.zeros((2, values.shape[1])), values]), n=2, axis=0)

    @property
    def middle(self) -> float:
        """What the last fold takes away: of the line the middle."""
        ends = [self.outputs[kind] + self.kinds.middles(kind)[[0, -1]] for kind in range(len(self.outputs))]
        return float(round((np.max(ends) + np.min(ends)) / 2.0))

    def blocks(self, shift: Float64Array | None = None) -> list[Block]:
        return [self._seen(), self._other_row(), self._pick(), *self._folds(shift)]

    def entries(self) -> int:
        G, m, slots, types = self.width, self.slots.places, len(self.slots.bits), len(self._steps)
        width = G + m + 1
        seen = (G + self._pushing + types) * (G + 1 + width)
        head = 2 * width * (1 + G) if self.columns.subject_first else 2 * width * (1 + width) + 1
        pick = (slots + 1) * (width + 2)
        return seen + head + pick + 5 * (self.slots.above - 1) + (12 if self.line else 5)

    @property
    def _pushing(self) -> int:
        """Neurons that push other columns down: none where there is one column."""
        return self.width if self.width > 1 else 0

    def _seen(self) -> FeedForward:
        """Return the block whose outputs are words, or -M where a relation has another one, flags and the output."""
        G, m, steps, pushing = self.width, self.slots.places, self._steps, self._pushing
        types, eye = len(steps), np.eye(self.width)
        least = (types + 1.0) * (G - 1)  # minus the sum of the row of the first type
        W_out = np.zeros((G + pushing + types, G + m + 1))
        W_out[:G, :G], W_out[G : G + pushing, :G] = eye, -(2.0**self.slots.top) * eye[:pushing]
        W_out[G + pushing :, G:] = steps
        return FeedForward(
            W_in=np.hstack([eye, -eye[:, :pushing], -np.ones((G, types))]),
            b_in=np.concatenate([np.zeros(G), np.full(pushing, -float(types)), 1.0 - least - np.arange(types)]),
            W_out=W_out,
            skip=False,
        )

    def _other_row(self) -> Attention:
        """Return a hard head that adds the other row: the flags are all 0 for subjects alone, m - 1 in sum."""
        G, width = self.width, self.width + self.slots.places + 1
        flags = np.zeros((1, width, 1))
        flags[0, G:-1] = 1.0
        if self.columns.subject_first:
            columns = np.eye(width, G)[None]
            return Attention(HARD * flags, -flags, columns, columns.transpose(0, 2, 1))
        columns = np.eye(width)[None]
        return Attention(0.0 * flags, flags, columns, columns, b_Q=np.array([[HARD]]))

    def _pick(self) -> FeedForward:
        r"""Return the block that leaves $2^{C - c - s} w$, with s bits below the digit, and beside it the output."""
        slots, G, M = self.slots, self.width, 2.0**self.slots.top
        each, count = np.arange(len(slots.bits)), len(slots.bits)
        scale = 2.0 ** (float(self.kinds.bits.max()) - slots.bits - slots.below)
        W_in = np.zeros((G + slots.places + 1, count + 1))
        W_in[slots.word, each], W_in[G + slots.place, each], W_in[-1, -1] = scale, -M * scale, 1.0
        W_out = np.zeros((count + 1, 2))
        W_out[:-1, 0], W_out[-1, 1] = 1.0, 1.0
        return FeedForward(W_in=W_in, W_out=W_out, skip=False)

    def _folds(self, shift: Float64Array | None) -> list[FeedForward]:
        r"""Return $v - 2 (v - 2^k)_+$ for the bits above all digits; on a line the last one joins both columns."""
        C = int(self.kinds.bits.max())
        first = np.array([[1.0], [0.0]])
        found = []
        for bit in reversed(range(C, C + self.slots.above)):
            threshold, last = -(2.0**bit), bit == C
            if last and self.line:
                W_in, b_in = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([0.0, threshold, 0.0])
                found.append(FeedForward(W_in, np.array([[1.0], [-2.0], [1.0]]), b_in, shift, skip=False))
            else:
                found.append(FeedForward(first, -2.0 * first.T, np.array([threshold]), shift if last else None))
        return found


@dataclass(frozen=True)
class KindReadout(Readout):
    """One parabola over all objects on a line, or two, of an object in its kind and of the kind.

    Args:
        words: What leads to it.
    """

    words: KindWords

    @property
    def columns(self) -> int:
        return 1 if self.words.line else 2

    @property
    def shift(self) -> Float64Array:
        words = self.words
        if words.line:
            return np.array([-words.middle])
        return -np.array([2.0 ** float(words.kinds.bits.max() - 1), np.floor(words.outputs.max() / 2.0)])

    @property
    def entries(self) -> int:
        return self.columns

    @property
    def lift(self) -> float:
        return float(np.ceil((np.abs(self.centres()) ** 2).sum(axis=1).max()))

    @property
    def shifted(self) -> float:
        return 0.0

    def fit(self, precision: int) -> bool:
        r"""Whether the lead, $\varepsilon$ at least, is above what two logits round: Theorem OW5."""
        kinds = self.words.kinds
        half = np.abs(self.centres()).max(axis=0)
        half[0] += kinds.cell.max() / 2.0  # of what is read about its centre
        squared, rounded = float((4.0 * half**2).sum()), 8.0 if self.words.line else 10.0
        bits = float(np.log2(4.0 * half.max())) + int(kinds.bits.max()) + 1.0
        return bits <= precision and kinds.lead > 2.0**-precision * rounded * squared

    def blocks(self) -> list[Block]:
        return []

    def centres(self) -> Float64Array:
        words, kinds = self.words, self.words.kinds
        x = np.empty(len(kinds.number))
        for kind in range(len(kinds.sizes)):
            own = kinds.of_object == kind
            x[own] = kinds.middles(kind)[kinds.number[own]]
        outputs = words.outputs[kinds.of_object]
        columns = [x + outputs] if words.line else [x, outputs]
        return np.stack(columns, axis=1) + self.shift

    def unembedding(self, answers: Int64Array, outputs: int) -> tuple[Float64Array, Float64Array]:
        W_U, b_U = super().unembedding(answers, outputs)
        others = np.setdiff1d(np.arange(outputs), answers)
        b_U[others] = (
            self.lift - float(self.words.kinds.cell.max()) ** 2
        )  # an object has at least the lift less a quarter
        return W_U, b_U


def words_of_kinds(columns: Columns, table: Int64Array, precision: int) -> Iterator[KindWords]:
    """All such words of a table, `[S, R]`; none where all relations have objects of one kind and no two a digit."""
    found = Kinds.of(table, len(columns.objects))
    for more in (0, 1):
        own = found._replace(bits=found.bits + more)
        for kinds in (own, own._replace(bits=np.full_like(own.bits, own.bits.max()))):
            bits = kinds.bits[kinds.of_relation]
            digit = shared_digits(table, bits)
            if len(kinds.sizes) == 1 and digit.max() + 1 == len(digit):
                continue
            longest = np.zeros(digit.max() + 1, dtype=np.int64)
            longest[digit] = bits
            numbers = kinds.cell.max() * np.arange(len(kinds.sizes))
            for room in range(int(longest.max()), precision + 1):
                slots = Slots.of(longest, digit, room)
                yield KindWords(columns, kinds, slots, True, on_a_line(kinds))
                yield KindWords(columns, kinds, slots, False, numbers)
