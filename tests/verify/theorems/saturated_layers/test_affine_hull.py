"""No weights reach more than the hull of the tokens allows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.theorems.capacity.exact_rank import exact_mixed_inputs
from verify.theorems.saturated_layers.affine_hull import TokenHull, token_hull


@st.composite
def layers(draw):
    """Integer layers with few different tokens, so that hulls are small."""
    examples, tokens, width, n_heads, d_head = (draw(st.integers(1, most)) for most in (6, 4, 3, 3, 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    contexts = rng.integers(-1, 2, (draw(st.sampled_from([1, examples])), tokens, width))
    if draw(st.booleans()):
        contexts[..., -1] = draw(st.integers(-1, 2))  # a hyperplane
    maps = rng.integers(-2, 3, (2, n_heads, width, d_head))
    return contexts, rng.integers(-2, 3, (examples, width)), maps[0], maps[1]


@given(layers())
def test_exact_weights_stay_below_the_ceiling(layer):
    contexts, queries, W_Q, _ = layer
    assert exact_mixed_inputs(*layer).rank() <= token_hull(contexts).ceiling(len(W_Q), len(queries))


@given(layers(), st.integers(-3, 3))
def test_moving_all_tokens_changes_no_dimension(layer, shift):
    contexts = layer[0]
    assert token_hull(contexts + shift).dimension == token_hull(contexts).dimension


def test_a_shared_context_counts_its_tokens_less_one():
    context = np.eye(3, 5)[None]
    hull = token_hull(context)
    assert (hull.dimension, hull.span, hull.holds_zero) == (2, 3, False)
    assert hull.ceiling(4, 100) == 9 == token_hull(np.repeat(context, 7, axis=0)).ceiling(4, 100)
    assert hull.ceiling(4, 5) == 5


def test_one_other_token_raises_the_ceiling():
    contexts = np.repeat(np.eye(3, 5)[None], 7, axis=0)
    contexts[4, 1, 4] = 2.0**-40
    assert token_hull(contexts).ceiling(4, 100) == 13


def test_tokens_around_zero_lose_the_one():
    hull = token_hull(np.array([[[1, -1, 0], [0, 1, -1], [-1, 0, 1]]]))
    assert hull.holds_zero and hull.ceiling(5, 100) == 10


def test_one_token_is_the_same_for_all_heads():
    assert token_hull(np.ones((1, 1, 3))).ceiling(9, 9) == 1
    assert token_hull(np.zeros((1, 1, 3))).ceiling(9, 9) == 0
    assert token_hull(np.eye(3)[:, None]).ceiling(9, 9) == 3
    assert TokenHull(n_ctx=2, dimension=1, span=2).ceiling(0, 5) == 0


@pytest.mark.parametrize("contexts", [np.ones((2, 2)), np.ones((0, 2, 2)), np.full((1, 2, 2), np.nan)])
def test_what_is_no_context_is_refused(contexts):
    with pytest.raises(InputError):
        token_hull(contexts)


def test_a_negative_number_of_heads_is_refused():
    with pytest.raises(InputError, match="n_heads = -1"):
        TokenHull(n_ctx=2, dimension=1, span=2).ceiling(-1, 5)


def test_masked_tokens_are_refused():
    tokens = np.ma.array(np.ones((1, 2, 2)), mask=[[[True, False], [False, False]]])
    with pytest.raises(InputError, match="masked"):
        token_hull(tokens)
