"""Offer heads for each last token, built in nearly linear time.

Page: docs/claims/last_token_heads.md
"""

from typing import TYPE_CHECKING

from constructions.memories.memory import Limits, Memory
from constructions.model.precision import Precision

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task


class LastTokenHeads(Memory):
    """The memory `last-token-heads`."""

    name = "last-token-heads"
    needs = "any distinct contexts of two tokens or more; labels or distributions"
    cost = "2 d + 2 d / d_h a fact and a quarter more, d = N + S; found in nearly linear time"
    page = "docs/claims/last_token_heads.md"
    attention_only = True
    turn = 13

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.heads_of_theorem_1.last_token_heads import last_token_heads_memory

        return last_token_heads_memory(task, dtype=limits.dtype, seed=limits.seed, progress=limits.progress)

    def fewest(self, task: "Task", dtype: Precision) -> int:
        from constructions.heads_of_theorem_1.last_token_heads import fewest_parameters_by_last_tokens

        return fewest_parameters_by_last_tokens(task)


MEMORY = LastTokenHeads()
