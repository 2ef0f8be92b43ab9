"""How a long computation says how far it is."""

from collections.abc import Callable

Progress = Callable[[str, float | None, str], None]
"""Called with what is being done, the finished share of it in [0, 1] or `None`, and a detail to show."""


def silent(stage: str, share: float | None, detail: str) -> None:
    """Progress that nobody looks at."""
