"""One layer of attention heads: Theorem 1 of Dana et al., where it holds.

Page: docs/claims/theorem_1.md
"""

from dataclasses import dataclass

from constructions.features.full_rank_attention import Recipe, fitting_attention
from constructions.memories.memory import Limits, Memory
from constructions.memories.theorem_1 import HeadsOfTheorem1, fewest_parameters, theorem_1
from constructions.models.precision import Precision
from constructions.tasks.task import Task


@dataclass(frozen=True)
class Theorem1(Memory):
    """The memory `theorem-1`, of the sizes that are given.

    Args:
        d_model, d_head, n_heads, front_end, tail: As `constructions.memories.theorem_1.theorem_1` says.
    """

    name = "theorem-1"
    needs = "any contexts that features of attention tell apart; labels or laws"
    cost = "2 d + 2 d / d_h a fact and a quarter more, d = N + S for laws"
    page = "docs/claims/theorem_1.md"
    attention_only = True
    turn = 12

    d_model: int | None = None
    d_head: int | None = None
    n_heads: int | None = None
    front_end: Recipe = fitting_attention
    tail: str | None = None

    def build(self, task: Task, limits: Limits) -> HeadsOfTheorem1:
        return theorem_1(
            task,
            d_model=self.d_model,
            d_head=self.d_head,
            n_heads=self.n_heads,
            front_end=self.front_end,
            tail=self.tail,
            dtype=limits.dtype,
            seed=limits.seed,
            progress=limits.progress,
        )

    def fewest(self, task: Task, dtype: Precision) -> int:
        return fewest_parameters(task)


MEMORY = Theorem1()
