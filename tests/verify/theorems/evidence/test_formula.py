"""The formulas of claims: how they are read, and what they are worth."""

import math
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.claim import Claim
from verify.theorems.evidence import failed, met
from verify.theorems.evidence.formula import Stated, evaluated, shown_number, stated
from verify.verdict import Verdict

SMALL = st.integers(-9, 9)


def claim(text: str) -> Claim:
    return Claim("source.lemma", "A lemma", "Source, Lemma", text, "holds", "as printed", "docs/audit.md")


@given(T=SMALL, H=SMALL, d=SMALL, k=st.integers(1, 9))
def test_exact_formulas_are_those_of_python(T, H, d, k):
    assert evaluated("min(T, H d)", T=T, H=H, d=d) == min(T, H * d)
    assert evaluated("d (T + 2 H) - 3H", T=T, H=H, d=d) == d * (T + 2 * H) - 3 * H
    assert evaluated("-T/k + max(H, d, 1)^2", T=T, H=H, d=d, k=k) == -Fraction(T, k) + max(H, d, 1) ** 2
    assert evaluated("ceil((T - H) / k) + floor(T / k)", T=T, H=H, k=k) == -(-(T - H) // k) + T // k


def test_a_product_without_sign_binds_more_strongly_than_a_quotient():
    assert evaluated("6 / 2 3") == 1 and evaluated("6 / 2 * 3") == 1 and evaluated("(6 / 2) 3") == 9
    assert evaluated("1 - 1 / 2 3 - 1 / 6 + 2(3)(4)") == Fraction(74, 3) and evaluated("-2^-2 (3 - -1)") == -1


def test_a_decimal_is_exact_and_a_name_and_a_parenthesis_without_space_are_no_product():
    assert evaluated("0.1 * 3") == Fraction(3, 10) and evaluated("N (2)", N=3) == 6
    with pytest.raises(InputError, match="is invalid at 'N"):
        evaluated("N(2)", N=3)


@pytest.mark.parametrize(
    "text",
    ["9^9^9", "2^2000000", "(1/2)^-2000000", "0^-1", "-" * 5000 + "1", "10 000", "2 500 + 1", "2**3", "None", "True"],
)
def test_what_is_no_formula_or_never_ends_is_refused(text):
    with pytest.raises(InputError):
        evaluated(text)


@pytest.mark.parametrize("name", ["2", "two", "half", "sqrt", "min(1, 2)", "", " ", "+"])
def test_numbers_and_functions_are_no_symbols(name):
    """Else evidence could give them the values that a statement needs."""
    with pytest.raises(InputError, match="is given a value of"):
        evaluated("2 + two + half + min(1, 2) + sqrt 4", **{name: 7})


def test_two_symbols_never_share_a_value():
    with pytest.raises(InputError, match="each once"):
        evaluated("at1 + f(x)", **{"at1": 1, "f(x)": 2})
    assert evaluated("T + d_KL(p, f)", **{"T": 1, "d_KL(p, f)": 2}) == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("sqrt(2)", math.sqrt(2)),
        ("sqrt 2 / 2", math.sqrt(2) / 2),
        ("log 3 - log 2", math.log(1.5)),
        ("8 N log N", 8 * 5 * math.log(5)),
        ("exp(1 / N)", math.exp(0.2)),
        ("N^(2/3)", 5 ** (2 / 3)),
        ("max(sqrt 2, 1)", math.sqrt(2)),
    ],
)
def test_roots_and_logarithms_are_balls_around_their_values(text, value):
    found = evaluated(text, N=5)
    assert isinstance(found, arb) and abs(float(found.mid()) - value) < 1e-12 and float(found.rad()) < 1e-40


def test_an_enclosure_is_a_ball_that_contains_it():
    assert evaluated("x", x=Enclosure(1.0, 0.25)).contains(arb("1.25"))


@pytest.mark.parametrize(
    "text", ["", "2 +", "(2", "min(2", "2)", "2 , 3", "f(2)", "min()", "sqrt(2, 3)", "2 < 3", "x.y", "'x'", "+2"]
)
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(InputError, match="formula"):
        evaluated(text)


def test_a_symbol_without_a_value_is_refused():
    with pytest.raises(InputError, match="needs a value of d_h, got H"):
        evaluated("H d_h", H=2)


def test_a_quotient_by_zero_is_refused():
    with pytest.raises(InputError, match="divides by 0"):
        evaluated("1 / N", N=0)


def test_a_claim_shows_its_formulas_and_gives_their_values():
    lemma = claim("rank [[rank: min(T_0, H d)]], at most [[least: 0.25]] nats")
    assert lemma.printed == "rank min(T_0, H d), at most 0.25 nats"
    found = stated(lemma, "rank", T_0=9, H=2, d=3)
    assert (found.value, str(found)) == (6, "min(T_0, H d) = 6") and str(stated(lemma, "least")) == "0.25 = 1/4"
    with pytest.raises(InputError, match=r"source\.lemma states no formula 'size', expected one of rank, least"):
        Stated(lemma, "size")


def test_two_formulas_of_one_name_are_refused():
    with pytest.raises(InputError, match=r"two formulas rank: '1' and '2'"):
        claim("[[rank: 1]] or [[rank: 2]]")


def test_numbers_are_shown_short():
    assert [shown_number(x) for x in (Fraction(3, 4), 7, 0.1, arb(2).sqrt(), Fraction(10**15 + 1, 10**15))] == [
        "3/4",
        "7",
        "0.1",
        "1.41421",
        "1",
    ]


def test_a_fraction_and_a_ball_are_no_whole_numbers():
    assert stated(claim("[[count: 6 / 2]]"), "count").whole() == 3
    for text in ("[[count: 3 / 2]]", "[[count: sqrt 4]]"):
        with pytest.raises(InputError, match="is not a whole number"):
            stated(claim(text), "count").whole()


@pytest.mark.parametrize(
    ("text", "at", "found"),
    [
        ("d <= N", {"d": 2, "N": 2}, "PROVED"),
        ("d < N", {"d": 2, "N": 2}, "REFUTED"),
        ("two <= d < N", {"d": 2, "N": 3}, "PROVED"),
        ("N = S = 2", {"N": 2, "S": 3}, "REFUTED"),
        ("N != 2", {"N": 3}, "PROVED"),
        ("sqrt x >= x", {"x": Fraction(1, 4)}, "PROVED"),
        ("sqrt x <= sqrt x", {"x": 2}, "UNDECIDED"),
        ("d_KL(pi, f) > half", {"d_KL(pi, f)": Fraction(3, 4)}, "PROVED"),
    ],
)
def test_a_condition_holds_fails_or_is_open(text, at, found):
    claim = Claim("x.y", "", "Lemma 1", f"[[named: {text}]]", "holds", "", "docs/audit.md")
    assert stated(claim, "named", **at).value.value == found and str(stated(claim, "named", **at)) == text
    assert [one.verdict is Verdict.PROVED for one in met(claim, "named", **at)] == [found == "PROVED"]
    assert [one.verdict is Verdict.PROVED for one in failed(claim, "named", **at)] == [found == "REFUTED"]


def test_a_condition_is_no_number():
    with pytest.raises(InputError, match="is a condition, expected a number"):
        evaluated("d <= N", d=1, N=2)
