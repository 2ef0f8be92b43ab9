"""A line per stage of the work on standard error."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_lines(options: argparse.Namespace) -> Iterator[Callable[[str, float | None, str], None]]:
    """A line per stage on standard error while the work goes on, with its share and the time that is left.

    Nothing with `--json` and `--quiet`.
    """
    from verify.progress import silent

    if options.json or getattr(options, "quiet", False):
        yield silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class Left(ProgressColumn):
        """How much of a stage is done, and how long the rest takes at its pace."""

        def render(self, task: Task) -> Text:
            left = task.time_remaining
            if task.total is None or task.finished or left is None:
                return Text("")
            minutes, seconds = divmod(int(left), 60)
            return Text(f"{task.percentage:.0f} %, {minutes}:{seconds:02d} left")

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        Left(),
        TextColumn("{task.fields[detail]}", style="dim"),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=console.is_terminal) as bars:
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
