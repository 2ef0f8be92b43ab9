"""The construction and the counterexamples of Lemma 2."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions.capacity.generic_rank import generic_rank
from constructions.capacity.windows import all_contexts_rank
from constructions.claims.dana_lemma_2 import (
    CLAIM,
    counterexamples,
    false_step,
    fewest_heads,
    loops,
    shared_directions,
)
from constructions.errors import HypothesisError
from constructions.models.attention import logits
from constructions.models.exact_attention import exact_features


@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(2, 3), st.integers(1, 4), st.integers(1, 4), st.integers(0, 99))
def test_the_weights_hold_every_label(tokens, length, width, head_width, seed):
    width = min(width, tokens + length - 1)
    head_width = min(head_width, width, tokens)
    if width == 1 and tokens > 2:
        width = 2
    made = CLAIM.construct(tokens=tokens, length=length, width=width, head_width=head_width, seed=seed)
    assert made.task.n_contexts == tokens**length
    assert (logits(made.model, made.task.contexts).argmax(axis=1) == made.task.labels).all()


@given(st.integers(1, 4), st.integers(2, 3), st.integers(1, 5), st.integers(1, 4))
def test_the_number_of_heads_is_the_fewest(tokens, length, width, head_width):
    head_width = min(head_width, width, tokens)
    heads = fewest_heads(tokens=tokens, length=length, width=width, head_width=head_width)
    sizes = {"d_model": width, "d_head": head_width}
    assert all_contexts_rank(tokens, length, **sizes, n_heads=heads) == tokens**length
    assert heads == 1 or all_contexts_rank(tokens, length, **sizes, n_heads=heads - 1) < tokens**length


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"length": 1}, "S >= 2"),
        ({"tokens": 0}, "N >= 1"),
        ({"head_width": 5}, "d_h"),
        ({"head_width": 0}, "d_h"),
        ({"tokens": 3, "head_width": 4}, "d_h"),
        ({"width": 1, "head_width": 1}, "d >= 2 or N <= 2"),
        ({"heads": 14}, "H = 0"),
        ({"heads": -1}, "H = 0"),
    ],
)
def test_each_hypothesis_is_refused_by_name(parameters, message):
    with pytest.raises(HypothesisError, match=message):
        CLAIM.construct(**parameters)


def test_more_heads_than_needed_are_allowed():
    made = CLAIM.construct(tokens=2, length=2, width=2, head_width=1, heads=4)
    assert made.model.n_heads == 4 and "fewest" not in made.summary


@pytest.mark.parametrize("example", counterexamples(), ids=lambda example: f"{example.name} {len(example.contexts)}")
def test_each_counterexample_has_a_smaller_generic_rank_than_printed(example):
    rank = generic_rank(
        example.contexts, d_model=example.width, d_head=example.width, n_heads=example.heads, with_skip=False
    )
    assert rank < example.printed_rank == min(len(example.contexts), example.heads * example.width)


def test_every_kind_of_counterexample_is_there():
    names = " ".join(example.name for example in counterexamples())
    assert all(kind in names for kind in ("XOR", "loops", "one token", "d > N + S - 1"))


def test_shared_directions_differ_by_their_multiples_only():
    drawn = shared_directions(d_vocab=3, n_ctx=2, d_model=4, d_head=2, n_heads=3, largest=5, seed=1)
    assert [query == drawn.W_Q[0] * (head + 1) for head, query in enumerate(drawn.W_Q)] == [True] * 3
    assert all(key == drawn.W_K[0] for key in drawn.W_K) and drawn.W_Q[0].rank() == drawn.W_K[0].rank() == 1
    assert exact_features(drawn, np.array([[0, 1], [2, 1]])).ncols() == 6


def test_contexts_without_the_relation_are_refused():
    for sizes in ({"length": 4}, {"width": 3}, {"length": 6, "width": 6}):
        with pytest.raises(HypothesisError, match="4 <= d <= S - 1"):
            false_step(**sizes)
    assert loops(3).tolist() == [[0, 0], [1, 1], [2, 2]]


@pytest.mark.parametrize(("tokens", "length", "width", "head_width"), [(3, 4, 11, 3), (2, 5, 9, 2), (2, 5, 7, 2)])
def test_embeddings_that_are_wider_than_tokens_and_positions_are_refused(tokens, length, width, head_width):
    with pytest.raises(HypothesisError, match=r"needs d <= N \+ S - 1"):
        CLAIM.construct(tokens=tokens, length=length, width=width, head_width=head_width)


def test_the_widest_embeddings_that_are_admitted_are_built():
    made = CLAIM.construct(tokens=2, length=5, width=6, head_width=2)
    assert made.summary.endswith("d_h = 2 and H = 15, the fewest heads")
