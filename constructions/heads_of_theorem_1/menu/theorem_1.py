"""Offer one layer of attention heads: Theorem 1 of Dana et al., where it holds.

Page: docs/claims/theorem_1.md
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructions.memories.memory import Limits, Memory
from constructions.model.precision import Precision

if TYPE_CHECKING:
    from constructions.attention.families import Recipe
    from constructions.heads_of_theorem_1.memory import HeadsOfTheorem1
    from constructions.tasks.task import Task


@dataclass(frozen=True)
class Theorem1(Memory):
    """The memory `theorem-1` with given sizes.

    Args:
        d_model, d_head, n_heads, front_end: As `constructions.heads_of_theorem_1.memory.theorem_1` says; without a
        front
            end the patterns that fit the size.
    """

    name = "theorem-1"
    needs = "any contexts that features of attention tell apart; labels or distributions"
    cost = "2 d + 2 d / d_h a fact and a quarter more, d = N + S for distributions"
    page = "docs/claims/theorem_1.md"
    attention_only = True
    turn = 12
    rests_on_rank = True

    d_model: int | None = None
    d_head: int | None = None
    n_heads: int | None = None
    front_end: "Recipe | None" = None

    def sized(self, d_model: int | None, d_head: int | None, **sizes: Any) -> "Theorem1":
        """Return these heads with the given sizes and the named attention.

        Raises:
            InputError: There is no such front end.
        """
        from constructions.attention.families import named_recipe

        front_end = sizes.pop("front_end", None)
        recipe = None if front_end is None else named_recipe(front_end)
        return Theorem1(d_model, d_head, front_end=recipe, **sizes)

    def build(self, task: "Task", limits: Limits) -> "HeadsOfTheorem1":
        from constructions.attention.families import fitting_attention
        from constructions.heads_of_theorem_1.memory import theorem_1

        return theorem_1(
            task,
            d_model=self.d_model,
            d_head=self.d_head,
            n_heads=self.n_heads,
            front_end=self.front_end or fitting_attention,
            dtype=limits.dtype,
            seed=limits.seed,
            progress=limits.progress,
        )

    def fewest(self, task: "Task", dtype: Precision) -> int:
        from constructions.heads_of_theorem_1.memory import fewest_parameters

        return fewest_parameters(task)


MEMORY = Theorem1()
