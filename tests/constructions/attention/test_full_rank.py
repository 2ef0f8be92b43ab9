"""Heads of full rank for contexts of one's own: what is promised, what limits it, and what the model puts out."""

import numpy as np
import pytest
from hypothesis import given

from byheart.testing.strategies import contexts, sizes
from constructions.attention.capacity.generic_rank import generic_rank
from constructions.attention.full_rank import full_rank_attention
from constructions.errors import InputError
from constructions.model.attention import features
from constructions.tasks.arrays import all_contexts
from verify.forward.logits import enclose_logits
from verify.theorems.capacity.attention_rank import attention_rank

XOR = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])


@given(
    contexts=contexts(d_vocab=3, n_ctx=3, max_size=10),
    size=sizes(max_d_model=4, max_n_heads=3, min_n_heads=1),
)
def test_the_rank_of_the_heads_is_enclosed_by_what_is_true_of_all_weights(contexts, size):
    shape = {"d_model": size.d_model, "d_head": size.d_head, "n_heads": size.n_heads}
    made = full_rank_attention(contexts, **shape)
    for with_skip, limiting in ((False, made.limiting), (True, made.limiting_with_skip)):
        found = attention_rank(made.model, contexts, with_skip=with_skip, limiting=limiting)
        generic = generic_rank(contexts, **shape, with_skip=with_skip)  # a lower bound of the largest rank
        assert found.lower <= generic <= found.upper <= made.promised(with_skip=with_skip)
        assert found.lower == generic  # small and well conditioned


def test_lemma_2_promises_more_than_any_weights_have():
    made = full_rank_attention(XOR, d_model=4, d_head=4, n_heads=1)
    found = attention_rank(made.model, XOR, with_skip=False, limiting=made.limiting)
    assert made.promised() == 4 and (found.lower, found.upper, found.exact) == (3, 3, True)
    two = full_rank_attention(XOR, d_model=4, d_head=4, n_heads=2)
    assert attention_rank(two.model, XOR, with_skip=False).exact


def test_sizes_that_the_paper_names_are_built_though_the_rank_is_smaller_than_all_contexts():
    every = all_contexts(5, 3)
    made = full_rank_attention(every, d_model=4, d_head=4, n_heads=3)
    alone = attention_rank(made.model, every, with_skip=False, limiting=made.limiting)
    beside = attention_rank(made.model, every, with_skip=True, limiting=made.limiting_with_skip)
    assert (alone.lower, alone.upper) == (12, 12) and made.promised() == 12
    assert (beside.lower, beside.upper) == (16, 16) and made.promised(with_skip=True) == 16


def test_the_outputs_of_the_model_are_the_features():
    made = full_rank_attention(all_contexts(3, 2), d_model=4, d_head=2, n_heads=3, seed=5)
    outputs, read = enclose_logits(made.model, made.contexts), features(made.front_end, made.contexts)
    assert np.abs(outputs.midpoint - read).max() < 1e-12
    assert not made.model.attention.skip and made.model.d_vocab_out == 6


def test_any_limiting_set_gives_a_bound_that_is_true():
    made = full_rank_attention(XOR, d_model=4, d_head=4, n_heads=1)
    for limiting in ([0], [0, 1], [3, 1, 0], None, [], [0, 1, 2, 3]):
        assert attention_rank(made.model, XOR, with_skip=False, limiting=limiting).upper == 3


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"contexts": np.array([[0, 1], [0, 1]])}, "contexts"),
        ({"contexts": np.array([[0, 9]]), "d_vocab": 3}, "contexts"),
        ({"contexts": np.array([0, 1])}, "contexts"),
        ({"d_head": 5}, "d_head"),
        ({"n_heads": 0}, "n_heads"),
        ({"d_model": 0}, "d_model"),
    ],
)
def test_bad_input_is_named(changes, name):
    with pytest.raises(InputError, match=name):
        full_rank_attention(**{"contexts": XOR, "d_model": 4, "d_head": 4, "n_heads": 1, **changes})
