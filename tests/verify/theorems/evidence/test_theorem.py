"""Theorems: who may judge, and that a value of them is always computed."""

import pytest

from constructions.attention.capacity.generic_rank import generic_rank
from constructions.errors import InputError
from verify.theorems.capacity.sign_patterns import heads_for_every_labelling
from verify.theorems.evidence.quantifier import Quantifier
from verify.theorems.evidence.theorem import Applied, Theorem


def theorem(judge) -> Theorem:
    return Theorem(
        "Warren", "docs/claims/labels_beyond_heads.md", "Derivation", judge, Quantifier.ALL_WEIGHTS, "a lower bound"
    )


@pytest.mark.parametrize("judge", [generic_rank, lambda **_: 3, max, heads_for_every_labelling.__call__])
def test_a_builder_and_a_nameless_function_are_no_judges(judge):
    with pytest.raises(InputError, match="expected a named function of verify"):
        theorem(judge)


def test_a_value_is_what_the_judge_computes():
    found = theorem(heads_for_every_labelling).at(d_vocab=2, n_ctx=12)
    assert found.value == heads_for_every_labelling(2, 12) == 9
    with pytest.raises(TypeError):
        Applied(found.theorem, found.given, value=99)  # pyright: ignore[reportCallIssue]


def test_a_broken_hypothesis_of_the_judge_is_no_value():
    with pytest.raises(InputError, match="expected at least 1"):
        theorem(heads_for_every_labelling).at(d_vocab=0, n_ctx=12)
