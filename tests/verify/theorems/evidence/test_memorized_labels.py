"""Labels are memorized where every output is near its own, or in front, and the mixed inputs are independent."""

import numpy as np
import pytest

from constructions.saturated_layers.uniform_memory import uniform_memory
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.claims.mahdavi_theorem_1 import CLAIM
from verify.theorems.evidence.memorized_labels import memorized_labels

SIZES = {**CLAIM.parameters, "n_heads": 3, "n_ctx": 3, "d_model": 4, "d_head": 3, "shared": 1, "outputs": 2}


@pytest.mark.parametrize("classes", [0, 3])
def test_labels_are_memorized_and_others_are_not(classes):
    made = uniform_memory(**{**SIZES, "classes": classes})
    found = memorized_labels(made.model, made.task)
    assert found.memorized and found.method.startswith("enclosed outputs, and rank by ")
    assert found.certified.startswith("every class in front" if classes else "every label within")
    other = np.roll(made.task.labels, 1, axis=1 if classes else 0)
    task = VectorTask(made.task.contexts, made.task.queries, other, made.task.kind)
    assert not memorized_labels(made.model, task).memorized


def test_what_is_added_counts_and_labels_of_ones_own_are_asked_for():
    made = uniform_memory(**SIZES)
    one = Enclosure(np.ones_like(made.task.labels), np.zeros_like(made.task.labels))
    assert memorized_labels(made.model, made.task, added=one, labels=made.task.labels + 1.0).memorized
    assert not memorized_labels(made.model, made.task, added=one).memorized
    assert not memorized_labels(made.model, made.task, labels=made.task.labels + 1.0).memorized


def test_equal_examples_have_no_rank():
    made = uniform_memory(**SIZES)
    queries, labels = made.task.queries.copy(), made.task.labels.copy()
    layer = made.model
    queries[1], labels[1] = queries[0], labels[0]
    found = memorized_labels(layer, VectorTask(made.task.contexts, queries, labels))
    assert not found.memorized and found.certified.startswith("every label within")
