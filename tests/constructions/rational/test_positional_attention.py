"""A head that reads only positions and numbers the contexts, and neurons after it that have exact distributions."""

import numpy as np
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from constructions.rational.positional_attention import exact_distributions_model, positional_attention
from constructions.tasks.random_facts import random_contexts
from verify.forward.in_rationals import exact_network_logits


@given(st.integers(2, 4), st.integers(1, 3), st.integers(0, 99))
def test_the_log_odds_are_those_that_are_given(tokens, n_ctx, seed):
    contexts = random_contexts(d_vocab=tokens, n_ctx=n_ctx, facts=min(7, tokens**n_ctx), seed=seed)
    drawn = np.random.default_rng(seed).integers(-9, 10, (len(contexts), tokens - 1)).tolist()
    log_odds = [[fmpq(x, 7) for x in row] for row in drawn]
    found = exact_network_logits(exact_distributions_model(contexts, log_odds, tokens), contexts)
    assert found.tolist() == [[*row, fmpq(0)] for row in log_odds]


def test_the_codes_of_the_head_are_those_it_returns():
    contexts = random_contexts(d_vocab=5, n_ctx=3, facts=20, seed=0)
    W_E, W_pos, head, codes = positional_attention(contexts, 5, d_model=1)
    assert len(set(codes)) == 20 and head.n_heads == 1
    assert not W_E[:, 1].any() and not W_pos[:, 0].any()
