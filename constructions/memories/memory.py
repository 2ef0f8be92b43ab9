"""Define the interface of every memory: its needs, its cost, and how its weights are built.

A memory is one file: in `constructions/memories/menu/`, where it is found by its folder, or anywhere else.

Pages: docs/memories.md, docs/contributing.md
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from constructions.errors import ResourceError
from constructions.model.precision import Precision
from constructions.progress import Progress, silent
from constructions.tasks.criterion import TOLERANCE

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task


class Limits(NamedTuple):
    """The limits on the weights, and on the work spent on them.

    Args:
        dtype: The precision that they are rounded to.
        attention_only: Whether there may be no neurons.
        layers: Blocks of attention or neurons, at most.
        d_model: Dimensions of the stream, at most, wherever it is widest.
        d_head: Dimensions of a head, at most.
        tolerance: The largest divergence of a memorized distribution, nats.
        seed: Seed of every random choice.
        named: Whether this memory was asked for by name: a search may then take minutes, otherwise seconds.
        progress: Called with the stage, its finished share, and a detail.
    """

    dtype: Precision = "float32"
    attention_only: bool = False
    layers: int | None = None
    d_model: int | None = None
    d_head: int | None = None
    tolerance: float = TOLERANCE
    seed: int = 0
    named: bool = False
    progress: Progress = silent


class Memory(ABC):
    """A way to build weights that memorize a task.

    Args:
        name: What it is asked for by.
        needs: What it asks of the task.
        cost: Its parameters, roughly.
        page: The page that proves it.
        attention_only: Whether its model has no neurons.
        exact: The precisions in which no sum of its runs is rounded: of such memories the one of fewest parameters is
            built first. No others are tried in 16 bits, and one that is exact in these alone is tried there alone.
        turn: When it is tried, of those whose runs are rounded: the fastest first.
        rests_on_rank: Whether it holds any facts because the features of their contexts are independent.

    Example:
        >>> from constructions.memories.knots import knots_memory
        >>> from constructions.tasks.arrays import enumerated_task
        >>> class Knots(Memory):
        ...     name, needs, cost = "my-knots", "distinct contexts", "3 a fact"
        ...     def build(self, task, limits):
        ...         return knots_memory(task, dtype=limits.dtype, seed=limits.seed)
        >>> Knots().build(enumerated_task(5, 2), Limits()).model.parameters
        89
    """

    name: ClassVar[str]
    needs: ClassVar[str]
    cost: ClassVar[str]
    page: ClassVar[str] = ""
    attention_only: ClassVar[bool] = False
    exact: ClassVar[tuple[Precision, ...]] = ()
    turn: ClassVar[int] = 0
    rests_on_rank: ClassVar[bool] = False

    @abstractmethod
    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        """Build the weights.

        Their sizes are compared with the limits afterwards: a memory that has a choice keeps them, others need not.

        Raises:
            HypothesisError, InputError: It does not hold such a task; says why.
            ResourceError: It would take more time or memory than there is.
        """

    def sized(self, d_model: int | None, d_head: int | None, **sizes: Any) -> "Memory":
        """Return the same memory with given sizes; most memories have no free sizes.

        Args:
            d_model: Dimensions of the stream.
            d_head: Dimensions of a head.
            sizes: Others, that this memory alone has.
        """
        del d_model, d_head, sizes
        return self

    def fewest(self, task: "Task", dtype: Precision) -> int:
        """Return a lower bound of its parameters for a task in a precision, known before building; 0 if nothing is
        known.

        It is not built where another memory that holds the task takes fewer.
        """
        del task, dtype
        return 0


def require_few(task: "Task", most: int) -> None:
    """Refuse so many facts that building or certifying takes minutes to hours.

    Raises:
        ResourceError: There are more than `most`.
    """
    if task.n_contexts > most:
        raise ResourceError(f"{task.n_contexts} facts are more than {most}: it is tried where it is named")
