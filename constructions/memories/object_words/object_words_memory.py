r"""Tables subject, relation, object in the fewest entries: which words, of how many digits, in whose rows.

Page: docs/claims/object_words.md
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError, HypothesisError
from constructions.memories.object_words.digits import Digits, digit_bits
from constructions.memories.object_words.readouts import OneColumn, Readout, TwoColumns
from constructions.memories.object_words.words import Columns, Words
from constructions.memories.object_words.words_of_pairs import BothWords, LastWords
from constructions.memories.object_words.words_of_subjects import LongWords, OneDigitWords, ShortWords
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import SIGNIFICAND, Precision, require_precision, rounded_model
from constructions.tasks.task import Task

_CLAIM = "The memory of object words"


def object_words_memory(task: Task, *, dtype: Precision = "float32") -> Construction[Task]:
    r"""Hold a table subject, relation, object: a subject's row of the embedding is words whose digits are its objects.

    Blocks leave of the words of the row the one that the relation asks for, shifted to the place that it asks for;
    folds $v - 2 (v - 2^k)_+$ take away what is above that digit, one neuron a bit, and a parabola names the object. Of
    the ways to do that which every run in `dtype` holds, the one of fewest entries is built; see
    `constructions.memories.object_words.words_of_subjects` and, for tokens that stand in both places or columns that
    are both long, `constructions.memories.object_words.words_of_pairs`.

    Args:
        task: Contexts of two tokens and labels; any pairs may be missing.
        dtype: The precision in which every run is exact up to the readout, in any order of summation.

    Returns:
        The model, $c (m - 1)$ folds among some other blocks.

    Raises:
        InputError: A precision that is none.
        HypothesisError: A task of laws, or contexts of another length than 2.
        CapacityError: More objects than the precision tells apart.
        ResourceError: The table does not fit into memory.

    Source: words whose bits neurons read as in Vardi, Yehudai, Shamir (2021); folds as in Telgarsky (2016).

    Example:
        >>> from constructions.tasks.table import facts_task
        >>> rng = np.random.default_rng(0)
        >>> rows = [(f"s{i}", f"r{j}", f"o{rng.integers(60)}") for i in range(300) for j in range(5)]
        >>> object_words_memory(facts_task(rows)).summary
        '1500 facts by 2 words for each of 300 subjects, of 3 objects of 6 bits, 15 blocks, 833 parameters'
    """
    require_precision(dtype)
    if task.n_ctx != 2:
        raise HypothesisError(_CLAIM, "contexts of two tokens", f"they have {task.n_ctx}")
    if task.target != "labels":
        raise HypothesisError(_CLAIM, "labels", f"the target is {task.target!r}")
    columns = Columns.of(task)
    fewest = _fewest(task, columns, SIGNIFICAND[dtype])
    if fewest is None:
        raise CapacityError(_CLAIM, f"objects that runs in {dtype} tell apart", f"there are {len(columns.objects)}")
    model, words = rounded_model(fewest.model(task), dtype), fewest.words
    return Construction(
        task,
        model,
        f"{counted(task.n_contexts, 'fact')} by {words.where}, of {counted(words.digits.places, 'object')} of "
        f"{counted(words.digits.bits, 'bit')}, {len(model.blocks)} blocks, {model.parameters} parameters",
    )


def object_words_parameters(task: Task, *, dtype: Precision = "float32") -> int:
    """Entries of the memory of object words of a task; 0 where it refuses.

    Example:
        >>> from constructions.tasks.table import facts_task
        >>> object_words_parameters(facts_task([(f"s{i}", f"r{j}", f"o{i * j}") for i in range(9) for j in range(4)]))
        139
    """
    if task.n_ctx != 2 or task.target != "labels":
        return 0
    fewest = _fewest(task, Columns.of(task), SIGNIFICAND[dtype])
    return 0 if fewest is None else fewest.entries(task)


class _Held(NamedTuple):
    """Words, and how the objects in them are read."""

    words: Words
    readout: Readout

    def fit(self, precision: int) -> bool:
        """Whether every run with so many bits says all objects."""
        digits, readout, words = self.words.digits, self.readout, self.words
        return digits.fit(precision) and readout.fit(precision) and words.fit(precision)

    def entries(self, task: Task) -> int:
        """Entries of all tensors of the model."""
        of_readout = self.readout.entries + (self.readout.columns + 1) * task.n_answers
        return (task.d_vocab + 2) * self.words.width + self.words.entries() + of_readout

    def model(self, task: Task) -> Model:
        """Return it."""
        words = self.words
        W_U, b_U = self.readout.unembedding(words.columns.objects, task.n_answers)
        W_E = words.embedding(words.columns.table(task), task.d_vocab)
        blocks = (*words.blocks(self.readout.shift), *self.readout.blocks())
        return Model(blocks=blocks, W_U=W_U, b_U=b_U, W_E=W_E, W_pos=np.zeros((2, words.width)))


def _fewest(task: Task, columns: Columns, precision: int) -> _Held | None:
    """Return the words of fewest entries that every run with so many bits reads; none where there are none."""
    every = sorted(_ways(columns, precision), key=lambda way: way.entries(task))
    return next((way for way in every if way.fit(precision)), None)


def _ways(columns: Columns, precision: int) -> Iterator[_Held]:
    """All ways to keep a table in words, whether they fit or not."""
    objects = len(columns.objects)
    for places, more in product(range(1, precision + 1), (0, 1)):
        digits = Digits(objects, digit_bits(objects, places) + more, places)
        readouts = [OneColumn(digits, False), OneColumn(digits, True)]
        readouts += [TwoColumns(digits, high) for high in range(1, digits.bits)] if places == 1 else []
        yield from (_Held(*way) for way in product(_words(columns, digits), readouts))


def _words(columns: Columns, digits: Digits) -> Iterator[Words]:
    """All words of such digits."""
    yield from (LastWords(columns, digits, line) for line in (False, True))
    if not columns.are_disjoint:
        return
    yield from (BothWords(columns, digits, line) for line in (False, True))
    for way, kind in product((columns, columns.exchanged), (OneDigitWords, ShortWords, LongWords)):
        if digits.places <= len(way.relations):
            yield kind(way, digits)
