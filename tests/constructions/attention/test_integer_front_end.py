"""Embeddings, queries, keys and values of small integers, and labels of a network with them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.integer_front_end import integer_front_end, label_targets


@given(st.integers(1, 6), st.data())
def test_a_label_leads_by_one_half(tokens: int, data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.integers(0, tokens - 1), min_size=1, max_size=4))
    stream, W_U = label_targets(np.array(labels), tokens)
    for label, row in zip(labels, (stream * W_U).tolist(), strict=True):
        for other, logit in enumerate(row):
            assert 2 * (row[label] - logit) == (other - label) ** 2


def test_the_front_end_has_small_integers() -> None:
    front_end = integer_front_end(d_vocab=5, n_ctx=3, d_model=4, d_head=2, n_heads=3, seed=7)
    for matrix in (front_end.W_E, front_end.W_pos, *front_end.W_Q, *front_end.W_K, *front_end.W_V):
        assert all(entry.q == 1 and abs(entry.p) <= 2 for entry in matrix.entries())
