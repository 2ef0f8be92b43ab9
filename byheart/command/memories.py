"""`byheart memories`: what there is to build, what it needs and what it costs."""

import argparse
import json
import sys

from byheart.terminal.exit_codes import PROVED
from byheart.terminal.options import add_json_option
from byheart.terminal.places import file_of_page
from byheart.terminal.tables import print_tables

HELP = "list the memories, what they need and what they cost"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options of the command."""
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from constructions.memories.choice import MEMORIES

    listed = [
        {
            "memory": memory.name,
            "needs": memory.needs,
            "parameters": memory.cost,
            "attention_only": memory.attention_only,
            "page": memory.page,
        }
        for memory in MEMORIES
    ]
    if options.json:
        sys.stdout.write(json.dumps(listed) + "\n")
        return PROVED
    print_tables(
        [
            (
                memory["memory"],
                [
                    ("needs", memory["needs"]),
                    ("parameters", memory["parameters"]),
                    ("layers", "of attention alone" if memory["attention_only"] else "of attention and of neurons"),
                    ("page", file_of_page(memory["page"])),
                ],
            )
            for memory in listed
        ]
    )
    return PROVED
