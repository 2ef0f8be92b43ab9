"""What becomes of weights that were just built: whether every run of them holds the task, or at least one.

Page: docs/memories.md
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from constructions.counted import counted
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import Precision
from constructions.plug_ins import plug_in
from constructions.tasks.any_task import AnyTask
from constructions.tasks.task import Task
from verify.runs.exact_runs import memorized_without_rounding
from verify.runs.formats import FORMATS

if TYPE_CHECKING:
    from verify.arithmetic.enclosure import Enclosure
    from verify.torch.run import RunResult


class Trial(NamedTuple):
    """What is known of weights.

    Args:
        runs: What one run in each type showed, by type; none where nothing ran.
        refused: Why they are refused; empty where they are not.
        every_run: Whether every run is proved to hold the task.
    """

    runs: "Mapping[str, Any] | None" = None
    refused: str = ""
    every_run: bool = False


def trial(built: Construction[Task], dtype: Precision, tolerance: float) -> Trial:
    """Ask of what is built whether every run in this type holds its task; where that is not proved, run it once.

    Args:
        built: The weights and their task.
        dtype: The type.
        tolerance: What the divergence of a memorized distribution may be, nats.

    Example:
        >>> from constructions.memories.memory import Limits
        >>> from constructions.menu import BY_NAME
        >>> from constructions.tasks.arrays import enumerated_task
        >>> trial(BY_NAME["knots"].build(enumerated_task(3, 2), Limits()), "float32", 1e-3).refused
        ''
    """
    size = built.task.n_contexts
    if memorized_without_rounding(built.model, built.task, FORMATS[dtype], tolerance).all():
        return Trial(every_run=True)
    runs = runs_in_torch(built.model, built.task, dtype, tolerance=tolerance)
    if runs is None or runs[dtype].memorized == size:
        return Trial(runs, every_run=runs is not None and runs[dtype].memorized_proved == size)
    return Trial(runs, f"run in {dtype} it holds {runs[dtype].memorized} of {counted(size, 'context')}, measured")


def runs_in_torch(
    model: Model,
    task: AnyTask,
    dtype: str,
    *,
    tolerance: float,
    device: str = "cpu",
    outputs: "Enclosure | None" = None,
) -> "dict[str, RunResult] | None":
    """Return what one run in each type shows, in the type that is meant too; none where nothing here runs weights.

    Args:
        model: The weights.
        task: What they hold.
        dtype: The type that is meant.
        tolerance: What the divergence of a memorized distribution may be, nats.
        device: Where they run.
        outputs: The exact logits, enclosed, where they are known.
    """
    torch = plug_in("verify.torch.run") if find_spec("torch") is not None else None
    if torch is None:
        return None
    logits = None if outputs is None else [(0, outputs)]
    dtypes = torch.DTYPES if dtype in torch.DTYPES else (*torch.DTYPES, dtype)
    return torch.run_all(model, task, device=device, dtypes=dtypes, tolerance=tolerance, logits=logits)
