"""The audit certifies what it says, and nothing that is not so."""

import numpy as np

from verify.theorems.claims import dana_definition_1 as audit
from verify.verdict import Verdict

W = np.array([[1, 0], [0, 1], [2, 3]])


E = np.array([[1, 2, 3, 4], [5, 6, 7, 9]])


def test_a_product_that_exists_is_no_counterexample():
    assert audit._no_product(W.T, E).verdict is Verdict.PROVED
    assert audit._no_product(W, E).verdict is Verdict.REFUTED


def test_logits_of_a_smaller_rank_reach_nothing():
    assert audit._ranks(W, E).verdict is Verdict.PROVED
    assert audit._ranks(np.ones_like(W), E).verdict is Verdict.REFUTED
