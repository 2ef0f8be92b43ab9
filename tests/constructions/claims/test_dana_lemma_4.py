"""The record says what was found, and builds no weights."""

import pytest

from constructions.claims.dana_lemma_4 import CLAIM
from constructions.errors import InputError


def test_the_record_names_the_judgement_and_builds_nothing() -> None:
    assert (CLAIM.module, CLAIM.judgement) == ("dana_lemma_4", "false")
    assert "log(1 / delta)" in CLAIM.printed
    with pytest.raises(InputError, match="builds no weights"):
        CLAIM.construct()
