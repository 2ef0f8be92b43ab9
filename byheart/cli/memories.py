"""`byheart memories`: what there is to build, what it needs and what it costs."""

import argparse
from typing import TYPE_CHECKING

from byheart.result import Field, Result, Section
from byheart.terminal.options import add_output_options
from byheart.terminal.places import file_of_page
from byheart.terminal.tables import show_several

if TYPE_CHECKING:
    from constructions.memories.memory import Memory

HELP = "list the constructions, their requirements and sizes"
EXAMPLE = "byheart memories"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from constructions.menu import MEMORIES

    results = [_result(memory) for memory in MEMORIES]
    sections = tuple(section for result in results for section in result.sections)
    overview = Result(f"{len(MEMORIES)} memories: what each needs, and what it costs", None, sections)
    return show_several(options, overview, results)


def _result(memory: "Memory") -> Result:
    fields = (
        Field("memory", memory.name, "the name of the memory", shown=False),
        Field("needs", memory.needs, "needs"),
        Field("parameters", memory.cost, "parameters"),
        Field("attention_only", memory.attention_only, "attention only, no neurons"),
        Field("page", memory.page, "the page that proves it, in the source", shown=False),
        Field("", file_of_page(memory.page), "page"),
    )
    return Result(f"{memory.name} needs {memory.needs}", None, (Section(memory.name, fields),))
