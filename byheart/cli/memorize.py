"""`byheart memorize`: a text or a table in, certified weights out."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from byheart.terminal.argument_types import bound, count
from byheart.terminal.fact_options import add_size_options, add_task_options, read_the_facts
from byheart.terminal.made import made_result
from byheart.terminal.options import add_device_option, add_out_options, add_output_options
from byheart.terminal.progress import progress_lines
from byheart.terminal.rule_file import named_memory
from byheart.terminal.tables import show

if TYPE_CHECKING:
    from constructions.tasks.task import Task

FRONT_END_CHOICES = ("auto", "table", "random", "base2", "rank-one", "shared-rank-one")

LEARNED_IN_A_MINUTE = 250_000
"""Bytes of a text that is learned whole, on one core, as was measured of 170,000 to 400,000 characters."""

HELP = "build the smallest weights that memorize a text or a table, and prove it"
EXAMPLE = "byheart memorize capitals.csv --out capitals"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_task_options(parser)
    add_size_options(parser)
    parser.add_argument(
        "--target",
        choices=("distributions", "labels"),
        default=None,
        help="memorize next-token distributions (the default for texts) or the most frequent next token (labels, the "
        "default for tables)",
    )
    parser.add_argument(
        "--memory",
        default=None,
        metavar="NAME",
        help="which construction, see `byheart memories`, or FILE.py:name, a memory of your own (default: smallest, "
        "the one with fewest parameters; theorem-1 with --dim, --head-dim, --heads or --front-end)",
    )
    parser.add_argument(
        "--dtype",
        choices=("float16", "bfloat16", "float32", "float64"),
        default=None,
        help="type of the weights, and of the runs in which the facts shall be right (default: float32; float64 where "
        "sizes are given)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="stop at the first memory that is right in every run; do not search for a smaller one",
    )
    parser.add_argument(
        "--whole",
        action=argparse.BooleanOptionalAction,
        help="learn the whole text by heart, all contexts of the least length that determines what follows (default, "
        "unless --facts, --mass, --context, --vocabulary, --target or a size asks for frequent contexts)",
    )
    parser.add_argument("--attention-only", action="store_true", help="attention only, no MLP")
    parser.add_argument("--layers", type=count, default=None, metavar="L", help="at most L layers")
    parser.add_argument(
        "--front-end",
        default="auto",
        choices=FRONT_END_CHOICES,
        help="attention patterns of theorem-1 (default: auto)",
    )
    parser.add_argument(
        "--tolerance",
        type=bound,
        default=None,
        metavar="NATS",
        help="largest KL of a memorized distribution (default: 0.001)",
    )
    add_out_options(parser, "out/NAME")
    add_device_option(parser)
    add_output_options(parser, verbose=True)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    if options.dim is options.heads is None:
        # The matrices of a search are small: threads of the BLAS, which is loaded now, would wait for each other.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from byheart.figures import Figures
    from byheart.jobs.memorize import ever_smaller
    from constructions.formats.files import refuse_existing
    from constructions.tasks.criterion import TOLERANCE

    out = _folder_of(options)
    refuse_existing(out, overwrite=options.overwrite)
    whole = _learns_whole(options)
    if whole and options.source is not None:
        _say_how_long(Path(options.source))
    saved: list[Figures] = []  # of the first memory, and of the one that a search found
    with progress_lines(options) as progress:
        given = read_the_facts(options, options.target, progress, whole=whole)
        task = given.facts
        memories = ever_smaller(
            given.task,
            memory=named_memory(options.memory),
            dtype=options.dtype,
            attention_only=options.attention_only,
            layers=options.layers,
            d_model=options.dim,
            d_head=options.head_dim,
            n_heads=options.heads,
            front_end=options.front_end,
            tolerance=TOLERANCE if options.tolerance is None else options.tolerance,
            quick=options.quick,
            seed=options.seed,
            device=options.device,
            source=given.source,
            reading=given.said,
            left_out=given.left_out,
            progress=progress,
        )
        for memory in memories:
            progress("files", None, "")
            saved.append(memory.save(out, overwrite=options.overwrite or bool(saved)))
            progress("files", 1.0, "")
    figures = saved[-1]
    first = saved[0] if len(saved) > 1 else None
    code = show(options, made_result(figures, out, task, first=first, verbose=options.verbose))
    if task.windows is not None and options.source is None and not (options.json or options.quiet):
        sys.stdout.write(_beside(figures.parameters, task))
    return code


def _beside(parameters: int, task: "Task") -> str:
    """Return what the reference takes in other forms, and how to have less of it."""
    import lzma

    from byheart.theory import theorems
    from constructions.tasks.text import default_text

    text, memorized = default_text().encode(), theorems("memorized")
    counts = "" if memorized is None else f"{memorized.counted_by_theorem_1(task)}; "
    return (
        f"Beside it: {counts}the text has\n{len(text):,} bytes, xz makes {len(lzma.compress(text)):,} of them, and a "
        f"dense float32 file of these parameters takes {4 * parameters:,}.\n"
        "The next-token distributions of its 1,024 most frequent contexts: byheart memorize --facts 1024\n"
    )


def _learns_whole(options: argparse.Namespace) -> bool:
    """Whether the line asks for a whole text, or names nothing that only frequent contexts have."""
    from byheart.facts import learns_whole

    if options.whole is not None:
        return options.whole
    source = options.source if options.table is None else options.table
    sizes = {"d_model": options.dim, "d_head": options.head_dim, "n_heads": options.heads}
    sizes["front_end"] = None if options.front_end == "auto" else options.front_end
    named = {**vars(options), **sizes, "facts_at_most": options.facts, "table": True if options.table else None}
    return learns_whole(source, named)


def _say_how_long(source: Path) -> None:
    """Say how long a text takes that is learned whole, or the texts of a folder, where that is more than a minute."""
    files = source.rglob("*") if source.is_dir() else [source]
    minutes = sum(file.stat().st_size for file in files if file.is_file()) / LEARNED_IN_A_MINUTE
    if minutes > 1:
        print(f"about {minutes:.0f} minutes", file=sys.stderr, flush=True)


def _folder_of(options: argparse.Namespace) -> Path:
    """Where to write, by default a folder named like the file."""
    source = options.table if options.table is not None else options.source
    return options.out if options.out is not None else Path("out") / ("reference" if source is None else source.stem)
