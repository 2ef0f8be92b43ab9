"""What a person may type next."""

from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from constructions.plug_ins import required_plug_in

if TYPE_CHECKING:
    from constructions.folds.fold import Fold
    from constructions.tasks.task import Task

_LONGEST_TYPED = 200  # characters of a context that a person would type


def next_commands(
    out: Path, headline: str, *, task: "Task | None" = None, fold: "Fold | None" = None, runs: bool = True
) -> list[str]:
    """Return commands on a folder that was written, as a shell takes them.

    Args:
        out: The folder.
        headline: Its first line, which says whether the kernel checks it or the fast prover alone.
        task: What it holds, for a context that can be typed.
        fold: The rule with a state that it follows, for an input that can be typed.
        runs: Whether `run` takes it.
    """
    from constructions.tasks.vocabulary import typed_example
    from verify.certificates.headline import PROVER_ALONE

    folder = quote(str(out))
    steps = [f"check {folder} --fast" if PROVER_ALONE in headline else f"check {folder}"]
    if task is not None and task.windows is not None:
        title = task.vocabulary[task.windows.titles[0]][1:-1] if task.windows.titled else ""
        title = [] if title in ("", f"1/{len(task.windows.titles)}") else [quote(title)]
        steps.insert(0, " ".join(["recite", folder, *title]))
    elif task is not None and (example := typed_example(task, in_csv=True)) is not None:
        steps += [f"ask {folder} {quote(example)}"] if len(example) <= _LONGEST_TYPED else []
    if fold is not None:
        example = required_plug_in("constructions.folds.typed").last_input(fold)
        steps += [f"ask {folder} {quote(example)}"] if len(example) <= _LONGEST_TYPED else []
    if runs and find_spec("torch") is not None:
        steps.append(f"run {folder}")
    return [f"byheart {step}" for step in steps]
