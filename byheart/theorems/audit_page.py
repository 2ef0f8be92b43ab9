"""Render the audit as a page: each claim with its printed text, the verdict, and the evidence of this run.

Page: docs/audit.md
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from byheart.report.document import badge, document, escaped, section
from byheart.report.formulas import with_formulas
from byheart.result import Field, html_cards
from constructions.counted import counted
from constructions.formats.files import write_atomically
from verify.theorems.audit import audit_outcome
from verify.theorems.claim import Claim

_LONGEST_DATA = 1000  # characters of an instance; --json has all


def write_audit(path: Path, summaries: Sequence[Mapping[str, Any]], asked: Sequence[Claim]) -> None:
    """Write `audit_html` to `path`, atomically.

    Args:
        path: The file to write the page to.
        summaries: The objects of ``byheart audit --json``.
        asked: The claims that were to be audited.
    """
    write_atomically(Path(path), audit_html(summaries, asked).encode("utf-8"))


def audit_html(summaries: Sequence[Mapping[str, Any]], asked: Sequence[Claim]) -> str:
    """Return the page: how many verdicts are confirmed, a table of all claims, and a record with the evidence of each.

    Every text is escaped; instances are cut after 1000 characters, and say so.

    Args:
        summaries: The objects of ``byheart audit --json``.
        asked: The claims that were to be audited; more than there are summaries where the audit was interrupted.

    Returns:
        A whole HTML document.

    Example:
        >>> from verify.theorems.audit import audit_summaries
        >>> from verify.theorems.claims import claims
        >>> page = audit_html(list(audit_summaries(["mahdavi.one-token"])), claims(["mahdavi.one-token"]))
        >>> "1 of 1 verdict" in page, '<details id="mahdavi.one-token">' in page
        (True, True)
    """
    outcome = audit_outcome(summaries, asked)
    counts, total = escaped("; ".join(outcome.parts)), len(asked)
    shown = badge(outcome.verdict.value, outcome.word.lower())
    stopped = (
        "" if len(summaries) == total else f"<p>Interrupted after {len(summaries)} of {counted(total, 'claim')}.</p>"
    )
    head = (
        f"<header><p class='brand'>byheart audit</p><h1>{counts} {shown}</h1><p>A verdict is confirmed if, in the run "
        "that certified it, there was evidence of each kind that it needs, and all of it was proved. A claim that is "
        "not judged here, or by nobody, has no verdict; what is said beside it is proved alike.</p>"
        f"{_earlier(summaries)}{stopped}{_cards(summaries)}</header>\n"
    )
    records = section("The claims, and the evidence", "".join(_record(summary) for summary in summaries))
    return document(f"byheart: {outcome}", head + section("All claims", _list(summaries)) + records)


def _earlier(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Return the results that this run did not compute."""
    earlier = sum(bool(summary["earlier"]) for summary in summaries)
    return f"<p>{counted(earlier, 'claim')} taken over from an earlier run, not proved again.</p>" if earlier else ""


def _cards(summaries: Sequence[Mapping[str, Any]]) -> str:
    pieces = [piece for summary in summaries for piece in summary["evidence"]]
    proved = sum(piece["verdict"] == "PROVED" for piece in pieces)
    universal = sum(bool(piece["theorems"]) for piece in pieces)
    words = Counter(summary["verdict"] for summary in summaries)
    seconds = sum(one["seconds"] for one in summaries if not one["earlier"])
    fields = [
        Field("", f"{proved:,} of {len(pieces):,}", "pieces of evidence proved"),
        Field("", universal, "pieces that rest on a theorem"),
        Field("", f"{seconds:.0f} s", "time"),
        *(Field("", count, f"verdict: {word}") for word, count in words.most_common()),
    ]
    return html_cards(fields)


def _list(summaries: Sequence[Mapping[str, Any]]) -> str:
    if not summaries:
        return ""
    rows = "".join(
        f"<tr><td><a href='#{escaped(summary['id'])}'>{escaped(summary['id'])}</a></td>"
        f"<td>{with_formulas(summary['title'])}</td><td>{escaped(summary['verdict'])}</td><td>{_confirmed(summary)}</td></tr>"
        for summary in summaries
    )
    return f"<div class='scroll'><table class='claims'><tbody>{rows}</tbody></table></div>"


def _record(summary: Mapping[str, Any]) -> str:
    kind = f", a {summary['kind']}" * (summary["kind"] not in ("statement", "own"))
    terms = [("source", with_formulas(summary["source"]) + kind)]
    if summary["quotation"]:
        terms.append(("in its words", f"<q>{escaped(summary['quotation'])}</q>"))
    terms.append(("printed", with_formulas(summary["printed"])))
    fields = ("read so", "reading"), ("not at hand", "reconstructed"), ("wrong", "wrong")
    terms += [(name, with_formulas(summary[field])) for name, field in fields if summary[field]]
    terms += [("true", with_formulas(summary["truth"])), ("proofs", f"<code>{escaped(summary['page'])}</code>")]
    terms += [("missing", with_formulas(reason)) for reason in summary["missing"]]
    listed = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in terms)
    return (
        f'<details id="{escaped(summary["id"])}"><summary><strong>{escaped(summary["id"])}</strong> '
        f"<em>{escaped(summary['verdict'])}</em> {with_formulas(summary['title'])} {_confirmed(summary)}</summary>"
        f"<dl class='terms'>{listed}</dl>{''.join(map(_piece, summary['evidence']))}"
        f"<p class='quiet'>{summary['seconds']:.1f} s. Again: <code>byheart audit {escaped(summary['id'])}</code></p>"
        "</details>\n"
    )


def _piece(piece: Mapping[str, Any]) -> str:
    data = json.dumps(piece["data"])
    cut = f"{data[:_LONGEST_DATA]} … cut; --json has all" if len(data) > _LONGEST_DATA else data
    instance = f"<details><summary>instance</summary><pre>{escaped(cut)}</pre></details>" if piece["data"] else ""
    compared = "".join(
        f"<p class='relation'>{with_formulas(one['relation'])} {badge(one['verdict'])}</p>" for one in piece["compared"]
    )
    return (
        f"<div class='piece'><p><em>{escaped(piece['role'])}</em> {badge(piece['verdict'])} "
        f"{with_formulas(piece['statement'])}</p>"
        f"<p>Promised: {with_formulas(piece['promised'])}. Certified: "
        f"<strong>{with_formulas(piece['certified'])}</strong>, {with_formulas(piece['speaks_of'])}.</p>{compared}"
        f"<p class='quiet'>{with_formulas(piece['method'])}</p>{instance}</div>"
    )


def _confirmed(summary: Mapping[str, Any]) -> str:
    by = " by an earlier run" if summary["earlier"] else ""
    if summary["proved_again"]:
        if summary["confirmed"] is None:
            return badge("UNDECIDED", f"no verdict{by}")
        return badge("PROVED", f"confirmed{by}")
    refuted = any(piece["verdict"] == "REFUTED" for piece in summary["evidence"])
    return badge("REFUTED" if refuted else "UNDECIDED", f"not confirmed{by}")
