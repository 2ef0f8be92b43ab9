"""Facts of subjects and relations in one layer of neurons."""

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.rational.neuron_memory import neuron_memory


def test_sizes_out_of_range_are_refused():
    for change in ({"d_model": 0}, {"degree": 4}, {"activation": "gelu"}):
        with pytest.raises(InputError, match="out of range"):
            neuron_memory(**{"d_model": 4, "neurons": 4, "count": 4, "degree": 1, "activation": "relu", **change})


def test_polynomials_of_degree_three_are_those_of_sums_of_signs():
    made, g = neuron_memory(d_model=6, neurons=4, count=3, degree=3, activation="polynomial")
    assert np.array_equal(made.inputs, g**3 - 16 * g)
    assert np.array_equal(made.memory, made.outputs[made.labels].T @ made.inputs)
