"""Offer heads of rank one, solved by one linear system.

Page: docs/claims/rank_one_heads.md
"""

from typing import TYPE_CHECKING

from constructions.memories.memory import Limits, Memory, require_few
from constructions.model.precision import Precision

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task

_MOST = 4096
"""Facts up to which it is tried without being named."""


class RankOneHeads(Memory):
    """The memory `rank-one-heads`."""

    name = "rank-one-heads"
    needs = "contexts in general position, of two tokens or more; labels"
    cost = "4 a fact and 4 (S + N + K), by one linear system"
    page = "docs/claims/rank_one_heads.md"
    attention_only = True
    turn = 10

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.memories.rank_one_heads import rank_one_heads_memory

        if not limits.named:
            require_few(task, _MOST)
        return rank_one_heads_memory(task, dtype=limits.dtype, seed=limits.seed)

    def fewest(self, task: "Task", dtype: Precision) -> int:
        from constructions.memories.rank_one_heads import fewest_parameters_of_rank_one

        return fewest_parameters_of_rank_one(task)


MEMORY = RankOneHeads()
