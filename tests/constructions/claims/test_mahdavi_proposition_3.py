"""Attention that holds labels which ReLU networks cannot hold."""

import numpy as np
import pytest

from constructions.claims.mahdavi_proposition_3 import CLAIM
from constructions.errors import HypothesisError
from constructions.models.construction import Construction
from constructions.models.vector_attention import outputs


@pytest.mark.parametrize("parameters", [{}, {"width": 4, "tokens": 3}, {"neurons": 2}])
def test_the_labels_are_memorized_with_heads_of_width_one(parameters: dict[str, int]) -> None:
    made = CLAIM.construct(**parameters)
    assert isinstance(made, Construction)
    layer, task = made.model, made.task
    np.testing.assert_allclose(outputs(layer, task), task.labels, atol=1e-6)
    assert layer.d_qk == 1
    # No head too many.
    assert (layer.n_heads - 1) * (task.n_tokens - 1) + 1 < task.n_examples <= layer.n_heads * (task.n_tokens - 1) + 1


@pytest.mark.parametrize("parameters", [{"neurons": 0}, {"tokens": 1}, {"tokens": 3}, {"seed": -1}])
def test_a_hypothesis_that_fails_is_named(parameters: dict[str, int]) -> None:
    with pytest.raises(HypothesisError):
        CLAIM.construct(**parameters)
