"""Offer one head that memorizes all bigrams by a formula.

Page: docs/claims/corollary_1.md
"""

from typing import TYPE_CHECKING

from constructions.counted import counted
from constructions.memories.memory import Limits, Memory
from constructions.model.precision import Precision

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task


class OneHead(Memory):
    """The memory `one-head`."""

    name = "one-head"
    needs = "bigrams with labels"
    cost = "3 N^2 + (4 + K) N whatever the facts: 4 a fact for all bigrams, by a formula"
    page = "docs/claims/corollary_1.md"
    attention_only = True
    turn = 9

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.memories.bigrams.one_head import one_head_memory
        from constructions.model.construction import Construction
        from constructions.model.precision import rounded_model

        model = rounded_model(one_head_memory(task), limits.dtype)
        facts, sizes = counted(task.n_contexts, "bigram"), f"d = {model.d_model}, {model.parameters} parameters"
        return Construction(task, model, f"{facts} by one head, {sizes}")

    def fewest(self, task: "Task", dtype: Precision) -> int:
        from constructions.memories.bigrams.one_head import one_head_parameters

        return one_head_parameters(task)


MEMORY = OneHead()
