"""SiLU neurons written as heads, and heads that are masked to one neuron."""

import numpy as np
import pytest

from constructions.errors import InputError
from verify.theorems.claims import huben_2023_head_is_neuron as builder


def test_a_mask_of_two_dimensions_is_what_is_certified():
    for n_ctx in (1, 2, 7):
        model = builder.masked_neuron([[1], [2]], [1], n_ctx=n_ctx, mask=5)
        assert (model.blocks[0].d_qk, model.blocks[0].d_head, model.n_ctx) == (2, 1, n_ctx + 1)


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="gates, values and outputs have shapes"):
        builder.neurons_as_heads(np.ones((2, 3)), np.ones((1, 2)), np.ones((1, 3)), np.ones((1, 1)))
