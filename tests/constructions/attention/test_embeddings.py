"""Explicit weights in general position: their shapes, their constants, and the ranks that they reach."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from flint import fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.generic_rank import generic_rank
from constructions.attention.embeddings import (
    INTEGER_ATTENTION,
    drawn_until,
    first_primes,
    integer_attention,
    kronecker_front_end,
    prime_root_front_end,
)
from constructions.errors import HypothesisError, InputError
from constructions.model.exact_attention import exact_features, exact_last
from constructions.model.exact_network import ExactFrontEnd
from constructions.tasks.arrays import all_contexts
from tests.constructions.exact_features import context_sets

SMALL = st.integers(1, 3)


@st.composite
def sizes(draw, *, narrowest: int = 1, most_heads: int = 3) -> dict[str, int]:
    d_model = draw(st.integers(narrowest, 4))
    return {
        "d_vocab": draw(SMALL),
        "n_ctx": draw(SMALL),
        "d_model": d_model,
        "n_heads": draw(st.integers(0, most_heads)),
        "d_head": draw(st.integers(1, d_model)),
    }


def exact_rank(front_end: ExactFrontEnd, contexts: np.ndarray, *, with_skip: bool = True) -> int:
    """The rank of [x_S | Y] over the rationals."""
    blocks = [exact_features(front_end, contexts).tolist()]
    if with_skip:
        blocks.insert(0, exact_last(front_end, contexts).tolist())
    rows = [[entry for block in row for entry in block] for row in zip(*blocks, strict=True)]
    return fmpq_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row]).rank() if rows[0] else 0


def test_the_first_primes_are_those_of_trial_division() -> None:
    primes = [n for n in range(2, 2000) if all(n % q for q in range(2, math.isqrt(n) + 1))]
    for count in range(len(primes) + 1):
        assert first_primes(count).tolist() == primes[:count]
    with pytest.raises(InputError, match="count"):
        first_primes(-1)


@given(sizes(narrowest=2), st.integers(2, 5))
def test_all_entries_are_roots_of_distinct_primes(shape: dict[str, int], order: int) -> None:
    weights = prime_root_front_end(order=order, **shape)
    used = np.concatenate([part.ravel() for part in (weights.W_E, weights.W_pos, weights.W_V, weights.multiples)])
    assert sorted(used.tolist()) == first_primes(len(used)).tolist()
    rounded = weights.rounded()
    assert np.allclose(rounded.W_E**order, weights.W_E)
    assert np.allclose(rounded.W_V**order, weights.W_V)
    product_of_head = rounded.W_Q @ rounded.W_K.transpose(0, 2, 1)
    expected = np.zeros_like(product_of_head)
    expected[:, 0, 1] = weights.multiples ** (1 / order)
    assert np.allclose(product_of_head, expected)


@given(st.sampled_from(sorted(INTEGER_ATTENTION)), sizes(), st.integers(0, 5), st.integers(1, 4))
def test_small_integers_have_the_promised_size_and_form(
    kind: str, shape: dict[str, int], seed: int, largest: int
) -> None:
    front_end = INTEGER_ATTENTION[kind](seed=seed, largest=largest, **shape)
    again = INTEGER_ATTENTION[kind](seed=seed, largest=largest, **shape)
    assert (front_end.W_E, front_end.W_V, front_end.W_Q) == (again.W_E, again.W_V, again.W_Q)
    assert front_end.n_heads == shape["n_heads"]
    for value in front_end.W_V:
        assert (value.nrows(), value.ncols()) == (shape["d_model"], shape["d_head"])
        assert value.rank() == shape["d_head"]
    for matrix in (front_end.W_E, front_end.W_pos, *front_end.W_V, *front_end.W_K):
        assert all(entry.q == 1 and abs(entry.p) <= max(largest, 1) for entry in matrix.entries())
    bilinear = [q * k.transpose() for q, k in zip(front_end.W_Q, front_end.W_K, strict=True)]
    assert all(matrix.rank() == (shape["d_model"] if kind == "full" else 1) for matrix in bilinear)
    if kind == "shared-rank-one" and bilinear:
        flat = fmpq_mat(len(bilinear), shape["d_model"] ** 2, [x for m in bilinear for x in m.entries()])
        assert flat.rank() == 1
        assert len({str(matrix) for matrix in bilinear}) == len(bilinear)


@pytest.mark.parametrize("kind", INTEGER_ATTENTION)
@pytest.mark.parametrize(("tokens", "n_ctx", "d_model", "d_head", "n_heads"), [(3, 2, 3, 2, 3), (2, 3, 2, 2, 3)])
def test_small_integers_reach_the_generic_rank(
    kind: str, tokens: int, n_ctx: int, d_model: int, d_head: int, n_heads: int
) -> None:
    contexts = all_contexts(tokens, n_ctx)
    target = generic_rank(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads)
    shape = {"d_vocab": tokens, "n_ctx": n_ctx, "d_model": d_model, "n_heads": n_heads, "d_head": d_head}
    # Entries of 2 keep the rationals short.
    front_end = drawn_until(
        lambda seed: INTEGER_ATTENTION[kind](seed=seed, largest=2, **shape),
        rank=lambda drawn: exact_rank(drawn, contexts),
        target=target,
    )
    assert exact_rank(front_end, contexts) == target


def test_drawing_stops_at_the_first_success_and_gives_up_at_the_end() -> None:
    seeds = []

    def draw(seed: int) -> ExactFrontEnd:
        seeds.append(seed)
        return integer_attention(d_vocab=1, n_ctx=1, d_model=1, n_heads=0, d_head=1, seed=seed)

    drawn_until(draw, rank=lambda _: len(seeds), target=3)
    assert seeds == [0, 1, 2]
    with pytest.raises(HypothesisError, match=r"rank 9.*\[0, 0\]"):
        drawn_until(draw, rank=lambda _: 0, target=9, attempts=2)


def kronecker_parts(front_end: ExactFrontEnd) -> tuple[list[int], list[int], list[int]]:
    """alpha_c, beta_i and the multiples of a Kronecker front end, as integers."""
    alpha = [int(front_end.W_E[c, 0].p + front_end.W_pos[front_end.n_ctx - 1, 0].p) for c in range(front_end.d_vocab)]
    beta = [int(matrix[i, 1].p) for matrix in (front_end.W_E, front_end.W_pos) for i in range(matrix.nrows())]
    return alpha, beta, [int(query[0, 0].p) for query in front_end.W_Q]


@given(sizes(narrowest=2), st.integers(1, 6))
def test_different_monomials_get_powers_of_two_that_are_far_apart(shape: dict[str, int], n_contexts: int) -> None:
    """The exponents are L times pairwise different powers of T + 1, so digits up to T add up without a carry."""
    front_end = kronecker_front_end(n_contexts=n_contexts, **shape)
    alpha, beta, multiples = kronecker_parts(front_end)
    exponents = [m * a * b for m, a, b in product(multiples, alpha, beta)]
    if not exponents:
        return
    spacing = min(exponents)
    powers = sorted((n_contexts + 1) ** i for i in range(len(exponents)))
    assert sorted(exponents) == [spacing * power for power in powers]
    # The spacing exceeds the sum of all coefficients of a minor.
    tables = [front_end.W_E, front_end.W_pos]
    inputs = [[a + b for a, b in zip(x, y, strict=True)] for y in tables[1].tolist() for x in tables[0].tolist()]
    entries = [abs(int(x.p)) for row in inputs for x in row]
    for value in front_end.W_V:
        columns = list(zip(*value.tolist(), strict=True))
        entries += [
            abs(int(sum((a * b for a, b in zip(x, c, strict=True)), start=0 * x[0]).p)) for x in inputs for c in columns
        ]
    largest = max(1, *entries)
    coefficients = math.factorial(n_contexts) * (shape["n_ctx"] ** shape["n_heads"] * largest) ** n_contexts
    assert 2**spacing >= coefficients > 2 ** (spacing - 1)


@given(context_sets(lengths=(1, 2), largest=4), st.integers(1, 2), st.integers(1, 2))
def test_tiny_kronecker_weights_have_the_generic_rank_over_the_rationals(contexts, n_heads: int, d_head: int) -> None:
    """With exact powers of two of thousands of bits, for one head; two coordinates leave nothing to chance but V."""
    shape = {"d_vocab": int(contexts.max()) + 1, "n_ctx": contexts.shape[1], "d_model": 2, "d_head": d_head}
    if shape["d_vocab"] > 2 or (n_heads > 1 and len(contexts) > 2):
        return
    front_end = kronecker_front_end(n_heads=n_heads, n_contexts=len(contexts), **shape)
    scores = [m * a * b for m, a, b in product(*reversed(kronecker_parts(front_end)))]
    if max(scores) > 2**20:
        return
    rank = exact_rank(front_end, contexts)
    assert rank == generic_rank(contexts, d_model=2, d_head=d_head, n_heads=n_heads)


def test_kroneckers_last_position_adds_nothing_to_the_first_coordinate() -> None:
    shape = {"d_vocab": 2, "n_ctx": 3, "d_model": 3, "n_heads": 2, "d_head": 2}
    positions = [int(row[0].p) for row in kronecker_front_end(n_contexts=4, **shape).W_pos.tolist()]
    assert positions[-1] == 0
    assert all(a != b for a, b in pairwise(positions))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"d_vocab": 0}, "d_vocab"),
        ({"n_ctx": 0}, "n_ctx"),
        ({"d_model": 0}, "d_model"),
        ({"d_head": 0}, "d_head"),
        ({"d_head": 4}, "d_head"),
        ({"n_heads": -1}, "n_heads"),
    ],
)
def test_sizes_that_fit_no_model_are_refused(change: dict[str, int], named: str) -> None:
    shape = {"d_vocab": 2, "n_ctx": 2, "d_model": 3, "n_heads": 1, "d_head": 2, **change}
    for build in (
        lambda: prime_root_front_end(**shape),
        lambda: integer_attention(seed=0, **shape),
        lambda: kronecker_front_end(n_contexts=2, **shape),
    ):
        with pytest.raises(InputError, match=named):
            build()


def test_options_out_of_range_are_refused() -> None:
    shape = {"d_vocab": 2, "n_ctx": 2, "d_model": 2, "n_heads": 1, "d_head": 2}
    with pytest.raises(InputError, match="order = 1"):
        prime_root_front_end(order=1, **shape)
    with pytest.raises(InputError, match="largest = 0"):
        integer_attention(seed=0, largest=0, **shape)
    with pytest.raises(InputError, match="seed = -1"):
        integer_attention(seed=-1, **shape)
    with pytest.raises(InputError, match="n_contexts = 0"):
        kronecker_front_end(n_contexts=0, **shape)


def test_one_coordinate_is_refused_where_the_exponents_would_be_dependent() -> None:
    shape = {"d_vocab": 2, "n_ctx": 2, "d_model": 1, "n_heads": 1, "d_head": 1}
    with pytest.raises(HypothesisError, match="d_model >= 2"):
        prime_root_front_end(**shape)
    with pytest.raises(HypothesisError, match="d_model >= 2"):
        kronecker_front_end(n_contexts=2, **shape)
