"""The counts of parameters, and the networks of which they are counts."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, InputError
from constructions.heads_of_theorem_1.parameters import (
    matched_front_ends,
    matched_memories,
    paper_heads,
    parameter_count,
    printed_count,
    shared_count,
)
from constructions.model.attention import logits
from constructions.model.exact_attention import exact_features
from constructions.model.exact_network import as_floats
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import all_contexts

small = st.integers(1, 6)


@given(tokens=small, n_ctx=small, width=small, n_heads=small, d_head=small, d_qk=small)
def test_the_count_is_that_of_the_tensors(
    tokens: int, n_ctx: int, width: int, n_heads: int, d_head: int, d_qk: int
) -> None:
    d_head = min(d_head, width)
    shapes = {
        "W_E": (tokens, width),
        "W_pos": (n_ctx, width),
        "W_Q": (n_heads, width, d_qk),
        "W_K": (n_heads, width, d_qk),
        "W_V": (n_heads, width, d_head),
        "W_O": (n_heads, d_head, width),
        "W_U": (width, tokens),
    }
    network = dana_network(**{name: np.zeros(shape) for name, shape in shapes.items()})
    sizes = {"d_vocab": tokens, "n_ctx": n_ctx, "d_model": width, "n_heads": n_heads, "d_head": d_head}
    assert network.parameters == parameter_count(**sizes, d_qk=d_qk)
    assert parameter_count(**sizes) == width * (n_ctx + 2 * tokens + 4 * d_head * n_heads)
    rest = network.parameters - network.W_Q.size - network.W_K.size
    assert shared_count(**sizes) == rest + 2 * width + n_heads


@given(tokens=small, n_ctx=small, width=small, d_head=small, beyond=st.integers(0, 40))
def test_the_second_form_falls_short_by_less_than_a_head(
    tokens: int, n_ctx: int, width: int, d_head: int, beyond: int
) -> None:
    n_heads = -(-beyond // d_head)
    first = parameter_count(d_vocab=tokens, n_ctx=n_ctx, d_model=width, n_heads=n_heads, d_head=d_head)
    second = printed_count(d_vocab=tokens, n_ctx=n_ctx, d_model=width, facts=width + beyond)
    assert 0 <= first - second < 4 * width * d_head
    assert (first == second) == (beyond % d_head == 0)


@given(facts=st.integers(1, 50), width=small, d_head=small)
def test_the_fewest_heads_have_enough_columns_and_one_less_has_not(facts: int, width: int, d_head: int) -> None:
    n_heads = paper_heads(facts, width, d_head)
    assert facts <= width + n_heads * d_head
    assert n_heads == 1 or width + (n_heads - 1) * d_head < facts


@given(seed=st.integers(0, 10**6), tokens=st.integers(1, 3), n_ctx=st.integers(1, 3), width=st.integers(1, 3))
def test_matched_front_ends_differ_in_queries_and_keys_only(seed: int, tokens: int, n_ctx: int, width: int) -> None:
    generic, shared = matched_front_ends(d_vocab=tokens, n_ctx=n_ctx, d_model=width, n_heads=3, d_head=1, seed=seed)
    assert (generic.W_E, generic.W_pos, generic.W_V) == (shared.W_E, shared.W_pos, shared.W_V)
    assert shared.W_Q[0] == shared.W_Q[1] == shared.W_Q[2]
    assert shared.W_K[1] == -2 * shared.W_K[0] and shared.W_K[2] == 3 * shared.W_K[0]
    for front_end in (generic, shared):
        assert np.isfinite(as_floats(exact_features(front_end, all_contexts(tokens, n_ctx)))).all()


@pytest.mark.parametrize(("tokens", "n_ctx", "width", "d_head"), [(4, 2, 4, 2), (3, 3, 3, 2), (3, 2, 2, 1)])
def test_both_memories_hold_all_contexts(tokens: int, n_ctx: int, width: int, d_head: int) -> None:
    task, generic, shared = matched_memories(d_vocab=tokens, n_ctx=n_ctx, d_model=width, d_head=d_head, seed=1)
    assert task.n_contexts == tokens**n_ctx and task.distributions is not None
    for network in (generic, shared):
        assert network.n_heads == paper_heads(task.n_contexts, width, d_head)
        assert np.ptp(logits(network, task.contexts) - np.log(task.distributions), axis=1).max() < 1e-4
    assert (generic.d_qk, shared.d_qk) == (d_head, 1)


def test_the_shared_directions_are_stored_without_a_rounding_error() -> None:
    _, _, network = matched_memories(d_vocab=4, n_ctx=2, d_model=4, d_head=2, seed=0)
    query, key = network.W_Q[:, :, 0], network.W_K[:, :, 0]
    assert (key == key[0]).all()
    for row in query:
        scale = Fraction(float(row[0])) / Fraction(float(query[0, 0]))
        assert [Fraction(x) for x in row.tolist()] == [scale * Fraction(x) for x in query[0].tolist()]


@pytest.mark.parametrize(
    "sizes",
    [
        {"d_vocab": 1, "n_ctx": 2, "d_model": 1, "d_head": 1},
        {"d_vocab": 3, "n_ctx": 0, "d_model": 3, "d_head": 1},
        {"d_vocab": 3, "n_ctx": 2, "d_model": 1, "d_head": 1},
        {"d_vocab": 3, "n_ctx": 2, "d_model": 4, "d_head": 1},
        {"d_vocab": 3, "n_ctx": 2, "d_model": 3, "d_head": 4},
    ],
)
def test_memories_of_other_sizes_are_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(InputError, match="expected N >= 2"):
        matched_memories(**sizes, seed=0)


def test_memories_that_miss_their_distributions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constructions.heads_of_theorem_1.left_out._LOOSE", 0.0)
    with pytest.raises(CapacityError, match="none in 24 draws with d = 3, d_h = 1, H = 6"):
        matched_memories(d_vocab=3, n_ctx=2, d_model=3, d_head=1, seed=0)
