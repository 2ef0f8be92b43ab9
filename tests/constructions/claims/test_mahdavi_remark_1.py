"""What is recorded about the claim."""

import pytest

from constructions.claims.mahdavi_remark_1 import CLAIM
from constructions.errors import InputError


def test_the_verdict_is_on_a_claim_about_no_weights_of_ours() -> None:
    assert CLAIM.module == "mahdavi_remark_1" and CLAIM.judgement == "holds" and "Mahdavi" in CLAIM.source
    with pytest.raises(InputError, match="builds no weights"):
        CLAIM.construct()
