"""Words of bits that numbers of contexts look up.

Page: docs/claims/probes.md
"""

from typing import TYPE_CHECKING

from constructions.memories.memory import Limits, Memory
from constructions.model.precision import Precision

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task


class Probes(Memory):
    """The memory `probes`."""

    name = "probes"
    needs = "any distinct contexts of up to 1182 tokens; labels"
    cost = "0.4 to 1.8 a fact, less the more there are, beyond 4 N + 2 K and some 800; every run in float32 is exact"
    page = "docs/claims/probes.md"
    exact = ("float32", "float64")
    turn = 4

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.memories.probes.probe_memory import probe_memory

        return probe_memory(task, dtype=limits.dtype, seed=limits.seed)

    def fewest(self, task: "Task", dtype: Precision) -> int:
        from constructions.memories.probes.probe_memory import probe_parameters

        return probe_parameters(task, dtype)


MEMORY = Probes()
