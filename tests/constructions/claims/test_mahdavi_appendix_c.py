"""Layers with a skip connection."""

import numpy as np
import pytest

from constructions.claims.mahdavi_appendix_c import CLAIM
from constructions.claims.mahdavi_theorem_1 import labelled
from constructions.errors import HypothesisError
from constructions.models.construction import Construction
from constructions.models.vector_attention import outputs


@pytest.mark.parametrize(
    "parameters",
    [{}, {"shared": 0}, {"heads": 3, "tokens": 2, "width": 2, "outputs": 2}, {"tokens": 1, "width": 1, "outputs": 1}],
)
def test_outputs_and_skip_connection_are_the_labels(parameters: dict[str, int]) -> None:
    made = CLAIM.construct(**parameters)
    assert isinstance(made, Construction)
    layer, task = made.model, made.task
    labels = labelled(task.contexts, task.queries, outputs=task.d_out).labels
    np.testing.assert_allclose(outputs(layer, task) + task.queries @ layer.W_U, labels, atol=1e-9)
    assert layer.attention.d_out == layer.d_model


@pytest.mark.parametrize("parameters", [{"heads": 0}, {"width": 7}, {"outputs": 17}, {"shared": 2}, {"seed": -1}])
def test_a_hypothesis_that_fails_is_named(parameters: dict[str, int]) -> None:
    with pytest.raises(HypothesisError):
        CLAIM.construct(**parameters)
