"""`byheart audit`: certify the verdict on every claim again."""

import argparse
import os
from typing import Any

from byheart.result import Field, Result, Section, data_fields
from byheart.terminal.argument_types import path
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
from byheart.terminal.tables import show_several

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
    results = [_result(summary) for summary in summaries]
    outcome = audit_outcome(summaries, asked)
    seconds = sum(summary["seconds"] for summary in summaries if not summary["earlier"])
    if options.claim or options.verbose:
        sections = tuple(section for result in results for section in result.sections)
    else:
        lines = tuple(Field("", _timed(summary), summary["id"]) for summary in summaries)
        sections = (Section("Claims", lines),)
    overview = Result(str(outcome.adding(f"{seconds:.1f} s")), outcome.verdict, sections)
    code = show_several(options, overview, results)
    earlier = sum(summary["earlier"] for summary in summaries)
    say_what_was_kept(journal, earlier, len(summaries) - earlier)
    if interrupted:
        return interrupted_after(len(summaries), len(ids), "claim")
    return code


def _verdict(summary: dict[str, Any]) -> str:
    of = ", not read in full" if summary["reconstructed"] else ""
    word = "confirmed" if summary["confirmed"] else "NOT CONFIRMED"
    if summary["confirmed"] is None:
        word = f"what is said beside it {'was proved' if summary['proved_again'] else 'WAS NOT PROVED AGAIN'}"
    return f"{summary['verdict']}{of}, {word}{' by an earlier run' * summary['earlier']}"


def _timed(summary: dict[str, Any]) -> str:
    return f"{_verdict(summary)}, {summary['seconds']:.1f} s"


def _result(summary: dict[str, Any]) -> Result:
    """Return what the audit of one claim found."""
    shown, before = [], ""
    for piece in summary["evidence"]:
        by = f", {piece['speaks_of']}; {piece['method']}"
        judged = f"promised {piece['promised']}; certified {piece['certified']}{by if by != before else ', likewise'}"
        shown.append(Field("", f"{piece['statement']}\n{judged}", f"{piece['role']}, {piece['verdict']}"))
        before = by
    fields = (
        Field("printed", summary["printed"], "what is printed", note="the statement of the source"),
        Field("reading", summary["reading"], "how it is read", note="or `null`"),
        Field("wrong", summary["wrong"], "what is wrong", note="in a few words; `null` where nothing is"),
        Field("truth", summary["truth"], "what is true"),
        *shown,
        *(Field("", reason, "missing") for reason in summary["missing"]),
    )
    sections = (
        Section(f"{summary['id']}: {_timed(summary)}", fields),
        Section("", data_fields(summary, _ONLY_DATA)),
    )
    return Result(f"{summary['id']}: {_verdict(summary)}", None, sections)


_ONLY_DATA = {
    "id": "the claim",
    "title": "its title",
    "source": "where it is printed",
    "page": "where its proofs are",
    "verdict": "the word of docs/audit.md",
    "kind": "what it is in its source: `statement`, `remark`, `summary`, `fit`, or `own`",
    "reconstructed": "`null`, or what of the source was not at hand, so that `printed` is a reconstruction",
    "confirmed": "whether the verdict is confirmed; `true` only by the certificates of this run, or, if `earlier` is "
    "`true`, of the run that `--keep` took it from; `null` where there is no verdict (`not-judged`, `not-legible`, "
    "`open`, `measured`)",
    "proved_again": "whether there is all the evidence that the word needs, and all of it is `PROVED`; likewise",
    "missing": "why the evidence would not confirm the verdict even if all of it were `PROVED`: a list of sentences",
    "quotation": "`null`, or the words of the source with formulas in TeX",
    "promised": "one text for each piece of evidence",
    "certified": "one text for each piece of evidence, in the same order",
    "counterexample": "`null`, or a list of what refutes: `statement`, `certified`, `quantifier`, and the instance "
    "(contexts, weights, distributions)",
    "earlier": "`true` if all of this was taken over from `--keep`, and nothing of it certified again",
    "evidence": "a list of objects: `role` (the kind), `statement`, `promised`, `certified`, `quantifier`, `speaks_of` "
    "(the same with its theorems), `means`, `theorems` (`name`, `page`, `heading`, `judge`), `compared` "
    "(`relation`, `verdict`), `verdict`, `method`, `data`",
    "seconds": "time taken",
}
"""The meaning of the fields that only a program reads."""
