"""The limit of sharp attention is exact, and the balls hold what a direct computation with more digits gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import contexts
from constructions.errors import InputError
from verify.theorems.memories.sharp_attention import SharpAttention, enclose_sharp_attention

ONE = fmpq_mat(1, 1, [1])


def matrix(draw: Callable[..., Any], rows: int, width: int) -> fmpq_mat:
    entries = draw(st.lists(st.integers(-3, 3), min_size=rows * width, max_size=rows * width))
    return fmpq_mat(rows, width, [fmpq(entry, 2) for entry in entries])


@st.composite
def one_head(draw: st.DrawFn) -> tuple[fmpq_mat, fmpq_mat, fmpq_mat, np.ndarray]:
    tokens, n_ctx, width = (draw(st.integers(1, 3)) for _ in range(3))
    rows = draw(contexts(d_vocab=tokens, n_ctx=n_ctx, max_size=4))
    return matrix(draw, tokens, width), matrix(draw, n_ctx, width), matrix(draw, width, width), rows


def attention(W_E: fmpq_mat, W_pos: fmpq_mat, form: fmpq_mat, row: list[int], sharpness: fmpq) -> list[list]:
    """The shares, the inputs and the output of softmax(lambda x_S W x_s), as written in the conventions."""
    inputs = [
        fmpq_mat(1, W_E.ncols(), [a + b for a, b in zip(W_E.tolist()[t], W_pos.tolist()[s], strict=True)])
        for s, t in enumerate(row)
    ]
    scores = [(inputs[-1] * form * x.transpose())[0, 0] * sharpness for x in inputs]
    powers = [arb(score).exp() for score in scores]
    shares = [power / sum(powers, arb(0)) for power in powers]
    output = [
        sum((share * arb(x[0, j]) for share, x in zip(shares, inputs, strict=True)), arb(0)) for j in range(W_E.ncols())
    ]
    return [shares, inputs, output]


@given(one_head(), st.fractions(min_value="1/8", max_value=8, max_denominator=8))
def test_the_balls_hold_the_attention_of_the_definition(head, sharpness) -> None:
    W_E, W_pos, form, rows = head
    factor = fmpq(sharpness.numerator, sharpness.denominator)
    found = enclose_sharp_attention(W_E, W_pos, form, rows, sharpness=factor)
    with ctx.workprec(300):
        for t, row in enumerate(rows.tolist()):
            shares, inputs, output = attention(W_E, W_pos, form, row, factor)
            assert found.share_of_last[t].overlaps(shares[-1])
            assert found.share_of_last[t].rad() < arb(2) ** -100
            to_last = [abs(a - arb(b)) for a, b in zip(output, inputs[-1].entries(), strict=True)]
            to_limit = [abs(a - arb(b)) for a, b in zip(output, found.limit.tolist()[t], strict=True)]
            for distance, coordinates in ((found.distance_to_last[t], to_last), (found.distance_to_limit[t], to_limit)):
                assert all(distance >= entry or distance.overlaps(entry) for entry in coordinates)
                assert any(distance.overlaps(entry) for entry in coordinates)
            assert not found.bound[t] < found.distance_to_limit[t]
            assert found.last.tolist()[t] == inputs[-1].entries()


@given(one_head())
def test_the_limit_is_what_very_sharp_attention_reads(head) -> None:
    """Gaps are multiples of 1/16 here, so that at 1600 the other positions have shares below exp(-100)."""
    W_E, W_pos, form, rows = head
    found = enclose_sharp_attention(W_E, W_pos, form, rows, sharpness=1600)
    assert all(distance < arb(10) ** -30 for distance in found.distance_to_limit)
    assert found.converges_to_last == all(distance < arb(10) ** -30 for distance in found.distance_to_last)


def test_the_bound_is_the_sum_over_the_other_positions() -> None:
    found = enclose_sharp_attention(
        fmpq_mat(3, 1, [0, 1, 3]), fmpq_mat(3, 1, [0, 0, 2]), ONE, np.array([[1, 2, 0]]), sharpness=2
    )
    assert found.gaps.tolist() == [[2, -2, 0]]
    assert found.limit == fmpq_mat(1, 1, [3])
    with ctx.workprec(128):
        assert found.bound[0].overlaps(2 * arb(-8).exp() + arb(-4).exp())


def test_a_tie_is_shared() -> None:
    found = enclose_sharp_attention(
        fmpq_mat(1, 2, [0, 0]),
        fmpq_mat(3, 2, [1, 1, 1, -1, 1, 0]),
        fmpq_mat(2, 2, [1, 0, 0, 1]),
        np.array([[0, 0, 0]]),
        sharpness=5,
    )
    assert found.gaps.tolist() == [[0, 0, 0]]
    assert found.converges_to_last  # the mean of the three, though the last position gets a third only
    assert found.share_of_last[0].overlaps(arb(fmpq(1, 3)))
    assert found.bound[0] == 0


def test_one_position_has_no_gap_and_no_error() -> None:
    found = enclose_sharp_attention(fmpq_mat(1, 1, [5]), fmpq_mat(1, 1), ONE, np.array([[0]]), sharpness=1)
    assert found.smallest_gap is None
    assert found.converges_to_last
    assert found.distance_to_last[0] == 0


def test_the_wrong_position_wins_ever_more_clearly() -> None:
    def judged(sharpness: int) -> SharpAttention:
        return enclose_sharp_attention(
            fmpq_mat(2, 1, [1, 2]),
            fmpq_mat(2, 1, [fmpq(7, 10), fmpq(3, 10)]),
            ONE,
            np.array([[1, 0]]),
            sharpness=sharpness,
        )

    one, hundred = judged(1), judged(100)
    assert 0.139 < one.share_of_last[0] < 0.140
    assert arb(10) ** -80 < hundred.share_of_last[0] < arb(10) ** -79
    assert hundred.distance_to_last[0] > 1.39
    assert hundred.distance_to_limit[0] < one.distance_to_limit[0]


@pytest.mark.parametrize("sharpness", [0, -1])
def test_a_sharpness_that_is_not_positive_is_refused(sharpness: int) -> None:
    with pytest.raises(InputError, match="sharpness"):
        enclose_sharp_attention(ONE, ONE, ONE, np.array([[0]]), sharpness=sharpness)


@pytest.mark.parametrize("rows", [[[1]], [[-1]], [[0, 0]], [[0.0]], [0], np.zeros((0, 1), dtype=np.int64)])
def test_contexts_that_are_no_tokens_are_refused(rows) -> None:
    with pytest.raises(InputError, match="contexts"):
        enclose_sharp_attention(ONE, ONE, ONE, np.array(rows), sharpness=1)


def test_widths_that_differ_are_refused() -> None:
    with pytest.raises(InputError, match="width"):
        enclose_sharp_attention(ONE, ONE, fmpq_mat(2, 2), np.array([[0]]), sharpness=1)
    with pytest.raises(InputError, match="width"):
        enclose_sharp_attention(ONE, fmpq_mat(1, 2), ONE, np.array([[0]]), sharpness=1)


def test_masked_contexts_are_refused() -> None:
    with pytest.raises(InputError, match="masked"):
        enclose_sharp_attention(ONE, ONE, ONE, np.ma.masked_array([[0]], mask=[[True]]), sharpness=1)
