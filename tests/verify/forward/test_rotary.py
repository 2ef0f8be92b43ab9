"""Tables of exact angles, against many digits."""

import mpmath
import numpy as np
import pytest

from constructions.model.blocks import Attention
from verify.forward.rotary import tables, turned_entries


def block(frequencies, turned="halves"):
    one = np.ones((1, 2, 8))
    return Attention(one, one, one, np.ones((1, 8, 2)), frequencies=np.array(frequencies), turned=turned)


def test_tables_are_pairs_next_to_the_exact_cosines_and_sines():
    frequencies, positions = [1.0, 0.1, 3.0e5, 0.0], [0, 1, 17, 131071]
    cos, sin = tables(block(frequencies), positions)
    with mpmath.workprec(600):
        for i, s in enumerate(positions):
            for j, f in enumerate(frequencies):
                angle = s * mpmath.mpf(f)
                for table, exact in ((cos, mpmath.cos(angle)), (sin, mpmath.sin(angle))):
                    assert abs(exact - mpmath.mpf(table.high[i, j])) <= mpmath.mpf(2) ** -53
                    both = mpmath.mpf(table.high[i, j]) + mpmath.mpf(table.low[i, j])
                    assert abs(exact - both) <= mpmath.mpf(2) ** -103


@pytest.mark.parametrize(
    ("turned", "first", "second"), [("halves", [0, 1, 2], [3, 4, 5]), ("neighbours", [0, 2, 4], [1, 3, 5])]
)
def test_pairs_are_halves_or_neighbours_and_the_rest_is_not_turned(turned, first, second):
    entries = np.arange(8)
    places = turned_entries(block([1.0, 2.0, 3.0], turned))
    assert [entries[place].tolist() for place in places] == [first, second]
