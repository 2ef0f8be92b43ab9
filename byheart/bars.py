"""Bars that show how far a long work has come, in a terminal and in a notebook.

Page: docs/library.md
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from constructions.progress import Progress, silent


def shown(progress: Progress | bool | None) -> AbstractContextManager[Progress]:
    """Run a function with the stages of a piece of work, shown as bars.

    Args:
        progress: A function; or whether to show bars: by default in a notebook, and nowhere else.
    """
    if progress is None:
        progress = "ipykernel" in sys.modules
    if isinstance(progress, bool):
        return bars() if progress else nullcontext(silent)
    return nullcontext(progress)


@contextmanager
def bars() -> Iterator[Progress]:
    """Yield a reporter that shows one bar per stage on standard error, with its share and remaining time.

    Where nobody watches, in a pipe or a file, the bars are written once, when all is done; before an error nothing is.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Left(ProgressColumn):
        """The finished share of a stage, and the time left at its pace."""

        def render(self, task: Task) -> Text:
            left = task.time_remaining
            if task.total is None or task.finished or left is None:
                return Text("")
            minutes, seconds = divmod(int(left), 60)
            return Text(f"{task.percentage:.0f} %, {minutes}:{seconds:02d} left")

    console = Console(stderr=True)
    watched = console.is_terminal or console.is_jupyter
    columns = (
        SpinnerColumn() if watched else TextColumn(""),
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        Left(),
        TextColumn("{task.fields[detail]}", style="dim"),
    )
    bars = Bars(*columns, console=console, transient=console.is_terminal)
    with bars if watched else nullcontext():
        lines: dict[str, TaskID] = {}

        def show(stage: str, share: float | None, detail: str) -> None:
            if stage not in lines:
                for line in lines.values():
                    bars.update(line, total=1.0, completed=1.0)
                lines[stage] = bars.add_task(stage, total=None, detail="")
            total = None if share is None else 1.0
            bars.update(lines[stage], total=total, completed=share or 0.0, detail=detail)

        yield show
        for line in lines.values():
            bars.update(line, total=1.0, completed=1.0)
    if not watched and lines:
        console.print(bars.get_renderable())
