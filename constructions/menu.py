"""Collect the memories to try: each file of a folder defines a `MEMORY`.

Pages: docs/memories.md, docs/contributing.md
"""

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

from constructions.memories.memory import Memory

FOLDERS = ("constructions.memories.menu", "constructions.heads_of_theorem_1.menu")
"""Where memories lie. A folder that is not there has none: the menu does without the theory."""


def _found() -> tuple[Memory, ...]:
    memories: list[Memory] = []
    for folder in FOLDERS:
        if find_spec(folder.rpartition(".")[0]) is None:
            continue
        for module in iter_modules(import_module(folder).__path__):
            memories.append(import_module(f"{folder}.{module.name}").MEMORY)
    return tuple(sorted(memories, key=lambda memory: memory.turn))


MEMORIES = _found()
"""All memories, in the order in which they are tried: first those whose runs are exact, then the fastest."""

BY_NAME = {memory.name: memory for memory in MEMORIES}
