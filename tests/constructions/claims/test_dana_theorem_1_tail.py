"""The weights of Theorem 1 with contexts left out hold three contexts, and the fourth costs what is said."""

import pytest

from constructions.claims import claim
from constructions.errors import HypothesisError, InputError
from verify.certificates.certificate import TEXT_DIVERGENCE
from verify.certificates.memorization import certify_memorization
from verify.verdict import Verdict

TAIL = claim("dana.theorem-1-tail")


def test_the_weights_hold_the_kept_contexts_and_the_fourth_costs_what_the_page_says() -> None:
    made = TAIL.construct()
    certificate = certify_memorization(made.model, made.task).certificate
    assert certificate.verdict is Verdict.PROVED
    values = certificate.statement(TEXT_DIVERGENCE).values
    assert 56.48 < values["lower"] < values["upper"] < 56.49


@pytest.mark.parametrize("parameters", [{"norm": 1}, {"norm": 500}, {"occurrences": 2}, {"seed": 1}, {"seed": 5}])
def test_other_parameters_are_certified_as_well(parameters: dict[str, int]) -> None:
    made = TAIL.construct(**parameters)
    assert certify_memorization(made.model, made.task).certificate.verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("parameters", "hypothesis"),
    [
        ({"norm": 0}, "1 <= norm"),
        ({"norm": 501}, "<= 500"),
        ({"occurrences": 1}, "the kept contexts are the most likely ones"),
        ({"seed": -1}, "seed >= 0"),
    ],
)
def test_a_hypothesis_that_fails_is_named(parameters: dict[str, int], hypothesis: str) -> None:
    with pytest.raises(HypothesisError, match=hypothesis):
        TAIL.construct(**parameters)


def test_a_parameter_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="no parameter 'tokens'"):
        TAIL.construct(tokens=2)
