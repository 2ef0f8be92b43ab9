"""`byheart memorize`: a text or a table in, certified weights out."""

import argparse
import sys
from pathlib import Path
from typing import Any

from byheart.command.capacity import capacity_rows
from byheart.command.run import torch_row
from byheart.terminal.argument_types import bound, count
from byheart.terminal.exit_codes import EXIT_CODES
from byheart.terminal.fact_options import add_size_options, add_task_options, read_the_facts
from byheart.terminal.next_steps import next_steps
from byheart.terminal.options import add_device_option, add_json_option, add_out_options
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import Rows, above, below, number, print_summary
from constructions.counted import counted

FRONT_END_CHOICES = ("auto", "table", "random", "base2", "rank-one", "shared-rank-one")

HELP = "a text or a table in, certified weights out"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options of the command."""
    add_task_options(parser)
    add_size_options(parser)
    parser.add_argument(
        "--target",
        choices=("laws", "labels"),
        default=None,
        help="hold the laws of the next token (default for texts), or only the most frequent one (default for tables)",
    )
    parser.add_argument(
        "--memory",
        default=None,
        metavar="NAME",
        help="build this memory, see `byheart memories` (default: smallest, the one of fewest parameters that holds "
        "the facts; theorem-1 where --dim, --head-dim, --heads, --front-end or --tail is given)",
    )
    parser.add_argument(
        "--dtype",
        choices=("float32", "float64"),
        default=None,
        help="round the weights to this type, and choose a memory that holds the facts when it is run in it "
        "(default: float32; float64 where sizes are given)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="take the first memory that every run holds, and search for no smaller one"
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="learn the whole text by heart: all contexts of the least length that determines what follows",
    )
    parser.add_argument("--attention-only", action="store_true", help="take no memory with neurons")
    parser.add_argument("--layers", type=count, default=None, metavar="L", help="take no memory with more layers")
    parser.add_argument(
        "--front-end",
        default="auto",
        choices=FRONT_END_CHOICES,
        help="the family of attention patterns of theorem-1 (default: auto)",
    )
    parser.add_argument(
        "--tail",
        choices=("fit", "none"),
        default=None,
        help="with theorem-1, fit the contexts that are not memorized, without disturbing those that are "
        "(default: none)",
    )
    parser.add_argument(
        "--tolerance",
        type=bound,
        default=None,
        metavar="NATS",
        help="what the divergence of a held law may be (default: 0.001)",
    )
    add_out_options(parser, "out/NAME")
    add_device_option(parser, "also run the replica, and ")
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.job import hold
    from constructions.files import refuse_existing
    from constructions.tasks.criterion import TOLERANCE
    from constructions.tasks.vocabulary import echoed

    out = _folder_of(options)
    refuse_existing(out, overwrite=options.overwrite)
    with progress_lines(not options.json) as progress:
        given = read_the_facts(options, options.target, progress, whole=options.whole)
        task = given.task
        memory = hold(
            task,
            memory=options.memory,
            dtype=options.dtype,
            attention_only=options.attention_only,
            layers=options.layers,
            d_model=options.dim,
            d_head=options.head_dim,
            n_heads=options.heads,
            front_end=options.front_end,
            tail=options.tail,
            tolerance=TOLERANCE if options.tolerance is None else options.tolerance,
            quick=options.quick,
            seed=options.seed,
            device=options.device,
            source=given.source,
            progress=progress,
        )
        memory.summary["reading"] = f"{given.reading}. Facts: {echoed(given.task)}"
        progress("files", None, "")
        summary = memory.save(out, overwrite=options.overwrite)
        progress("files", 1.0, "")
        if options.whole:
            from byheart.reciting import recitation

            said = recitation(memory.model, task, dtype=summary["dtype"], progress=progress)
            summary["headline"] = f"{said.headline()}; {counted(summary['parameters'], 'parameter')}"
    print_summary(options, summary, memorize_tables)
    if not options.json:
        sys.stdout.write(next_steps(out, task=task))
    return EXIT_CODES[summary["verdict"]]


def _folder_of(options: argparse.Namespace) -> Path:
    """Where to write, by default a folder named like the file."""
    source = options.table if options.table is not None else options.source
    return options.out if options.out is not None else Path("out") / ("topics" if source is None else source.stem)


def memorize_tables(summary: dict[str, Any]) -> Rows:
    """What was built, what is certified of it and where it lies."""
    unit = "" if summary["target"] == "values" else " nats"
    loss = "distance from the values" if summary["target"] == "values" else "KL, memorized"
    (lower, upper), condition, guess = summary["text_kl"], summary["condition"], summary["guess_kl_lower"]
    certified = [
        ("asked", summary["asked"]),
        ("targets", summary["origin"]),
        ("contexts held", f"{summary['held']} of {summary['memorized']}; {summary['wrong']} proved not to be"),
        ("least margin", summary["margin_lower"] is not None and f">= {below(summary['margin_lower'])}"),
        (f"{loss}, mean", f"<= {above(summary['mean_loss_upper'])}{unit}"),
        (f"{loss}, worst", f"<= {above(summary['max_loss_upper'])}{unit}"),
        ("KL of a guess without the context", guess is not None and f">= {below(guess)} nats"),
        *_encoder_rows(summary),
        (
            "KL of the raw counts, all contexts, mean",
            lower is not None and f"in [{below(lower)}, {above(upper)}] nats; memorized are smoothed counts",
        ),
        ("condition of the features", condition and f"<= {above(condition)}"),
        *_saturation_rows(summary),
        ("weights", f"{_shape(summary)}, {summary['parameters']} parameters, {summary['front_end']}"),
    ]
    return [
        *([("Built", [(summary["claim"], summary["built"])])] if "claim" in summary else []),
        *(_memories_tables(summary) if "memories" in summary else []),
        *([("Capacity, for any targets", capacity_rows(summary))] if "rank_lower" in summary else []),
        ("Certified, of the weights as written", [(name, text) for name, text in certified if text]),
        (
            "Replica in torch",
            [(name, torch_row(row)) for name, row in (summary["torch"] or {}).items()]
            or [("torch", "not run here; `byheart run` does, where torch is installed")],
        ),
        ("Files", list(summary["files"].items())),
        ("Seconds", [(stage, f"{seconds:.1f}") for stage, seconds in summary["seconds"].items()]),
    ]


def _shape(summary: dict[str, Any]) -> str:
    if "blocks" in summary:
        return f"d_model {summary['dim']}, {', '.join(summary['blocks'])}"
    return f"{counted(summary['heads'], 'head')}, d_qk {summary['query_dim']}, d_head {summary['head_dim']}"


_COLUMNS = ("", "parameters", "not 0", "facts each", "bits/fact", "margin", "holds in", "s")
_EVERY_RUN = "every run"


def _memories_tables(summary: dict[str, Any]) -> Rows:
    tried = [offer for offer in summary["memories"] if "parameters" in offer]
    refused = [(offer["memory"], offer["refused"]) for offer in summary["memories"] if "refused" in offer]
    limit = str(summary["information_limit"])
    what = "numbers" if summary["target"] == "laws" else summary["dtype"]
    last = ("no fewer", limit, "", "", "", "", what, "")
    built = [(summary["memory"], summary["built"])]
    if summary["torch"] is not None:
        run = summary["torch"][summary["dtype"]]
        every = "nothing" if run["held_proved"] is None else f"{run['held_proved']} of {summary['memorized']}"
        built.append((f"every {summary['dtype']} run", f"holds {every}, proved"))
        built.append((f"one {summary['dtype']} run", f"holds {run['held']} of {summary['memorized']}, measured"))
    title = "Memories, the smallest that every run is proved to hold first"
    tried = sorted(tried, key=lambda offer: (not offer["every_run"], offer["parameters"]))
    return [
        (title, [_COLUMNS, *map(_offer_row, tried), last]),
        *([("Memories that were not taken", refused)] if refused else []),
        ("Built", built),
    ]


def _offer_row(offer: dict[str, Any]) -> tuple[str, ...]:
    return (
        offer["memory"],
        str(offer["parameters"]),
        str(offer["nonzero"]),
        f"{offer['facts_per_parameter']:.3g}",
        f"{offer['bits_per_fact']:.4g}",
        "not run" if offer["least_margin"] is None else number(offer["least_margin"]),
        _EVERY_RUN if offer["every_run"] else offer["smallest_dtype"] or "not run",
        f"{offer['seconds']:.1f}",
    )


def _saturation_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    if summary["pairs"] is None:
        return []
    held = f"at least {summary['saturated_pairs']} of {summary['pairs']} pairs of a head and a context"
    return [(f"attention above 1 - {above(summary['saturation_delta'])}", held)]


def _encoder_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What a stream of d dimensions cannot avoid; nothing for labels."""
    if summary.get("unavoidable_kl") is None:
        return []
    (lower, upper), (_, reached) = summary["unavoidable_kl"], summary["encoder_kl"]
    return [
        ("KL, memorized, by frequency", f"<= {above(reached)} nats"),
        (f"of it unavoidable with d = {summary['dim']}", f"in [{below(lower)}, {above(upper)}] nats"),
    ]
