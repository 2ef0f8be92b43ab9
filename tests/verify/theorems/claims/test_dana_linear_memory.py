"""What is stored is counted, and nothing is where the outputs or the matrix are others."""

from dataclasses import replace

import numpy as np

from verify.theorems.claims import dana_linear_memory as audit
from verify.verdict import Verdict


def test_a_matrix_of_other_labels_stores_less(changed):
    assert audit._any_labels_of_d(8, 8).verdict is Verdict.PROVED
    changed(audit, "solved_associations", lambda made: replace(made, memory=np.roll(made.memory, 1, axis=1)))
    assert audit._any_labels_of_d(8, 8).verdict is not Verdict.PROVED


def test_other_outputs_store_less(monkeypatch):
    assert audit._more_than_d(5).verdict is Verdict.PROVED
    assert audit._more_than_d(2).verdict is not Verdict.PROVED
    monkeypatch.setattr(audit, "parabola", lambda count: np.ones((count, 2)))
    assert audit._more_than_d(5).verdict is not Verdict.PROVED
