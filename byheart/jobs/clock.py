"""Measure and report the time of each stage.

Page: docs/commands.md
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from constructions.progress import Progress


@dataclass(frozen=True)
class Clock:
    """Seconds by stage.

    Args:
        progress: Called where a stage begins and ends.
        seconds: The time that the stages took until now.

    Example:
        >>> from constructions.progress import silent
        >>> clock = Clock(silent)
        >>> with clock.stage("weights"):
        ...     pass
        >>> list(clock.seconds)
        ['weights']
    """

    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block under this name."""
        self.progress(name, None, "")
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 3)
        self.progress(name, 1.0, "")


def within(progress: Progress, stage: str, before: str = "") -> Progress:
    """Report the parts of a stage under its name."""
    return lambda part, share, detail: progress(stage, share, f"{before}{part} {detail}".strip())
