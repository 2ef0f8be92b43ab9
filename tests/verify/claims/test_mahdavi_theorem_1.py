"""The audit of Theorem 1 certifies what it says, and nothing that is not so."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.claims.mahdavi_theorem_1 import CLAIM, build, narrow_values
from constructions.tasks.vectors import VectorTask
from verify.claims import mahdavi_theorem_1 as audit
from verify.claims.audit import NEEDED
from verify.verdict import Verdict

SIZES = {"heads": 3, "tokens": 3, "width": 4, "head_width": 3, "examples": 7, "shared": 1, "outputs": 1, "classes": 0}


def test_the_recorded_judgement_is_confirmed() -> None:
    found = list(audit.evidence(full=False))
    assert all(piece.verdict is Verdict.PROVED for piece in found)
    assert NEEDED[CLAIM.judgement] <= {piece.role for piece in found}
    assert any("621 = H (n - 1) + 1 labels of 100 classes" in piece.statement for piece in found)


@pytest.mark.slow
def test_all_evidence_is_certified() -> None:
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=True))


def test_wide_enough_values_are_no_counterexample() -> None:
    assert audit._too_narrow(narrow_values(), heads=1, d_value=1, d_inner=2).verdict is Verdict.PROVED
    assert audit._too_narrow(narrow_values(), heads=1, d_value=2, d_inner=2).verdict is not Verdict.PROVED
    assert audit._too_narrow(narrow_values(), heads=2, d_value=1, d_inner=2).verdict is not Verdict.PROVED


def test_labels_and_queries_that_break_the_assumptions_are_no_counterexample() -> None:
    right = narrow_values()
    for changed in (
        VectorTask(right.contexts, right.queries, np.ones((2, 2))),
        VectorTask(right.contexts, right.queries, 2.0 * right.labels),
        VectorTask(right.contexts, np.ones((2, 3)), right.labels),
        VectorTask(right.contexts[:, [0, 0]], right.queries, right.labels),
    ):
        assert audit._too_narrow(changed, heads=1, d_value=1, d_inner=2).verdict is not Verdict.PROVED


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


@pytest.mark.parametrize("change", [{"examples": 6}, {"head_width": 4}, {"heads": 4}, {"classes": 3}, {"outputs": 2}])
def test_a_layer_of_other_sizes_than_asked_for_is_not_confirmed(change: dict[str, int]) -> None:
    other = {**SIZES, **change}
    assert audit._memorized(build(**other), other).verdict is Verdict.PROVED
    assert audit._memorized(build(**other), SIZES).verdict is not Verdict.PROVED
