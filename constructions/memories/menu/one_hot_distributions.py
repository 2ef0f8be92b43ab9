"""One neuron for each distribution, which every run meets exactly.

Page: docs/claims/one_hot_distributions.md
"""

from typing import TYPE_CHECKING

from constructions.memories.memory import Limits, Memory
from constructions.model.precision import Precision

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task


class OneHotDistributions(Memory):
    """The memory `one-hot-distributions`."""

    name = "one-hot-distributions"
    needs = "any distinct contexts of up to 2000 tokens; distributions"
    cost = "N + S + 1 a distribution; every run in float32 has the stored logits"
    page = "docs/claims/one_hot_distributions.md"
    exact = ("float32", "float64")
    turn = 6

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.memories.one_hot_distributions import one_hot_distributions_memory

        return one_hot_distributions_memory(task, dtype=limits.dtype)

    def fewest(self, task: "Task", dtype: Precision) -> int:
        from constructions.memories.one_hot_distributions import one_hot_distributions_parameters

        return one_hot_distributions_parameters(task, dtype=dtype)


MEMORY = OneHotDistributions()
