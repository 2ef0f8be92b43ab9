"""Offer one neuron per fact on one coordinate: any distinct contexts.

Page: docs/claims/knots.md
"""

from typing import TYPE_CHECKING

from constructions.memories.memory import Limits, Memory

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task


class Knots(Memory):
    """The memory `knots`."""

    name = "knots"
    needs = "any distinct contexts, labels or distributions"
    cost = "3 a fact for labels; N + 1 a distribution"
    page = "docs/claims/knots.md"
    turn = 8

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.memories.knots import knots_memory

        return knots_memory(task, dtype=limits.dtype, seed=limits.seed)


MEMORY = Knots()
