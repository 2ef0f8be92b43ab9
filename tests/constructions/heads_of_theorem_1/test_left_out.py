"""Transformers that hold some contexts of an encoder: they do, and refuse what they cannot."""

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from constructions.attention.families import random_attention
from constructions.errors import HypothesisError, InputError
from constructions.heads_of_theorem_1.left_out import (
    as_construction,
    hold_exactly,
    loop_instance,
    match_encoder,
    modules_instance,
    nearly_dependent_front_end,
    random_front_end,
    random_instance,
    sharp_instance,
    text_instance,
    violating_front_end,
)
from constructions.heads_of_theorem_1.parameters import matched_front_ends
from constructions.model.attention import logits
from constructions.model.construction import Construction
from constructions.model.exact_attention import exact_logits
from constructions.model.exact_network import as_rationals
from constructions.model.front_end import FrontEnd
from constructions.model.model import Model
from constructions.tasks.arrays import all_contexts
from constructions.tasks.text import text_task

WORDS = "it was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness"


def float_network(network: Model) -> Model:
    assert not network.is_rational
    return network


def rational_network(network: Model) -> Model:
    assert network.is_rational
    return network


@given(seed=st.integers(0, 1000), kept=st.integers(3, 11))
def test_the_transformer_has_the_logits_of_the_encoder_on_the_kept_contexts(seed: int, kept: int) -> None:
    rng = np.random.default_rng(seed)
    contexts = rng.permutation(all_contexts(4, 2))
    assume(len(np.unique(contexts[:kept, -1])) >= 3)  # M has no more rank than the last embeddings
    weights = random_attention(d_vocab=4, n_ctx=2, d_model=3, n_heads=4, d_head=3, seed=seed)
    stream, unembedding = rng.standard_normal((16, 3)), rng.standard_normal((3, 4))
    occurrences = np.ones(16, dtype=np.int64)
    try:
        memorized = match_encoder(
            weights, contexts, kept=kept, stream=stream, unembedding=unembedding, occurrences=occurrences
        )
    except HypothesisError:
        reject()  # saturated heads: dependent features up to rounding
    network = float_network(memorized.model)
    error = logits(network, contexts[:kept]) - stream[:kept] @ unembedding
    change = network.W_U @ np.linalg.pinv(unembedding)  # M, by whose inverse W_O is multiplied
    scale = (np.abs(network.W_O).max() * np.abs(network.W_U).max() + 1) * np.linalg.cond(change)
    assert np.abs(error).max() < 1e-13 * scale
    # The encoder is the same function in the coordinates of the transformer.
    assert isinstance(memorized.stream, np.ndarray)
    assert np.abs(memorized.stream @ network.W_U - stream[kept:] @ unembedding).max() < 1e-13 * scale


@pytest.mark.parametrize("kept", [3, 5, 6])
def test_rational_weights_have_the_logits_of_the_encoder_without_any_error(kept: int) -> None:
    contexts = all_contexts(3, 2)
    weights, _ = matched_front_ends(d_vocab=3, n_ctx=2, d_model=2, n_heads=2, d_head=2, seed=1)
    rng = np.random.default_rng(kept)
    stream = as_rationals(rng.integers(-9, 10, (9, 2)).tolist())
    unembedding = as_rationals(rng.integers(-9, 10, (2, 3)).tolist())
    memorized = hold_exactly(
        weights, contexts, kept=kept, stream=stream, unembedding=unembedding, occurrences=np.ones(9, dtype=np.int64)
    )
    wanted = (stream * unembedding).tolist()
    assert exact_logits(rational_network(memorized.model), contexts[:kept]) == fmpq_mat(wanted[:kept])
    assert isinstance(memorized.stream, fmpq_mat)
    assert memorized.stream * as_rationals(rational_network(memorized.model).W_U) == fmpq_mat(wanted[kept:])


@pytest.mark.parametrize("ratio", [2, 3, 7, 20])
def test_the_instance_by_hand_has_the_change_of_basis_that_the_page_computes(ratio: int) -> None:
    k, instance = fmpq(ratio), loop_instance(ratio, size=5, occurrences=2)
    p, q = 1 - 1 / (1 + fmpq(2) ** (ratio - 1)), 1 / (1 + fmpq(2) ** (ratio * (ratio - 1)))
    change = k * (k + 1) / (k - 1) * (1 - p - q) / (p - q)
    assert rational_network(instance.model).W_U.tolist() == [[5 * change, -5 * change]]


@pytest.mark.parametrize(("ratio", "size"), [(1, 5), (2, 0)])
def test_an_instance_by_hand_without_a_point_is_refused(ratio: int, size: int) -> None:
    with pytest.raises(InputError, match=f"ratio = {ratio} and size = {size}"):
        loop_instance(ratio, size=size, occurrences=2)


def test_dependent_features_are_refused_in_floats_and_in_rationals() -> None:
    contexts = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])  # XOR, one head, and one more
    weights = random_attention(d_vocab=2, n_ctx=3, d_model=2, n_heads=1, d_head=2, seed=0)
    common = {"kept": 4, "occurrences": np.ones(5, dtype=np.int64)}
    with pytest.raises(HypothesisError, match="features of rank T = 4 on the kept contexts"):
        match_encoder(weights, contexts, stream=np.ones((5, 2)), unembedding=np.eye(2), **common)
    exact, _ = matched_front_ends(d_vocab=2, n_ctx=3, d_model=2, n_heads=1, d_head=2, seed=0)
    rows, identity = as_rationals(np.ones((5, 2)).tolist()), as_rationals([[1, 0], [0, 1]])
    with pytest.raises(HypothesisError, match="features of rank T = 4 on the kept contexts"):
        hold_exactly(exact, contexts, stream=rows, unembedding=identity, **common)


def test_a_singular_change_of_basis_is_refused() -> None:
    contexts = all_contexts(3, 2)
    weights = random_attention(d_vocab=3, n_ctx=2, d_model=2, n_heads=2, d_head=2, seed=0)
    exact, _ = matched_front_ends(d_vocab=3, n_ctx=2, d_model=2, n_heads=2, d_head=2, seed=1)
    ones = np.ones((9, 2))  # two equal columns
    common = {"kept": 4, "occurrences": np.ones(9, dtype=np.int64)}
    with pytest.raises(HypothesisError, match="an invertible change of basis M"):
        match_encoder(weights, contexts, stream=ones, unembedding=np.eye(2), **common)
    with pytest.raises(HypothesisError, match="an invertible change of basis M"):
        hold_exactly(
            exact, contexts, stream=as_rationals(ones.tolist()), unembedding=as_rationals([[1, 0], [0, 1]]), **common
        )


def test_a_sharp_instance_needs_one_dimension_and_one_context_more_than_columns() -> None:
    weights = random_attention(d_vocab=2, n_ctx=2, d_model=2, n_heads=2, d_head=1, seed=0)
    with pytest.raises(InputError, match="d = 2 and 4 columns, expected d = 1 and 3 columns"):
        sharp_instance(weights, norm=1.0, occurrences=2)


def test_a_sharp_instance_of_equal_heads_is_refused() -> None:
    drawn = violating_front_end()
    equal = FrontEnd(drawn.kind, drawn.W_E, drawn.W_pos, np.repeat(drawn.W_Q[:1], 2, axis=0), drawn.W_K, drawn.W_V)
    with pytest.raises(HypothesisError, match="they are dependent"):
        sharp_instance(equal, norm=1.0, occurrences=2)


def test_nearly_dependent_heads_differ_by_the_gap() -> None:
    scores = nearly_dependent_front_end(np.random.default_rng(0), 2.0**-10).W_Q.ravel()
    assert scores[1] / scores[0] == 1 + 2.0**-10


@given(seed=st.integers(0, 10**6), modules=st.booleans())
def test_a_random_instance_keeps_what_the_encoder_says(seed: int, modules: bool) -> None:
    instance = random_instance(seed, modules=modules)
    network = rational_network(instance.model)
    assert 1 <= instance.kept < len(instance.contexts) == len(instance.occurrences)
    assert (np.diff(instance.occurrences) <= 0).all() and instance.occurrences.min() >= 1
    assert len(np.unique(instance.contexts, axis=0)) == len(instance.contexts)
    if modules:
        assert network.d_head == network.d_model
        assert network.n_heads == -(-instance.kept // network.d_model)


def test_random_instances_are_of_every_kind() -> None:
    drawn = [random_instance(seed) for seed in range(40)]
    heads = [rational_network(i.model) for i in drawn]
    square = [i.kept == f.d_model + f.n_heads * f.d_head for i, f in zip(drawn, heads, strict=True)]
    assert any(square) and not all(square)
    assert {i.distributions is None for i in drawn} == {True, False}
    assert {f.d_vocab for f in heads} == {2, 3} and {f.n_ctx for f in heads} == {2, 3}


def test_a_text_is_memorized_and_its_tail_left_out() -> None:
    task = text_task(WORDS, vocabulary=6, context=2, facts=17)
    instance = text_instance(task, d_model=5, d_head=4)
    network = float_network(instance.model)
    assert (network.n_heads, instance.kept) == (3, 17)
    assert task.distributions is not None
    assert np.ptp(logits(network, task.contexts) - np.log(task.distributions), axis=1).max() < 1e-6
    assert isinstance(instance.stream, np.ndarray) and instance.distributions is not None
    assert np.ptp(instance.stream @ network.W_U - np.log(instance.distributions), axis=1).max() < 1e-9
    assert instance.occurrences.sum() == len(WORDS) - 2


@pytest.mark.parametrize(("facts", "d_head"), [(17, 5), (5, 4), (None, 4)])
def test_a_text_that_does_not_fit_the_columns_is_refused(facts: int | None, d_head: int) -> None:
    task = text_task(WORDS, vocabulary=6, context=2, facts=facts)
    with pytest.raises(InputError, match="expected a tail and d_model = 5 more contexts than a multiple of d_head"):
        text_instance(task, d_model=5, d_head=d_head)


@pytest.mark.parametrize("kept", [0, 9])
def test_modules_keep_some_contexts_and_not_all(kept: int) -> None:
    with pytest.raises(InputError, match=f"T = {kept}"):
        modules_instance(d_vocab=3, n_ctx=2, d_model=3, kept=kept, seed=0)


def test_fewer_kept_contexts_than_dimensions_leave_the_change_of_basis_singular() -> None:
    with pytest.raises(HypothesisError, match="features of rank T = 2 and an invertible M"):
        modules_instance(d_vocab=4, n_ctx=2, d_model=4, kept=2, seed=0)


def test_a_construction_has_the_distributions_of_the_encoder_and_the_contexts_of_the_instance() -> None:
    instance = modules_instance(d_vocab=3, n_ctx=2, d_model=3, kept=6, seed=0)
    built = as_construction(instance, "six of nine")
    assert isinstance(built, Construction) and built.summary == "six of nine"
    assert built.task.n_contexts == 6 and built.task.n_all == 9
    assert built.task.distributions is not None
    assert np.ptp(logits(built.model, built.task.contexts) - np.log(built.task.distributions), axis=1).max() < 1e-12
    assert built.task.counts.totals().tolist() == [3] * 6


def test_a_construction_needs_float_weights_and_the_most_frequent_contexts() -> None:
    with pytest.raises(InputError, match="rational network"):
        as_construction(loop_instance(2, size=1, occurrences=2), "")
    rare = sharp_instance(random_front_end(np.random.default_rng(0)), norm=1.0, occurrences=1)
    with pytest.raises(InputError, match="other contexts than the most frequent ones"):
        as_construction(rare, "")
