"""The memories that are tried: one file each, found by their folder. Each has a `MEMORY`.

Pages: docs/memories.md, docs/contributing.md
"""

from importlib import import_module
from pkgutil import iter_modules

from constructions.memories.memory import Memory


def _found() -> tuple[Memory, ...]:
    memories = [import_module(f"{__name__}.{module.name}").MEMORY for module in iter_modules(__path__)]
    return tuple(sorted(memories, key=lambda memory: memory.turn))


MEMORIES = _found()
"""All memories, in the order in which they are tried: first those whose runs are exact, then the fastest."""

BY_NAME = {memory.name: memory for memory in MEMORIES}
