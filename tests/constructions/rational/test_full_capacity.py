"""With the skip connection all d + H d_h labels are memorized, which is more than the heads alone hold."""

import numpy as np
import pytest

from constructions.errors import CapacityError
from constructions.model.attention import features, logits
from constructions.rational.full_capacity import full_capacity_memory

SIZES = {"d_vocab": 4, "n_ctx": 2, "d_model": 3, "d_head": 2, "n_heads": 4}


@pytest.mark.parametrize("seed", [0, 5])
def test_more_labels_are_memorized_than_the_heads_alone_have_features(seed: int) -> None:
    made = full_capacity_memory(**SIZES, seed=seed)
    contexts = made.task.contexts
    assert len(contexts) == 3 + 4 * 2
    assert (logits(made.model, contexts).argmax(axis=1) == made.task.labels).all()
    assert np.linalg.matrix_rank(features(made.model, contexts)) == 4 * 2


def test_equal_seeds_give_equal_bits_and_others_others() -> None:
    one, same, other = (full_capacity_memory(**SIZES, seed=seed).model.sha256() for seed in (1, 1, 2))
    assert one == same != other


def test_heads_that_cannot_tell_the_contexts_apart_are_refused() -> None:
    with pytest.raises(CapacityError, match=r"rank d \+ H d_h = 6"):  # one token: attention is 1, and no head sees more
        full_capacity_memory(d_vocab=6, n_ctx=1, d_model=2, d_head=2, n_heads=2, seed=0)
