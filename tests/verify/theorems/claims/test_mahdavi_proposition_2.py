"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.model.construction import Construction
from constructions.model.shapes import mahdavi_layer, mahdavi_tensors
from constructions.saturated_layers.shared_context import confined_queries, line_queries, one_direction_layer
from constructions.tasks.vectors import VectorTask
from verify.forward.heads import enclose_mixed_inputs
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.theorems.claims import mahdavi_proposition_2 as audit
from verify.theorems.claims.mahdavi_proposition_2 import CLAIM
from verify.verdict import Verdict


def integer_layer():
    return one_direction_layer(np.eye(3, 4, dtype=np.int64), line_queries(9, 4), n_heads=3)


def test_equal_heads_or_contexts_that_differ_prove_nothing():
    layer = integer_layer()
    assert audit._tight(layer).verdict is Verdict.PROVED
    equal = replace(layer, W_K=np.repeat(layer.W_K[:1], 3, axis=0))
    assert audit._tight(equal).verdict is not Verdict.PROVED
    contexts = np.repeat(layer.contexts, 9, axis=0)
    contexts[4, 0, 3] = 1
    assert audit._tight(replace(layer, contexts=contexts)).verdict is not Verdict.PROVED


def test_queries_that_repeat_prove_nothing():
    layer = integer_layer()
    assert audit._tight(replace(layer, queries=np.ones_like(layer.queries))).verdict is not Verdict.PROVED


def test_queries_that_are_not_parallel_are_not_called_so():
    layer = one_direction_layer(np.eye(3, 4, dtype=np.int64), confined_queries(9, 4, 2), n_heads=3)
    assert audit._tight(layer).verdict is not Verdict.PROVED
    assert "rank Z >= 7" in audit._tight(layer).certified  # it is the words that do not hold


def test_floats_with_less_rank_or_other_contexts_prove_nothing():
    made = CLAIM.construct(n_heads=3, n_ctx=3, d_model=4, d_head=3)
    assert isinstance(made, Construction) and audit._built(made).verdict is Verdict.PROVED
    tensors = mahdavi_tensors(made.model)
    idle = mahdavi_layer(**{**tensors, "W_Q": 0.0 * tensors["W_Q"]})
    assert audit._built(replace(made, model=idle)).verdict is not Verdict.PROVED
    contexts = np.repeat(made.task.contexts, made.task.n_examples, axis=0)
    contexts[0, 0, 0] += 1.0
    other = VectorTask(contexts, made.task.queries, made.task.labels)
    assert audit._built(replace(made, task=other)).verdict is not Verdict.PROVED


def test_other_outputs_prove_nothing(changed):
    changed(audit, "exact_mixed_inputs", lambda found: 2 * found)
    assert audit._more_labels_than_rank().verdict is not Verdict.PROVED


@pytest.mark.parametrize(
    "parameters", [{}, {"n_heads": 1, "n_ctx": 1, "d_model": 1, "d_head": 1}, {"n_ctx": 3, "d_head": 1}]
)
def test_as_many_examples_as_the_bound_are_independent(parameters: dict[str, int]) -> None:
    made = CLAIM.construct(**parameters)
    assert isinstance(made, Construction)
    sizes = {**CLAIM.parameters, **parameters}
    assert made.task.shared and made.task.n_examples == sizes["n_heads"] * (sizes["n_ctx"] - 1) + 1
    assert certify_full_row_rank(enclose_mixed_inputs(made.model, made.task)).verdict is Verdict.PROVED
