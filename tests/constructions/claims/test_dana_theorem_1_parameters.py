"""The weights with half of the parameters hold all contexts."""

import pytest

from constructions.claims import claim
from constructions.errors import HypothesisError
from verify.certificates.memorization import certify_memorization
from verify.certificates.parameter_count import shared_attention_parameters
from verify.verdict import Verdict

PARAMETERS = claim("dana.theorem-1-parameters")


@pytest.mark.parametrize("given", [{}, {"tokens": 3, "width": 3}, {"width": 3, "seed": 2}, {"tokens": 5, "width": 5}])
def test_shared_attention_holds_all_contexts(given: dict[str, int]) -> None:
    made = PARAMETERS.construct(**given)
    assert made.task.n_contexts == made.task.n_all == made.task.vocabulary_size**made.task.context_length
    assert certify_memorization(made.model, made.task).certificate.verdict is Verdict.PROVED
    assert f"{shared_attention_parameters(made.model)} chosen" in made.summary


@pytest.mark.parametrize(
    ("given", "hypothesis"),
    [
        ({"tokens": 1}, "N >= 2"),
        ({"length": 1}, "S >= 2"),
        ({"head_width": 5}, "1 <= d_h <= d"),
        ({"width": 5}, "N - 1 <= d <= N"),
        ({"seed": -1}, "seed >= 0"),
    ],
)
def test_a_hypothesis_that_fails_is_named(given: dict[str, int], hypothesis: str) -> None:
    with pytest.raises(HypothesisError, match=hypothesis):
        PARAMETERS.construct(**given)
