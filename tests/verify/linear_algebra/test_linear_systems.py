"""Solutions lie in their enclosures, which for exact data are next to the last bit."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import ctx, fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from tests.exact_values import exactly
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats
from verify.linear_algebra import linear_systems
from verify.linear_algebra.linear_systems import enclose_solution


def rationals(x: np.ndarray) -> fmpq_mat:
    return fmpq_mat(*x.shape, [fmpq(v.numerator, v.denominator) for v in exactly(x).ravel()])


def solve(a: Any, b: Any) -> np.ndarray:
    """The exact solution: square, least-squares or of least norm."""
    matrix, right = rationals(exactly(a)), rationals(exactly(b))
    rows, columns = exactly(a).shape
    if rows > columns:
        solution = (matrix.transpose() * matrix).solve(matrix.transpose() * right)
    elif rows < columns:
        solution = matrix.transpose() * (matrix * matrix.transpose()).solve(right)
    else:
        solution = matrix.solve(right)
    table = [[Fraction(int(x.p), int(x.q)) for x in row] for row in solution.tolist()]
    return np.array(table, dtype=object).reshape(columns, -1)


def assert_encloses(found: Enclosure, truth: np.ndarray) -> None:
    radius = np.broadcast_to(found.radius, found.shape)
    assert np.isfinite(radius).all()
    assert (np.abs(exactly(found.midpoint) - truth.reshape(found.shape)) <= exactly(radius)).all()


def conditioned(size: int, condition: float) -> Floats:
    rng = np.random.default_rng(size)
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    return left * np.logspace(0.0, -np.log10(condition), size) @ right


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (9, 9), (7, 3), (3, 7), (2, 1), (1, 2)])
@pytest.mark.parametrize("right", [1, 3])
def test_exact_systems_are_solved_next_to_the_last_bit(shape: tuple[int, int], right: int) -> None:
    rng = np.random.default_rng([*shape, right])
    for _ in range(4):
        a, b = rng.standard_normal(shape), rng.standard_normal((shape[0], right))
        found = enclose_solution(a, b)
        assert found.shape == (shape[1], right)
        assert_encloses(found, solve(a, b))
        assert (found.radius <= 1.01 * 2.0**-53 * np.abs(found.midpoint)).all()


@pytest.mark.parametrize("condition", [1e4, 1e10, 1e14])
def test_the_condition_does_not_widen_the_enclosure(condition: float) -> None:
    a, b = conditioned(20, condition), np.random.default_rng(0).standard_normal(20)
    found = enclose_solution(a, b)
    assert_encloses(found, solve(a, b[:, None]))
    assert (found.radius <= 1.01 * 2.0**-53 * np.abs(found.midpoint)).all()


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 5), (6, 3), (3, 6)])
@pytest.mark.parametrize("radius", [2.0**-50, 1e-8, 1e-3])
def test_every_solution_of_a_set_is_enclosed(shape: tuple[int, int], radius: float) -> None:
    rng = np.random.default_rng([*shape, int(radius * 2**50)])
    for _ in range(3):
        a = rng.standard_normal(shape) + 3 * np.eye(*shape)
        b = rng.standard_normal((shape[0], 2))
        radii = radius * rng.random((shape[0], 1))
        found = enclose_solution(Enclosure(a, radii), Enclosure(b, radii))
        for _ in range(4):
            member = exactly(a) + exactly(radii) * exactly(rng.choice([-1, 1], shape))
            right = exactly(b) + exactly(radii) * exactly(rng.choice([-1, 1], b.shape))
            assert_encloses(found, solve(member, right))


def test_the_ends_of_a_set_of_quotients_are_enclosed_and_nearly_reached() -> None:
    found = enclose_solution(Enclosure([[2.0]], 0.5), Enclosure([3.0], 0.25))
    assert found.lower()[0] <= 2.75 / 2.5 and 3.25 / 1.5 <= found.upper()[0] <= 2.4


@given(st.integers(0, 2**32 - 1))
def test_rows_and_columns_of_any_size_are_balanced(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((3, 3)) * 2.0 ** rng.integers(-300, 300, (3, 1)) * 2.0 ** rng.integers(-300, 300, 3)
    b = rng.standard_normal(3) * 2.0 ** rng.integers(-300, 300)
    found = enclose_solution(a, b)
    assert_encloses(found, solve(a, b[:, None]))


@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**-700, 2.0**700, 2.0**1015])
def test_systems_near_the_ends_of_the_range_are_enclosed(scale: float) -> None:
    rng = np.random.default_rng(11)
    a, b = rng.standard_normal((3, 3)) * scale, rng.standard_normal(3) * min(scale, 1.0)
    found = enclose_solution(a, b)
    truth = solve(a, b[:, None])
    known = np.isfinite(found.radius)
    distance = np.abs(exactly(found.midpoint) - truth.reshape(3))
    assert (distance[known] <= exactly(found.radius[known])).all()
    assert known.all() or scale > 1.0


def test_integers_and_fractions_are_exact() -> None:
    third = Fraction(1, 3)
    a, b = [[third, 2**70], [1, Fraction(5, 7)]], [2**80 + 1, 1]
    found = enclose_solution(a, b)
    assert_encloses(found, solve(np.array(a, dtype=object), np.array(b, dtype=object)[:, None]))
    assert (found.radius <= 1.01 * 2.0**-53 * np.abs(found.midpoint)).all()
    tall = enclose_solution([[third], [1], [2**60 + 1]], [1, 2, 3])
    assert_encloses(tall, solve(np.array([[third], [1], [2**60 + 1]], dtype=object), exactly([[1], [2], [3]])))


def test_a_rounded_right_hand_side_is_not_taken_for_the_exact_one() -> None:
    found = enclose_solution(np.eye(1), [2**53 + 1])
    assert Fraction(float(found.lower()[0])) <= 2**53 + 1 <= Fraction(float(found.upper()[0]))


def test_too_ill_conditioned_for_floats_is_solved_in_balls_or_rationals(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.vander(np.linspace(0.5, 1.0, 24))
    b = np.ones(24)
    truth = solve(a, b[:, None])
    exact = enclose_solution(a, b)
    assert_encloses(exact, truth)
    assert (exact.radius <= 1.01 * 2.0**-53 * np.abs(exact.midpoint)).all()
    monkeypatch.setattr(linear_systems, "_LARGEST_EXACT", 0)
    balls = enclose_solution(a, b)
    assert_encloses(balls, truth)
    assert balls.radius.max() <= 1e-30


@pytest.mark.parametrize(
    "a",
    [
        np.zeros((2, 2)),
        [[1.0, 2.0], [2.0, 4.0]],
        [[1, 2], [2, 4]],
        [[Fraction(1, 3), 1], [1, 3]],
        np.ones((3, 2)),
        np.ones((2, 3)),
        Enclosure(np.eye(2), 0.5),
    ],
    ids=range(7),
)
def test_nothing_is_said_of_the_solutions_of_singular_systems(a: Any) -> None:
    rows = a.shape[0] if isinstance(a, Enclosure) else len(a)
    assert np.isinf(enclose_solution(a, np.ones(rows)).radius).all()


def test_infinite_radii_of_the_right_hand_side_stay_infinite() -> None:
    found = enclose_solution(np.eye(2), Enclosure([1.0, 2.0], [0.0, np.inf]))
    assert np.isinf(found.radius[1])


def test_a_bad_inverse_makes_wide_enclosures_never_wrong_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((4, 4)) + 3 * np.eye(4), rng.standard_normal(4)
    truth = solve(a, b[:, None])
    honest = linear_systems.right_inverse
    for lie in (
        lambda x: honest(x) * 1.2,
        lambda x: honest(x) + 0.03,
        lambda x: np.zeros_like(x),
        lambda x: np.full_like(x, np.nan),
        lambda x: None,
    ):
        monkeypatch.setattr(linear_systems, "right_inverse", lie)
        assert_encloses(enclose_solution(a, b), truth)


def test_few_iterations_leave_a_correct_enclosure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The defect of an unfinished iterate is in the bound."""
    a, b = conditioned(8, 1e9), np.random.default_rng(6).standard_normal(8)
    truth = solve(a, b[:, None])
    for iterations in (0, 1, 2):
        monkeypatch.setattr(linear_systems, "_ITERATIONS", iterations)
        assert_encloses(enclose_solution(a, b), truth)
    monkeypatch.setattr(linear_systems, "_ITERATE_BITS", 20)
    assert_encloses(enclose_solution(a, b), truth)
    monkeypatch.setattr(linear_systems, "_LIMBS", 1)
    assert_encloses(enclose_solution(a, b), truth)


def test_what_the_integers_leave_out_of_the_matrix_is_in_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_systems, "_LIMBS", 1)
    rng = np.random.default_rng(12)
    for size in (1, 3):
        a, b = rng.standard_normal((size, size)) * 2.0**-7, rng.standard_normal(size)
        assert_encloses(enclose_solution(a, b), solve(a, b[:, None]))


def test_components_below_the_last_unit_are_enclosed() -> None:
    """The second component is far below the unit of the first, and so is its right-hand side, which is cut off."""
    b = np.array([1.0, 2.0**-200 * (1 + 2.0**-20)])
    assert_encloses(enclose_solution(np.eye(2), b), solve(np.eye(2), b[:, None]))


def test_a_solution_that_underflows_is_enclosed() -> None:
    """The right-hand side of the second has a radius that underflows when its row is scaled."""
    a, b = np.array([[2.0**1000]]), np.array([2.0**-60 * (1 + 2.0**-52)])
    assert_encloses(enclose_solution(a, b), solve(a, b[:, None]))
    small = enclose_solution(np.array([[2.0**1000, 0.0], [0.0, 1.0]]), Enclosure([1.0, 1.0], [2.0**-1074, 0.0]))
    assert 0.0 < small.radius[0]


def test_a_set_of_right_hand_sides_of_an_exact_matrix_is_a_set() -> None:
    found = enclose_solution([[Fraction(1, 3)]], Enclosure([1.0], 0.5))
    assert found.lower()[0] <= 1.5 and 4.5 <= found.upper()[0]
    found = enclose_solution(Enclosure([[2.0]], 1.0), [Fraction(1, 3)])
    assert found.lower()[0] <= 1 / 9 and 1 / 3 <= found.upper()[0]


def test_integers_in_units_are_cut_off_towards_zero() -> None:
    units = np.array([0, -3])
    integers = linear_systems._in_units(np.array([[2.75, 0.3], [-2.75, -0.3], [0.0, 1e-300]]), units)
    assert integers.tolist() == [[2, 2], [-2, -2], [0, 0]]
    assert linear_systems._as_floats(integers, units).tolist() == [[2.0, 0.25], [-2.0, -0.25], [0.0, 0.0]]


def test_shapes_are_kept_and_checked() -> None:
    assert enclose_solution(np.eye(2), np.ones(2)).shape == (2,)
    assert enclose_solution(np.eye(2), np.ones((2, 1))).shape == (2, 1)
    assert enclose_solution(np.eye(2), np.ones((2, 0))).shape == (2, 0)
    assert enclose_solution(np.zeros((0, 0)), np.ones((0, 3))).shape == (0, 3)
    assert enclose_solution(np.eye(2), Enclosure(np.ones(2))).shape == (2,)
    assert enclose_solution([[1, 0], [0, 1]], [1, 2]).shape == (2,)
    for bad in (np.ones(3), np.ones((3, 1)), np.ones((2, 1, 1)), 1.0):
        with pytest.raises(InputError, match="b has"):
            enclose_solution(np.eye(2), bad)


def test_the_callers_precision_does_not_matter() -> None:
    with ctx.workprec(3):
        found = enclose_solution([[2.0, 1.0], [1.0, 1.0]], [1.0, 0.0])
    assert found.midpoint.tolist() == [1.0, -1.0] and found.radius.max() < 1e-15
