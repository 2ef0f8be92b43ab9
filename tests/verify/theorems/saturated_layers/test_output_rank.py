"""What the widths of values and outputs allow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.theorems.saturated_layers.output_rank import output_rank_ceiling

SIZES = st.integers(1, 4)


@given(n_heads=SIZES, value=SIZES, inner=SIZES)
def test_no_outputs_have_a_larger_rank_and_some_have_this_one(n_heads, value, inner):
    generator = np.random.default_rng(0)
    mixed = generator.integers(-5, 6, (20, n_heads * value))
    outputs = mixed @ generator.integers(-5, 6, (n_heads * value, inner))
    assert np.linalg.matrix_rank(outputs) == output_rank_ceiling(n_heads=n_heads, d_value=value, d_inner=inner)


@pytest.mark.parametrize("sizes", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_size_below_one_is_refused(sizes):
    with pytest.raises(InputError, match="expected at least 1"):
        output_rank_ceiling(n_heads=sizes[0], d_value=sizes[1], d_inner=sizes[2])
