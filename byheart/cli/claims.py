"""`byheart claims`: the claims of the literature and the verdict on each."""

import argparse
import re
import sys
from collections import Counter
from fnmatch import fnmatchcase
from typing import Any, get_args

from byheart.result import Field, Result, Section, data_fields
from byheart.terminal.exit_codes import PROVED
from byheart.terminal.options import add_output_options
from byheart.terminal.places import file_of_page
from byheart.terminal.tables import show_several
from constructions.counted import counted
from constructions.errors import InputError

HELP = "list the claims of the literature, with verdicts"
EXAMPLE = "byheart claims dana.lemma-2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    from byheart.theorems.register import Judgement, Kind

    parser.add_argument(
        "claim",
        nargs="*",
        metavar="WORD",
        help="only these: an id (shown in full), a source such as dana, a pattern of ids such as 'dana.*', or a name "
        "or place in the source such as 'Lemma 2'; of several words, what any selects",
    )
    for name, words in (("verdict", get_args(Judgement)), ("kind", get_args(Kind))):
        parser.add_argument(
            f"--{name}",
            action="append",
            choices=words,
            metavar="WORD",
            help=f"only claims of this {name}, may be repeated: {', '.join(words)}",
        )
    how = add_output_options(parser)
    how.add_argument("--csv", action="store_true", help="print comma-separated values and nothing else")
    how.add_argument("--latex", action="store_true", help="print a LaTeX table, to be input, and nothing else")


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.theorems.claims_table import csv_table, latex_table

    listed = [
        claim
        for claim in _named(options.claim)
        if claim["verdict"] in (options.verdict or [claim["verdict"]])
        and claim["kind"] in (options.kind or [claim["kind"]])
    ]
    if options.csv:
        sys.stdout.write(csv_table(listed))
        return PROVED
    if options.latex:
        from byheart import __version__

        sys.stdout.write(latex_table(listed, __version__))
        return PROVED
    results = [_result(claim) for claim in listed]
    in_full = len(listed) == 1 or {claim["id"] for claim in listed} <= set(options.claim)
    return show_several(options, _overview(listed, results, in_full=in_full), results)


def _named(words: list[str]) -> list[dict[str, Any]]:
    """Return the claims that some word selects, in the order of the register; of no words all."""
    from byheart.theorems.register import Judgement, listing, no_claim, register

    if set(words) <= set(register()):
        return listing(words or None)
    listed = listing()
    chosen: set[str] = set()
    for word in words:
        if not (found := _selected(word, listed)):
            if word in get_args(Judgement):
                raise InputError("no claim", f"{word!r}; `--verdict {word}` selects by verdict")
            raise no_claim(word)
        chosen |= found
    return [claim for claim in listed if claim["id"] in chosen]


def _selected(word: str, listed: list[dict[str, Any]]) -> set[str]:
    """Return the ids that a word selects: one id, those of a source, those of a pattern, or those with this name or
    place.
    """
    asked = " ".join(word.lower().split())
    sources = {claim["id"]: claim["source"].lower() for claim in listed}
    if asked in sources or not asked:
        return {asked} & set(sources)
    if set(asked) & set("*?["):
        return {id for id in sources if fnmatchcase(id, asked)}
    if of_source := {id for id in sources if id.partition(".")[0] == asked}:
        return of_source
    whole = re.compile(rf"(?<!\w){re.escape(asked)}(?!\w)")
    return {id for id, source in sources.items() if whole.search(f"{id}, {source}, {_each_place(source)}")}


def _each_place(source: str) -> str:
    """Each place that a source names together with others: `lemmas 1 to 3` are `lemma 1, lemma 2, lemma 3`."""
    places = []
    for kind, first, between, last in re.findall(r"(\w+)s (\d+) (to|and) (\d+)", source):
        numbers = range(int(first), int(last) + 1) if between == "to" else (first, last)
        places += [f"{kind} {number}" for number in numbers]
    return ", ".join(places)


def _overview(listed: list[dict[str, Any]], results: list[Result], *, in_full: bool) -> Result:
    """Return all claims as one result: each in full, or in a line."""
    verdicts = Counter(claim["verdict"] for claim in listed).most_common()
    by_verdict = ", ".join(f"{verdict} {count}" for verdict, count in verdicts)
    headline = counted(len(listed), "claim") + (f", by verdict: {by_verdict}" if listed else "")
    if in_full:
        return Result(headline, None, tuple(section for result in results for section in result.sections))
    return Result(headline, None, (Section("Claims", tuple(Field("", _line(claim), claim["id"]) for claim in listed)),))


def _line(claim: dict[str, Any]) -> str:
    from byheart.theorems.claims_table import verdict

    return f"{verdict(claim)}: {claim['title']}" + (f": {claim['wrong']}" if claim["wrong"] else "")


def _result(claim: dict[str, Any]) -> Result:
    """Return the record of a claim."""
    from byheart.theorems.claims_table import verdict

    shown = (
        Field("source", claim["source"], "source", note="where it is printed"),
        Field("", verdict(claim), "verdict"),
        Field("quotation", claim["quotation"], "in its words", note="with formulas in TeX; `null` where none is known"),
        Field("truth", claim["truth"], "what is true"),
        Field("wrong", claim["wrong"], "what is wrong", note="`null` where nothing is"),
        Field("printed", claim["printed"], "what is printed"),
        Field("reading", claim["reading"], "how it is read", note="or `null`"),
        Field("reconstructed", claim["reconstructed"], "what was not at hand", note=_RECONSTRUCTED),
        *_built(claim),
        Field("", file_of_page(claim["page"]), "page"),
    )
    title = f"{claim['id']}: {claim['title']}"
    return Result(
        f"{title}: {verdict(claim)}", None, (Section(title, shown), Section("", data_fields(claim, _ONLY_DATA)))
    )


_RECONSTRUCTED = "so that `printed` is a reconstruction; else `null`"
_ONLY_DATA = {
    "id": "the claim",
    "title": "its title",
    "verdict": "the word of docs/audit.md",
    "kind": "what it is in its source: `statement`, `remark`, `summary`, `fit`, or `own`",
    "hypotheses": "a list of sentences: the conditions of the weights that `byheart build` makes, not of the claim and "
    "not of `truth`; where nothing is built, those of `truth`",
    "parameters": "of `verify.theorems.claims.claim(ID).construct`; where the id leads to a construction by name, "
    "`byheart build` takes those of that one; `null` where the claim builds no weights",
    "page": "where its proofs are",
}
"""The meaning of the fields that only a program reads."""


def _built(claim: dict[str, Any]) -> list[Field]:
    """Return what `byheart build` makes of a claim, and for what; or where the truth holds, if it makes nothing."""
    from byheart.theorems.claims_table import parameters
    from byheart.theorems.register import leading_from

    if (named := leading_from(claim["id"])) is not None:
        return [Field("", f"{named.name}: {named.line}; `byheart build {named.name} --{named.data} FILE`", "builds")]
    builds, where = f"weights, --param {parameters(claim['parameters'])}", "builds where"
    if claim["parameters"] is None:
        builds, where = "no weights", "true where"
    return [Field("", builds, "builds"), *(Field("", hypothesis, where) for hypothesis in claim["hypotheses"])]
