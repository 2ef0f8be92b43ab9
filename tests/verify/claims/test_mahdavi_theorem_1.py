"""The audit of Theorem 1 certifies what it says, and nothing that is not so."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError
from constructions.models.construction import Construction
from constructions.models.vector_attention import outputs
from constructions.saturated.layer_readout import layer_with_read_out
from constructions.saturated.random_heads import random_heads
from constructions.tasks.vectors import VectorTask
from verify.claims import mahdavi_theorem_1 as audit
from verify.claims.mahdavi_theorem_1 import CLAIM, build, narrow_values
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
    made = build(**sizes)
    assert audit._memorized(made, sizes).verdict is Verdict.PROVED
    labels = np.roll(made.task.labels, 1, axis=1 if classes else 0)
    other = VectorTask(made.task.contexts, made.task.queries, labels, made.task.kind)
    piece = audit._memorized(replace(made, task=other), sizes)
    assert piece.verdict is not Verdict.PROVED and piece.certified == "not all labels certified"


def test_labels_without_rank_are_not_confirmed() -> None:
    made = build(**SIZES)
    queries = made.task.queries.copy()
    queries[1], labels = queries[0], made.task.labels.copy()
    labels[1] = labels[0]
    same = VectorTask(made.task.contexts, queries, labels)
    assert audit._memorized(replace(made, task=same), SIZES).verdict is not Verdict.PROVED


@pytest.mark.parametrize("change", [{"examples": 6}, {"d_head": 4}, {"n_heads": 4}, {"classes": 3}, {"outputs": 2}])
def test_a_layer_of_other_sizes_than_asked_for_is_not_confirmed(change: dict[str, int]) -> None:
    other = {**SIZES, **change}
    assert audit._memorized(build(**other), other).verdict is Verdict.PROVED
    assert audit._memorized(build(**other), SIZES).verdict is not Verdict.PROVED


def holds(made: Construction[VectorTask]) -> bool:
    found = outputs(made.model, made.task)
    if made.task.kind == "classification":
        return bool((found.argmax(axis=1) == made.task.classes).all())
    return bool(np.abs(found - made.task.labels).max() < 1e-6)


@pytest.mark.parametrize("seed", [22, 30, 80])
def test_heads_are_drawn_again_where_float64_misses_a_label(seed: int) -> None:
    sizes = {"n_heads": 2, "n_ctx": 4, "d_model": 4, "d_head": 2, "examples": 0, "shared": 1}
    assert holds(build(**sizes, outputs=1, classes=0, seed=seed))


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_labels_are_held_down_to_the_smallest_sizes(n_heads: int, tokens: int, data: st.DataObject) -> None:
    parameters = {
        "n_heads": n_heads,
        "n_ctx": tokens,
        "d_model": data.draw(st.integers(tokens, tokens + 3)),
        "d_head": data.draw(st.integers(1, tokens + 1)),
        "examples": data.draw(st.integers(0, n_heads * (tokens - 1) + 1)),
        "shared": data.draw(st.integers(0, 1)),
        "outputs": data.draw(st.integers(1, 3)),
        "classes": data.draw(st.sampled_from([0, 2, 3, 7])),
        "seed": data.draw(st.integers(0, 99)),
    }
    CLAIM.require(**parameters)
    made = build(**parameters)
    assert holds(made)
    assert made.task.n_examples == (parameters["examples"] or n_heads * (tokens - 1) + 1)
    assert (made.model.n_heads, made.model.d_qk) == (n_heads, parameters["d_head"])
    assert f"H = {n_heads}" in made.summary


def test_the_default_parameters_are_allowed_and_cover_the_construction() -> None:
    CLAIM.require(**CLAIM.parameters)
    made = build(**{**CLAIM.parameters, "n_heads": 3, "n_ctx": 8, "d_model": 16, "d_head": 8})
    assert made.task.n_examples == 22 and holds(made)


def test_the_counterexample_is_refused_by_the_repaired_theorem() -> None:
    task = narrow_values()
    maps = random_heads(task.contexts, task.queries, n_heads=1, d_head=2)
    with pytest.raises(HypothesisError, match="d_out <= min"):
        layer_with_read_out(task, *maps, d_value=1, d_inner=2)
