"""Tables of three key columns (subject, relation, place): a subject's row has the words of both others.

The last token says which digit, and both tokens that are no subject say which word: each pushes the words that are none
of its own below 0.

Page: docs/claims/object_words.md
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from constructions.counted import counted
from constructions.memories.object_words.digits import Digits
from constructions.memories.object_words.words import Words
from constructions.memories.object_words.words_of_subjects import HARD
from constructions.memory_budget import require_memory
from constructions.model.blocks import Attention, Block, FeedForward
from constructions.model.precision import SIGNIFICAND
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import Task


class ThreeColumns(NamedTuple):
    """The columns of a table: subjects, and two others; the last token is in one of them.

    Args:
        subjects: Their tokens, `[S]`.
        relations: The tokens of the other one of the first two columns, `[R]`.
        places: The last tokens, `[Q]`.
        objects: The outputs that are wanted, `[K]`.
        subject_first: Whether subjects are the first tokens, or the second.
    """

    subjects: Int64Array
    relations: Int64Array
    places: Int64Array
    objects: Int64Array
    subject_first: bool

    @classmethod
    def of(cls, task: Task, *, subject_first: bool) -> "ThreeColumns":
        """Return the columns of a task."""
        first, second, last = (np.unique(column) for column in task.contexts.T)
        subjects, relations = (first, second) if subject_first else (second, first)
        return cls(subjects, relations, last, np.unique(task.labels), subject_first)

    @property
    def are_disjoint(self) -> bool:
        """Whether no token occurs in two columns."""
        tokens = np.concatenate([self.subjects, self.relations, self.places])
        return len(np.unique(tokens)) == len(tokens)

    def table(self, task: Task) -> Int64Array:
        """Return the object for each subject, relation and place, -1 where there is none, `[S, R, Q]`."""
        shape = len(self.subjects), len(self.relations), len(self.places)
        require_memory(32 * int(np.prod(shape)), purpose=f"a table of {' x '.join(map(str, shape))} objects")
        first, second, last = task.contexts.T
        subjects, relations = (first, second) if self.subject_first else (second, first)
        table = np.full(shape, -1)
        place = (
            np.searchsorted(self.subjects, subjects),
            np.searchsorted(self.relations, relations),
            np.searchsorted(self.places, last),
        )
        table[place] = np.searchsorted(self.objects, task.labels)
        return table


@dataclass(frozen=True, eq=False)
class ThreeWords(Words):
    """Words in the rows of subjects; the U words of one relation are adjacent, with m places each.

    Args:
        columns: Subjects, relations and places.
        digits: The digits of a word.
    """

    columns: ThreeColumns
    digits: Digits

    @property
    def each(self) -> int:
        """U, the words of a relation."""
        return -(-len(self.columns.places) // self.digits.places)

    @property
    def width(self) -> int:
        return len(self.columns.relations) * self.each

    @property
    def where(self) -> str:
        return f"{counted(self.width, 'word')} for each of {counted(len(self.columns.subjects), 'subject')}"

    def fit(self, precision: int) -> bool:
        # The words are halved by a head; scores of -1024 (m - 1)^2 are more than float16 has.
        m = self.digits.places
        used = -(-len(self.columns.places) // self.each)
        return used == m > 1 and 2.0 * self.digits.top <= 2.0**precision and precision >= 24

    def table(self, task: Task) -> Int64Array:
        return self.columns.table(task)

    def embedding(self, table: Int64Array, d_vocab: int) -> Float64Array:
        columns, m, U = self.columns, self.digits.places, self.each
        subjects, relations, places = table.shape
        slots = np.full((subjects, relations, U * m), -1)
        slots[:, :, :places] = table
        W_E = np.zeros((d_vocab, self.width))
        for g, group_slots in enumerate(np.split(slots.reshape(subjects, -1), self.width, axis=1)):
            W_E[columns.subjects, g] = self.digits.words(group_slots)
        group, pushed = np.arange(self.width), -(m + 2.0)
        W_E[columns.relations] = np.where(group // U == np.arange(relations)[:, None], 0.0, pushed)
        word, place = np.divmod(np.arange(places), m)
        W_E[columns.places] = np.where(group % U == word[:, None], -1.0 - place[:, None], pushed)
        return W_E

    def blocks(self, shift: Float64Array | None = None) -> list[Block]:
        G, m, M = self.width, self.digits.places, self.digits.top
        return [
            self._seen(),
            self._other_rows(),
            FeedForward(
                np.eye(G + m), np.vstack([np.eye(1, m + 1).repeat(G, axis=0), np.eye(m, m + 1, 1)]), skip=False
            ),
            self._placed(M),
            *self.digits.folds(shift),
        ]

    def entries(self) -> int:
        G, m = self.width, self.digits.places
        neurons, width = 2 * G + m + 2, G + m
        seen, head = neurons * (G + 1 + width), 2 * width * (1 + G)
        return seen + head + width * (width + m + 1) + m * (m + 2) + self.digits.fold_entries

    def _other_rows(self) -> Attention:
        """Return a hard head of the last row, whose flags have a sum above 0: it adds what both others say."""
        G, m = self.width, self.digits.places
        flags = np.eye(G + m)[:, G:].sum(axis=1)[None, :, None]
        return Attention(HARD * flags, -flags, np.eye(G + m, G)[None], 2.0 * np.eye(G, G + m)[None])

    def _seen(self) -> FeedForward:
        r"""Return the block whose outputs are the G words, then one flag for each of the m places.

        The row of a relation or a last token has -M for every word that it does not select. Flag i of a last token is
        0 if the token has the place i, otherwise 1; all flags of other tokens are 0.

        The neurons of the flags read t, minus the sum of the first U entries of a row. It is
        $(m + 2)(U - 1) + i + 1$ for a last token of place i, so that second differences at knots one apart give the
        flags. It is at most 0 for subjects and for the first relation, and larger for the other relations.
        """
        G, m, U = self.width, self.digits.places, self.each
        eye, first = np.eye(G), 1.0 + (m + 2.0) * (U - 1)
        values = np.vstack([np.zeros((2, m)), 1.0 - np.eye(m), np.zeros((2, m))])
        knots = first - 1.0 + np.arange(m + 2.0)
        W_out = np.zeros((2 * G + m + 2, G + m))
        W_out[:G, :G], W_out[G : 2 * G, :G] = eye, -self.digits.top * eye
        W_out[2 * G :, G:] = np.diff(values, n=2, axis=0)
        return FeedForward(
            W_in=np.hstack([eye, -eye, -np.eye(G, U).sum(axis=1, keepdims=True).repeat(m + 2, axis=1)]),
            b_in=np.concatenate([np.zeros(G), np.full(G, -(m + 1.0)), -knots]),
            W_out=W_out,
            skip=False,
        )

    def _placed(self, top: float) -> FeedForward:
        """Return $B^{-i} w$ of the word; only place i leaves its columns at 0."""
        m = self.digits.places
        scale = 2.0 ** (-self.digits.bits * np.arange(m))
        return FeedForward(W_in=np.vstack([scale, -top * np.diag(scale)]), W_out=np.ones((m, 1)), skip=False)


class ThreeOneDigitWords(ThreeWords):
    r"""Words of one digit: a relation pushes the words of all others below 0, a last token those of other places.

    The row of the place i is -1 - i in the first column and 0 elsewhere, that of a relation 0 in its own columns and
    -(Q + 2) elsewhere.
    """

    def fit(self, precision: int) -> bool:
        M, places, units = self.digits.top, len(self.columns.places), 2.0**precision
        if self.digits.places > 1 or places == 1:
            return False
        # In float16 a weight of e^-128 may be the least number, 2^-24: what it adds to a word is not proved to vanish.
        if precision == SIGNIFICAND["float16"]:
            return False
        return max(2.0 * M, places + 2.0) <= units

    def embedding(self, table: Int64Array, d_vocab: int) -> Float64Array:
        columns, (subjects, relations, places) = self.columns, table.shape
        W_E = np.zeros((d_vocab, self.width))
        objects = table.reshape(subjects * self.width, 1)
        W_E[columns.subjects] = self.digits.words(objects).reshape(subjects, self.width)
        others = np.arange(self.width) // places != np.arange(relations)[:, None]
        W_E[columns.relations] = -(places + 2.0) * others
        W_E[columns.places, 0] = -1.0 - np.arange(places)
        return W_E

    def blocks(self, shift: Float64Array | None = None) -> list[Block]:
        G, Q, M = self.width, len(self.columns.places), self.digits.top
        flags = np.zeros((1, G + Q, 1))
        flags[0, G : G + 2] = 1.0  # of each last token one of the first two, or both
        words = np.eye(G + Q, G)
        of_places = np.vstack([np.eye(G), -M * np.tile(np.eye(Q), len(self.columns.relations))])
        return [
            self._seen(),
            Attention(HARD * flags, -flags, words[None], 2.0 * words.T[None]),
            FeedForward(W_in=of_places, W_out=np.ones((G, 1)), b_out=shift, skip=False),
        ]

    def entries(self) -> int:
        G, Q = self.width, len(self.columns.places)
        return (2 * G + Q + 2) * (2 * G + Q + 1) + 2 * (G + Q) * (1 + G) + (G + Q + 1) * G

    def _seen(self) -> FeedForward:
        """Return the block whose outputs are the words, or -M where a relation has another one, and flags [i != k]."""
        G, Q = self.width, len(self.columns.places)
        eye, first = np.eye(G), np.eye(G, 1).repeat(Q + 2, axis=1)
        values = np.vstack([np.zeros((2, Q)), 1.0 - np.eye(Q), np.zeros((2, Q))])
        W_out = np.zeros((2 * G + Q + 2, G + Q))
        W_out[:G, :G], W_out[G : 2 * G, :G] = eye, -self.digits.top * eye
        W_out[2 * G :, G:] = np.diff(values, n=2, axis=0)
        b_in = np.concatenate([np.zeros(G), np.full(G, -(Q + 1.0)), -np.arange(Q + 2.0)])
        return FeedForward(np.hstack([eye, -eye, -first]), W_out, b_in, skip=False)
