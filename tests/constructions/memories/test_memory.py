"""What the memories of the menu say of themselves."""

import pytest

from constructions.errors import ResourceError
from constructions.memories.memory import require_few
from constructions.memories.menu import BY_NAME, MEMORIES
from constructions.tasks.arrays import enumerated_task


def test_names_and_turns_are_distinct_and_all_is_said() -> None:
    assert len(BY_NAME) == len(MEMORIES) == len({memory.turn for memory in MEMORIES})
    assert all(memory.page.startswith("docs/") and memory.needs and memory.cost for memory in MEMORIES)


def test_so_many_facts_are_let_through_and_one_more_is_not() -> None:
    require_few(enumerated_task(3, 2), 9)
    with pytest.raises(ResourceError, match="9 facts are more than 8: it is tried where it is named"):
        require_few(enumerated_task(3, 2), 8)
