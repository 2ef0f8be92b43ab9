"""Distributions whose logits are nearly of low rank, found by a search.

Page: docs/claims/one_hot_distributions.md
"""

from typing import TYPE_CHECKING

from constructions.memories.memory import Limits, Memory

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task

_UNNAMED, _NAMED = 8e9, 3e11
"""Work of the search, nanoseconds as `constructions.memories.low_rank_distributions` counts them."""


class LowRankDistributions(Memory):
    """The memory `low-rank-distributions`."""

    name = "low-rank-distributions"
    needs = "any distinct contexts of up to 2000 tokens; distributions, which may be off by a tolerance"
    cost = "S + 2 and the rank a distribution, and N entries for each rank, found by a search of seconds"
    page = "docs/claims/one_hot_distributions.md"
    turn = 7

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.memories.low_rank_distributions import low_rank_distributions_memory

        work = _NAMED if limits.named else _UNNAMED
        return low_rank_distributions_memory(
            task, dtype=limits.dtype, tolerance=limits.tolerance, work=work, progress=limits.progress
        )


MEMORY = LowRankDistributions()
