"""`byheart recite`: say a text that a folder holds by heart, and prove it."""

import argparse
import sys

from byheart.result import Field, Result, Section
from byheart.terminal.exit_codes import PROVED, REFUTED, UNDECIDED
from byheart.terminal.options import add_folder, add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import show
from verify.verdict import Verdict

HELP = "write a memorized text byte for byte, and prove it"
EXAMPLE = "byheart recite poem"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_folder(parser, "a folder written by `memorize` of a text, or of several")
    parser.add_argument("title", nargs="?", help="of one of several texts (default: all, one after the other)")
    parser.add_argument("--from", dest="start", metavar="TEXT", help="begin after this text (default: its beginning)")
    parser.add_argument(
        "--dtype",
        choices=("float16", "bfloat16", "float32", "float64"),
        help="ask for a proof of every run in this type (default: of every float32 run, or in real arithmetic)",
    )
    parser.add_argument("--run", action="store_true", help="also decode greedily in PyTorch, and compare")
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    require_folder(options.folder)
    from byheart.reciting import decoded, recite
    from constructions.tasks.recitation import encoded

    dtype, of_runs = options.dtype or "float32", options.dtype is not None
    with progress_lines(options) as progress:
        found = recite(options.folder, options.title, start=options.start, dtype=dtype, progress=progress)
    code, tokens, run_text = PROVED if found.answers(of_runs=of_runs) else UNDECIDED, None, None
    if options.run:
        tokens = tuple(decoded(options.folder, options.title, start=options.start, dtype=dtype))
        run_text = encoded(tokens).decode(errors="replace")
        code = code if tokens == found.said else REFUTED
    headline = found.headline(of_runs=of_runs, run=tokens)
    if options.json:
        fields = (
            Field("text", found.text, "the text as far as it is proved"),
            Field("proved", found.proved, "tokens that every run says, proved"),
            Field(
                "exact",
                found.exact,
                "tokens that real arithmetic says, proved",
                note="not asked, and the same as `proved`, where every run says all",
            ),
            Field("tokens", len(found.said), "tokens that are to be said"),
            Field("run", run_text, "what one run said, with `--run`"),
        )
        verdict = {PROVED: Verdict.PROVED, REFUTED: Verdict.REFUTED}.get(code, Verdict.UNDECIDED)
        return show(options, Result(headline, verdict, (Section("Text", fields),)))
    if not options.quiet:
        sys.stderr.write(f"{headline}\n")
        sys.stderr.flush()
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # a notebook has none
        sys.stdout.write(found.text)
    else:  # what is written is the file: in no other encoding, with its own line ends, and nothing behind it
        binary.write(found.data)
        binary.flush()
    return code
