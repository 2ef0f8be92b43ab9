"""The judges of exercises accept every right answer, in any form, and say what is wrong with the others."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.theorems.exercises import EXERCISES, judged
from constructions.errors import InputError

RIGHT = {
    "1.1": ["10/13, 9/13", "(20/26, 18/26)", "0.769 0.692", "x = 10/13, y = 9/13"],
    "2.2": ["48", "48 entries", "6 * 8"],
    "3.1": ["1/3 1 1", "1, 3, 3", "0.2 0.6 0.6", "y_0 = 1/5, y_1 = 1, y_S = 1/3", "1; 4; 2"],
    "3.2": ["3", "3 heads", "3.0"],
    "3.3": ["000 110 010 100", "0 0 0; 1 1 0; 0 1 0; 1 0 0", "000,100,010,110", "0000 1100 0100 1000"],
    "4.1": ["6"],
    "4.2": ["3, 7", "3 heads and 7 heads"],
    "4.3": ["4 4 1; " + "; ".join(f"{n} {n}" for n in range(9)), "3 3 2; " + "; ".join(f"{n} {n}" for n in range(12))],
    "5.1": ["log(3)/1.82", "0.6036", "0.60", "log 3 / 1.82", "λ = 0.604"],
    "5.2": ["log(4*10^7 - 4)", "17.504", "17.5"],
    "6.1": ["1, -4", "W_U = 1, W_O = −4"],
    "6.3": ["11"],
    "7.1": ["3852", "3852.2", "log(2001)/(1 - cos(2*pi/100))"],
    "7.2": ["log(2)/2", "0.347 nats", "0.35", "½ log 2", "1/2 log(2)", "0.5 · ln 2", "(log 2) / 2", "log(sqrt 2)"],
    "7.3": ["4097", "4,097", "2^12 + 1"],
    "8.1": ["1 - cos(2*pi/9), 154.7", "1 - cos(2π/9), 154.7", "0.234; (log(9) + 34)/(1 - cos(2*pi/9))"],
    "8.3": ["sqrt(1170), 2.66", "3 sqrt(130), 2.66", "34.2 2.656"],
    "9.1": ["-log(3), log(7/5), log(2), -log(2)", "-1.0986 0.3365 0.6931 -0.6931"],
    "9.2": ["39, 4", "39 heads and 4"],
    "9.3": ["10000 * log(100)/log(2), 40400", "66439 bits, 40400 entries", "66,439 bits, 40,400 entries"],
    "10.1": ["11, 14, 15"],
    "10.3": ["2 heads"],
    "11.1": ["0.184", "0.1840 nats"],
    "11.3": ["0.226", "0.2263"],
    "12.3": ["0.0485", "0.04845 nats"],
    "13.1": ["3, 8.29"],
    "13.2": ["0.1643, 1.393, 0.4646, 27.3"],
    "14.1": ["0.0355"],
    "14.3": ["2"],
    "15.1": ["log 3, log 3", "1.0986 1.0986", "(log(3), log(9)/2)"],
    "15.3": ["log(297)", "5.694", "5.7", "log(99) + log(3)"],
    "16.1": ["1 1 -1 -1 3", "-2, -2, 2, 2, 3", "1/2 1/2 -1/2 -1/2 3"],
    "16.2": ["28, 27"],
    "16.3": ["2"],
    "17.1": ["2^24, 1, -2^24, 0", "16777216 1 -16777216 0", "2^24 1 -2^24 + 2 -2"],
    "17.2": ["2^24, -2^24, 1", "2^23 2^23 -2^24 1"],
    "17.3": ["257, 66049", "257, 257^2"],
    "18.1": [
        "4.12e-8, 1.70e-16",
        "4.122*10^-8, 1.6993*10^(-16)",
        "4.1 · 10^-8; 1.7 × 10^-16",
        "20/(1 + e^20), 40/(1 + e^40)",
    ],
    "18.2": ["3, 768"],
    "18.3": ["-50", "−50"],
    "1.2": [
        "1 2 3 6 1; 0 0, 1 0, 0 1, 1 1, 0 0",
        "1, 2, 3, 6, 1, (0, 0), (1, 0), (0, 1), (1, 1), (0, 0)",
        "e 1 e 1 1; 0 0; sqrt(2) 0; 0 1; sqrt(2) 1; 0 0",
    ],
    "1.3": ["2, 3, 4"],
    "2.1": ["2.193, 1.807", "3*e/(e + 1), 1 + 3/(e + 1)"],
    "2.3": ["4, 8", "sqrt(16), sqrt(64)"],
    "5.3": ["3, 2, 0, 5", "M = 3, B = 2, E = (0, -1/2)", "3 2; 0 0"],
    "6.2": ["-2, 4", "(−2, 4)"],
    "8.2": ["1 - cos(72*pi/180)", "0.691", "1 - cos(2π/5)"],
    "10.2": ["1", "1 head"],
    "11.2": [
        "0, log 9, 0, -log 9",
        "log 9, 0, 0, -log 9",
        "0 2.197 -2.197 0",
        "2*log(3), 0, -2*log(3), 0",
        "0, 2 log 3, 0, -2 log 3",
    ],
    "12.1": ["2, 9"],
    "12.2": [
        "log(.6), log(.03)/2, log(.03)/2; 0, 1, -1; log(3)/2, -log(3)/2",
        "b = (-0.511, -1.753, -1.753), w = (0, 1, -1), E = (0.549, -0.549)",
        "log(6), log(3)/2, log(3)/2; 0, -1/2, 1/2; -log(3), log(3)",
        "1 + log(6), 1 + log(3)/2, 1 + log(3)/2; 5, 6, 4; log(3)/2, -log(3)/2",  # a shift of all logits changes nothing
    ],
    "13.3": ["1 0; -1/2 sqrt(3)/2; -1/2 -sqrt(3)/2", "(0, 1), (0.866, -0.5), (-0.866, -0.5)"],
    "14.2": ["1, 2", "2 1", "tokens 1 and 2"],
    "15.2": ["1 1 -1 -1", "-2, -2, 2, 2", "(1/2, 1/2, -1/2, -1/2)"],
}
WRONG = {
    "1.1": ["9/13, 10/13", "0.77, 0.6"],
    "3.1": ["1 1 1", "-1/3 1 1", "0.333 1 1", "1/3 1 2"],
    "3.2": ["2", "4", "-1", "5/2"],
    "3.3": ["000 110 010", "000 000 110", "000", "0 0; 1 1; 0 1; 1 0"],
    "4.3": ["4 4 1; 0 1; 1 0", "4 5 1; 0 0", "4 4 1; 0 0; 0 0"],
    "5.1": ["0.6", "0.605", "log(3)"],
    "6.1": ["1, 4", "-3, 1"],
    "7.3": ["2897", "4096", "4098"],
    "15.1": ["0, log(3)", "1.1, 1.2", "1, 1"],
    "15.3": ["5.6", "4.595"],
    "16.1": ["0 0 0 0 3", "1 1 -1 -1 4", "1 -1 1 -1 3", "1 1 1 1 3"],
    "17.1": ["1, 0, 0, 0", "2^24, 1, 1, -2^24 - 1", "2^24 1 -2^24 2"],
    "17.2": ["2^24, 1, -2^24", "1 2 3", "2^24 + 1, -2^24"],
    "18.1": ["4.12e-9, 1.70e-16", "4e-8, 1.7e-16", "4.13e-8, 1.7e-16"],
    "1.2": [
        "1 1 1 1 1; 0 0, 1 1, 0 0, 1 1, 0 0",
        "1 1 1 1 0; 0 0, 1 0, 0 1, 1 1, 0 0",
        "1 2 3 1 1; 0 0, 1 0, 0 1, 1 1, 0 0",
        "1 2 3 6 1; 0 0, 1 0, 0 0, 0 1, 0 0",
    ],
    "5.3": ["3, 5, 0, 5", "3, 2, 1, 0"],
    "6.2": ["4, -2", "-2, 5"],
    "11.2": [
        "2.2 2.2 -2.2 -2.2",
        "log 9, log 9, -log 9, -log 9",
        "0, log 9, -log 9, -log 9",
        "0 0 0 0",
        "0, 1000, 0, -1000",
        "0, log(9), 0, log(9)",
        "0, 2, 0, -2",
    ],
    "12.2": [
        "0 0 0; 0 1 -1; 1 -1",
        "log(.6), log(.03)/2, log(.03)/2; 0, 1, -1; -log(3)/2, log(3)/2",
        "10^200 0 0; 10^200 0 0; 10^200 1",
    ],
    "13.3": ["1 0; 0 1; -1 0", "1 0; 1 0; 1 0", "2 0; -1 1; -1 -1", "1 0; -1 0; 0 1"],
    "14.2": ["1", "2", "1, 2, 3", "1, 3", "5"],
    "15.2": ["0 0 0 0", "1 -1 1 -1", "1 1 1 1", "1 1 0 0"],
}


@pytest.mark.parametrize(("name", "answer"), [(name, answer) for name, all in RIGHT.items() for answer in all])
def test_every_right_answer_is_accepted_in_every_form(name: str, answer: str) -> None:
    assert judged(name, answer) == ""


@pytest.mark.parametrize(("name", "answer"), [(name, answer) for name, all in WRONG.items() for answer in all])
def test_a_wrong_answer_is_told_what_is_wrong(name: str, answer: str) -> None:
    assert len(judged(name, answer)) > 10


def test_every_judge_is_tried_and_its_example_can_be_read_and_is_wrong() -> None:
    assert set(RIGHT) == set(EXERCISES)
    for name, exercise in EXERCISES.items():
        assert judged(name, exercise.example) != "", name


@pytest.mark.parametrize(
    "answer", ["", "abc", "1 2", "1, 2, x", "__import__('os')", "9^9^9", "1/0", "1e999", "log(-1)"]
)
def test_what_is_no_answer_is_an_error_that_shows_a_right_form(answer: str) -> None:
    with pytest.raises(InputError):
        judged("3.1", answer)


def test_an_exercise_that_nobody_judges_is_named() -> None:
    with pytest.raises(InputError, match=r"99\.1.*3\.2"):
        judged("99.1", "1")


@given(st.fractions("1/100", 100, max_denominator=100), st.fractions("1/100", 100, max_denominator=100))
def test_the_rank_of_two_contexts_is_judged_exactly(y_1: Fraction, y_S: Fraction) -> None:
    y_0 = 1 / (1 / y_S + 2 / y_1)
    assert judged("3.1", f"{y_0}, {y_1}, {y_S}") == ""
    assert "rank is 2" in judged("3.1", f"{y_0 * Fraction(1001, 1000)}, {y_1}, {y_S}")
