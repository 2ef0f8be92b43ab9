"""One matrix that holds more associations than it has rows, in a network with one head."""

import numpy as np
import pytest

from constructions.claims.slides_associative_memory import CLAIM
from constructions.errors import HypothesisError
from constructions.memories.outer_product_memory import random_associations
from constructions.models.attention import logits
from verify.certificates.memorization import certify_memorization
from verify.verdict import Verdict


@pytest.mark.parametrize(
    "parameters", [{}, {"width": 64, "count": 80}, {"width": 1, "count": 1}, {"width": 32, "count": 3, "seed": 5}]
)
def test_the_associations_are_held(parameters):
    made = CLAIM.construct(**parameters)
    assert certify_memorization(made.model, made.task).certificate.verdict is Verdict.PROVED


def test_the_default_holds_twice_as_many_as_the_width():
    made = CLAIM.construct()
    assert made.task.n_contexts == 256 == 2 * made.model.d_head


def test_the_logits_are_those_of_the_matrix():
    made = CLAIM.construct(width=32, count=9)
    drawn = random_associations(32, 9, seed=0)
    expected = drawn.inputs @ drawn.memory.T @ drawn.outputs.T
    assert np.array_equal(logits(made.model, made.task.contexts), expected[made.task.contexts[:, 0]])
    assert np.array_equal(made.task.labels, drawn.labels[made.task.contexts[:, 0]])


@pytest.mark.parametrize(
    ("parameters", "hypothesis"),
    [
        ({"width": 16, "count": 200}, "stores all"),
        ({"width": 0}, "d >= 1"),
        ({"count": 0}, "N >= 1"),
        ({"count": 5000}, "N <= 4096"),
        ({"seed": -1}, "seed >= 0"),
    ],
)
def test_a_hypothesis_that_fails_is_named(parameters, hypothesis):
    with pytest.raises(HypothesisError, match=hypothesis):
        CLAIM.construct(**parameters)
