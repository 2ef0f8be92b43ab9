"""Models with given laws: rational log-odds as given, positions alone in the attention."""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from constructions.claims.madden_2024_lower import CLAIM, exact_laws_model, positional_attention
from constructions.claims.zhang_2017_theorem import random_contexts
from constructions.errors import HypothesisError, InputError
from verify.forward.in_rationals import exact_network_logits


@given(st.integers(2, 4), st.integers(1, 3), st.integers(0, 99))
def test_the_log_odds_are_those_that_are_given(tokens, length, seed):
    contexts = random_contexts(tokens=tokens, length=length, facts=min(7, tokens**length), seed=seed)
    drawn = np.random.default_rng(seed).integers(-9, 10, (len(contexts), tokens - 1)).tolist()
    log_odds = [[fmpq(x, 7) for x in row] for row in drawn]
    found = exact_network_logits(exact_laws_model(contexts, log_odds, tokens), contexts)
    assert found.tolist() == [[*row, fmpq(0)] for row in log_odds]


def test_the_codes_of_the_head_are_those_it_returns():
    contexts = random_contexts(tokens=5, length=3, facts=20, seed=0)
    W_E, W_pos, head, codes = positional_attention(contexts, 5, width=1)
    assert len(set(codes)) == 20 and head.n_heads == 1
    assert not W_E[:, 1].any() and not W_pos[:, 0].any()


def test_contexts_that_repeat_and_laws_that_are_too_many_are_refused():
    with pytest.raises(InputError, match="some occur more than once"):
        exact_laws_model(np.array([[0, 1], [0, 1]]), [[fmpq(1)], [fmpq(2)]], 2)
    with pytest.raises(HypothesisError, match="1 <= T <= N"):
        CLAIM.construct(tokens=2, length=2, facts=5)
