"""The assumptions on the data of a file, with what they promise."""

import numpy as np

from byheart.theorems.assumptions import assumptions_summary


def test_what_is_promised_is_counted_for_the_heads_of_the_block_condition(tmp_path):
    np.savez(tmp_path / "data.npz", contexts=np.eye(2, 3), queries=np.eye(3) + np.ones((3, 3)))
    found = assumptions_summary(tmp_path / "data.npz", samples=10)
    assert found["assumption_1"]["verdict"] == "PROVED" and found["assumption_2"]["verdict"] == "PROVED"
    assert found["promised"]["mahdavi"] == found["heads"] * (min(2, 3) - 1) + 1
    narrow = assumptions_summary(tmp_path / "data.npz", samples=10, n_heads=2, d_head=1)
    assert (narrow["heads"], narrow["promised"]["mahdavi"], narrow["promised"]["sharp"]) == (2, 1, 3)
