"""Steps take integers apart exactly, and no integer is at a kink."""

import numpy as np
import pytest

from constructions.model.exact_steps import LARGEST, Step, halvings, settled, step_blocks


@pytest.mark.parametrize(("largest", "unit"), [(1, 1), (40, 7), (1000, 37), (LARGEST, 1001)])
def test_numbers_are_taken_to_their_residues_and_quotients(largest, unit):
    numbers = np.unique(np.append(np.random.default_rng(0).integers(0, largest + 1, 500), [0, largest])).astype(float)
    steps = [Step(0, unit * k, 2, k) for k in halvings(largest // unit + 1)]
    x = np.stack([numbers, 0 * numbers, 0 * numbers], axis=1)
    for block in step_blocks(3, 1, steps):
        before = x @ block.W_in + block.b_in
        assert (before[:, :2] != 0).all()
        terms = np.abs(x) @ np.abs(block.W_in) + np.abs(block.b_in)
        written = np.maximum(before, 0) @ np.abs(block.W_out) + np.abs(x)
        assert 2 * max(terms.max(), written.max()) <= max(20 * largest, 100) <= 2**25
        x = x + np.maximum(before, 0) @ block.W_out
    x = x @ settled(3, 1, steps[-1] if steps else None)
    assert (x[:, 0] == numbers % unit).all() and (x[:, 2] == numbers // unit).all() and (x[:, 1] == 0).all()
