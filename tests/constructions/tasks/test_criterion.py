"""What is asked of a model and a task."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.tasks.criterion import TOLERANCE, Criterion


def test_the_default_asks_that_every_context_is_memorized():
    assert (Criterion().asked, Criterion().tolerance) == ("memorized", TOLERANCE)
    assert Criterion().describe("labels") == "every argmax is right"
    assert Criterion().describe("values") == "every distance from the value is at most 0.001"


def test_a_part_and_a_mean_are_described_with_their_numbers():
    assert Criterion.at_least(7, tolerance=0.5).describe("distributions") == (
        "in at least 7 contexts the argmax is right and the divergence is at most 0.5 nats"
    )
    assert Criterion.at_least(7).describe("labels") == "at least 7 argmaxes are right"
    assert Criterion.at_least(1).describe("labels") == "at least 1 argmax is right"
    assert Criterion.at_least(1).describe("values").startswith("in at least 1 context the distance")
    assert Criterion.at_most(0.25).describe("labels") == "the mean divergence is at most 0.25 nats"


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_a_bound_that_is_met_is_printed_in_four_digits_that_follow_from_it(bound):
    asked = Criterion.at_most(bound)
    [said] = re.findall(r"at most (\S+) nats", asked.describe("distributions", met=True))
    assert len(said.partition("e")[0].replace(".", "").strip("0")) <= 4 or float(said) == int(float(said))
    assert float(said) == bound or Fraction(said) > Fraction(bound)
    assert f"at most {str(bound).removesuffix('.0')} nats" in asked.describe("distributions")


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"asked": "mostly"}, "asked"),
        *(({"tolerance": value}, "tolerance") for value in (0.0, -1.0, math.nan, math.inf, 1, "1", None)),
        ({"contexts": 3}, "contexts"),
        ({"bound": 3.0}, "bound"),
        *(({"asked": "at-least", "contexts": value}, "contexts") for value in (None, 0, -1, True, 1.0, 2**60)),
        *(({"asked": "at-most", "bound": value}, "bound") for value in (None, 0.0, math.nan, 1)),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_by_name(fields, name):
    with pytest.raises(InputError, match=name):
        Criterion(**fields)


def test_a_number_that_is_too_small_is_named_as_it_was_given():
    with pytest.raises(InputError, match="at_least = 0, expected at least 1"):
        Criterion.at_least(0)


def test_the_data_keep_the_numbers_exactly():
    assert Criterion.at_most(0.1).data() == {
        "asked": "at-most",
        "tolerance": TOLERANCE.hex(),
        "contexts": None,
        "bound": (0.1).hex(),
    }
