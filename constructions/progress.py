"""Report the progress of long computations."""

from collections.abc import Callable

Progress = Callable[[str, float | None, str], None]
"""Called with what is being done, the finished share of it in [0, 1] or `None`, and a detail to show."""


def silent(stage: str, share: float | None, detail: str) -> None:
    """Ignore progress."""
