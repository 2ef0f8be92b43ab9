"""Counts with their nouns."""

from hypothesis import given
from hypothesis import strategies as st

from constructions.counted import counted, inflected


@given(st.integers(0, 10**6))
def test_one_is_singular_and_every_other_count_is_not(count: int) -> None:
    assert counted(count, "head") == (f"{count} head" if count == 1 else f"{count:,} heads")
    assert counted(count, "pair of heads") == f"{count:,} {inflected('pair', count)} of heads"
    assert counted(count, "ReLU neuron").endswith("neuron") == (count == 1)
