"""The blocks cover all examples once; the condition on the queries is decided exactly."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.model.exact_network import as_rationals
from constructions.saturated_layers.query_blocks import block_violation, query_blocks, require_blocks, require_examples
from constructions.saturated_layers.random_heads import random_heads
from constructions.saturated_layers.saturated_heads import saturated_heads
from constructions.saturated_layers.single_direction_heads import single_direction_heads


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_blocks_cover_every_example_once(heads: int, size: int, data: st.DataObject) -> None:
    examples = data.draw(st.integers(1, heads * (size - 1) + 1))
    blocks = query_blocks(examples, heads, size)
    assert list(chain(*blocks)) == list(range(examples))
    assert len(blocks) == heads
    assert len(blocks[0]) == min(size, examples)
    assert all(len(block) <= size - 1 for block in blocks[1:])
    # A head has fewer examples than it can fit only if none are left.
    assert all(len(block) == size - 1 or block.stop == examples for block in blocks[1:])


def test_one_example_too_many_is_refused_with_the_heads_that_suffice() -> None:
    message = r"T <= H \(b - 1\) \+ 1 = 7 with at most b = 4 examples a head, but T = 8, H = 2; 3 heads suffice"
    with pytest.raises(CapacityError, match=message) as caught:
        query_blocks(8, 2, 4)
    assert caught.value.fewest_heads == 3
    with pytest.raises(CapacityError, match=r"T = 2, H = 9$") as caught:  # no number of heads suffices
        query_blocks(2, 9, 1)
    assert caught.value.fewest_heads is None


@pytest.mark.parametrize("sizes", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_numbers_below_one_are_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="expected at least 1"):
        query_blocks(*sizes)


def violated(queries: np.ndarray, blocks: tuple[range, ...]) -> bool:
    """The condition by ranks over the rationals."""
    for block in blocks:
        if len(block) and as_rationals(queries[list(block)]).rank() < len(block):
            return True
        for t in range(block.start) if len(block) else ():
            if as_rationals(queries[[*block, t]]).rank() == len(block):
                return True
    return False


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.data())
def test_the_condition_is_that_of_exact_ranks(width: int, heads: int, size: int, data: st.DataObject) -> None:
    examples = data.draw(st.integers(1, heads * (size - 1) + 1))
    entries = st.sampled_from([0.0, 1.0, -1.0, 0.1, 2.0**-60, 2.0**900, 5e-324])
    rows = data.draw(st.lists(st.lists(entries, min_size=width, max_size=width), min_size=examples, max_size=examples))
    queries, blocks = np.array(rows), query_blocks(examples, heads, size)
    assert (block_violation(queries, blocks) is not None) == violated(queries, blocks)


def test_nearly_dependent_queries_are_independent() -> None:
    queries = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])
    assert block_violation(queries, query_blocks(2, 1, 2)) is None


def test_a_determinant_that_vanishes_only_modulo_the_prime_is_not_zero() -> None:
    queries = np.array([[2.0**31, 57.0], [1.0, 2.0**31]])  # of determinant 2^62 - 57
    assert block_violation(queries, query_blocks(2, 1, 2)) is None
    assert block_violation(queries, (range(0, 1), range(1, 2))) is None


def test_violations_are_named() -> None:
    with pytest.raises(HypothesisError, match=r"query 0 is in the span of the queries 2 \.\. 2"):
        require_blocks("X", np.array([[2.0, 4.0], [0.0, 1.0], [1.0, 2.0]]), query_blocks(3, 2, 2))
    with pytest.raises(HypothesisError, match=r"queries 0 \.\. 1 are linearly dependent"):
        require_blocks("X", np.array([[2.0, 4.0], [1.0, 2.0]]), query_blocks(2, 1, 2))
    with pytest.raises(InputError, match="finite"):
        block_violation(np.array([[np.nan]]), query_blocks(1, 1, 1))


@pytest.mark.parametrize("heads", [saturated_heads, single_direction_heads, random_heads])
@pytest.mark.parametrize(
    ("contexts", "queries", "message"),
    [
        (np.ones((3, 4)), np.ones((4, 4)), "contexts has shape"),
        (np.ones((1, 3, 4)), np.ones(4), "queries has shape"),
        (np.ones((1, 3, 4)), np.ones((0, 4)), "queries has shape"),
        (np.ones((1, 3, 4)), np.ones((4, 3)), "contexts has shape"),
        (np.ones((3, 3, 4)), np.ones((4, 4)), "contexts has shape"),
        (np.ones((1, 0, 4)), np.ones((4, 4)), "contexts has shape"),
        (np.full((1, 3, 4), np.nan), np.ones((4, 4)), "contexts has an entry"),
        (np.ones((1, 3, 4)), np.full((4, 4), np.inf), "queries has an entry"),
        (np.full((1, 3, 4), 1e300), np.ones((4, 4)), "contexts has the largest entry 1e\\+300, expected .* scale"),
        (np.full((1, 3, 4), 1e-300), np.ones((4, 4)), "contexts has the largest entry 1e-300, expected .* scale"),
        (np.ones((1, 3, 4)), np.full((4, 4), -1e300), "queries has the largest entry 1e\\+300, expected .* scale"),
    ],
)
def test_examples_that_fit_no_layer_are_refused(heads, contexts, queries, message: str) -> None:
    with pytest.raises(InputError, match=message):
        heads(contexts, queries, n_heads=2, d_head=3)
    with pytest.raises(InputError, match=message):
        require_examples(contexts, queries)
