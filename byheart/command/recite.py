"""`byheart recite`: say a text that a folder holds by heart, and prove it."""

import argparse
import json
import sys

from byheart.terminal.argument_types import path
from byheart.terminal.exit_codes import PROVED, REFUTED, UNDECIDED
from byheart.terminal.options import add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.progress import progress_lines

HELP = "recite a memorized text, with the proof"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options of the command."""
    parser.add_argument("folder", type=path, help="a folder written by `memorize` of a text, or of several")
    parser.add_argument("title", nargs="?", help="of the text to recite, where there are several (default: all)")
    parser.add_argument("--from", dest="start", metavar="TEXT", help="begin after this text (default: its beginning)")
    parser.add_argument(
        "--dtype",
        choices=("float16", "bfloat16", "float32", "float64"),
        default="float32",
        help="type of the runs in the proof",
    )
    parser.add_argument("--run", action="store_true", help="also decode greedily in PyTorch, and compare")
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    require_folder(options.folder)
    from byheart.reciting import decoded, joined, recite

    with progress_lines(options) as progress:
        found = recite(options.folder, options.title, start=options.start, dtype=options.dtype, progress=progress)
    code = PROVED if len(found.said) in (found.proved, found.exact) else UNDECIDED
    run_text = None
    if options.run:
        tokens = tuple(decoded(options.folder, options.title, start=options.start, dtype=options.dtype))
        run_text, same = joined(tokens), tokens == found.said
        code = code if same else REFUTED
        sys.stderr.write(f"byheart: one run in {options.dtype} said {'the same' if same else 'something else'}\n")
    if options.json:
        fields = {"headline": found.headline(), "text": found.text, "proved": found.proved, "exact": found.exact}
        sys.stdout.write(json.dumps({**fields, "tokens": len(found.said), "run": run_text}) + "\n")
    elif options.quiet:
        sys.stdout.write(f"{found.headline()}\n")
    else:
        sys.stdout.write(f"{found.headline()}\n\n{found.text if run_text is None else found.begins + run_text}\n")
    return code
