"""One direction in which queries differ is enough on a shared context."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.saturated_layers.shared_context import (
    confined_queries,
    line_queries,
    one_direction_layer,
    positive_direction,
)
from verify.theorems.capacity.exact_rank import exact_mixed_rank


@given(st.integers(1, 5), st.integers(0, 2), st.integers(1, 5), st.integers(1, 20), st.integers(0, 9))
def test_parallel_queries_reach_the_bound(tokens, more, n_heads, examples, seed):
    width = tokens + more
    context, queries = np.eye(tokens, width, dtype=np.int64), line_queries(examples, width)
    layer = one_direction_layer(context, queries, n_heads=n_heads, seed=seed)
    found = exact_mixed_rank(layer.contexts, layer.queries, layer.W_Q, layer.W_K).lower
    assert found == min(examples, n_heads * (tokens - 1) + 1)
    assert layer.W_K.shape == (n_heads, width, 1)


@given(st.integers(1, 4), st.integers(1, 8), st.integers(0, 2**32))
def test_a_direction_is_positive_and_distinct_on_all_queries(width, count, seed):
    queries = np.random.default_rng(seed).integers(1, 50, (count, width))
    queries[:, 0] = np.arange(1, count + 1)
    heights = queries @ positive_direction(queries)
    assert heights.min() > 0 and len(set(heights.tolist())) == count


@pytest.mark.parametrize("queries", [[[1, 0], [-1, 0]], [[1, 2], [1, 2]], [[0, 0]]])
def test_queries_without_such_a_direction_are_refused(queries):
    with pytest.raises(HypothesisError, match="none found"):
        positive_direction(np.array(queries))


def test_confined_queries_span_as_many_dimensions_as_are_independent():
    queries = confined_queries(6, 5, 3)
    assert np.linalg.matrix_rank(queries) == 3 and queries.shape == (6, 5)


def test_arguments_out_of_range_are_refused():
    for sizes in [(3, 2, 3), (3, 4, 0), (2, 4, 2)]:
        with pytest.raises(InputError):
            confined_queries(*sizes)
    context = np.eye(2, dtype=np.int64)
    for wrong in [(context.astype(float), context, 1), (context, context, 0), (context, np.eye(3, dtype=int), 1)]:
        with pytest.raises(InputError):
            one_direction_layer(wrong[0], wrong[1], n_heads=wrong[2])
    with pytest.raises(InputError):
        positive_direction(np.ones((2, 2)))  # pyright: ignore[reportArgumentType]


def test_powers_that_int64_does_not_hold_are_refused():
    assert confined_queries(2**21 - 1, 4, 4)[-1, 3] == (2**21 - 1) ** 3
    with pytest.raises(InputError, match="below 2"):
        confined_queries(2**21, 4, 4)
