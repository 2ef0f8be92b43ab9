"""`byheart assumptions`: the assumptions of memorization on data of your own."""

import argparse
from typing import Any

from byheart.result import Field, Result, Section, data_fields
from byheart.terminal.argument_types import count, path
from byheart.terminal.exit_codes import BAD_USAGE
from byheart.terminal.failures import fail
from byheart.terminal.options import add_output_options
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import above, number, show
from constructions.counted import counted
from verify.verdict import Verdict

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
    return show(options, _result(summary))


def _result(summary: dict[str, Any]) -> Result:
    """Return the three assumptions, the ranks of the queries, and how many examples so many heads can hold."""
    ranks = tuple(Field("", _three_ranks(ranks), name) for name, ranks in summary["ranks"].items())
    verdict = Verdict.all_of([Verdict(summary[f"assumption_{i}"]["verdict"]) for i in (1, 2, 3)])
    sections = (
        Section(_examples(summary), _assumption_fields(summary)),
        Section("Ranks of the first queries: exact, and with tolerances, which prove nothing", ranks),
        Section(f"Examples that {counted(summary['heads'], 'head')} can hold", _promised_fields(summary["promised"])),
        Section("", data_fields(summary, _ONLY_DATA)),
    )
    return Result(f"{verdict.value}: {_headline(summary)}", verdict, sections)


def _headline(summary: dict[str, Any]) -> str:
    """Return the three assumptions, and what the second promises with the block condition (Theorem Z1)."""
    words = {"PROVED": "holds", "REFUTED": "fails", "UNDECIDED": "is open"}
    verdicts = [summary[f"assumption_{i}"]["verdict"] for i in (1, 2, 3)]
    said = f"assumption {', '.join(f'{i} {words[verdict]}' for i, verdict in enumerate(verdicts, 1))}"
    if verdicts == ["PROVED"] * 3:
        said = "assumptions 1, 2 and 3 hold"
    blocks, heads = summary["block_condition"], counted(summary["heads"], "head")
    memorized = f"how many of them {heads} can hold is not proved"
    if verdicts[1] == "PROVED" and blocks is not None and blocks["verdict"] == "PROVED":
        memorized = f"{heads} can hold any labels of the first {summary['promised']['sharp']:,}, proved"
    return f"{said} for these {counted(summary['examples'], 'example')}; {memorized}"


def _examples(summary: dict[str, Any]) -> str:
    shared = "one shared context" if summary["shared"] else "a context each"
    sizes = f"{counted(summary['tokens'], 'token')}, d = {summary['dim']}"
    return f"{counted(summary['examples'], 'example')} with {shared} of {sizes}"


def _assumption_fields(summary: dict[str, Any]) -> tuple[Field, ...]:
    second, blocks = summary["assumption_2"], summary["block_condition"]
    size = summary["assumption_1"]["size"]
    contexts = f"{second['verdict']}: {second['full']:,} of {second['contexts']:,} of rank {summary['tokens']}"
    if second["relation"] is not None:
        contexts += f"; context {second['first_dependent']}: {_relation(second['relation'])}"
    memorized = "no number of heads holds more than one example with one token"
    if blocks is not None:
        sizes = f"{counted(blocks['examples'], 'example')}, {counted(blocks['heads'], 'head')}"
        memorized = f"{blocks['verdict']}: {sizes}; {blocks['method']}"
        memorized += f"; {_relation(blocks['relation'])}" if blocks["relation"] is not None else ""
    return (
        Field("", _subset_test(summary["assumption_1"]), f"1: any {size} queries independent"),
        Field("", contexts, "2: contexts of full rank"),
        Field("", _subset_test(summary["assumption_3"]), f"3: any {size} of query + mean token"),
        Field("", memorized, "the block condition"),
    )


def _promised_fields(promised: dict[str, Any]) -> tuple[Field, ...]:
    return (
        Field(
            "",
            f"{promised['mahdavi']:,}, under 1 and 2, as reconstructed",
            "Mahdavi et al., H (min(n, d_h) - 1) + 1",
        ),
        Field("", f"{promised['sharp']:,}, under 2 and the block condition", "any d_h, H (n - 1) + 1"),
        Field("", promised["generic"], "almost all contexts, H d"),
        Field("", f"{promised['dana']:,}, where contexts are tokens", "Dana et al., H d_h + d"),
    )


_ONLY_DATA = {
    "examples": "examples, $T$",
    "tokens": "tokens in a context, $n$",
    "dim": "dimension of a vector, $d$",
    "shared": "whether there is one context",
    "assumption_1": "any `size` queries are independent: a `verdict`, the `method`, an exact `relation` that refutes "
    "it, or what a random `sample` says",
    "assumption_2": "all `contexts` are of full rank: a `verdict`, how many are `full`, the `first_dependent` one and "
    "its `relation`",
    "assumption_3": "any `size` sums of a query and the mean token are independent: `verdict`, `method`, `relation` "
    "and `sample` as for the first",
    "block_condition": "the condition that replaces the first: `verdict`, `method`, `heads`, `examples`, whether in "
    "`any_order`, a `relation`, the `blocks`",
    "ranks": "of the first queries and of the same less the mean token: `rows`, `columns`, `exact_lower`, "
    "`exact_upper`, and with tolerances `float64`, `float32`; the `spread` of their singular values",
    "heads": "heads that the next field speaks about",
    "promised": "how many examples so many heads hold: by `mahdavi` et al., as reconstructed; by the `sharp` count; "
    "with a `shared_limit`; for almost all (`generic`); by `dana` et al.",
}
"""The meaning of the fields that only a program reads."""


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
