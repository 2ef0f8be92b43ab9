"""What is told of the memories is told of those that are built, in the order in which they are tried."""

from constructions.described_memories import DESCRIBED
from constructions.memories.choice import MEMORIES


def test_all_memories_are_described_once_and_in_order():
    assert tuple(tuple(kind)[:5] for kind in MEMORIES) == tuple(map(tuple, DESCRIBED))
