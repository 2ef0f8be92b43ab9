"""Describe weights that were built to memorize a task.

Page: docs/audit.md
"""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from constructions.model.model import Model
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.stored import Stored
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask

TaskT = TypeVar("TaskT", Task, VectorTask)


@dataclass(frozen=True, eq=False)
class Construction(Generic[TaskT]):
    """Weights that a claim promises, and the task that they memorize.

    Args:
        task: What the weights are to hold.
        model: The weights, as they are shipped: rounded to float64.
        summary: What was built and how large it is, in one sentence.
        criterion: What is promised of them; by default that every context is memorized.

    Raises:
        InputError: The model does not read or does not answer the contexts of the task.
    """

    task: TaskT
    model: Model
    summary: str
    criterion: Criterion = field(default_factory=Criterion)

    def __post_init__(self) -> None:
        require_fit(self.model, self.task)


def require_fit(model: Model, task: AnyTask | Stored) -> None:
    """Raise `InputError` unless the model reads the contexts of the task and has an output for each of its answers."""
    task.require_fit(model)
