r"""Blocks between the embedding and the folds, whose output is $B^{-i} w$ for a word w of the subject's row.

A row has G words. The relation says which word (its group) and which digit of it (its place i); the other words
are pushed below 0, where a neuron is silent. The context ends with the relation, or with the subject.

Page: docs/claims/object_words.md
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from constructions.counted import counted
from constructions.memories.object_words.digits import Digits
from constructions.memories.object_words.words import Columns, Words
from constructions.model.blocks import Attention, Block, FeedForward
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import Task

HARD = 1024.0
"""A score that is so much lower has weight 0 in every run: $e^{-1024}$ is below the least float64."""


class Places(NamedTuple):
    """The place of each relation's object in a row of words.

    Args:
        group: Which word, `[R]`.
        place: Which digit of it, `[R]`.
        groups: G.
        places: m.
    """

    group: Int64Array
    place: Int64Array
    groups: int
    places: int

    @classmethod
    def of(cls, relations: int, places: int) -> "Places":
        """Return the fewest words that hold a number of digits, and with them the fewest digits per word."""
        groups = -(-relations // places)
        places = -(-relations // groups)
        return cls(np.arange(relations) // places, np.arange(relations) % places, groups, places)


@dataclass(frozen=True, eq=False)
class SubjectWords(Words, ABC):
    """Words in the rows of subjects.

    Args:
        columns: Subjects and relations.
        digits: The digits of a word.
    """

    columns: Columns
    digits: Digits

    @property
    def relations(self) -> int:
        """R."""
        return len(self.columns.relations)

    @property
    def places(self) -> Places:
        """Place of each object."""
        return Places.of(self.relations, self.digits.places)

    @property
    def width(self) -> int:
        return self.places.groups

    @property
    def where(self) -> str:
        return f"{counted(self.places.groups, 'word')} for each of {counted(len(self.columns.subjects), 'subject')}"

    def table(self, task: Task) -> Int64Array:
        return self.columns.table(task)

    def embedding(self, table: Int64Array, d_vocab: int) -> Float64Array:
        places = self.places
        slots = np.full((len(table), places.groups, places.places), -1)
        slots[:, places.group, places.place] = table
        W_E = np.zeros((d_vocab, places.groups))
        for g in range(places.groups):
            W_E[self.columns.subjects, g] = self.digits.words(slots[:, g])
        W_E[self.columns.relations] = self.relation_rows()
        return W_E

    def blocks(self, shift: Float64Array | None = None) -> list[Block]:
        if self.digits.places == 1:
            return self.selecting(shift)
        return [*self.selecting(), *self.digits.folds(shift)]

    def entries(self) -> int:
        return self.selecting_entries() + self.digits.fold_entries

    @abstractmethod
    def relation_rows(self) -> Float64Array:
        """Return the embeddings of relations, `[R, G]`."""

    @abstractmethod
    def selecting(self, shift: Float64Array | None = None) -> list[Block]:
        """Return the blocks before the folds, which leave $B^{-i} w$ in one column; the last adds a shift, or None."""

    @abstractmethod
    def selecting_entries(self) -> int:
        """Count the entries of these blocks."""


class OneDigitWords(SubjectWords):
    """Words of one digit: the relation lowers all columns except its own by M, which is above every word."""

    def relation_rows(self) -> Float64Array:
        return _shared(self.digits.top * (np.eye(self.relations) - 1.0), self.columns.subject_first)

    def selecting(self, shift: Float64Array | None = None) -> list[Block]:
        eye = np.eye(self.relations)
        ones = np.ones((self.relations, 1))
        pick = FeedForward(W_in=eye, W_out=ones, b_out=shift, skip=False)
        return [_sum_of_rows(self.relations, self.relations, self.columns.subject_first), pick]

    def selecting_entries(self) -> int:
        return 3 * self.relations**2 + 3 * self.relations

    def fit(self, precision: int) -> bool:
        return self.digits.places == 1 and 2.0 * self.digits.top <= 2.0**precision


class ShortWords(SubjectWords):
    r"""Words that leave room for their selection: with the code $\rho$ of a place, $w - M (\rho - \rho_r)^2$.

    The relation pushes its own column down by $M \rho^2$, all others further. Embeddings of subjects are positive,
    those of relations at most 0: neurons tell them apart, and make of the sum of a relation's row a column that says
    $\rho + \sigma$. It takes no column of the embedding.
    """

    def relation_rows(self) -> Float64Array:
        return _shared(self.digits.top * _Selection.of(self.places).pushed, self.columns.subject_first)

    def selecting(self, shift: Float64Array | None = None) -> list[Block]:
        places, M = self.places, self.digits.top
        G, selection, relation = places.groups, _Selection.of(places), np.arange(self.relations)
        eye = np.eye(G)
        share = np.full((G, 1), (1.0 if self.columns.subject_first else 0.5) / M)
        split = FeedForward(
            W_in=np.hstack([eye, -eye]),
            W_out=np.vstack([np.hstack([eye, 0.0 * share]), np.hstack([-eye, share])]),
            skip=False,
        )
        scale = 2.0 ** (-self.digits.bits * places.place)
        W_in = np.zeros((G + 1, self.relations))
        W_in[places.group, relation] = scale
        W_in[G] = M * scale * selection.slope
        ones = np.ones((self.relations, 1))
        pick = FeedForward(W_in=W_in, b_in=M * scale * selection.shift, W_out=ones, b_out=shift, skip=False)
        return [split, _sum_of_rows(G + 1, G, self.columns.subject_first), pick]

    def selecting_entries(self) -> int:
        G = self.places.groups
        head = 2 * (G + 1) * (G + 1 if self.columns.subject_first else G + 2)
        return 2 * G * (2 * G + 1) + head + self.relations * (G + 3)

    def fit(self, precision: int) -> bool:
        places = self.places
        if places.places != self.digits.places or places.places == 1 or places.groups == 1:
            return False
        return _Selection.of(places).fit(self.digits, precision, self.columns.subject_first)


class LongWords(SubjectWords):
    """Words that use all bits of a number: the selection term is 0 for the selected word and adds nothing.

    A relation's row is minus its place in the column of its word, and $-(m + 1)$ in all others, which neurons see: they
    push these columns down by M and make a column for each place that says whether the relation has another one. A
    hard head reads the other row.
    """

    def relation_rows(self) -> Float64Array:
        places = self.places
        rows = np.full((self.relations, places.groups), -(places.places + 1.0))
        rows[np.arange(self.relations), places.group] = -places.place
        return rows

    def selecting(self, shift: Float64Array | None = None) -> list[Block]:
        places, M, relation = self.places, self.digits.top, np.arange(self.relations)
        G, m, eye = places.groups, places.places, np.eye(places.groups)
        pushing = self._pushing
        sums = np.arange(m) + (m + 1.0) * (G - 1)  # minus the sum of a relation's row, by its place
        W_out = np.zeros((G + pushing + m, G + m))
        W_out[:G, :G], W_out[G : G + pushing, :G], W_out[G + pushing :, G:] = eye, -M * eye[:pushing], _others(m)
        seen = FeedForward(
            W_in=np.hstack([eye, -eye[:, :pushing], -np.ones((G, m))]),
            b_in=np.concatenate([np.zeros(G), np.full(pushing, -float(m)), 1.0 - sums]),
            W_out=W_out,
            skip=False,
        )
        scale = 2.0 ** (-self.digits.bits * places.place)
        W_in = np.zeros((G + m, self.relations))
        W_in[places.group, relation], W_in[G + places.place, relation] = scale, -M * scale
        pick = FeedForward(W_in=W_in, W_out=np.ones((self.relations, 1)), b_out=shift, skip=False)
        return [seen, self._other_row(), pick]

    def selecting_entries(self) -> int:
        G, m = self.places.groups, self.places.places
        width, neurons = G + m, G + self._pushing + m
        head = 2 * width * (1 + G) if self.columns.subject_first else 2 * width * (1 + width) + 1
        return neurons * (G + 1 + width) + head + self.relations * (width + 1)

    def fit(self, precision: int) -> bool:
        # Scores of -1024 (m - 1)^2 are more than float16 has.
        return self.places.places == self.digits.places > 1 and self.digits.top <= 2.0**precision and precision >= 24

    @property
    def _pushing(self) -> int:
        """Neurons that lower the other columns; None if there is one column."""
        return self.places.groups if self.places.groups > 1 else 0

    def _other_row(self) -> Attention:
        """Return a hard head that adds the other row: the columns of places are 0 for subjects, and add up to m - 1."""
        words, width = self.places.groups, self.places.groups + self.places.places
        is_relation = np.zeros((1, width, 1))
        is_relation[0, words:] = 1.0
        if self.columns.subject_first:
            columns = np.eye(width, words)[None]
            return Attention(HARD * is_relation, -is_relation, columns, columns.transpose(0, 2, 1))
        columns = np.eye(width)[None]
        return Attention(0.0 * is_relation, is_relation, columns, columns, b_Q=np.array([[HARD]]))


class _Selection(NamedTuple):
    r"""The selection of a short word by its relation, in units of M.

    Args:
        pushed: What it adds to each column in the end, at most 0, `[R, G]`.
        code: $\rho + \sigma$, half of minus the sum of that, `[R]`.
        slope: What its neuron multiplies that with, $2 \rho_r$, `[R]`.
        shift: And adds, $-\rho_r^2 - 2 \rho_r \sigma$, `[R]`.
        own: Which word it reads, `[R]`.
    """

    pushed: Float64Array
    code: Float64Array
    slope: Float64Array
    shift: Float64Array
    own: Int64Array

    @classmethod
    def of(cls, places: Places) -> "_Selection":
        """Return the numbers; for two groups at least, for the sum of a row is that of its other columns."""
        relation, group, G = np.arange(len(places.group)), places.group, places.groups
        rho = (places.place - (places.places - 1) // 2).astype(np.float64)
        widest = np.abs(rho).max()
        least = 1.0 + widest**2  # 2 rho rho_r - rho_r^2 is at most rho^2, so that others stay below w - M
        sigma = least * (G - 1) / 2.0 + widest + widest**2 / 2.0
        pushed = np.full((len(relation), G), -least)
        pushed[relation, group] = -(rho**2)
        pushed[relation, (group + 1) % G] -= 2.0 * (rho + sigma) + pushed.sum(axis=1)
        return cls(pushed, rho + sigma, 2.0 * rho, -(rho**2) - 2.0 * rho * sigma, group)

    def fit(self, digits: Digits, precision: int, subject_first: bool) -> bool:
        r"""Tell whether every run reads the word: Theorem OW2.

        Half of what the head adds is a multiple of 1 / 2 below $2^p$ of these. In the neuron of its own no sum of terms
        of one sign exceeds $2^p$ units, so that none is rounded; the others are below 0 by more than $4 \cdot 2^{-p}$
        of all their terms, more than three roundings of a sum.
        """
        M, units = digits.top, 2.0**precision
        if M * -self.pushed.min() * (1.0 if subject_first else 2.0) > units:
            return False
        most = 0.0
        for neuron, relation_terms in enumerate(self.own):
            for word in (0.0, 1.0):
                row = word + self.pushed[:, relation_terms]
                terms = np.stack([row, self.slope[neuron] * self.code, np.full(len(row), self.shift[neuron])])
                above, below = np.maximum(terms, 0.0).sum(axis=0), np.maximum(-terms, 0.0).sum(axis=0)
                if M * max(above[neuron], below[neuron]) > units:
                    return False
                most = max(most, float((above + below).max()))
        return digits.spare / digits.base > 4.0 * most / units


def _others(places: int) -> Float64Array:
    """Return the sums of neurons $(i - k + 1)_+$ that are 1 for all places i except one: second differences, `[m,
    m]`.
    """
    values = np.vstack([np.zeros((2, places)), 1.0 - np.eye(places)])
    return np.diff(values, n=2, axis=0)


def _shared(pushed: Float64Array, subject_first: bool) -> Float64Array:
    """Return the rows of relations, whose offsets are halved where `_sum_of_rows` counts them twice."""
    return pushed / 2.0 if subject_first else pushed


def _sum_of_rows(width: int, words: int, subject_first: bool) -> Attention:
    """Return a head with zero scores that adds the words of the subject and the offsets of the relation.

    Behind the subject, the relation's row x has the words added, and is counted twice: $x + 2 (w + x) / 2$. Before it,
    it comes whole to the words, $2 (w + x) / 2$.
    """
    nothing, columns = np.zeros((1, width, 1)), np.eye(width, words if subject_first else width)[None]
    return Attention(nothing, nothing, columns, 2.0 * columns.transpose(0, 2, 1), skip=subject_first)
