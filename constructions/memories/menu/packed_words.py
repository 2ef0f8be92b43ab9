"""Labels as bits of words that all tokens carry.

Page: docs/claims/bits.md
"""

from typing import TYPE_CHECKING, get_args

from constructions.memories.memory import Limits, Memory
from constructions.model.precision import Precision

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task


class PackedWords(Memory):
    """The memory `packed-words`."""

    name = "packed-words"
    needs = "bigrams with labels"
    cost = "0.7 a fact for all of 50 tokens in float64, 1 in float32, every run exact up to the readout; tens of layers"
    page = "docs/claims/bits.md"
    exact = get_args(Precision)
    turn = 2

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.memories.bigrams.packed_words import packed_words_memory

        return packed_words_memory(task, dtype=limits.dtype)

    def fewest(self, task: "Task", dtype: Precision) -> int:
        from constructions.memories.bigrams.packed_words import packed_words_parameters

        return packed_words_parameters(task, dtype=dtype)


MEMORY = PackedWords()
