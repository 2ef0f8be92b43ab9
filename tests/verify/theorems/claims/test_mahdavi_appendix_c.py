"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.model.construction import Construction
from constructions.model.shapes import mahdavi_layer, mahdavi_tensors
from constructions.model.vector_attention import outputs
from constructions.saturated_layers.uniform_examples import labelled
from verify.theorems.claims import mahdavi_appendix_c as audit
from verify.theorems.claims.mahdavi_appendix_c import CLAIM
from verify.verdict import Verdict

PARAMETERS = {"n_heads": 3, "n_ctx": 3, "d_model": 4, "d_head": 3, "outputs": 2, "shared": 1}


def test_a_layer_for_the_labels_themselves_proves_nothing():
    made = CLAIM.construct(**PARAMETERS)
    assert isinstance(made, Construction) and audit._memorized(made, PARAMETERS).verdict is Verdict.PROVED
    tensors = mahdavi_tensors(made.model)
    swapped = mahdavi_layer(**{**tensors, "W_D": tensors["W_D"][::-1].copy()})  # the skip connection adds other entries
    assert audit._memorized(replace(made, model=swapped), PARAMETERS).verdict is Verdict.UNDECIDED
    quiet = mahdavi_layer(**{**tensors, "W_V": 0.0 * tensors["W_V"]})
    assert audit._memorized(replace(made, model=quiet), PARAMETERS).verdict is Verdict.UNDECIDED


def test_other_examples_prove_nothing():
    made = CLAIM.construct(**PARAMETERS, seed=1)
    assert isinstance(made, Construction) and audit._memorized(made, PARAMETERS).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("change", [{"d_head": 4}, {"outputs": 1}, {"n_heads": 2}])
def test_a_layer_of_other_sizes_than_asked_for_proves_nothing(change):
    made = CLAIM.construct(**{**PARAMETERS, **change})
    assert isinstance(made, Construction)
    assert audit._memorized(made, {**PARAMETERS, **change}).verdict is Verdict.PROVED
    assert audit._memorized(made, PARAMETERS).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"shared": 0},
        {"n_heads": 3, "n_ctx": 2, "d_model": 2, "outputs": 2},
        {"n_ctx": 1, "d_model": 1, "outputs": 1},
    ],
)
def test_outputs_and_skip_connection_are_the_labels(parameters: dict[str, int]) -> None:
    made = CLAIM.construct(**parameters)
    assert isinstance(made, Construction)
    layer, task = made.model, made.task
    labels = labelled(task.contexts, task.queries, outputs=task.d_out).labels
    np.testing.assert_allclose(outputs(layer, task) + task.queries @ layer.W_U, labels, atol=1e-9)
    assert layer.attention.d_out == layer.d_model
