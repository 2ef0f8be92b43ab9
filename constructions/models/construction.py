"""Weights that are built to hold a task."""

from dataclasses import dataclass

from constructions.models.network import Network
from constructions.tasks.task import Task


@dataclass(frozen=True, eq=False)
class Construction:
    """Weights that a claim promises, and what they hold.

    Args:
        task: What the weights are to hold.
        network: The weights, as they are shipped: rounded to float64.
        summary: What was built and how large it is, in one sentence.

    Page: docs/audit.md
    """

    task: Task
    network: Network
    summary: str
