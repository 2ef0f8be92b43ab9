"""The audit of Theorem 1 certifies what it says, and nothing that is not so."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.errors import HypothesisError
from constructions.saturated_layers.layer_readout import layer_with_read_out
from constructions.saturated_layers.random_heads import random_heads
from constructions.saturated_layers.uniform_memory import uniform_memory
from constructions.tasks.vectors import VectorTask
from verify.theorems.claims import mahdavi_theorem_1 as audit
from verify.theorems.claims.mahdavi_theorem_1 import narrow_values
from verify.verdict import Verdict

SIZES = {"n_heads": 3, "n_ctx": 3, "d_model": 4, "d_head": 3, "examples": 7, "shared": 1, "outputs": 1, "classes": 0}


def test_wide_enough_values_are_no_counterexample() -> None:
    assert audit._too_narrow(narrow_values(), n_heads=1, d_value=1, d_inner=2).verdict is Verdict.PROVED
    assert audit._too_narrow(narrow_values(), n_heads=1, d_value=2, d_inner=2).verdict is not Verdict.PROVED
    assert audit._too_narrow(narrow_values(), n_heads=2, d_value=1, d_inner=2).verdict is not Verdict.PROVED


def test_labels_and_queries_that_break_the_assumptions_are_no_counterexample() -> None:
    right = narrow_values()
    for changed in (
        VectorTask(right.contexts, right.queries, np.ones((2, 2))),
        VectorTask(right.contexts, right.queries, 2.0 * right.labels),
        VectorTask(right.contexts, np.ones((2, 3)), right.labels),
        VectorTask(right.contexts[:, [0, 0]], right.queries, right.labels),
    ):
        assert audit._too_narrow(changed, n_heads=1, d_value=1, d_inner=2).verdict is not Verdict.PROVED


@pytest.mark.parametrize("classes", [0, 2, 5])
def test_wrong_labels_are_not_confirmed(classes: int) -> None:
    sizes = {**SIZES, "classes": classes}
    made = uniform_memory(**sizes)
    assert audit._memorized(made, sizes).verdict is Verdict.PROVED
    labels = np.roll(made.task.labels, 1, axis=1 if classes else 0)
    other = VectorTask(made.task.contexts, made.task.queries, labels, made.task.kind)
    piece = audit._memorized(replace(made, task=other), sizes)
    assert piece.verdict is not Verdict.PROVED and piece.certified == "not all labels certified"


def test_labels_without_rank_are_not_confirmed() -> None:
    made = uniform_memory(**SIZES)
    queries = made.task.queries.copy()
    queries[1], labels = queries[0], made.task.labels.copy()
    labels[1] = labels[0]
    same = VectorTask(made.task.contexts, queries, labels)
    assert audit._memorized(replace(made, task=same), SIZES).verdict is not Verdict.PROVED


@pytest.mark.parametrize("change", [{"examples": 6}, {"d_head": 4}, {"n_heads": 4}, {"classes": 3}, {"outputs": 2}])
def test_a_layer_of_other_sizes_than_asked_for_is_not_confirmed(change: dict[str, int]) -> None:
    other = {**SIZES, **change}
    assert audit._memorized(uniform_memory(**other), other).verdict is Verdict.PROVED
    assert audit._memorized(uniform_memory(**other), SIZES).verdict is not Verdict.PROVED


def test_the_counterexample_is_refused_by_the_repaired_theorem() -> None:
    task = narrow_values()
    maps = random_heads(task.contexts, task.queries, n_heads=1, d_head=2)
    with pytest.raises(HypothesisError, match="d_out <= min"):
        layer_with_read_out(task, *maps, d_value=1, d_inner=2)
