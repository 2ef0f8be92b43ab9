"""A front end becomes a network once its outputs and the unembedding are known."""

from dataclasses import fields

import numpy as np
import pytest

from constructions.attention.families import random_attention
from constructions.errors import InputError
from constructions.model.attention import features, last, logits
from constructions.model.shapes import is_dana_network
from constructions.tasks.arrays import all_contexts

SIZES = {"d_vocab": 3, "n_ctx": 2, "d_model": 4, "n_heads": 5, "d_head": 2}


def test_the_network_writes_what_the_heads_read_through_the_outputs_one_below_the_other() -> None:
    rng = np.random.default_rng(0)
    drawn, contexts = random_attention(seed=0, **SIZES), all_contexts(3, 2)
    W_O, W_U = rng.standard_normal((10, 4)), rng.standard_normal((4, 6))
    network = drawn.network(W_O, W_U)
    assert is_dana_network(network) and (network.W_U == W_U).all()
    for field in fields(drawn)[1:]:
        assert (getattr(network, field.name) == getattr(drawn, field.name)).all()
    stream = last(drawn, contexts) + features(drawn, contexts) @ W_O
    np.testing.assert_allclose(logits(network, contexts), stream @ W_U, rtol=1e-12, atol=1e-12)


def test_an_unembedding_of_another_width_is_refused() -> None:
    with pytest.raises(InputError, match="W_U has shape"):
        random_attention(seed=0, **SIZES).network(np.ones((10, 4)), np.ones((3, 6)))
