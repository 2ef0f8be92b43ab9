"""`byheart audit`: certify the verdict on every claim again."""

import argparse
import json
import os
import sys
from typing import Any

from byheart.terminal.argument_types import path
from byheart.terminal.exit_codes import EXIT_CODES
from byheart.terminal.failures import interrupted_after
from byheart.terminal.options import (
    add_keep_option,
    add_output_options,
    add_worker_options,
    journal_of,
    say_what_was_kept,
    workers,
)
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import Table, print_list, print_tables

HELP = "verify the verdict on every claim again"
EXAMPLE = "byheart audit dana.lemma-2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    parser.add_argument("claim", nargs="*", metavar="ID", help="only these claims, e.g. dana.lemma-2 (default: all)")
    parser.add_argument("--full", action="store_true", help="larger and more instances: minutes instead of seconds")
    add_worker_options(parser)
    add_keep_option(parser, "every claim that is finished")
    parser.add_argument("--html", metavar="FILE", type=path, help="also write an HTML page")
    add_output_options(parser, verbose=True)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    # Its matrices are small: threads of the BLAS, which is loaded now, would wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from byheart.theorems.audit import audit_outcome, audit_summaries
    from byheart.theorems.register import claims
    from constructions.errors import InputError

    page = options.html
    if page is not None and (page.is_dir() or not page.absolute().parent.is_dir()):  # before minutes of work, not after
        raise InputError("--html", f"is {str(page)!r}", "a file in a folder that exists")
    if page is not None and options.keep is not None and os.path.realpath(page) == os.path.realpath(options.keep):
        raise InputError("--html and --keep", f"are both {str(page)!r}", "two files")
    asked = claims(options.claim or None)  # an unknown id is refused before any work
    ids = [claim.id for claim in asked]
    journal = journal_of(options)
    summaries: list[dict[str, Any]] = []
    interrupted = False
    try:
        with progress_lines(options) as progress:
            for summary in audit_summaries(
                ids, full=options.full, progress=progress, workers=workers(options), journal=journal
            ):
                summaries.append(summary)
    except KeyboardInterrupt:
        interrupted = True
    order = {id: place for place, id in enumerate(ids)}
    summaries.sort(key=lambda summary: order.get(summary["id"], len(order)))
    if page is not None:
        from byheart.theorems.audit_page import write_audit

        write_audit(page, summaries, asked)
    outcome = audit_outcome(summaries, asked)
    if options.json:
        sys.stdout.write(json.dumps(summaries) + "\n")
    else:
        seconds = sum(summary["seconds"] for summary in summaries if not summary["earlier"])
        sys.stdout.write(f"{outcome.adding(f'{seconds:.1f} s')}\n" + "\n" * (not options.quiet))
        if options.quiet:
            pass
        elif options.claim or options.verbose:
            print_tables([_table(summary) for summary in summaries])
        else:
            print_list("Claims", [(summary["id"], _verdict(summary)) for summary in summaries])
    earlier = sum(summary["earlier"] for summary in summaries)
    say_what_was_kept(journal, earlier, len(summaries) - earlier)
    if interrupted:
        return interrupted_after(len(summaries), len(ids), "claim")
    return EXIT_CODES[outcome.verdict.value]


def _verdict(summary: dict[str, Any]) -> str:
    of = ", not read in full" if summary["reconstructed"] else ""
    word = "confirmed" if summary["confirmed"] else "NOT CONFIRMED"
    if summary["confirmed"] is None:
        word = f"what is said beside it {'was proved' if summary['proved_again'] else 'WAS NOT PROVED AGAIN'}"
    return f"{summary['verdict']}{of}, {word}{' by an earlier run' * summary['earlier']}, {summary['seconds']:.1f} s"


def _table(summary: dict[str, Any]) -> Table:
    told = ("printed", "printed"), ("read so", "reading"), ("wrong", "wrong"), ("true", "truth")
    rows, before = [(name, summary[field]) for name, field in told if summary[field]], ""
    for piece in summary["evidence"]:
        by = f", {piece['speaks_of']}; {piece['method']}"
        judged = f"promised {piece['promised']}; certified {piece['certified']}{by if by != before else ', likewise'}"
        rows.append((f"{piece['role']}, {piece['verdict']}", f"{piece['statement']}\n{judged}"))
        before = by
    rows += [("missing", reason) for reason in summary["missing"]]
    return f"{summary['id']}: {_verdict(summary)}", rows
