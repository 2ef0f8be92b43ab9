"""The record of slides.low-entropy."""

import pytest

from constructions.claims.slides_low_entropy import CLAIM
from constructions.errors import InputError


def test_the_claim_needs_a_hypothesis_and_builds_nothing() -> None:
    assert (CLAIM.id, CLAIM.module, CLAIM.judgement) == ("slides.low-entropy", "slides_low_entropy", "hypothesis")
    assert "C < 1/2" in CLAIM.truth and "C < 1/2" not in CLAIM.printed
    with pytest.raises(InputError, match="builds no weights"):
        CLAIM.construct()
