"""The laws that are held at a low rank, as the slides propose, with the divergence that the sharp bound promises."""

import pytest

from constructions.claims.slides_least_squares import CLAIM
from constructions.errors import HypothesisError
from verify.certificates.memorization import certify_memorization
from verify.encoders.truncation_bound import least_squares_bound, log_law_singular_values
from verify.verdict import Verdict


@pytest.mark.parametrize(
    "parameters",
    [{}, {"tokens": 3}, {"tokens": 3, "width": 3}, {"tokens": 32}, {"tokens": 12, "width": 5, "seed": 7}],
)
def test_the_laws_are_held_as_well_as_promised(parameters):
    made = CLAIM.construct(**parameters)
    width = parameters.get("width", 2)
    assert (made.model.n_heads, made.model.d_head) == (1, width)
    found = certify_memorization(made.model, made.task)
    assert found.certificate.verdict is Verdict.PROVED
    assert made.task.laws is not None
    bound = least_squares_bound(log_law_singular_values(made.task.laws), width)
    assert found.answers.loss_upper.max() <= float(bound.upper()) + 1e-20


@pytest.mark.parametrize(
    ("parameters", "hypothesis"),
    [({"tokens": 2}, "3 <= N"), ({"tokens": 33}, "3 <= N"), ({"width": 1}, "2 <= d"), ({"width": 9}, "2 <= d")],
)
def test_a_hypothesis_that_fails_is_named(parameters, hypothesis):
    with pytest.raises(HypothesisError, match=hypothesis):
        CLAIM.construct(**parameters)
