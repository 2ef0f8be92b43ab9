"""`byheart claims`: the claims of the literature and the verdict on each."""

import argparse
import json
import sys
from collections import Counter
from typing import Any

from byheart.terminal.exit_codes import PROVED
from byheart.terminal.options import add_output_options
from byheart.terminal.places import file_of_page
from byheart.terminal.tables import Rows, print_list, print_tables
from constructions.counted import counted

HELP = "list the claims of the literature, with verdicts"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options of the command."""
    parser.add_argument("claim", nargs="*", metavar="ID", help="only these, in full")
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from verify.claims import listing

    listed = listing(options.claim or None)
    if options.json:
        sys.stdout.write(json.dumps(listed) + "\n")
        return PROVED
    sys.stdout.write(f"{_headline(listed)}\n")
    if options.quiet:
        return PROVED
    sys.stdout.write("\n")
    if options.claim:
        print_tables(_claims_tables(listed))
    else:
        print_list("Claims", [(claim["id"], f"{_verdict(claim)}: {claim['title']}") for claim in listed])
    return PROVED


def _headline(listed: list[dict[str, Any]]) -> str:
    verdicts = Counter(claim["verdict"] for claim in listed)
    return f"{counted(len(listed), 'claim')}: " + ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common())


def _verdict(claim: dict[str, Any]) -> str:
    said = f", {claim['kind']}" * (claim["kind"] not in ("statement", "own"))
    return claim["verdict"] + said + ", not read in full" * bool(claim["reconstructed"])


def _claims_tables(listed: list[dict[str, Any]]) -> Rows:
    return [
        (
            f"{claim['id']}: {claim['title']}",
            [
                ("source", claim["source"]),
                *([("in its words", claim["quotation"])] if claim["quotation"] else []),
                ("printed", claim["printed"]),
                *([("read so", claim["reading"])] if claim["reading"] else []),
                ("verdict", _verdict(claim)),
                *([("not at hand", claim["reconstructed"])] if claim["reconstructed"] else []),
                *([("wrong", claim["wrong"])] if claim["wrong"] else []),
                ("true", claim["truth"]),
                ("builds", _parameters(claim["parameters"])),
                *((_of_what(claim), hypothesis) for hypothesis in claim["hypotheses"]),
                ("page", file_of_page(claim["page"])),
            ],
        )
        for claim in listed
    ]


def _of_what(claim: dict[str, Any]) -> str:
    """What the conditions are those of: the weights that are built, which are fewer than the claim speaks of."""
    return "true where" if claim["parameters"] is None else "builds where"


def _parameters(parameters: dict[str, int] | None) -> str:
    if parameters is None:
        return "no weights"
    return "weights, --param " + " ".join(f"{name}={value}" for name, value in parameters.items())
