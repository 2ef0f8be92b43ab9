"""What the theorems promise, in numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.promised_ranks import fewest_heads, promised_ranks
from constructions.errors import InputError

sizes = st.fixed_dictionaries(
    {name: st.integers(1, 40) for name in ("n_examples", "n_ctx", "d_model", "n_heads", "d_head")}
)


@given(sizes)
def test_the_counts_are_ordered_as_the_theorems_are(given_sizes):
    found = promised_ranks(**given_sizes)
    assert 1 <= found.mahdavi <= found.sharp == found.shared_limit <= given_sizes["n_examples"]
    if given_sizes["d_head"] >= given_sizes["n_ctx"]:
        assert found.mahdavi == found.sharp
    if given_sizes["n_ctx"] <= given_sizes["d_model"]:
        assert found.sharp <= found.generic


@given(st.integers(1, 200), st.integers(2, 20))
def test_one_head_fewer_is_not_enough(examples, size):
    n_heads = fewest_heads(examples, size)
    assert n_heads is not None and n_heads * (size - 1) + 1 >= examples
    assert n_heads == 1 or (n_heads - 1) * (size - 1) + 1 < examples


def test_the_example_of_the_paper():
    found = promised_ranks(n_examples=10**4, n_ctx=32, d_model=64, n_heads=20, d_head=64)
    assert (found.mahdavi, found.sharp, found.generic, found.dana) == (621, 621, 1280, 1344)


def test_numbers_below_one_are_refused():
    with pytest.raises(InputError, match="d_head = 0"):
        promised_ranks(n_examples=1, n_ctx=1, d_model=1, n_heads=1, d_head=0)
    with pytest.raises(InputError, match="size = 0"):
        fewest_heads(1, 0)
