import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.tasks.cells import cells_of_line, line_of_cells, parsed

TEXTS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1).map(str.strip)


@given(st.lists(TEXTS, min_size=2, max_size=5))
def test_a_line_of_cells_is_read_as_these(cells: list[str]) -> None:
    assert cells_of_line(line_of_cells(cells), ",") == cells


@pytest.mark.parametrize(
    ("table", "stray", "broken", "mixed"),
    [("a,b\nc,d", 0, 0, 0), ('a,b"c', 1, 0, 0), ('a,b\n"c,d', 2, 2, 0), ("a,b\nc,d\r\n", 0, 0, 2)],
)
def test_what_is_wrong_is_found_at_its_line(table: str, stray: int, broken: int, mixed: int) -> None:
    found = parsed(table, ",")
    assert (found.stray, found.broken, found.mixed) == (stray, broken, mixed)
