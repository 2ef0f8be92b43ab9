"""The network whose logits are a product of three matrices, through one head."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.bottleneck import bottleneck
from constructions.errors import InputError
from constructions.model.attention import logits


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_the_logits_are_the_product(tokens, reads, writes, outputs, seed):
    reads = min(reads, tokens + writes)
    rng = np.random.default_rng(seed)
    values, output, unembedding = (
        rng.integers(-9, 10, shape).astype(float) for shape in ((tokens, reads), (reads, writes), (outputs, writes))
    )
    network = bottleneck(values, output, unembedding)
    found = logits(network, np.arange(tokens)[:, None])
    assert np.array_equal(found, values @ output @ unembedding.T)
    assert (network.n_heads, network.d_head, network.d_model) == (1, reads, tokens + writes)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="expected"):
        bottleneck(np.ones((3, 2)), np.ones((3, 2)), np.ones((4, 2)))
