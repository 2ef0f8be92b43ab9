"""`byheart capacity`: how many heads a text or a table really needs."""

import argparse
from typing import Any

from byheart.terminal.exit_codes import PROVED
from byheart.terminal.fact_options import add_size_options, add_task_options, read_the_facts
from byheart.terminal.options import add_json_option
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import Rows, print_summary
from constructions.counted import counted, inflected

_SHOWN = 4  # of the contexts that prove how many heads of any width labels take

HELP = "how many heads a text or a table really needs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options of the command."""
    add_task_options(parser)
    add_size_options(parser)
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.job import capacity_summary

    with progress_lines(not options.json) as progress:
        task = read_the_facts(options, "labels", progress).task
        summary = capacity_summary(
            task,
            d_model=options.dim,
            d_head=options.head_dim,
            n_heads=options.heads,
            seed=options.seed,
            progress=progress,
        )
    print_summary(options, summary, _capacity_tables)
    return PROVED


def _capacity_tables(summary: dict[str, Any]) -> Rows:
    return [("Capacity", capacity_rows(summary))]


def capacity_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The count of the paper beside what is certified."""
    lower, upper = summary["rank_lower"], summary["rank_upper"]
    truth = f"exactly {lower}" if lower == upper else f"at least {lower}, at most {upper}"
    fewest, count = summary["fewest_heads"], summary["rank_heads"]
    holding = f"{counted(count, 'head')} hold{'s' * (count == 1)}"
    return [
        (
            "contexts to memorize",
            f"{summary['memorized']} of {summary['contexts']}, {counted(summary['context_length'], 'token')} "
            f"each, from {counted(summary['vocabulary'], 'token')}",
        ),
        ("dimensions", f"d_model {summary['dim']}, d_head {summary['head_dim']}"),
        (f"{holding}, by the paper", f"{counted(summary['paper_rank'], 'context')}, min(T, H d_h + d)"),
        (f"{holding}, certified", f"{truth} {inflected('context', upper)}"),
        ("heads needed, by the paper", str(summary["paper_heads"])),
        ("heads needed, certified", _heads_needed(summary["necessary_heads"], fewest)),
        ("heads needed without changing x_S", _heads_needed(summary["necessary_heads"], summary["heads_alone"])),
        *(
            [("heads of any width, these labels", _heads_of_any_width(summary["any_width_contexts"], heads))]
            if (heads := summary.get("any_width_heads", 0))
            else []
        ),
        *(
            [
                ("any architecture, all labels", _both(summary["any_labels"], "entries of float64")),
                ("any architecture, all laws", _both(summary["any_laws"], "numbers that depend on the laws")),
            ]
            if "any_labels" in summary
            else []
        ),
    ]


def _both(bounds: list[int], what: str) -> str:
    return f"at least {bounds[0]} {what}; {bounds[1]} suffice"


def _heads_of_any_width(contexts: list[list[str]], heads: int) -> str:
    shown = ", ".join(" ".join(map(repr, context)) for context in contexts[:_SHOWN])
    more = f", and {len(contexts) - _SHOWN} more" if len(contexts) > _SHOWN else ""
    return f"at least {heads}, proved by {counted(len(contexts), 'context')}: {shown}{more}"


def _heads_needed(necessary: int | None, fewest: int | None) -> str:
    if fewest is None:
        return "no number of heads suffices" if necessary is None else f"at least {necessary}"
    if necessary is None or necessary >= fewest:
        return f"{fewest}"
    return f"{fewest} suffice{'s' * (fewest == 1)}, {necessary} {'is' if necessary == 1 else 'are'} necessary"
