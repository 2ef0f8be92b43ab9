"""Common parts of tables stored in words: an embedding, and blocks that leave a digit and a fraction.

Page: docs/claims/object_words.md
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from constructions.memories.object_words.digits import Digits
from constructions.memory_budget import require_memory
from constructions.model.blocks import Block
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import Task


class Columns(NamedTuple):
    """The columns of a table: subjects and relations, which are read, and objects.

    Args:
        subjects: Their tokens, `[S]`.
        relations: Their tokens, `[R]`.
        objects: The outputs that are wanted, `[K]`.
        subject_first: Whether a context ends with the relation.
    """

    subjects: Int64Array
    relations: Int64Array
    objects: Int64Array
    subject_first: bool = True

    @classmethod
    def of(cls, task: Task) -> "Columns":
        """Return the first tokens as subjects, and the last ones as relations."""
        subjects, relations = (np.unique(column) for column in task.contexts.T)
        return cls(subjects, relations, np.unique(task.labels))

    @property
    def exchanged(self) -> "Columns":
        """The last tokens as subjects, or again the first."""
        return self._replace(subjects=self.relations, relations=self.subjects, subject_first=not self.subject_first)

    @property
    def are_disjoint(self) -> bool:
        """Whether no token occurs in both columns."""
        return not len(np.intersect1d(self.subjects, self.relations, assume_unique=True))

    def table(self, task: Task) -> Int64Array:
        """Return the object for each subject and relation, -1 where there is none, `[S, R]`."""
        shape = len(self.subjects), len(self.relations)
        require_memory(32 * shape[0] * shape[1], purpose=f"a table of {shape[0]} subjects and {shape[1]} relations")
        subjects, relations = task.contexts.T if self.subject_first else task.contexts.T[::-1]
        table = np.full(shape, -1)
        rows, columns = np.searchsorted(self.subjects, subjects), np.searchsorted(self.relations, relations)
        table[rows, columns] = np.searchsorted(self.objects, task.labels)
        return table


class Words(ABC):
    """A way to keep a table in words.

    Args:
        digits: The digits of a word.
        width: d_model.
        where: Which rows have how many words, in words.
    """

    digits: Digits

    @property
    @abstractmethod
    def width(self) -> int: ...

    @property
    @abstractmethod
    def where(self) -> str: ...

    def has_room(self, precision: int) -> bool:
        """Whether numbers of so many bits have room for the digits of a word."""
        return self.digits.fit(precision)

    @abstractmethod
    def fit(self, precision: int) -> bool:
        """Tell whether every run with this many bits leaves the digit and its fraction exactly."""

    @abstractmethod
    def entries(self) -> int:
        """Count the entries of the blocks."""

    @abstractmethod
    def table(self, task: Task) -> Int64Array:
        """Return the object for each input, -1 where there is none, `[S, R]` or with more axes."""

    @abstractmethod
    def embedding(self, table: Int64Array, d_vocab: int) -> Float64Array:
        """Return W_E, `[d_vocab, width]`, for a table of objects, -1 for a hole: `[S, R]`, or with more axes."""

    @abstractmethod
    def blocks(self, shift: Float64Array | None = None) -> list[Block]:
        """Return the blocks, which leave one column; the last one adds a shift, `[1]`, or None."""
