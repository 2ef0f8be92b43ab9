"""The errors a user can meet."""

import pytest

from constructions import errors
from constructions.errors import ByheartError, CapacityError, HypothesisError, InputError


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
