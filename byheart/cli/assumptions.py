"""`byheart assumptions`: the assumptions of memorization on data of your own."""

import argparse
from typing import Any

from byheart.terminal.argument_types import count, path
from byheart.terminal.exit_codes import BAD_USAGE, EXIT_CODES, worst
from byheart.terminal.failures import fail
from byheart.terminal.options import add_output_options
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import Rows, above, number, print_summary
from constructions.counted import counted

HELP = "test the assumptions of memorization on your own data"
EXAMPLE = "byheart assumptions examples.npz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    parser.add_argument("data", type=path, metavar="DATA.npz", help="arrays contexts [T,n,d] or [n,d], queries [T,d]")
    parser.add_argument("--heads", type=count, metavar="H", help="heads of the block condition (default: the fewest)")
    parser.add_argument("--head-dim", type=count, metavar="DH", help="d_head (default: d)")
    parser.add_argument(
        "--samples",
        type=count,
        metavar="N",
        help="random subsets where nothing is proved (default: 5000)",
    )
    parser.add_argument("--seed", type=count, default=0, help="seed of every random choice (default: 0)")
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.theorems.assumptions import assumptions_summary
    from constructions.errors import FileFormatError

    try:
        with progress_lines(options) as progress:
            summary = assumptions_summary(
                options.data,
                n_heads=options.heads,
                d_head=options.head_dim,
                samples=options.samples,
                seed=options.seed,
                progress=progress,
            )
    except FileFormatError as error:  # no file that byheart wrote: bad input, and nothing is refuted
        return fail(options, error, BAD_USAGE)
    print_summary(options, {"headline": _headline(summary), **summary}, _assumptions_tables)
    return worst({EXIT_CODES[summary[f"assumption_{i}"]["verdict"]] for i in (1, 2, 3)})


def _headline(summary: dict[str, Any]) -> str:
    """Return the three assumptions, and what the second promises with the block condition (Theorem Z1)."""
    words = [summary[f"assumption_{i}"]["verdict"] for i in (1, 2, 3)]
    blocks, heads = summary["block_condition"], counted(summary["heads"], "head")
    memorized = f"how many examples {heads} can hold is not proved"
    if words[1] == "PROVED" and blocks is not None and blocks["verdict"] == "PROVED":
        memorized = f"{heads} can hold any labels of the first {summary['promised']['sharp']} examples, PROVED"
    return f"ASSUMPTIONS 1, 2, 3: {', '.join(words)}; {memorized}"


def _assumptions_tables(summary: dict[str, Any]) -> Rows:
    second, blocks, promised = summary["assumption_2"], summary["block_condition"], summary["promised"]
    size = summary["assumption_1"]["size"]
    shared = "one shared context" if summary["shared"] else "a context each"
    contexts = f"{second['verdict']}: {second['full']} of {second['contexts']} of rank {summary['tokens']}"
    if second["relation"] is not None:
        contexts += f"; context {second['first_dependent']}: {_relation(second['relation'])}"
    memorized = "no number of heads holds more than one example with one token"
    if blocks is not None:
        sizes = f"{counted(blocks['examples'], 'example')}, {counted(blocks['heads'], 'head')}"
        memorized = f"{blocks['verdict']}: {sizes}; {blocks['method']}"
        memorized += f"; {_relation(blocks['relation'])}" if blocks["relation"] is not None else ""
    return [
        (
            f"{counted(summary['examples'], 'example')} with {shared} of {counted(summary['tokens'], 'token')}, "
            f"d = {summary['dim']}",
            [
                (f"1: any {size} queries independent", _subset_test(summary["assumption_1"])),
                ("2: contexts of full rank", contexts),
                (f"3: any {size} of query + mean token", _subset_test(summary["assumption_3"])),
                ("the block condition", memorized),
            ],
        ),
        (
            "Ranks of the first queries: exact, and with tolerances, which prove nothing",
            [(name, _three_ranks(ranks)) for name, ranks in summary["ranks"].items()],
        ),
        (
            f"Examples memorized by {counted(summary['heads'], 'head')}",
            [
                ("Mahdavi et al., H (min(n, d_h) - 1) + 1", f"{promised['mahdavi']}, under 1 and 2, as reconstructed"),
                ("any d_h, H (n - 1) + 1", f"{promised['sharp']}, under 2 and the block condition"),
                ("almost all contexts, H d", str(promised["generic"])),
                ("Dana et al., H d_h + d", f"{promised['dana']}, where contexts are tokens"),
            ],
        ),
    ]


def _subset_test(test: dict[str, Any]) -> str:
    text = f"{test['verdict']}: {test['method']}"
    if test["relation"] is not None:
        text += f"; {_relation(test['relation'])}"
    if (sample := test["sample"]) is not None:
        text += (
            f"; {sample['dependent']} of {sample['samples']} random subsets are dependent, so with "
            f"{100 * sample['confidence']:g} % confidence a share of at most {above(sample['share_upper'])} is, if the "
            "vectors were not chosen after the seed"
        )
    return text


def _relation(relation: dict[str, Any]) -> str:
    rows = relation["rows"]
    listed = ", ".join(map(str, rows[:8])) + (", .." if len(rows) > 8 else "")
    return f"exact relation between {len(rows)} vectors: {listed}"


def _three_ranks(ranks: dict[str, Any]) -> str:
    lower, upper = ranks["exact_lower"], ranks["exact_upper"]
    exact = f"{lower}" if lower == upper else f"{lower} .. {upper}"
    return (
        f"{exact} of {min(ranks['rows'], ranks['columns'])} exactly, {ranks['float64']} in float64, "
        f"{ranks['float32']} in float32; smallest singular value / largest {number(ranks['spread'])}"
    )
