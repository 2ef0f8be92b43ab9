"""Offer rules that add one number per token: the smallest memory where such a rule exists.

Page: docs/claims/affine.md
"""

from typing import TYPE_CHECKING, get_args

from constructions.memories.memory import Limits, Memory
from constructions.model.precision import Precision

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task


class Affine(Memory):
    """The memory `affine`."""

    name = "affine"
    needs = "2 to 8 tokens; labels that are sums of a number for each token, modulo something or in an abelian group"
    cost = "3 N + 12, and S + 4 for each exception; every run in float32 is exact"
    page = "docs/claims/affine.md"
    exact = get_args(Precision)
    turn = 1

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.memories.affine.affine_memory import affine_memory

        return affine_memory(task, dtype=limits.dtype)


MEMORY = Affine()
