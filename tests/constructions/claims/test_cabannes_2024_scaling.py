"""The matrix of the most frequent inputs is their sum; sizes out of range."""

import numpy as np
import pytest

from constructions.claims.cabannes_2024_scaling import truncated_memory
from constructions.errors import InputError


def test_sizes_out_of_range_are_refused():
    for stored in (0, 9):
        with pytest.raises(InputError, match="expected 1 <= P <= N"):
            truncated_memory(width=4, count=8, outputs=2, stored=stored)


def test_only_the_most_frequent_inputs_are_added_up():
    made = truncated_memory(width=4, count=9, outputs=3, stored=2)
    assert np.array_equal(made.memory, made.outputs[:2].T @ made.inputs[:2])
    assert made.labels.tolist() == [0, 1, 2] * 3
