"""What is asked of a memory: which is meant, in which precision, and what no memory but one has."""

import pytest

from byheart.jobs.request import Request
from constructions.errors import InputError
from constructions.menu import BY_NAME


@pytest.mark.parametrize(
    ("asked", "name", "precision"),
    [
        ({}, "smallest", "float32"),
        ({"memory": "knots"}, "knots", "float32"),
        ({"d_head": 2}, "theorem-1", "float64"),
        ({"memory": "knots", "d_model": 8}, "knots", "float32"),
        ({"n_heads": 3, "dtype": "float32"}, "theorem-1", "float32"),
        ({"memory": BY_NAME["probes"]}, "probes", "float32"),
    ],
)
def test_a_size_asks_for_the_heads_of_theorem_1_unless_a_memory_is_named(asked, name, precision):
    request = Request(**asked)
    assert (request.name, request.precision) == (name, precision)


def test_only_the_heads_of_theorem_1_are_made_of_the_sizes_that_are_given():
    sized = {memory.name: memory for memory in Request(d_model=8, d_head=2, n_heads=3).memories}
    assert set(sized) == set(BY_NAME) and (sized["theorem-1"].d_model, sized["theorem-1"].n_heads) == (8, 3)
    assert all(sized[name] is memory for name, memory in BY_NAME.items() if name != "theorem-1")


def test_a_memory_of_ones_own_is_the_only_one():
    assert Request(memory=BY_NAME["knots"]).memories == (BY_NAME["knots"],)


@pytest.mark.parametrize("asked", [{"n_heads": 2}, {"front_end": "table"}])
def test_a_memory_that_has_no_such_size_refuses_it(asked):
    with pytest.raises(InputError, match="only the memory 'theorem-1' has such, not 'knots'"):
        Request(memory="knots", **asked)
