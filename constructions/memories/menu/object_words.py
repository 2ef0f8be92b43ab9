"""Tables subject, relation, object: the objects of a subject are digits of the numbers in its row.

Page: docs/claims/object_words.md
"""

from typing import TYPE_CHECKING, get_args

from constructions.memories.memory import Limits, Memory
from constructions.model.precision import Precision

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task


class ObjectWords(Memory):
    """The memory `object-words`."""

    name = "object-words"
    needs = "a subject and a relation, or bigrams, or three tokens of columns of their own; any may be missing"
    cost = "0.1 to 1 a fact or hole, beyond 2 or 3 K and some 100; every run is exact up to the readout; tens of layers"
    page = "docs/claims/object_words.md"
    exact = get_args(Precision)
    turn = 3

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.memories.object_words.object_words_memory import object_words_memory

        return object_words_memory(task, dtype=limits.dtype)

    def fewest(self, task: "Task", dtype: Precision) -> int:
        from constructions.memories.object_words.object_words_memory import object_words_parameters

        return object_words_parameters(task, dtype=dtype)


MEMORY = ObjectWords()
