"""The repaired heads attend to the last position in every context, whatever the embeddings."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import assume, given
from hypothesis import strategies as st

from constructions.attention.skip_head import SkipHead, identity_skip_head, long_last_position, rank_one_skip_head
from constructions.errors import HypothesisError, InputError
from constructions.tasks.arrays import all_contexts
from verify.theorems.memories.sharp_attention import enclose_sharp_attention

Maker = Callable[..., SkipHead]
FRACTIONS = st.fractions(min_value=-5, max_value=5, max_denominator=7)


def matrix(draw: Callable[..., Any], rows: int, width: int) -> fmpq_mat:
    entries = draw(st.lists(FRACTIONS, min_size=rows * width, max_size=rows * width))
    return fmpq_mat(rows, width, [fmpq(entry.numerator, entry.denominator) for entry in entries])


@pytest.mark.parametrize("make", [long_last_position, rank_one_skip_head])
@given(data=st.data())
def test_every_gap_is_at_least_one(make: Maker, data: st.DataObject) -> None:
    tokens, n_ctx, width = (data.draw(st.integers(1, 3)) for _ in range(3))
    W_E, W_pos = matrix(data.draw, tokens, width), matrix(data.draw, n_ctx, width)
    direction = matrix(data.draw, 1, width)
    assume(any(entry != 0 for entry in direction.entries()))
    head = make(W_E, W_pos, direction=direction)
    found = enclose_sharp_attention(head.W_E, head.W_pos, head.form, all_contexts(tokens, n_ctx), sharpness=1)
    assert found.converges_to_last
    assert (found.smallest_gap is None) == (n_ctx == 1)
    assert found.smallest_gap is None or found.smallest_gap >= 1
    assert head.W_E == W_E
    assert head.W_pos.tolist()[:-1] == W_pos.tolist()[:-1]


@given(data=st.data())
def test_the_rank_one_head_has_one_query_direction(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 4))
    head = rank_one_skip_head(fmpq_mat(2, width), fmpq_mat(2, width), direction=fmpq_mat(1, width, [1] * width))
    assert head.W_Q.ncols() == head.W_K.ncols() == head.form.rank() == 1


def test_the_printed_head_prefers_the_wrong_position() -> None:
    head = identity_skip_head(fmpq_mat(2, 1, [1, 2]), fmpq_mat(2, 1, [fmpq(7, 10), fmpq(3, 10)]))
    found = enclose_sharp_attention(head.W_E, head.W_pos, head.form, np.array([[1, 0]]), sharpness=1)
    assert found.smallest_gap == fmpq(-91, 50)
    assert not found.converges_to_last


@pytest.mark.parametrize("make", [long_last_position, rank_one_skip_head])
def test_a_direction_of_zero_is_refused(make: Maker) -> None:
    with pytest.raises(HypothesisError, match="u != 0"):
        make(fmpq_mat(1, 2), fmpq_mat(2, 2), direction=fmpq_mat(1, 2))
    with pytest.raises(InputError, match="direction"):
        make(fmpq_mat(1, 2), fmpq_mat(2, 2), direction=fmpq_mat(1, 3, [1, 0, 0]))


def test_embeddings_of_different_widths_are_refused() -> None:
    with pytest.raises(InputError, match="W_pos"):
        identity_skip_head(fmpq_mat(1, 2), fmpq_mat(2, 1))
