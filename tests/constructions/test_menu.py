"""What the memories of the menu say of themselves."""

from constructions.menu import BY_NAME, MEMORIES


def test_names_and_turns_are_distinct_and_all_is_said() -> None:
    assert len(BY_NAME) == len(MEMORIES) == len({memory.turn for memory in MEMORIES})
    assert all(memory.page.startswith("docs/") and memory.needs and memory.cost for memory in MEMORIES)
