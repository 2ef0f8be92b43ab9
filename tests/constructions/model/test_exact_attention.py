"""Exact attention of the builder against the definition, in Python's fractions."""

import numpy as np
import pytest
from flint import fmpq_mat
from hypothesis import given

from constructions.errors import HypothesisError, InputError, ResourceError
from constructions.model.exact_attention import exact_features, exact_last, exact_logits
from constructions.model.exact_network import ExactFrontEnd, as_rationals
from tests.constructions.rational_front_ends import fractions, networks_with_contexts, plain_logits, plain_outputs

ONE = as_rationals([[1]])


def line(*, query: object = 1) -> ExactFrontEnd:
    """Tokens 0 and 1 at positions 0 and 1, one head."""
    steps = as_rationals([[0], [1]])
    return ExactFrontEnd(steps, steps, (as_rationals([[query]]),), (ONE,), (ONE,))


@given(networks_with_contexts())
def test_features_are_those_of_the_definition(case) -> None:
    network, contexts = case
    width, expected = network.front_end.d_model, plain_outputs(network.front_end, contexts)
    assert fractions(exact_last(network.front_end, contexts)) == [row[:width] for row in expected]
    assert fractions(exact_features(network.front_end, contexts)) == [row[width:] for row in expected]


@given(networks_with_contexts())
def test_logits_are_those_of_the_definition(case) -> None:
    network, contexts = case
    assert fractions(exact_logits(network.model, contexts)) == plain_logits(network, contexts)


def test_without_heads_there_are_no_features() -> None:
    front_end = ExactFrontEnd(ONE, ONE, (), (), ())
    assert exact_features(front_end, np.array([[0], [0]])) == fmpq_mat(2, 0)


def test_scores_that_are_no_integers_are_refused() -> None:
    with pytest.raises(HypothesisError, match="integer multiples of ln 2"):
        exact_features(line(query=0.5), np.array([[0, 0]]))


def test_scores_of_contexts_that_do_not_occur_may_be_anything() -> None:
    steps = as_rationals([[0], [0.5]])
    front_end = ExactFrontEnd(steps, as_rationals([[0]]), (ONE,), (ONE,), (ONE,))
    assert exact_features(front_end, np.array([[0]])) == fmpq_mat(1, 1, [0])
    with pytest.raises(HypothesisError):
        exact_features(front_end, np.array([[1]]))


def test_scores_too_large_to_compute_with_are_refused() -> None:
    with pytest.raises(ResourceError, match="too long"):
        exact_features(line(query=2**60), np.array([[0, 1]]))


@pytest.mark.parametrize(
    "contexts",
    [[[0]], [[0, 2]], [[-1, 0]], [0, 1], np.empty((0, 2), dtype=np.int64), [[0.0, 1.0]], [[True, False]]],
)
def test_contexts_that_are_no_tokens_are_refused(contexts) -> None:
    for compute in (exact_last, exact_features):
        with pytest.raises(InputError, match="contexts"):
            compute(line(), np.asarray(contexts))
