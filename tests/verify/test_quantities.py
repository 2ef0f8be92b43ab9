"""Proved bounds of one's own matrices: exact ones against rationals, sets against their members."""

import math
import operator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

import verify
from constructions.errors import HypothesisError, InputError
from verify.arithmetic.enclosure import Enclosure
from verify.verdict import Verdict, undecided_conditions

FRACTIONS = st.fractions(min_value=-3, max_value=3, max_denominator=7)
FLOATS = st.floats(-4, 4, allow_nan=False).map(lambda x: 0.0 if abs(x) < 2.0**-40 else x)
ENTRIES = st.sampled_from([0, 1, 2, -1, 0.1, 0.3, 1e-30, 2**60 + 1, Fraction(1, 3)])


def matrices(entries, square=False):
    def of(shape):
        rows, columns = shape if not square else (shape[0], shape[0])
        return st.lists(st.lists(entries, min_size=columns, max_size=columns), min_size=rows, max_size=rows)

    return st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(of)


def in_rationals(rows):
    entries = [Fraction(entry) for row in rows for entry in row]
    return fmpq_mat(len(rows), len(rows[0]), [fmpq(x.numerator, x.denominator) for x in entries])


@given(matrices(st.one_of(FRACTIONS, FLOATS, ENTRIES)))
def test_the_rank_of_exact_entries_is_that_of_rationals(rows):
    exact = in_rationals(rows).rank()
    assert verify.rank(rows) == exact
    proof = verify.full_row_rank(rows)
    assert proof.verdict is (verify.Verdict.PROVED if exact == len(rows) else verify.Verdict.REFUTED)
    assert bool(proof) == (exact == len(rows)) and proof.reason


@given(matrices(st.one_of(FRACTIONS, FLOATS, ENTRIES), square=True))
def test_a_square_matrix_is_nonsingular_just_where_its_determinant_is_not_zero(rows):
    proof = verify.nonsingular(rows)
    assert bool(proof) == (in_rationals(rows).det() != 0)
    assert (proof.verdict is verify.Verdict.REFUTED) == (not proof)


@given(matrices(FLOATS), st.floats(0, 1), st.data())
def test_what_is_proved_of_a_set_holds_for_its_members(rows, radius, data):
    lower, full = verify.rank(rows, radius=radius).lower, bool(verify.full_row_rank(rows, radius=radius))
    norm = verify.spectral_norm(rows, radius=radius)
    signs = st.lists(st.sampled_from([-1, 0, 1]), min_size=len(rows[0]), max_size=len(rows[0]))
    moves = data.draw(st.lists(signs, min_size=len(rows), max_size=len(rows)))
    member = [
        [Fraction(x) + Fraction(radius) * move for x, move in zip(row, signs, strict=True)]
        for row, signs in zip(rows, moves, strict=True)
    ]
    rank = in_rationals(member).rank()
    assert rank >= lower and (rank == len(rows) or not full)
    # The largest column is at most the norm, and the root of all squares at least.
    columns = [sum(row[j] ** 2 for row in member) for j in range(len(rows[0]))]
    assert Fraction(norm.upper) ** 2 >= max(columns)
    assert Fraction(norm.lower) ** 2 <= sum(columns)


def test_a_set_around_a_singular_matrix_is_undecided_and_says_why():
    for proof in (
        verify.nonsingular([[1, 1], [1, 1]], radius=1e-9),
        verify.full_row_rank(np.ones((2, 3)), radius=1e-9),
        verify.nonsingular(Enclosure([[1.0, 1.0], [1.0, 1.0]], 1e-9)),
    ):
        assert proof.verdict is verify.Verdict.UNDECIDED and not proof
        assert "radii" in proof.reason and "singular value" in proof.reason


@st.composite
def distributions(draw, size):
    weights = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any))
    return [Fraction(w, sum(weights)) for w in weights]


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.tuples(distributions(n), st.lists(FRACTIONS | st.just(900), min_size=n, max_size=n))
    )
)
def test_a_divergence_is_enclosed_to_the_last_digits(case):
    p, z = case
    with mpmath.workdps(60):
        parts = [mpmath.mpf(w.numerator) / w.denominator for w in p]
        logits = [mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator for x in z]
        normalizer = mpmath.log(sum(mpmath.exp(x) for x in logits))
        exact = sum(w * (mpmath.log(w) - x + normalizer) for w, x in zip(parts, logits, strict=True) if w)
        exact = max(exact, mpmath.mpf(0))
        bounds = verify.kl(p, z)
        assert bounds.lower <= exact + mpmath.mpf(10) ** -50
        assert exact <= bounds.upper
    assert bounds.upper - bounds.lower <= 1e-15 * max(1.0, bounds.upper)


@given(distributions(4), st.lists(FLOATS, min_size=4, max_size=4), st.floats(0, 0.5), st.data())
def test_a_divergence_of_intervals_holds_for_their_members(p, z, radius, data):
    bounds = verify.kl(p, z, radius=radius)
    moves = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4))
    member = verify.kl(p, [Fraction(x) + Fraction(radius) * move for x, move in zip(z, moves, strict=True)])
    assert bounds.lower <= member.upper and member.lower <= bounds.upper
    # It moves by at most twice the radius, either way; a ball keeps 30 bits of its radius, and each step rounds it up.
    assert bounds.upper - bounds.lower <= 4 * radius + 2.0**-20 * (1.0 + radius)


def test_floats_that_add_up_to_nearly_one_stand_for_themselves_divided_by_their_sum():
    p = np.full(10, 0.1)
    assert Fraction(0.1) * 10 != 1
    assert verify.kl(p, np.zeros(10)) <= 1e-300


@pytest.mark.parametrize(
    ("p", "what"),
    [
        ([0.5, 0.4], "add up to 1"),
        ([Fraction(1, 2), Fraction(1, 3)], "add up to 1"),
        ([Fraction(1, 2), Fraction(1, 2) + Fraction(1, 2**60)], "add up to 1"),
        ([1, 1], "add up to 1"),
        ([1.5, -0.5], "p\\[1\\]"),
    ],
)
def test_what_is_no_distribution_is_refused_by_its_hypothesis(p, what):
    with pytest.raises(HypothesisError, match=what):
        verify.kl(p, [0, 0])


@given(st.lists(FRACTIONS, min_size=2, max_size=5), st.data())
def test_a_margin_of_exact_logits_is_exact(z, data):
    label = data.draw(st.none() | st.integers(0, len(z) - 1))
    margin = verify.argmax_margin(z, label)
    rest = [x for i, x in enumerate(z) if i != margin.label]
    assert margin.lead == z[margin.label] - max(rest)
    assert label in (None, margin.label) and (label is not None or z[margin.label] == max(z))


@given(st.lists(FLOATS, min_size=2, max_size=5), st.floats(0, 1), st.data())
def test_a_margin_of_intervals_holds_for_their_members_and_is_reached(z, radius, data):
    margin = verify.argmax_margin(z, radius=radius)
    signs = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=len(z), max_size=len(z)))
    worst = [-1 if i == margin.label else 1 for i in range(len(z))]
    for moves, reached in ((signs, False), (worst, True)):
        member = [Fraction(x) + Fraction(radius) * move for x, move in zip(z, moves, strict=True)]
        lead = member[margin.label] - max(x for i, x in enumerate(member) if i != margin.label)
        assert margin.lead.lower <= lead <= margin.lead.upper
        assert not reached or lead == margin.lead.lower


def test_comparisons_are_true_where_they_are_proved():
    wide, point = verify.Bounds(1, 2, "by hand"), verify.Bounds(3, 3, "by hand")
    assert not wide == 1 and not wide != 1 and wide != 3 and wide != point and point == 3 and not point != 3
    assert wide < 3 and wide <= 2 and wide > 0 and wide >= 1
    assert not wide < 2 and not wide <= 1 and not wide > 1 and not wide >= 2
    assert point == verify.Bounds(3, 3, "otherwise") and not wide == verify.Bounds(1, 2, "by hand")
    assert not math.nan == wide and not wide == "one"
    with pytest.raises(TypeError):
        hash(wide)


@given(
    ends=st.tuples(*[st.integers(-2, 2)] * 4), kind=st.sampled_from([int, float, Fraction, np.int64, np.float64, fmpq])
)
def test_a_comparison_that_is_not_decided_is_noted_and_no_other(ends, kind):
    lower, upper, *others = [*sorted(ends[:2]), *sorted(ends[2:])]
    left, right = verify.Bounds(lower, upper, "by hand"), verify.Bounds(*others, "by hand")
    for other, known in ((right, range(others[0], others[1] + 1)), (kind(others[0]), [others[0]])):
        for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
            answers = {compare(x, y) for x in range(lower, upper + 1) for y in known}
            with undecided_conditions() as open_questions:
                assert compare(left, other) == (answers == {True})
            assert bool(open_questions) == (len(answers) == 2)


@pytest.mark.parametrize("verdict", Verdict)
def test_a_proof_that_is_undecided_is_noted_where_it_is_a_condition(verdict):
    with undecided_conditions() as open_questions:
        assert bool(verify.Proof(verdict, "by hand")) == (verdict is Verdict.PROVED)
    assert open_questions == ["by hand"] * (verdict is Verdict.UNDECIDED)


def test_conditions_are_noted_for_the_innermost_block_only():
    unknown = verify.Bounds(0, 2, "by hand")
    with undecided_conditions() as outer:
        with undecided_conditions() as inner:
            assert not unknown > 1
        assert not unknown < 1
    assert not unknown < 2
    assert (inner, outer) == (["0 .. 2 > 1"], ["0 .. 2 < 1"])


def test_bounds_differ_from_what_is_no_number():
    point = verify.Bounds(3, 3, "by hand")
    with undecided_conditions() as open_questions:
        assert point != "3" and point is not None and not point == "3"
    assert not open_questions


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: verify.rank([[1, math.nan]]), "matrix"),
        (lambda: verify.rank([1, 2]), "matrix"),
        (lambda: verify.nonsingular([[1, 2]]), "square"),
        (lambda: verify.nonsingular([[1.0]], radius=-1), "radius"),
        (lambda: verify.spectral_norm([[1, 2]], radius=[[1, 2, 3]]), "radius"),
        (lambda: verify.kl([1.0], [math.inf]), "logits"),
        (lambda: verify.kl([1.0], [0.0, 1.0]), "logits"),
        (lambda: verify.kl([], []), "p has"),
        (lambda: verify.argmax_margin([1.0]), "two"),
        (lambda: verify.argmax_margin([1.0, 2.0], 2), "label"),
        (lambda: verify.argmax_margin([[1.0, 2.0]]), "logits"),
    ],
)
def test_bad_input_is_named(call, name):
    with pytest.raises(InputError, match=name):
        call()
