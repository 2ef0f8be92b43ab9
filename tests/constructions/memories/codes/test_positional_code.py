"""Codes of contexts: the sums that they are said to be, distinct, and short."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, InputError
from constructions.memories.codes import positional_code as module
from constructions.memories.codes.positional_code import positional_code
from constructions.tasks.arrays import all_contexts


@given(st.integers(1, 40), st.integers(1, 30), st.integers(1, 60), st.integers(0, 2**32))
def test_the_codes_of_any_contexts_differ_and_are_the_sums(tokens: int, n_ctx: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, tokens, (count, n_ctx)), axis=0)
    code = positional_code(contexts, tokens + 2, seed=seed)
    assert len(np.unique(code.codes)) == len(contexts)
    assert (code.codes == (code.weights * code.values[contexts]).sum(axis=1)).all()
    assert code.weights.min() >= 1 and code.values.min() >= 0
    assert code.bits <= 2 * len(contexts).bit_length() + 8


@pytest.mark.parametrize(("tokens", "n_ctx"), [(50, 2), (7, 3), (1, 4), (9, 1)])
def test_all_contexts_have_consecutive_codes(tokens: int, n_ctx: int) -> None:
    code = positional_code(all_contexts(tokens, n_ctx), tokens)
    assert code.codes.tolist() == list(range(tokens**n_ctx))


def test_only_tokens_that_are_read_count() -> None:
    code = positional_code(100 + all_contexts(5, 2), 1000)
    assert code.codes.tolist() == list(range(25))
    assert not code.values[:100].any() and not code.values[105:].any()


def test_256_sequences_of_8_of_50_tokens_have_codes_of_12_bits() -> None:
    for seed in range(3):
        contexts = np.random.default_rng(seed).integers(0, 50, (256, 8))
        assert positional_code(contexts, 50).bits <= 12


def test_numbers_to_a_base_are_not_taken_where_shorter_codes_are_found() -> None:
    # To the base 3 the last one is the number 8, of four bits.
    assert positional_code(np.array([[0, 0], [1, 1], [2, 2]]), 3).bits == 3


def test_the_first_values_that_are_chosen_tell_the_contexts_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    # A second choice would hide that a value was taken by which two contexts become the same number.
    monkeypatch.setattr(module, "_TRIES", 1)
    monkeypatch.setattr(module, "_MOST_DRAWS", 0)
    for seed in range(1, 4):
        contexts = np.unique(np.random.default_rng(seed).integers(0, 12, (120, 4)), axis=0)
        assert positional_code(contexts, 12, seed=seed).bits <= 11


@pytest.mark.parametrize("count", [2, 3, 20, 1000])
def test_values_are_chosen_so_that_codes_are_four_times_as_many_as_contexts(count: int) -> None:
    # As in a text: few tokens are in most contexts. Drawn codes would take the square of the number of contexts.
    tokens = np.random.default_rng(count).zipf(1.5, (40 * count, 4)).clip(1, 90) - 1
    contexts = np.unique(tokens, axis=0)[:count]
    assert len(contexts) == count
    assert positional_code(contexts, 90).bits <= (4 * count - 1).bit_length() + 2


def test_codes_that_are_too_many_for_a_table_are_told_apart_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts = np.unique(np.random.default_rng(0).integers(0, 20, (300, 4)), axis=0)
    codes = positional_code(contexts, 20).codes
    monkeypatch.setattr(module, "_TABLE_BITS", 0)
    assert (positional_code(contexts, 20).codes == codes).all()


def test_weights_are_powers_of_two_where_the_contexts_are_short() -> None:
    contexts = np.unique(np.random.default_rng(0).integers(0, 20, (300, 4)), axis=0)
    assert positional_code(contexts, 20).weights.tolist() == [8, 4, 2, 1]


@pytest.mark.parametrize(("tokens", "n_ctx", "count"), [(2, 3, 8), (3, 3, 27), (5, 12, 40), (50, 8, 64), (4, 1, 4)])
def test_weights_that_have_to_be_powers_of_two_are(tokens: int, n_ctx: int, count: int) -> None:
    rng = np.random.default_rng(count)
    contexts = np.unique(rng.integers(0, tokens, (4 * count, n_ctx)), axis=0)[:count]
    found = positional_code(contexts, tokens, binary=True)
    assert all(int(weight).bit_count() == 1 for weight in found.weights)
    assert len(set(found.codes.tolist())) == len(contexts)
    assert (found.codes == found.values[contexts] @ found.weights).all()


def test_equal_seeds_give_equal_codes() -> None:
    contexts = np.unique(np.random.default_rng(0).integers(0, 9, (50, 6)), axis=0)
    first, second, third = (positional_code(contexts, 9, seed=seed) for seed in (0, 0, 1))
    assert (first.codes == second.codes).all() and (first.codes != third.codes).any()


def test_what_cannot_be_coded_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="more than once"):
        positional_code(np.array([[0, 1], [0, 1]]), 2)
    for contexts in ([[0, 2]], [[0, -1]], [0, 1]):
        with pytest.raises(InputError, match="expected tokens"):
            positional_code(np.array(contexts), 2)
    monkeypatch.setattr(module, "_MOST_BITS", 5)
    with pytest.raises(CapacityError, match="at most 5 bits, but none tells 40 contexts apart"):
        positional_code(np.arange(40)[:, None] + np.zeros((1, 3), dtype=int), 40)


@given(st.integers(1, 7), st.integers(1, 40), st.integers(0, 2**31))
def test_binary_codes_are_distinct_and_have_powers_of_2_as_weights(n_ctx: int, count: int, seed: int) -> None:
    contexts = np.unique(np.random.default_rng(seed).integers(0, 11, (count, n_ctx)), axis=0)
    code = positional_code(contexts, 11, binary=True, seed=seed)
    assert all(int(weight).bit_count() == 1 for weight in code.weights)
    assert len(np.unique(code.codes)) == len(contexts)
    assert (code.codes == code.values[contexts] @ code.weights).all()
