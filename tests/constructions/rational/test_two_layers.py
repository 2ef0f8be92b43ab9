"""Two attention-only layers with a null token that hold arbitrary logits of contexts, in rationals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError
from constructions.rational.two_layers import behind_null, two_layers
from constructions.tasks.arrays import all_contexts
from verify.forward.in_rationals import exact_network_logits


@given(st.integers(1, 3), st.integers(1, 3), st.data())
def test_any_labels_of_all_contexts_are_in_front_by_a_half(tokens, n_ctx, data):
    contexts = all_contexts(tokens, n_ctx)[:9]
    labels = np.array(data.draw(st.lists(st.integers(0, tokens - 1), min_size=len(contexts), max_size=len(contexts))))
    model = two_layers(contexts, labels, d_vocab=tokens)
    for row, label in zip(exact_network_logits(model, behind_null(contexts, tokens)).tolist(), labels, strict=True):
        assert all(2 * (row[label] - other) >= 1 for j, other in enumerate(row) if j != label)


def test_contexts_that_are_equal_are_refused():
    with pytest.raises(HypothesisError, match="distinct contexts"):
        two_layers(np.array([[0, 1], [0, 1]]), np.array([0, 1]), d_vocab=2)
