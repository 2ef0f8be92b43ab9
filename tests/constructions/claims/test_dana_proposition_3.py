"""A memory on the circle holds all labels, for one token and for many."""

import pytest

from constructions.claims.dana_proposition_3 import CLAIM
from constructions.errors import HypothesisError
from verify.certificates.memorization import certify_memorization
from verify.verdict import Verdict


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"seed": 3},
        {"tokens": 1, "length": 1, "n_heads": 1, "d_head": 1},
        {"tokens": 2, "length": 2, "n_heads": 2},
        {"tokens": 3, "length": 3, "n_heads": 14},
        {"d_head": 1, "n_heads": 36},
    ],
)
def test_the_weights_hold_every_label(parameters: dict[str, int]) -> None:
    made = CLAIM.construct(**parameters)
    assert made.model.d_model == 2
    assert certify_memorization(made.model, made.task).certificate.verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("parameters", "hypothesis"),
    [
        ({"tokens": 0}, "N >= 1"),
        ({"length": 1}, "S >= 2 or N <= 2"),
        ({"n_heads": 0}, "H >= 1"),
        ({"d_head": 3}, "1 <= d_h <= 2"),
        ({"seed": -1}, "seed >= 0"),
    ],
)
def test_a_hypothesis_that_fails_is_named(parameters: dict[str, int], hypothesis: str) -> None:
    with pytest.raises(HypothesisError, match=hypothesis):
        CLAIM.construct(**parameters)
