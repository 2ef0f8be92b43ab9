"""`byheart capacity`: how many heads a text or a table really needs."""

import argparse
from typing import TYPE_CHECKING

from byheart.terminal.exit_codes import PROVED
from byheart.terminal.fact_options import add_size_options, add_task_options, read_the_facts
from byheart.terminal.made import ANY_TARGETS, capacity_rows
from byheart.terminal.options import add_output_options
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import print_summary
from constructions.counted import counted

if TYPE_CHECKING:
    from byheart.figures import CapacityFigures

_SHOWN = 4  # of the contexts that prove how many heads of any width labels take

HELP = "how many heads a text or a table needs, from both sides"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options of the command."""
    add_task_options(parser)
    add_size_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.job import capacity_summary

    with progress_lines(options) as progress:
        given = read_the_facts(options, "labels", progress)
        figures = capacity_summary(
            given.task,
            d_model=options.dim,
            d_head=options.head_dim,
            n_heads=options.heads,
            seed=options.seed,
            progress=progress,
        )
    tables = [(ANY_TARGETS, capacity_rows(figures)), ("Bounds of other models", _any_architecture(figures))]
    headline = "; ".join(filter(None, [_headline(figures), given.left_out]))
    summary = {"headline": headline, "reading": given.said, **figures.json()}
    print_summary(options, summary, lambda _: tables)
    return PROVED


def _headline(figures: "CapacityFigures") -> str:
    size, counts = figures.memorized, f"the paper's formula gives {figures.paper_heads}"
    contexts = "this context" if size == 1 else f"these {size} contexts"
    if figures.dim == 1 and (figures.answers or 0) > 2:  # of logits z w_j only the largest and the least w_j ever lead
        return f"No number of heads holds any labels of {contexts}: one dimension tells two apart; {counts}"
    if figures.fewest_heads is None:
        return f"No number of heads is proved to hold any labels of {contexts}; {counts}"
    hold = f"{counted(figures.fewest_heads, 'head')} hold{'s' * (figures.fewest_heads == 1)}"
    return f"{hold} any labels of {contexts}, proved; {counts}"


def _any_architecture(figures: "CapacityFigures") -> list[tuple[str, str]]:
    heads, contexts = figures.any_width_heads, figures.any_width_contexts
    return [
        *([("heads of any width, these labels", _heads_of_any_width(contexts, heads))] if heads and contexts else []),
        ("any architecture, all labels", _both(figures.any_labels, "in float64")),
        ("any architecture, all laws", _both(figures.any_laws, "set by the laws")),
    ]


def _both(bounds: list[int], what: str) -> str:
    return f"at least {counted(bounds[0], 'number')} {what}; {bounds[1]} suffice"


def _heads_of_any_width(contexts: list[list[str]], heads: int) -> str:
    shown = ", ".join(" ".join(map(repr, context)) for context in contexts[:_SHOWN])
    more = f", and {len(contexts) - _SHOWN} more" if len(contexts) > _SHOWN else ""
    return f"at least {heads}, proved by {counted(len(contexts), 'context')}: {shown}{more}"
