"""Tables whose runs are exact in 16 bits.

Page: docs/claims/one_hot_distributions.md
"""

from typing import TYPE_CHECKING

from constructions.memories.memory import Limits, Memory
from constructions.model.precision import SHORT, Precision

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task


class BitTable(Memory):
    """The memory `bit-table`."""

    name = "bit-table"
    needs = "any distinct contexts of up to 127 tokens in float16 and 58 in bfloat16; labels or distributions"
    cost = "2 to 25 a fact, the less the fuller the table; every run in either is exact"
    page = "docs/claims/one_hot_distributions.md"
    exact = SHORT
    turn = 5

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.memories.probes.bit_table import bit_table_memory

        return bit_table_memory(task, dtype=limits.dtype)

    def fewest(self, task: "Task", dtype: Precision) -> int:
        from constructions.memories.probes.bit_table import bit_table_parameters

        return bit_table_parameters(task, dtype=dtype)


MEMORY = BitTable()
