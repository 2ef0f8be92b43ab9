"""The weights of Theorem E hold the laws of an encoder of bounded range on six contexts."""

import pytest

from constructions.claims.dana_theorem_3 import CLAIM
from constructions.errors import HypothesisError
from verify.certificates.memorization import certify_memorization
from verify.verdict import Verdict


@pytest.mark.parametrize("parameters", [{}, {"largest_range": 2}, {"largest_range": 500}, {"occurrences": 2}])
def test_the_weights_hold_the_kept_contexts(parameters: dict[str, int]) -> None:
    made = CLAIM.construct(**parameters)
    certificate = certify_memorization(made.model, made.task).certificate
    assert certificate.verdict is Verdict.PROVED
    assert certificate.answers.values["held"] == 6
    assert (made.task.n_contexts, made.task.n_all) == (6, 9)


@pytest.mark.parametrize(
    ("parameters", "hypothesis"),
    [({"largest_range": 1}, "2 <= R"), ({"largest_range": 501}, "R <= 500"), ({"occurrences": 1}, "most likely")],
)
def test_a_hypothesis_that_fails_is_named(parameters: dict[str, int], hypothesis: str) -> None:
    with pytest.raises(HypothesisError, match=hypothesis):
        CLAIM.construct(**parameters)
