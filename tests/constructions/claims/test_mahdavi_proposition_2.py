"""The layer that reaches the bound on a shared context."""

import pytest

from constructions.claims.mahdavi_proposition_2 import CLAIM
from constructions.errors import HypothesisError
from constructions.models.construction import Construction
from verify.forward.heads import enclose_mixed_inputs
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.verdict import Verdict


@pytest.mark.parametrize(
    "parameters", [{}, {"heads": 1, "tokens": 1, "width": 1, "head_width": 1}, {"tokens": 3, "head_width": 1}]
)
def test_as_many_examples_as_the_bound_are_independent(parameters: dict[str, int]) -> None:
    made = CLAIM.construct(**parameters)
    assert isinstance(made, Construction)
    sizes = {**CLAIM.parameters, **parameters}
    assert made.task.shared and made.task.n_examples == sizes["heads"] * (sizes["tokens"] - 1) + 1
    assert certify_full_row_rank(enclose_mixed_inputs(made.model, made.task)).verdict is Verdict.PROVED


@pytest.mark.parametrize("parameters", [{"heads": 0}, {"width": 7}, {"head_width": 0}, {"seed": -1}])
def test_a_hypothesis_that_fails_is_named(parameters: dict[str, int]) -> None:
    with pytest.raises(HypothesisError):
        CLAIM.construct(**parameters)
