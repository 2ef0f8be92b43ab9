"""Facts of subjects and relations: the sum of indicators, and sizes below one."""

import numpy as np
import pytest

from constructions.claims import nichani_2024_additive as builder
from constructions.claims.nichani_2024_additive import CLAIM, additive_recall
from constructions.errors import HypothesisError
from constructions.models.attention import logits


def test_sizes_below_one_are_refused():
    with pytest.raises(HypothesisError, match="S, R, answers >= 1"):
        CLAIM.construct(subjects=0)
    assert builder.build(subjects=1, relations=1, answers=1, seed=0).task.n_contexts == 1


def test_the_logits_are_the_sums_of_the_indicators():
    table = np.array([[0, 2], [1, 2]])
    task, model = additive_recall(table, 3)
    assert logits(model, task.contexts)[:, 4:].tolist() == [[2, 1, 1], [1, 0, 2], [1, 2, 1], [0, 1, 2]]
