"""Ranks by balls: never above the truth, and what is left open is undecided."""

import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from tests.constructions.rational_front_ends import networks_with_contexts
from verify.forward.in_rationals import exact_outputs
from verify.linear_algebra.ball_rank import BallRank, ball_outputs, ball_rank
from verify.verdict import Verdict


def as_balls(matrix: fmpq_mat) -> arb_mat:
    return arb_mat([[arb(entry) for entry in row] for row in matrix.tolist()])


@st.composite
def low_rank_matrices(draw):
    """Products of integer matrices, so that small ranks are frequent."""
    rows, inner, columns = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 5))
    entry = st.integers(-3, 3)
    left = draw(st.lists(entry, min_size=rows * inner, max_size=rows * inner))
    right = draw(st.lists(entry, min_size=inner * columns, max_size=inner * columns))
    return fmpq_mat(rows, inner, left) * fmpq_mat(inner, columns, right)


@given(low_rank_matrices(), st.integers(0, 6))
def test_the_bound_of_an_exact_matrix_is_its_rank_or_less(matrix: fmpq_mat, target: int) -> None:
    bound = ball_rank(lambda: as_balls(matrix), target=target, most_bits=512)
    assert bound.lower <= matrix.rank()
    assert (bound.verdict is Verdict.PROVED) == (bound.lower >= target)
    if matrix.rank() >= target:
        assert bound.verdict is Verdict.PROVED


@given(low_rank_matrices())
def test_the_minor_of_the_pivots_is_not_zero(matrix: fmpq_mat) -> None:
    bound = ball_rank(lambda: as_balls(matrix), target=matrix.rank())
    size = bound.lower
    assert len(set(bound.rows)) == len(set(bound.columns)) == size
    if size:
        minor = fmpq_mat(size, size, [matrix[i, j] for i in bound.rows for j in bound.columns])
        assert minor.det() != 0


@given(low_rank_matrices(), st.integers(1, 8))
def test_balls_around_a_matrix_prove_no_more_than_the_lowest_rank_among_them(matrix: fmpq_mat, radius: int) -> None:
    """The exact matrix is in all of these balls, so the bound is at most its rank, however wide they are."""

    def wide() -> arb_mat:
        rows = as_balls(matrix).tolist()
        return arb_mat([[entry + arb(1, 1) * arb(radius) / 4 - arb(radius) / 4 for entry in row] for row in rows])

    assert all(wide()[i, j].contains(matrix[i, j]) for i in range(matrix.nrows()) for j in range(matrix.ncols()))
    assert ball_rank(wide, target=matrix.nrows(), most_bits=256).lower <= matrix.rank()


def test_the_precision_rises_until_the_rank_shows() -> None:
    """A determinant of 2^-300 needs more than 256 bits."""

    def nearly_singular() -> arb_mat:
        return arb_mat([[arb(2).sqrt(), 1], [2, arb(2).sqrt() + arb(2) ** -300]])

    assert ball_rank(nearly_singular, target=2, most_bits=256).verdict is Verdict.UNDECIDED
    bound = ball_rank(nearly_singular, target=2)
    assert (bound.verdict, bound.bits) == (Verdict.PROVED, 512)


def test_a_singular_matrix_is_left_undecided() -> None:
    bound = ball_rank(lambda: arb_mat([[arb(2).sqrt(), 1], [2, arb(2).sqrt()]]), target=2, most_bits=1024)
    assert (bound.lower, bound.verdict) == (1, Verdict.UNDECIDED)


@pytest.mark.parametrize("entry", [arb("nan"), arb("inf"), arb(0, "inf"), arb(0, 1)])
def test_numbers_that_say_nothing_prove_nothing(entry: arb) -> None:
    bound = ball_rank(lambda: arb_mat([[entry]]), target=1, most_bits=128)
    assert bound.verdict is Verdict.UNDECIDED and bound.lower == 0
    assert ball_rank(lambda: arb_mat([[arb("nan"), 1], [1, 1]]), target=2, most_bits=128).lower <= 1


def test_no_rank_is_promised_for_nothing() -> None:
    assert ball_rank(lambda: arb_mat(0, 0), target=0).verdict is Verdict.PROVED
    assert ball_rank(lambda: arb_mat(2, 0), target=1, most_bits=128).verdict is Verdict.UNDECIDED
    assert BallRank(1, 2, 64, (0,), (0,)).verdict is Verdict.UNDECIDED


def test_the_precision_of_the_caller_is_left_alone() -> None:
    before = ctx.prec
    ball_rank(lambda: arb_mat([[1]]), target=1)
    assert ctx.prec == before


@given(networks_with_contexts())
def test_balls_contain_the_exact_outputs_of_rational_weights(case) -> None:
    """With scores times ln 2 in balls, the rational attention is enclosed, and narrowly."""
    network, contexts = case
    front_end = network.front_end
    exact = exact_outputs(front_end, contexts)
    with ctx.workprec(256):
        heads = [
            (as_balls(query) * arb.const_log2(), as_balls(key), as_balls(value))
            for query, key, value in zip(front_end.W_Q, front_end.W_K, front_end.W_V, strict=True)
        ]
        balls = ball_outputs(as_balls(front_end.W_E), as_balls(front_end.W_pos), heads, contexts)
        assert (balls.nrows(), balls.ncols()) == (exact.nrows(), exact.ncols())
        for ball, entry in zip(balls.entries(), exact.entries(), strict=True):
            assert (ball * arb(entry.q)).contains(arb(entry.p))
            assert ball.rad() < 2.0**-100


@pytest.mark.parametrize(
    "contexts",
    [[[0]], [[0, 2]], [[-1, 0]], [0, 1], np.empty((0, 2), dtype=np.int64), [[0.0, 1.0]], [[True, False]]],
)
def test_contexts_that_are_no_tokens_are_refused(contexts) -> None:
    line = arb_mat([[0], [1]])
    with pytest.raises(InputError, match="contexts"):
        ball_outputs(line, line, [], np.asarray(contexts))


def test_masked_contexts_are_refused() -> None:
    line = arb_mat([[0], [1]])
    with pytest.raises(InputError, match="masked"):
        ball_outputs(line, line, [], np.ma.masked_array([[0, 1]], mask=[[True, False]]))


@pytest.mark.parametrize(
    "options", [{"target": -1}, {"target": 1, "fewest_bits": 1}, {"target": 1, "fewest_bits": 64, "most_bits": 32}]
)
def test_options_out_of_range_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(InputError):
        ball_rank(lambda: arb_mat([[1]]), **options)
