"""The errors a user can meet."""

import re

import numpy as np
import pytest

from constructions import errors
from constructions.errors import ByheartError, CapacityError, HypothesisError, InputError, require_at_least


@pytest.mark.parametrize("name", [name for name in dir(errors) if name.endswith("Error")])
def test_every_error_is_one_of_ours(name):
    assert issubclass(getattr(errors, name), ByheartError)


def test_a_broken_hypothesis_names_the_claim_the_hypothesis_and_the_value():
    error = CapacityError("Theorem 1'", "rank T = 4", "the rank is 3", fewest_heads=2)
    assert isinstance(error, HypothesisError) and isinstance(error, ValueError)
    assert str(error) == "Theorem 1' needs rank T = 4, but the rank is 3"
    assert (error.claim, error.hypothesis, error.value, error.fewest_heads) == (
        "Theorem 1'", "rank T = 4", "the rank is 3", 2,
    )  # fmt: skip


def test_bad_input_is_a_value_error():
    assert issubclass(InputError, ValueError)


@pytest.mark.parametrize("value", [0.5, 4.0, float("nan"), float("inf"), "4", [4], 1j])
def test_what_is_no_integer_is_named(value):
    with pytest.raises(InputError, match=f"^n_ctx = {re.escape(repr(value))}, expected an integer of at least 1$"):
        require_at_least(1, tokens=1, n_ctx=value)


def test_integers_of_numpy_are_integers():
    require_at_least(1, n_ctx=np.int64(4), tokens=np.uint8(1))


@pytest.mark.parametrize("value", [0, -1])
def test_the_first_argument_that_is_too_small_is_named(value):
    with pytest.raises(InputError, match=f"^n_ctx = {value}, expected at least 1$"):
        require_at_least(1, tokens=1, n_ctx=value, n_heads=0)


def test_what_is_large_enough_or_not_given_is_not_refused():
    require_at_least(2, tokens=2, n_ctx=None, n_heads=2**70)
