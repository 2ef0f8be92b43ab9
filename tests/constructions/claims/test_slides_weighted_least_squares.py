"""The claim about weighted least squares is about no weights."""

import pytest

from constructions.claims.slides_weighted_least_squares import CLAIM
from constructions.errors import InputError


def test_nothing_is_built():
    assert CLAIM.judgement == "false" and not CLAIM.parameters
    with pytest.raises(InputError, match="builds no weights"):
        CLAIM.construct()
