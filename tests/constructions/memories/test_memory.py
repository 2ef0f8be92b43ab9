"""How many facts a memory of the menu takes unasked."""

import pytest

from constructions.errors import ResourceError
from constructions.memories.memory import require_few
from constructions.tasks.arrays import enumerated_task


def test_so_many_facts_are_let_through_and_one_more_is_not() -> None:
    require_few(enumerated_task(3, 2), 9)
    with pytest.raises(ResourceError, match="9 facts are more than 8: it is tried where it is named"):
        require_few(enumerated_task(3, 2), 8)
