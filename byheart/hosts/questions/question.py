"""Define the differences between facts, a rule and a rule with a state as questions to a trained model.

Page: docs/hosts.md
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from byheart.hosts.every_run import Part
from byheart.measured import Measured
from constructions.model.model import Model
from constructions.progress import Progress
from constructions.tasks.criterion import Criterion
from verify.provers.proved import Proved

Page = Callable[[Path, Measured], str]
"""Makes the page of a folder, from the figures that it has."""

MOST_NAMED = 100
"""Contexts that the figures list; the certificate names all that are memorized."""


class Question(ABC):
    """A task read for a model, and the proved answers.

    Args:
        model: The weights.
        task: The task that they are asked.
        inputs: Contexts on which the program that runs the model is asked to agree.
        drawn: Their number, where they are drawn from more.
        said: How the task was read; empty where nothing is to be said.
        judges_runs: Whether the proof itself judges every run; otherwise it is done after it, context by context.
    """

    model: Model
    task: Any
    inputs: Sequence[Any]
    drawn: int | None
    said: str
    judges_runs: ClassVar[bool] = False

    @property
    def target(self) -> str:
        """Kind of target of each context: a label, a distribution or values."""
        return self.task.target

    @property
    def domain_size(self) -> int:
        """Contexts of a domain whose every run would be judged; 0 where they are listed."""
        return 0

    def decoding(self) -> tuple[list[Any], set[int]]:
        """Return the lengths and answers of greedy decoding, and all tokens that it reads."""
        return self.task.decoding()

    @abstractmethod
    def prove(self, criterion: Criterion | None, every_run: str | None, progress: Progress) -> Proved[Any]:
        """Prove the model's answers on the task."""

    def least_margin(self, proved: Proved[Any]) -> float | None:
        """Return the least margin of a decided answer; None if unknown."""
        del proved
        return None

    def parts(self) -> list[Part]:
        """Return the contexts of which every run is judged, by their lengths."""
        return []

    def asides(self, proved: Proved[Any], asked: tuple[Any, Any]) -> list[str]:
        """Return notes for the first line on the task and how it was read.

        Args:
            proved: The certificate.
            asked: What can be asked for its own answer, and with which configuration.
        """
        del proved, asked
        return []

    @abstractmethod
    def figures(self, proved: Proved[Any]) -> dict[str, Any]:
        """Return the figures of this kind of task as plain JSON data."""

    def rows(self, places: Any) -> list[list[Any]]:
        """Return contexts as a table has them."""
        raise NotImplementedError

    def wrong(self, proved: Proved[Any]) -> list[list[Any]]:
        """Return all rows that are proved wrong, for their file."""
        del proved
        return []

    def page(self, proved: Proved[Any], progress: Progress) -> tuple[Page | None, dict[str, Any] | None]:
        """Return a function that makes a page, and the numbers it draws; None if there is no page."""
        del proved, progress
        return None, None
