"""The derivatives are those of the network, and no two ways to form them differ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.memories.newton.single_value_heads import Run, SingleValueHeads, _add_tensor_products
from constructions.model.attention import logits

SHAPES = st.tuples(
    st.integers(1, 5), st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.integers(0, 4), st.integers(1, 4)
)


def drawn(
    tokens: int, n_ctx: int, width: int, d_qk: int, n_heads: int, labels: int, *, rows: int = 9, seed: int = 0
) -> tuple[Run, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    shape = SingleValueHeads(rng.integers(0, tokens, (rows, n_ctx)), tokens, labels, width, d_qk, n_heads)
    weights = rng.standard_normal(shape.size)
    return shape.run(weights), weights, rng


@given(SHAPES, st.integers(0, 99))
def test_it_computes_what_the_network_does(sizes: tuple[int, ...], seed: int) -> None:
    run, weights, _ = drawn(*sizes, seed=seed)
    network = run.shape.network(weights)
    assert network.parameters == run.shape.size
    assert np.allclose(run.logits, logits(network, run.shape.contexts), rtol=1e-12, atol=1e-12)


@given(SHAPES, st.integers(0, 99))
def test_the_rows_are_the_derivative(sizes: tuple[int, ...], seed: int) -> None:
    run, weights, rng = drawn(*sizes, seed=seed)
    facts = rng.integers(0, 9, 6)
    along = rng.standard_normal((6, run.shape.d_model))
    direction = rng.standard_normal(run.shape.size)
    rows = run.stream_rows(facts, along)
    step = 1e-5
    difference = run.shape.run(weights + step * direction).stream - run.shape.run(weights - step * direction).stream
    wanted = (along * difference[facts]).sum(axis=1) / (2 * step)
    assert np.allclose(rows @ direction, wanted, rtol=1e-5, atol=1e-5)
    assert not rows[:, run.shape.places["W_U"]].any()


@given(SHAPES, st.integers(0, 99))
def test_what_is_pulled_back_is_the_sum_of_the_rows(sizes: tuple[int, ...], seed: int) -> None:
    run, _, rng = drawn(*sizes, seed=seed)
    facts, along = rng.permutation(9)[:6], rng.standard_normal((6, run.shape.d_model))
    assert np.allclose(run.pulled_back(facts, along), run.stream_rows(facts, along).sum(axis=0), atol=1e-10)


def free_of(run: Run, memorized: int | None) -> np.ndarray:
    free = np.ones(run.shape.size, dtype=bool)
    part = run.shape.split(free)
    part["W_O"][:] = part["W_U"][:] = False
    if memorized is not None:
        part["W_E"][:, memorized] = part["W_pos"][-1, memorized] = False
    return free


@given(SHAPES, st.integers(0, 99), st.booleans())
def test_the_products_of_the_rows_are_formed_without_them(sizes: tuple[int, ...], seed: int, hold: bool) -> None:
    run, _, rng = drawn(*sizes, seed=seed)
    memorized = 0 if hold else None
    facts, along = rng.permutation(9)[:7], rng.standard_normal((7, run.shape.d_model))
    rows = run.stream_rows(facts, along)[:, free_of(run, memorized)]
    assert np.allclose(
        np.tril(run.gram(facts, along, memorized=memorized)), np.tril(rows @ rows.T), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("n_heads", [3, 40])
def test_products_of_many_rows_and_heads_are_put_together_from_blocks(n_heads: int) -> None:
    run, _, rng = drawn(30, 2, 5, 3, n_heads, 4, rows=1100)
    facts, along = np.arange(1100), rng.standard_normal((1100, 5))
    rows = run.stream_rows(facts, along)[:, free_of(run, 0)]
    assert np.allclose(np.tril(run.gram(facts, along, memorized=0)), np.tril(rows @ rows.T), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("terms", "width", "size"), [(0, 2, 3), (1, 2, 3), (1, 4, 7), (2, 5, 300), (2, 13, 4), (3, 30, 2), (1, 4, 0)]
)
def test_products_of_tensors_are_those_of_their_entries(terms: int, width: int, size: int) -> None:
    rng = np.random.default_rng(terms)
    left, right = rng.standard_normal((150, terms, size)), rng.standard_normal((150, terms, width))
    onto = np.asfortranarray(rng.standard_normal((150, 150)))
    tensors = np.einsum("rkm,rkd->rmd", left, right).reshape(150, -1)
    wanted = onto + tensors @ tensors.T
    assert np.allclose(np.tril(_add_tensor_products(onto, left, right)), np.tril(wanted), rtol=1e-12, atol=1e-10)


def test_large_scores_do_not_overflow() -> None:
    run, weights, _ = drawn(3, 2, 3, 1, 2, 2)
    weights = weights * 1e3
    assert np.isfinite(run.shape.run(weights).logits).all()
