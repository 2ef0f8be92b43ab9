"""Comparisons decide themselves, on intervals, and never in favour of what is not known."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.arithmetic.enclosure import Enclosure
from verify.ranks.linear_relations import rank_upper_bound_for_all_weights
from verify.theorems.capacity.divergence_floor import relation_divergence_floor
from verify.theorems.claim import Claim
from verify.theorems.evidence.comparison import Comparison
from verify.theorems.evidence.formula import stated
from verify.theorems.evidence.quantifier import Quantifier
from verify.theorems.evidence.theorem import Theorem
from verify.theorems.evidence.theorems import ONE_HEAD_LABELS, RANK
from verify.verdict import Verdict

PROVED, REFUTED, UNDECIDED = Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED
XOR = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
ORDER = {"<": int.__lt__, "<=": int.__le__, "=": int.__eq__, ">=": int.__ge__, ">": int.__gt__}
LEMMA = Claim("x.y", "A lemma", "Lemma", "[[rank: min(T, H d)]], [[least: 0.0298]]", "holds", "so", "docs/audit.md")


@given(a=st.integers(-4, 4), b=st.integers(-4, 4), relation=st.sampled_from(sorted(ORDER)))
def test_exact_numbers_are_decided(a, b, relation):
    expected = PROVED if ORDER[relation](a, b) else REFUTED
    for left, right in ((a, b), (Fraction(a), float(b)), (fmpq(a), arb(b)), (Enclosure(float(a)), b)):
        assert Comparison(left, relation, right).verdict is expected


@given(a=st.floats(-3, 3), r=st.floats(0, 2), b=st.floats(-3, 3), relation=st.sampled_from(["<", "<=", ">=", ">"]))
def test_what_holds_for_a_part_of_an_interval_only_is_undecided(a, r, b, relation):
    verdict = Comparison(Enclosure(a, r), relation, b).verdict
    ends = [Comparison(end, relation, b).verdict for end in (a - r, a, a + r)]
    assert verdict is UNDECIDED or {verdict} == set(ends)


@pytest.mark.parametrize("nothing", [float("nan"), arb("nan"), arb("inf"), Enclosure(0.0, math.inf), None])
@pytest.mark.parametrize("relation", ["<", "<=", "=", ">=", ">", "agrees with"])
def test_a_number_that_is_none_proves_nothing(nothing, relation):
    assert Comparison(nothing, relation, 1).verdict is UNDECIDED
    assert Comparison(1, relation, nothing).verdict is UNDECIDED


@pytest.mark.parametrize(
    ("left", "verdict"),
    [("0.02980", PROVED), ("0.02989", PROVED), ("0.0299", REFUTED), ("0.02979", REFUTED), ("0.3", REFUTED)],
)
def test_a_stated_decimal_is_the_beginning_of_the_number(left, verdict):
    assert Comparison(Fraction(left), "begins with", stated(LEMMA, "least")).verdict is verdict


def test_numbers_agree_that_differ_by_rounding_and_no_more():
    third = Fraction(1, 3)
    assert Comparison(1 / 3, "agrees with", third).verdict is PROVED
    assert Comparison(third * (1 + Fraction(1, 10**8)), "agrees with", third).verdict is REFUTED
    assert Comparison(Enclosure(1 / 3, 1e-3), "agrees with", third).verdict is UNDECIDED


def test_a_formula_and_a_theorem_are_compared_by_their_values():
    ceiling = RANK.at("rank", contexts=XOR, d_model=4, d_head=4, n_heads=1, with_skip=False)
    found = Comparison(ceiling, "<", stated(LEMMA, "rank", T=4, H=1, d=4))
    assert found.verdict is PROVED and found.formulas == {("x.y", "rank")}
    assert [applied.theorem for applied in found.theorems] == [RANK]
    assert str(found) == f"3 by {RANK.name} < min(T, H d) = 4"


def test_a_verdict_is_compared_with_a_verdict_only():
    labels, multipliers = np.array([0, 0, 1, 1]), np.array([[0, 1], [0, 1], [1, 0], [1, 0]])
    right = ONE_HEAD_LABELS.at(contexts=XOR, labels=labels, multipliers=multipliers)
    wrong = ONE_HEAD_LABELS.at(contexts=XOR, labels=labels, multipliers=0 * multipliers)
    assert Comparison(right, "=", PROVED).verdict is PROVED
    assert Comparison(wrong, "=", PROVED).verdict is UNDECIDED
    with pytest.raises(InputError, match="a verdict is compared by '<'"):
        Comparison(right, "<", 3)


def test_a_bound_speaks_for_all_in_its_own_direction_only():
    upper = RANK.at("rank", contexts=XOR, d_model=4, d_head=4, n_heads=1, with_skip=False)
    floor = Theorem("A", "docs/claims/theorem_1.md", "Theorem O1", relation_divergence_floor, *LOWER)
    lower = floor.at("lower", contexts=XOR, distributions=[[99, 1], [99, 1], [1, 99], [1, 99]])
    for comparison in (Comparison(upper, "<", 4), Comparison(4, ">", upper), Comparison(upper, "=", 3)):
        assert comparison.speaks_for(Quantifier.ALL_WEIGHTS) and not comparison.speaks_for(Quantifier.ALL_ENCODERS)
    assert not Comparison(upper, ">", 2).speaks_for(Quantifier.ALL_WEIGHTS)
    assert Comparison(lower, ">", 0).speaks_for(Quantifier.ALL_WEIGHTS)
    assert not Comparison(lower, "<", 1).speaks_for(Quantifier.ALL_WEIGHTS)


LOWER = (Quantifier.ALL_WEIGHTS, "a lower bound")


def test_a_relation_that_is_none_and_a_side_that_is_no_number_are_refused():
    with pytest.raises(InputError, match="relation = '!=', expected one of <, <="):
        Comparison(1, "!=", 2)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="a comparison is of 'many', expected a number"):
        Comparison("many", "<", 2).verdict  # pyright: ignore[reportArgumentType] # noqa: B018
    with pytest.raises(InputError, match=r"an enclosure of shape \(2,\), expected one number"):
        Comparison(Enclosure(np.zeros(2)), "<", 2).verdict  # noqa: B018


def test_the_judge_is_asked_and_not_the_caller():
    assert RANK.judge is rank_upper_bound_for_all_weights
