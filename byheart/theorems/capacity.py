"""Bound how many heads contexts need from both sides, next to the printed count.

Page: docs/claims/capacity.md
"""

from pathlib import Path
from typing import Any

from byheart.figures import CapacityFigures
from byheart.jobs.clock import Clock
from byheart.theorems.memorized import capacity_figures
from byheart.theorems.rank_profile import profile_records
from constructions.attention.capacity.forbidden_labelling import most_forbidden_heads
from constructions.attention.capacity.head_counts import capacity
from constructions.attention.capacity.rank_profile import RankProfile, rank_profile
from constructions.errors import require_at_least
from constructions.heads_of_theorem_1.memory import LARGEST_ELIMINATION, dimensions
from constructions.memories.information_limit import information_limit
from constructions.memories.knots import most_parameters
from constructions.model.precision import STORED
from constructions.named.context_rows import ContextRows, read_context_rows
from constructions.named.labelled_contexts import require_distinct
from constructions.numeric.arrays import Int64Array
from constructions.progress import Progress, silent
from constructions.tasks.task import Task
from verify.theorems.capacity.sign_relation import forbids_heads
from verify.verdict import Verdict

_PROFILED_HEADS = 6
_FEW_DIMENSIONS, _NARROW = 128, 64  # as in `constructions.heads_of_theorem_1.memory.dimensions`


def contexts_alone(file: Path, *, delimiter: str | None = None, header: bool = False) -> ContextRows:
    """Return the contexts of a table whose cells are tokens, none an answer.

    Args:
        file: The table.
        delimiter: The separator of cells; guessed by default.
        header: Whether the first line names the columns.

    Raises:
        FileFormatError: No such table.
        HypothesisError: A context stands there twice.
    """
    rows = read_context_rows(file, delimiter=delimiter, header=header)
    require_distinct(rows, theorem="Independence of the features")
    return rows


def capacity_summary(
    task: Task | ContextRows,
    *,
    d_model: int | None = None,
    d_head: int | None = None,
    n_heads: int | None = None,
    seed: int = 0,
    profile: RankProfile | None = None,
    progress: Progress = silent,
) -> CapacityFigures:
    """Bound how many heads the contexts of a task need, next to the paper's count; all bounds are proved.

    Args:
        task: What is to be memorized, or contexts alone; only the contexts matter, and labels for what heads of any
            width take, and their number for what other models take.
        d_model: $d$, as in `memorize`.
        d_head: $d_h$, as in `memorize`.
        n_heads: $H$ for the ranks; the paper's own number by default.
        seed: Seed of the random points.
        profile: What `capacity_profile` found of these contexts, to stand next to it.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures.

    Raises:
        InputError: A size that makes no model.
        ResourceError: The elimination would not fit into memory.

    Example:
        >>> from constructions.tasks.text import text_task
        >>> figures = capacity_summary(text_task("to be or not to be", context=2, target="labels"))
        >>> figures.facts, figures.rank_lower == figures.rank_upper
        (13, True)
    """
    require_at_least(0, seed=seed)
    contexts, (d_model, d_head) = _contexts(task), _sizes(task, d_model, d_head)
    clock, of_task = Clock(progress), dict[str, Any]()
    with clock.stage("capacity"):
        needed = capacity(
            contexts,
            d_model=d_model,
            d_head=d_head,
            n_heads=n_heads,
            eliminate=len(contexts) <= LARGEST_ELIMINATION,
            seed=seed,
            progress=lambda detail: progress("capacity", None, detail),
        )
        if not isinstance(task, ContextRows):
            most = most_parameters(task, seed=seed)
            progress("capacity", None, "heads of any width")
            answers, kept = task.n_answers, task.n_contexts
            of_task = {
                **_heads_of_any_width(task),
                "any_labels": [information_limit(task, STORED["float64"]), most],
                "any_distributions": [kept * (answers - 1), kept * answers - 1 + task.d_vocab + task.n_ctx],
            }
    return CapacityFigures(
        **(_sizes_of_rows(task) if isinstance(task, ContextRows) else task.sizes()),
        dim=d_model,
        head_dim=d_head,
        heads=n_heads,
        seed=seed,
        **capacity_figures(needed, needed.n_heads, None),
        explanation=needed.explanation,
        rank_lower_by=needed.lower_method,
        rank_upper_by=needed.upper_method,
        profile=None if profile is None else profile_records(profile),
        **of_task,
        seconds=clock.seconds,
    )


def capacity_profile(
    task: Task | ContextRows,
    *,
    d_model: int | None = None,
    d_head: int | None = None,
    n_heads: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> RankProfile:
    """Bound the largest rank of the contexts for each width and number of heads; all bounds are proved.

    Args:
        task: What is to be memorized, or contexts alone; only the contexts matter.
        d_model: $d$, as in `memorize`.
        d_head: The only width; by default the powers of two below d, and d.
        n_heads: The largest number of heads; 6 by default.
        seed: Seed of the random points.
        progress: Called with the stage, its finished share, and a detail.

    Raises:
        InputError: A size that makes no model.
        ResourceError: The elimination would not fit into memory.
    """
    require_at_least(0, seed=seed)
    contexts = _contexts(task)
    return rank_profile(
        contexts,
        d_model=_sizes(task, d_model, d_head)[0],
        d_heads=None if d_head is None else [d_head],
        n_heads=_PROFILED_HEADS if n_heads is None else n_heads,
        eliminate=len(contexts) <= LARGEST_ELIMINATION,
        seed=seed,
        progress=lambda detail: progress("profile", None, detail),
    )


def _contexts(task: Task | ContextRows) -> Int64Array:
    return task.tokens if isinstance(task, ContextRows) else task.contexts


def _sizes(task: Task | ContextRows, d_model: int | None, d_head: int | None) -> tuple[int, int]:
    """Return the given dimensions, or those that suit the task; for contexts without answers, as for token labels."""
    if not isinstance(task, ContextRows):
        return dimensions(task, d_model=d_model, d_head=d_head)
    natural = len(task.vocabulary) + task.tokens.shape[1]
    default = natural if natural <= _FEW_DIMENSIONS else _NARROW
    width = default if d_model is None else d_model
    require_at_least(1, d_model=width)
    return width, max(1, width // 4) if d_head is None else d_head


def _heads_of_any_width(task: Task) -> dict[str, Any]:
    """Return how many heads of any width these labels need, with contexts that prove it."""
    if task.target == "distributions":
        return {}
    forbidden = most_forbidden_heads(task.contexts, task.labels)
    shown = forbidden.contexts
    part = task.contexts[shown], task.labels[shown], forbidden.multipliers[shown]
    if not len(shown) or forbids_heads(*part, n_heads=forbidden.n_heads) is not Verdict.PROVED:
        return {"any_width_heads": 0, "any_width_contexts": []}
    contexts = [[task.vocabulary[n] for n in context] for context in part[0].tolist()]
    return {"any_width_heads": forbidden.n_heads + 1, "any_width_contexts": contexts}


def _sizes_of_rows(rows: ContextRows) -> dict[str, Any]:
    size, n_ctx = rows.tokens.shape
    return {"contexts": size, "facts": size, "n_ctx": n_ctx, "vocabulary": len(rows.vocabulary)}
