"""The structures that weights are compared with keep what they are given, and count every bit of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.static_functions import DirectTable, HashTable, PerfectHash, Ribbon

KEYS, BITS = 1000, 7
TABLES = st.dictionaries(st.integers(0, KEYS - 1), st.integers(0, 2**BITS - 1), min_size=1, max_size=300)


@pytest.mark.parametrize("kind", [DirectTable, HashTable, PerfectHash, Ribbon])
@given(values=TABLES)
def test_every_key_has_its_value_and_no_bit_is_missing(kind: type, values: dict[int, int]) -> None:
    built = kind.of(values, keys=KEYS, bits=BITS)
    assert all(built[key] == value for key, value in values.items())
    assert built.bits >= BITS * len(values)  # values are any: no structure can do with less


@pytest.mark.parametrize("kind", [DirectTable, HashTable])
@given(values=TABLES)
def test_a_table_knows_what_it_does_not_hold(kind: type, values: dict[int, int]) -> None:
    built = kind.of(values, keys=KEYS, bits=BITS)
    assert all(built[key] is None for key in range(KEYS) if key not in values)
