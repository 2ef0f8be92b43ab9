"""Heads of full rank with labels on as many contexts as their rank."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import contexts, sizes
from constructions.attention.capacity.generic_rank import generic_rank
from constructions.errors import HypothesisError, InputError
from constructions.model.attention import logits
from constructions.named.context_rows import ContextRows
from constructions.named.full_rank_attention import full_rank_memory, independent_rows


def rows_of(tokens):
    return ContextRows(tokens, tuple(map(str, range(int(tokens.max()) + 1))))


@given(contexts(d_vocab=3, n_ctx=3, max_size=10), sizes(max_d_model=4, max_n_heads=3, min_n_heads=1))
def test_as_many_labels_are_memorized_as_the_generic_rank_of_the_heads_alone(drawn, size):
    shape = {"d_model": size.d_model, "d_head": size.d_head, "n_heads": size.n_heads}
    if size.d_model == 1:
        shape["d_model"], shape["d_head"] = 2, min(2, size.d_head)
    made = full_rank_memory(rows_of(drawn), **shape)
    rank = generic_rank(drawn, **shape, with_skip=False)
    assert (made.criterion.contexts or len(drawn)) == rank
    memorized = (logits(made.model, made.task.contexts).argmax(axis=1) == made.task.labels).sum()
    assert memorized >= rank


def test_with_the_skip_connection_more_labels_are_free():
    tokens = np.array([[a, b, c] for a in range(3) for b in range(3) for c in range(3)])
    alone = full_rank_memory(rows_of(tokens), d_model=4, d_head=3, n_heads=2)
    beside = full_rank_memory(rows_of(tokens), d_model=4, d_head=3, n_heads=2, with_skip=1)
    assert (alone.criterion.contexts, beside.criterion.contexts) == (6, 9)  # three last tokens span three dimensions
    memorized = logits(beside.model, beside.task.contexts).argmax(axis=1) == beside.task.labels
    assert memorized.sum() >= 9


def test_equal_contexts_and_sizes_out_of_range_are_refused():
    rows = ContextRows(np.array([[0, 1], [0, 1]]), ("a", "b"))
    with pytest.raises(HypothesisError, match="Lemma 2 needs pairwise distinct contexts"):
        full_rank_memory(rows, d_model=4, d_head=2, n_heads=1)
    other = ContextRows(np.array([[0, 1], [1, 1]]), ("a", "b"))
    for wrong in (dict(d_head=5), dict(n_heads=0), dict(with_skip=2), dict(d_model=0)):
        with pytest.raises(InputError):
            full_rank_memory(other, **{"d_model": 4, "d_head": 2, "n_heads": 1, **wrong})


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 9))
def test_independent_rows_are_as_many_as_the_rank(rows, columns, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-3, 4, (rows, 2)) @ rng.integers(-3, 4, (2, columns)).astype(float)
    chosen = independent_rows(matrix)
    assert len(chosen) == np.linalg.matrix_rank(matrix) == np.linalg.matrix_rank(matrix[chosen])
