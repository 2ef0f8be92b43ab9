"""The rank of heads from both sides, against exact ranks of rational weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import Sizes, contexts, transformers
from constructions.errors import InputError
from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from verify.forward.heads import enclose_features, enclose_last
from verify.theorems.capacity.attention_rank import attention_rank


@given(data=st.data(), with_skip=st.booleans())
def test_the_lower_bound_is_of_these_weights(data, with_skip):
    """Weights of zeros and ones, whose features are often dependent: no more is claimed than 400 bits show."""
    network = data.draw(transformers(size=Sizes(2, 3, 3, 2, 2), largest=1.0))
    chosen = data.draw(contexts(d_vocab=2, n_ctx=3))
    found = attention_rank(network, chosen, with_skip=with_skip)
    sharp = enclose_features(network, chosen, precision=400).midpoint
    if with_skip:
        sharp = np.hstack([enclose_last(network, chosen).midpoint, sharp])
    singular = np.linalg.svd(sharp, compute_uv=False)
    assert found.lower <= np.count_nonzero(singular > 0) and found.lower <= found.upper <= min(sharp.shape)
    if found.lower:
        assert singular[found.lower - 1] > 1e-16 * singular[0]


def test_the_columns_and_rows_are_named():
    network = Model((), np.eye(2), W_E=np.eye(2), W_pos=np.zeros((2, 2)))
    with pytest.raises(InputError):
        attention_rank(network, np.array([[0, 1]]), with_skip=True)
    neurons = FeedForward(np.ones((2, 3)), np.ones((3, 2)), activation="relu")
    with pytest.raises(InputError):
        attention_rank(
            Model((neurons,), np.eye(2), W_E=np.eye(2), W_pos=np.zeros((2, 2))), np.array([[0, 1]]), with_skip=True
        )
