"""Every closed form brackets the generic rank, and is exact where the theorem says so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.closed_forms import closed_forms, long_contexts_rank, universal_rank
from constructions.attention.capacity.generic_rank import generic_rank
from constructions.errors import HypothesisError, InputError
from constructions.tasks.arrays import all_contexts
from tests.constructions.exact_features import XOR, context_sets

sizes = st.tuples(st.integers(1, 5), st.integers(1, 5)).map(lambda pair: (max(pair), min(pair)))

EXACT = {"Theorem S1", "Theorem S2", "Theorem S5"}


@given(context_sets(lengths=(1, 4), largest=12), sizes, st.integers(0, 4), st.booleans())
def test_every_closed_form_brackets_the_generic_rank(contexts, widths, n_heads, with_skip):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
    rank = generic_rank(contexts, **options, seed=3)
    found = closed_forms(contexts, **options)
    assert found
    for form in found:
        assert form.lower <= rank <= form.upper, form
        assert form.exact or form.theorem not in EXACT


@given(context_sets(lengths=(2, 4), largest=14), st.integers(1, 4), st.integers(0, 6))
def test_heads_of_width_one_add_exactly_one_each(contexts, d_model, n_heads):
    options = {"d_model": d_model, "d_head": 1, "n_heads": n_heads}
    assert universal_rank(contexts, **options) == generic_rank(contexts, **options)


@given(context_sets(lengths=(2, 4), largest=10), sizes, st.integers(0, 4))
def test_heads_alone_reach_their_number(contexts, widths, n_heads):
    options = {"d_model": widths[0], "d_head": widths[1], "n_heads": n_heads, "with_skip": False}
    assert universal_rank(contexts, **options) == min(len(contexts), n_heads) <= generic_rank(contexts, **options)


@given(context_sets(lengths=(2, 5), largest=14), st.integers(0, 2), st.integers(0, 4))
def test_long_contexts_reach_what_the_multiplicities_allow(contexts, more, n_heads):
    d_head = contexts.shape[1] - 1
    options = {"d_model": d_head + more, "d_head": d_head, "n_heads": n_heads}
    assert long_contexts_rank(contexts, **options) <= generic_rank(contexts, **options)


def test_long_contexts_with_rare_last_tokens_have_full_rank():
    contexts = np.array([[a, b, c] for c in range(4) for a, b in ((0, 0), (1, 1), (2, 3))])
    assert long_contexts_rank(contexts, d_model=4, d_head=2, n_heads=3) == 10
    assert long_contexts_rank(contexts, d_model=4, d_head=2, n_heads=4) == 12
    assert generic_rank(contexts, d_model=4, d_head=2, n_heads=4) == 12


def test_the_theorems_that_apply_are_named():
    def names(contexts, **options):
        return [form.theorem.split()[-1] for form in closed_forms(contexts, **options)]

    options = {"d_model": 3, "d_head": 2, "n_heads": 2}
    assert names(np.array([[0], [3]]), **options) == ["S1"]
    assert names(XOR, **options) == ["G2", "S4", "S3"]
    assert names(XOR, **options, search=False) == ["G2", "S4"]
    assert names(all_contexts(3, 2), **options) == ["G2", "S5", "S2", "S3"]
    assert names(all_contexts(3, 3), **options) == ["G2", "S4", "S5", "S3"]
    assert names(all_contexts(3, 3), **options, with_skip=False) == ["G2"]
    assert names(all_contexts(3, 2), **options, with_skip=False) == ["G2", "S5", "S2"]
    # All contexts over the tokens 0 and 2: renamed, they are all contexts over two tokens.
    assert names(2 * all_contexts(2, 2), **options) == ["G2", "S5", "S2", "S3"]


def test_contexts_of_one_token_have_the_rank_of_the_skip_connection():
    contexts = np.arange(5)[:, None]
    [form] = closed_forms(contexts, d_model=3, d_head=1, n_heads=2)
    assert form.exact and form.lower == 3
    [form] = closed_forms(contexts, d_model=3, d_head=1, n_heads=2, with_skip=False)
    assert form.exact and form.lower == 2


def test_hypotheses_that_fail_are_named():
    with pytest.raises(HypothesisError, match="Theorem G2 needs contexts of S >= 2 tokens"):
        universal_rank(np.array([[0]]), d_model=1, d_head=1, n_heads=1)
    with pytest.raises(HypothesisError, match="S - 1 >= d_h, but S = 3, d_h = 3"):
        long_contexts_rank(XOR, d_model=3, d_head=3, n_heads=1)
    with pytest.raises(InputError, match="d_head = 4"):
        closed_forms(XOR, d_model=3, d_head=4, n_heads=1)
    with pytest.raises(InputError, match="distinct"):
        closed_forms(np.array([[0, 1], [0, 1]]), d_model=3, d_head=1, n_heads=1)
