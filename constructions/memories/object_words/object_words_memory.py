"""Build the memory of object words with the fewest entries, for tables of subjects, relations and objects.

The search compares which token's row holds the words, how many words it has, and how many digits are in each.

Page: docs/claims/object_words.md
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError, HypothesisError
from constructions.memories.object_words.digits import Digits, digit_bits
from constructions.memories.object_words.readouts import OneColumn, Readout, TwoColumns
from constructions.memories.object_words.words import Columns, Words
from constructions.memories.object_words.words_of_kinds import MOST_RELATIONS, KindReadout, words_of_kinds
from constructions.memories.object_words.words_of_pairs import BothWords, LastWords
from constructions.memories.object_words.words_of_subjects import LongWords, OneDigitWords, ShortWords
from constructions.memories.object_words.words_of_three import ThreeColumns, ThreeOneDigitWords, ThreeWords
from constructions.memory_budget import require_memory
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import SIGNIFICAND, Precision, require_precision, rounded_model
from constructions.tasks.task import Task

_CLAIM = "The memory of object words"


def object_words_memory(task: Task, *, dtype: Precision = "float32") -> Construction[Task]:
    """Memorize a table of subject, relation, object: a subject's embedding row is words whose digits are its objects.

    Blocks leave of the words of the row the one that the relation asks for, shifted to the place that it asks for;
    folds $v - 2 (v - 2^k)_+$ take away what is above that digit, one neuron a bit, and a parabola names the object. Of
    the ways to do that which every run in `dtype` holds, the one of fewest entries is built; see
    `constructions.memories.object_words.words_of_subjects`; for relations with objects of their own, or that no
    subject has together, `constructions.memories.object_words.words_of_kinds`; for tokens that stand in both places
    or columns that are both long, `constructions.memories.object_words.words_of_pairs`; for three columns
    `constructions.memories.object_words.words_of_three`.

    Args:
        task: Contexts of two or three tokens and labels; any may be missing.
        dtype: The precision in which every run is exact up to the readout, in any order of summation.

    Returns:
        The model, $c (m - 1)$ folds among some other blocks.

    Raises:
        InputError: A precision that is none.
        HypothesisError: A task of distributions, or contexts of another length than 2 or 3; of three tokens one that
            stands in two columns, one last token alone, or float16; of two tokens a type of 16 bits where one
            stands in both columns.
        CapacityError: More objects than the precision tells apart, or, where a token stands in both columns, more of
            them and of first tokens.
        ResourceError: The table or the weights do not fit into memory.

    Source: words whose bits neurons read as in Vardi, Yehudai, Shamir (2021); folds as in Telgarsky (2016).

    Example:
        >>> from constructions.tasks.table import facts_task
        >>> rng = np.random.default_rng(0)
        >>> rows = [(f"s{i}", f"r{j}", f"o{rng.integers(60)}") for i in range(300) for j in range(5)]
        >>> object_words_memory(facts_task(rows)).summary
        '1,500 facts by 2 words for each of 300 subjects, of 3 objects of 6 bits, 15 blocks, 833 parameters'
    """
    require_precision(dtype)
    if task.n_ctx not in (2, 3):
        raise HypothesisError(_CLAIM, "contexts of two or three tokens", f"they have {task.n_ctx}")
    if task.target != "labels":
        raise HypothesisError(_CLAIM, "labels", f"the target is {task.target!r}")
    if task.n_ctx == 3:
        columns = ThreeColumns.of(task, subject_first=True)
        if not columns.are_disjoint:
            raise HypothesisError(_CLAIM, "tokens of one column each", "some occur in two of the three columns")
        if len(columns.places) == 1:
            raise HypothesisError(_CLAIM, "several last tokens of three", "all are the same")
        if dtype == "float16":
            raise HypothesisError(_CLAIM, "another type than float16 for three columns", "the type is float16")
    fewest = _fewest(task, dtype)
    if fewest is None:
        raise _refusal(task, dtype)
    model, words = rounded_model(fewest.model(task), dtype), fewest.words
    return Construction(
        task,
        model,
        f"{counted(task.n_contexts, 'fact')} by {words.where}, of {counted(words.digits.places, 'object')} of "
        f"{counted(words.digits.bits, 'bit')}, {len(model.blocks)} blocks, {model.parameters} parameters",
    )


def _refusal(task: Task, dtype: Precision) -> CapacityError | HypothesisError:
    """Explain why a table of labels cannot be memorized: it needs two columns, or three that share no token."""
    objects = len(np.unique(task.labels))
    if task.n_ctx == 2 and not Columns.of(task).are_disjoint:
        if SIGNIFICAND[dtype] < SIGNIFICAND["float32"]:
            needs = "float32 or float64 for tokens that stand in both columns"
            return HypothesisError(_CLAIM, needs, f"the type is {dtype}")
        first = len(np.unique(task.contexts[:, 0]))
        needs = f"first tokens and objects that runs in {dtype} tell apart where a token stands in both columns"
        return CapacityError(_CLAIM, needs, f"there are {first} and {objects}")
    return CapacityError(_CLAIM, f"objects that runs in {dtype} tell apart", f"there are {objects}")


def object_words_parameters(task: Task, *, dtype: Precision = "float32") -> int:
    """Count the parameters of the object-words memory of a task; 0 if it refuses the task.

    Example:
        >>> from constructions.tasks.table import facts_task
        >>> object_words_parameters(facts_task([(f"s{i}", f"r{j}", f"o{i * j}") for i in range(9) for j in range(4)]))
        139
    """
    if task.n_ctx not in (2, 3) or task.target != "labels":
        return 0
    fewest = _fewest(task, dtype)
    return 0 if fewest is None else fewest.entries(task)


class _Held(NamedTuple):
    """Words, and how the objects in them are read."""

    words: Words
    readout: Readout

    def fit(self, precision: int) -> bool:
        """Whether every run with so many bits says all objects."""
        words, readout = self.words, self.readout
        return words.has_room(precision) and readout.fit(precision) and words.fit(precision)

    def entries(self, task: Task) -> int:
        """Count the entries of all tensors of the model."""
        of_readout = self.readout.entries + (self.readout.columns + 1) * task.n_answers
        return (task.d_vocab + task.n_ctx) * self.words.width + self.words.entries() + of_readout

    def model(self, task: Task) -> Model:
        """Return it."""
        words, entries = self.words, self.entries(task)
        require_memory(24 * entries, purpose=f"object words of {entries} parameters")  # each in float64, and rounded
        W_U, b_U = self.readout.unembedding(np.unique(task.labels), task.n_answers)
        W_E = words.embedding(words.table(task), task.d_vocab)
        blocks = (*words.blocks(self.readout.shift), *self.readout.blocks())
        return Model(blocks=blocks, W_U=W_U, b_U=b_U, W_E=W_E, W_pos=np.zeros((task.n_ctx, words.width)))


def _fewest(task: Task, dtype: Precision) -> _Held | None:
    """Return the words with the fewest entries that every run in a type reads correctly; None if there are none."""
    precision = SIGNIFICAND[dtype]
    every = sorted(_ways(task, precision), key=lambda way: way.entries(task))
    return next((way for way in every if way.fit(precision)), None)


def _ways(task: Task, precision: int) -> Iterator[_Held]:
    """Return all ways to store a table in words, whether they fit or not."""
    objects = len(np.unique(task.labels))
    words = _words_of_two(Columns.of(task)) if task.n_ctx == 2 else _words_of_three(task)
    for places, more in product(range(1, precision + 1), (0, 1)):
        digits = Digits(objects, digit_bits(objects, places) + more, places)
        readouts = [OneColumn(digits, False), OneColumn(digits, True)]
        readouts += [TwoColumns(digits, high) for high in range(1, digits.bits)] if places == 1 else []
        yield from (_Held(*way) for way in product(words(digits), readouts))
    if task.n_ctx == 2:
        yield from _ways_of_kinds(task, precision)


def _ways_of_kinds(task: Task, precision: int) -> Iterator[_Held]:
    """All ways with digits of the bits that each relation's objects need."""
    columns = Columns.of(task)
    if not columns.are_disjoint:
        return
    for way in (columns, columns.exchanged):
        if len(way.relations) <= MOST_RELATIONS:
            for words in words_of_kinds(way, way.table(task), precision):
                yield _Held(words, KindReadout(words.digits, words))


def _words_of_three(task: Task) -> Callable[[Digits], Iterator[Words]]:
    """Return all words with these digits for three columns."""
    every = [ThreeColumns.of(task, subject_first=first) for first in (True, False)]
    return lambda digits: (
        (ThreeOneDigitWords if digits.places == 1 else ThreeWords)(columns, digits)
        for columns in every
        if columns.are_disjoint
    )


def _words_of_two(columns: Columns) -> Callable[[Digits], Iterator[Words]]:
    """Return all words with these digits for two columns."""
    return lambda digits: _words(columns, digits)


def _words(columns: Columns, digits: Digits) -> Iterator[Words]:
    """Return all words with these digits."""
    yield from (LastWords(columns, digits, line) for line in (False, True))
    if not columns.are_disjoint:
        return
    yield from (BothWords(columns, digits, line) for line in (False, True))
    for way, kind in product((columns, columns.exchanged), (OneDigitWords, ShortWords, LongWords)):
        if digits.places <= len(way.relations):
            yield kind(way, digits)
