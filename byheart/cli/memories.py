"""`byheart memories`: what there is to build, what it needs and what it costs."""

import argparse
import json
import sys

from byheart.terminal.exit_codes import PROVED
from byheart.terminal.options import add_output_options
from byheart.terminal.places import file_of_page
from byheart.terminal.tables import print_tables

HELP = "list the constructions, their requirements and sizes"
EXAMPLE = "byheart memories"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from constructions.menu import MEMORIES

    if options.json:
        rows = [
            {
                "memory": each.name,
                "needs": each.needs,
                "parameters": each.cost,
                "attention_only": each.attention_only,
                "page": each.page,
            }
            for each in MEMORIES
        ]
        sys.stdout.write(json.dumps(rows) + "\n")
        return PROVED
    sys.stdout.write(f"{len(MEMORIES)} memories: what each needs, and what it costs\n")
    if options.quiet:
        return PROVED
    sys.stdout.write("\n")
    print_tables(
        [
            (
                each.name,
                [
                    ("needs", each.needs),
                    ("parameters", each.cost),
                    ("layers", "attention only" if each.attention_only else "attention and neurons"),
                    ("page", file_of_page(each.page)),
                ],
            )
            for each in MEMORIES
        ]
    )
    return PROVED
