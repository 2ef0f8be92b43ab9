"""Slopes as BLOOM computes them; tests/contract/test_families.py compares models with the host's."""

import numpy as np
import pytest

from byheart.hosts.families.bloom import _slopes


def test_slopes_of_a_power_of_two_and_of_other_numbers_of_heads():
    assert _slopes(1).tolist() == [2.0**-8] and _slopes(2).tolist() == [2.0**-4, 2.0**-8]
    assert _slopes(3).tolist() == [2.0**-4, 2.0**-8, 2.0**-2]
    twelve = _slopes(12)
    assert twelve[:8].tolist() == [2.0**-k for k in range(1, 9)]
    assert twelve[8:] == pytest.approx([2.0 ** (-k / 2) for k in (1, 3, 5, 7)], rel=2.0**-22)
    assert (twelve.astype(np.float32) == twelve).all() and (twelve[8:] != 2.0 ** (-np.array([1, 3, 5, 7]) / 2)).all()
