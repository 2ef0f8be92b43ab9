"""Tests of constructions/model/entries.py."""

import numpy as np

from constructions.model.entries import Entries
from constructions.model.model import Model


def test_ties_zeros_and_positions_are_counted() -> None:
    table = np.array([[1.0, 0.0], [0.5, 2.0**-30]])
    found = Entries.of(Model(blocks=(), W_U=table.T, W_E=table, W_pos=np.zeros((3, 2))))
    assert (found.stored, found.not_zero, found.distinct) == (14, 6, 4)
    assert found.bits == 8 * 16 + 6 * 8  # of bfloat16 and int8
