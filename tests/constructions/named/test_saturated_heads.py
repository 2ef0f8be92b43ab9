"""Saturated heads with labels, for vectors of one's own."""

import numpy as np
import pytest

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.named.saturated_heads import random_vectors, saturated_memory
from verify.provers.memorization import certify_memorization


@pytest.mark.parametrize("shared", [0, 1])
@pytest.mark.parametrize("classes", [0, 3])
def test_the_labels_are_memorized_by_proof(shared, classes):
    vectors = random_vectors(n_examples=10, n_ctx=4, d_model=6, shared=shared, seed=1)
    made = saturated_memory(vectors, n_heads=3, d_head=4, classes=classes)
    assert certify_memorization(made.model, made.task, rank=True).certificate.verdict.value == "PROVED"
    assert made.task.contexts.shape[0] == (1 if shared else 10)


def test_what_the_theorem_does_not_speak_of_is_refused_by_its_hypothesis():
    vectors = random_vectors(n_examples=11, n_ctx=4, d_model=6, shared=1, seed=1)
    with pytest.raises(CapacityError, match=r"T <= H \(b - 1\) \+ 1 = 10"):
        saturated_memory(vectors, n_heads=3, d_head=4)
    with pytest.raises(HypothesisError):  # equal queries
        saturated_memory((vectors[0], np.ones((10, 6))), n_heads=3, d_head=4)
    with pytest.raises(HypothesisError):  # a context of rank 1
        saturated_memory((np.ones((1, 4, 6)), vectors[1][:10]), n_heads=3, d_head=4)
    with pytest.raises(InputError, match="d_head = 0, expected at least 1"):
        saturated_memory(vectors, n_heads=3, d_head=0)
    for wrong in (dict(shared=2), dict(n_examples=0), dict(seed=-1)):
        with pytest.raises(InputError):
            random_vectors(**{"n_examples": 3, "n_ctx": 2, "d_model": 4, "shared": 1, "seed": 0, **wrong})
