"""Bounds of roundings prove what every run holds where no sum is known to be exact, and stay silent elsewhere."""

import numpy as np
import pytest

from tests.verify.runs.test_memorized_runs import TASK, smooth
from verify.runs import memorized_runs
from verify.runs.bounded_runs import proofs_of, to_first_order, within_bounds
from verify.runs.formats import EXP_ULPS, FLOAT32
from verify.runs.hypotheses import ALL
from verify.runs.memorized_runs import memorized_in_every_run

ROWS = np.arange(2)


@pytest.mark.parametrize("proof", [within_bounds, to_first_order])
def test_each_proof_holds_a_large_margin_and_not_one_below_the_roundings(proof):
    memorized, lost = proof(smooth(0.5), TASK, ROWS, FLOAT32, EXP_ULPS, 0.0, True)
    assert memorized.all() and not lost.any()
    nothing = np.array([[1.0, 1.0], [1.0, 1.0]])
    tied = smooth(0.5)
    tied = type(tied)(blocks=tied.blocks, W_U=nothing, W_E=tied.W_E, W_pos=tied.W_pos)
    assert not proof(tied, TASK, ROWS, FLOAT32, EXP_ULPS, 0.0, True)[0].any()


def test_only_labels_have_a_proof_to_first_order():
    assert proofs_of("labels") == (within_bounds, to_first_order) and proofs_of("distributions") == (within_bounds,)


def test_without_this_file_what_no_exact_sum_decides_stays_open(monkeypatch):
    monkeypatch.setattr(memorized_runs, "plug_in", lambda name: None)
    found = memorized_in_every_run(smooth(0.5), TASK, FLOAT32, tolerance=0.0)
    assert not found.memorized.any() and not found.lost.any() and found.hypotheses == ALL
