"""Tests of constructions/folds/typed.py: what is typed is what is read, and numbers are those of plain arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.folds.fold import addition, fold_of, maximum, modular_sum
from constructions.folds.typed import input_in_words, last_input, number_said, typed_choices

ORDERS = st.sampled_from(["least", "most"])


@given(st.data(), st.integers(1, 12), st.integers(2, 16), ORDERS, ORDERS)
def test_two_numbers_are_read_and_their_sum_is_said(data, digits, base, first, first_of_sum):
    fold = addition(digits, base=base, first_digit=first, first_digit_of_sum=first_of_sum, plus=[base], equals=[base])
    a, b = (data.draw(st.integers(0, base**digits - 1)) for _ in range(2))
    separator = data.draw(st.sampled_from([" + ", "+", ",", ", ", " ", "  "]))
    choices = typed_choices(fold, f"{a}{separator}{b}")
    assert number_said(fold, fold.answers(choices)[0].tolist()) == a + b
    assert input_in_words(fold, choices) == f"{a} + {b}"
    tokens = " ".join(map(str, fold.prompts(choices)[0].tolist()))
    assert (typed_choices(fold, tokens) == choices).all()
    assert last_input(fold) == f"{base**digits - 1} + {base**digits - 1}"


@given(st.data(), st.integers(1, 8), st.integers(2, 40))
def test_the_tokens_of_a_prompt_are_read(data, count, below):
    tokens = data.draw(st.lists(st.integers(0, below - 1), min_size=count, max_size=count))
    for fold, wanted in (
        (maximum(count, below=below), max(tokens)),
        (modular_sum(count, below=below, modulus=7), None),
    ):
        for separator in (" ", ","):
            choices = typed_choices(fold, separator.join(map(str, tokens)))
            assert fold.prompts(choices)[0].tolist() == tokens
            assert fold.answers(choices)[0, 0] == (sum(tokens) % 7 if wanted is None else wanted)
        assert input_in_words(fold, choices) == " ".join(map(str, tokens))
        assert number_said(fold, [0]) is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("-3 + 5", "has '-3'"),
        ("3.5 5", "has '3.5'"),
        ("three five", "has 'three'"),
        ("\N{ARABIC-INDIC DIGIT THREE} 5", "has '\N{ARABIC-INDIC DIGIT THREE}'"),
        ("", "lacks a number"),
        ("3 + + 5", "lacks a number"),
        ("+3 5", "lacks a number"),
        ("3", "has 1 number, expected two numbers, or the 6 tokens of a prompt"),
        ("1 2 3", "has 3 numbers"),
        ("100 + 1", "has 100, expected numbers of at most 2 digits in base 10"),
        (f"1 + 1{'0' * 5000}", "has a number of 5001 digits"),
        ("1 2 3 4 5 0", "has 3 as token 3, expected 0, the token of all inputs"),
        ("1 2 0 4 10 0", "has 2, 10 as tokens 2, 5"),
        (f"1 2 0 4 1{'0' * 5000} 0", "as tokens 2, 5"),
    ],
)
def test_what_is_no_input_is_refused_by_name(text, what):
    with pytest.raises(InputError, match="the context") as refused:
        typed_choices(addition(2), text)
    assert what in str(refused.value)


def test_leading_zeros_are_no_digits_and_no_sum_is_made_of_what_is_no_digit():
    fold = addition(2, plus=[10], equals=[10])
    assert input_in_words(fold, typed_choices(fold, f"{'0' * 5000}7 + 05")) == "7 + 5"
    assert number_said(fold, [1, 10, 0]) is None and number_said(fold, [1, 1]) is None


def test_a_plus_sign_is_none_of_another_rule_and_the_choices_of_ones_own_are_looked_up():
    own = fold_of(
        lambda state, read: (0, read[0]), start=0, length=3, stages=[((2, 0), [(7, 1), (3, 4)])], answer=[0],
        fixed={1: 9},
    )  # fmt: skip
    assert typed_choices(own, "4 9 3").tolist() == [[1]]
    assert input_in_words(own, np.array([[0]])) == "1 9 7"
    for text in ("4 9 7", "4 8 3", "4 + 3"):
        with pytest.raises(InputError, match="the context"):
            typed_choices(own, text)
