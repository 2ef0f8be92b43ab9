"""The record of dana.theorem-2-simple."""

import pytest

from constructions.claims.dana_theorem_2_simple import CLAIM
from constructions.errors import InputError


def test_the_claim_needs_a_hypothesis_and_builds_nothing() -> None:
    assert (CLAIM.id, CLAIM.module, CLAIM.judgement) == ("dana.theorem-2-simple", "dana_theorem_2_simple", "hypothesis")
    assert "C < 1/2" in CLAIM.truth and "C < 1/2" not in CLAIM.printed
    with pytest.raises(InputError, match="builds no weights"):
        CLAIM.construct()
