"""Memorizing through the skip connection: exact where the rank allows it, refused where it does not."""

from dataclasses import replace
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention import skip_connection
from constructions.attention.families import FRONT_ENDS, random_attention
from constructions.attention.skip_connection import memorize_with_skip_connection
from constructions.model.attention import features, last, logits
from constructions.model.shapes import dana_network


def drawing(kind, **shape):
    return lambda attempt: FRONT_ENDS[kind](**shape, seed=(3, attempt))


def network_of(found, shape):
    front = found.front_end
    output = found.output.reshape(shape["n_heads"], shape["d_head"], shape["d_model"])
    return dana_network(front.W_E, front.W_pos, front.W_Q, front.W_K, front.W_V, output, found.W_U)


def distinct_contexts(count, n_ctx, vocabulary, seed):
    codes = np.random.default_rng(seed).choice(vocabulary**n_ctx, count, replace=False)
    return np.stack(np.unravel_index(codes, (vocabulary,) * n_ctx), axis=1).astype(np.int64)


@pytest.mark.parametrize("kind", ["random", "rank-one", "table"])
@pytest.mark.parametrize("count", [24, 23, 17, 4])
def test_as_many_contexts_as_the_paper_counts_are_memorized_exactly(kind, count):
    # The table needs d >= N + S, and x_S has no more than N dimensions: d + H d_h contexts are out of its reach.
    shape = dict(d_vocab=8, n_ctx=3, d_model=8, n_heads=4, d_head=4)
    if kind == "table":
        shape |= dict(d_vocab=5, n_heads=6)
        count -= 3
    contexts = distinct_contexts(count, 3, shape["d_vocab"], 0)
    rng = np.random.default_rng(1)
    targets, W_U = rng.standard_normal((count, 8)), rng.standard_normal((8, 11))
    found = memorize_with_skip_connection(drawing(kind, **shape), contexts, targets=targets, W_U=W_U, attempts=6)
    assert found.residual < 1e-9
    assert np.abs(logits(network_of(found, shape), contexts) - targets @ W_U).max() < 1e-8


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 20))
def test_targets_of_any_rank_are_reached(seed, rank, count):
    shape = dict(d_vocab=5, n_ctx=2, d_model=4, n_heads=6, d_head=3)
    contexts = distinct_contexts(count, 2, 5, seed)
    rng = np.random.default_rng(seed)
    targets = rng.standard_normal((count, rank)) @ rng.standard_normal((rank, 4))
    found = memorize_with_skip_connection(
        drawing("random", **shape), contexts, targets=targets, W_U=np.eye(4), attempts=6
    )
    assert found is not None and found.residual < 1e-6
    assert np.abs(logits(network_of(found, shape), contexts) - targets).max() < 1e-6


def test_directions_that_no_last_token_has_carry_the_rest_of_the_target():
    # One last token: x_S has one dimension, the target four.
    contexts = np.array([[i, j, 0] for i, j in product(range(3), repeat=2)])
    shape = dict(d_vocab=3, n_ctx=3, d_model=4, n_heads=8, d_head=1)
    targets = np.random.default_rng(0).standard_normal((9, 4))
    found = memorize_with_skip_connection(
        drawing("random", **shape), contexts[:8], targets=targets[:8], W_U=np.eye(4), attempts=6
    )
    assert found.residual < 1e-9
    assert np.abs(logits(network_of(found, shape), contexts[:8]) - targets[:8]).max() < 1e-9


def test_a_target_that_the_smallest_solution_reaches_without_the_skip_connection_is_reached():
    # E_1 = Y Y^T u with X_S^T u = 0: the solution of smallest norm leaves M a column of zeros, and B one that is not.
    shape = dict(d_vocab=5, n_ctx=2, d_model=4, n_heads=5, d_head=2)
    contexts = distinct_contexts(13, 2, 5, 0)
    front = drawing("random", **shape)(0)
    skip, read = last(front, contexts), features(front, contexts)
    unseen = np.linalg.svd(skip)[0][:, 4:] @ np.random.default_rng(0).standard_normal(9)
    targets = np.random.default_rng(1).standard_normal((13, 4))
    targets[:, 0] = read @ (read.T @ unseen)
    smallest = np.linalg.lstsq(np.hstack([skip, read]), targets)[0]
    assert np.abs(smallest[:4, 0]).max() < 1e-9 < 1e-2 < np.abs(smallest[4:, 0]).max()
    found = memorize_with_skip_connection(lambda _: front, contexts, targets=targets, W_U=np.eye(4), attempts=1)
    assert found.residual < 1e-9
    assert np.abs(logits(network_of(found, shape), contexts) - targets).max() < 1e-9


def test_without_targets_nothing_is_written():
    contexts = np.array([[0, 1], [1, 0]])
    shape = dict(d_vocab=2, n_ctx=2, d_model=3, n_heads=1, d_head=1)
    found = memorize_with_skip_connection(
        drawing("random", **shape), contexts, targets=np.zeros((2, 3)), W_U=np.eye(3), attempts=1
    )
    assert not logits(network_of(found, shape), contexts).any()


def test_more_contexts_than_dimensions_are_refused():
    contexts = distinct_contexts(13, 3, 4, 0)
    shape = dict(d_vocab=4, n_ctx=3, d_model=4, n_heads=4, d_head=2)
    targets = np.random.default_rng(0).standard_normal((13, 4))
    draw = drawing("random", **shape)
    assert memorize_with_skip_connection(draw, contexts, targets=targets, W_U=np.eye(4), attempts=4) is None
    fewer = memorize_with_skip_connection(draw, contexts[:12], targets=targets[:12], W_U=np.eye(4), attempts=4)
    assert fewer.residual < 1e-9


def test_dependent_contexts_are_refused():
    xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
    shape = dict(d_vocab=2, n_ctx=3, d_model=4, n_heads=1, d_head=4)
    targets = np.random.default_rng(0).standard_normal((4, 4))
    assert (
        memorize_with_skip_connection(drawing("random", **shape), xor, targets=targets, W_U=np.eye(4), attempts=4)
        is None
    )


def test_a_target_for_which_every_change_of_basis_is_singular_is_refused():
    # rank [X_S, Y] = 6 = T, but the rows of [E, Y] span five dimensions at most: M would be singular.
    contexts = np.array([[0, 0], [1, 1], [2, 2], [3, 3], [0, 1], [1, 0]])
    shape = dict(d_vocab=4, n_ctx=2, d_model=2, n_heads=2, d_head=2)
    targets = np.array([[0.0, 0.0]] * 4 + [[1.0, 0.0], [0.0, 1.0]])
    draw = drawing("random", **shape)
    assert memorize_with_skip_connection(draw, contexts, targets=targets, W_U=np.eye(2), attempts=8) is None
    generic = targets + 0.1 * np.random.default_rng(0).standard_normal(targets.shape)
    found = memorize_with_skip_connection(draw, contexts, targets=generic, W_U=np.eye(2), attempts=8)
    assert found.residual < 1e-9


def test_the_features_of_a_single_head_are_no_target_beside_a_skip_connection_of_width_one():
    # Equal attention, tokens 1 and 2, contexts (0, 0) and (1, 0): X = (1, 1), Y = (1, 3/2). [X, Y] has rank 2 = T, and
    # still no network has the logits Y: X u + Y v = Y only for u = 0, and then no unembedding reads the stream.
    zero, tokens = np.zeros((1, 1, 1)), np.array([[1.0], [2.0]])
    narrow = replace(
        random_attention(d_vocab=2, n_ctx=2, d_model=1, n_heads=1, d_head=1, seed=0),
        W_E=tokens,
        W_pos=np.zeros((2, 1)),
        W_Q=zero,
        W_K=zero,
        W_V=zero + 1.0,
    )
    contexts = np.array([[0, 0], [1, 0]])
    skip, read = last(narrow, contexts), features(narrow, contexts)
    assert np.hstack([skip, read]).tolist() == [[1.0, 1.0], [1.0, 1.5]]
    assert memorize_with_skip_connection(lambda _: narrow, contexts, targets=read, W_U=np.eye(1), attempts=1) is None
    found = memorize_with_skip_connection(lambda _: narrow, contexts, targets=read + skip, W_U=np.eye(1), attempts=1)
    assert found is not None and found.residual < 1e-12


@given(st.integers(0, 2**32), st.integers(0, 3))
def test_directions_that_the_target_does_not_have_are_not_written(seed, rank):
    shape = dict(d_vocab=5, n_ctx=2, d_model=4, n_heads=6, d_head=3)
    contexts = distinct_contexts(14, 2, 5, seed)
    rng = np.random.default_rng(seed)
    row_space = np.linalg.qr(rng.standard_normal((4, 4)))[0][:rank]
    targets = rng.standard_normal((14, rank)) @ row_space
    found = memorize_with_skip_connection(
        drawing("random", **shape), contexts, targets=targets, W_U=np.eye(4), attempts=6
    )
    of_skip = found.W_U
    assert np.linalg.matrix_rank(of_skip, tol=1e-9) == rank
    assert np.abs(of_skip - of_skip @ row_space.T @ row_space).max(initial=0) < 1e-9


def test_equal_embeddings_do_not_break_the_decomposition(monkeypatch):
    """LAPACK's divide and conquer fails on some such matrices; here it fails always."""
    attempts = []

    def failing(matrix, *, lapack_driver="gesdd", **options):
        attempts.append(lapack_driver)
        if lapack_driver == "gesdd":
            raise np.linalg.LinAlgError("SVD did not converge")
        return original(matrix, lapack_driver=lapack_driver, **options)

    original = skip_connection.scipy.linalg.svd
    monkeypatch.setattr(skip_connection.scipy.linalg, "svd", failing)
    contexts = distinct_contexts(20, 3, 6, 0)
    shape = dict(d_vocab=6, n_ctx=3, d_model=8, n_heads=4, d_head=4)
    targets = np.random.default_rng(0).standard_normal((20, 8))
    found = memorize_with_skip_connection(
        drawing("random", **shape), contexts, targets=targets, W_U=np.eye(8), attempts=1
    )
    assert found.residual < 1e-9 and {"gesdd", "gesvd"} == set(attempts)


def test_any_basis_of_the_residual_stream_gives_the_same_logits():
    rng = np.random.default_rng(0)
    front = random_attention(d_vocab=5, n_ctx=3, d_model=4, n_heads=3, d_head=2, seed=0)
    output, W_U = rng.standard_normal((3, 2, 4)), rng.standard_normal((4, 6))
    basis = rng.standard_normal((4, 4))
    other = np.linalg.inv(basis)
    contexts = distinct_contexts(30, 3, 5, 0)
    moved = replace(
        front,
        W_E=front.W_E @ basis,
        W_pos=front.W_pos @ basis,
        W_Q=other @ front.W_Q,
        W_K=other @ front.W_K,
        W_V=other @ front.W_V,
    )
    here = dana_network(front.W_E, front.W_pos, front.W_Q, front.W_K, front.W_V, output, W_U)
    there = dana_network(moved.W_E, moved.W_pos, moved.W_Q, moved.W_K, moved.W_V, output @ basis, other @ W_U)
    assert np.allclose(logits(here, contexts), logits(there, contexts), atol=1e-11)


def test_the_determinant_of_the_change_of_basis_is_the_quotient_of_determinants():
    """In rationals, with attention in base two: det M = det [E, Y] / det [X_S, Y] when T = d + H d_h."""
    contexts = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (1, 2), (2, 0), (0, 2)]
    d, n_heads = 3, 5
    rng = np.random.default_rng(4)

    def integers(*shape):
        return rng.integers(-3, 4, shape).tolist()

    embeddings, positions, target = integers(3, d), integers(2, d), integers(8, d)
    scores, values = rng.integers(-1, 2, (n_heads, d, d)).tolist(), integers(n_heads, d, 1)
    skip, read = [], []
    for context in contexts:
        x = [[a + b for a, b in zip(embeddings[n], positions[s], strict=True)] for s, n in enumerate(context)]
        row = []
        for h in range(n_heads):
            bits = [sum(x[-1][i] * scores[h][i][j] * y[j] for i in range(d) for j in range(d)) for y in x]
            weights = [flint.fmpq(2) ** (b - min(bits)) for b in bits]
            total = sum(weights, flint.fmpq(0))
            mixed = [sum((w * y[i] for w, y in zip(weights, x, strict=True)), flint.fmpq(0)) / total for i in range(d)]
            row.append(sum((mixed[i] * values[h][i][0] for i in range(d)), flint.fmpq(0)))
        skip.append(x[-1])
        read.append(row)

    def joined(left):
        return flint.fmpq_mat(8, 8, [entry for a, b in zip(left, read, strict=True) for entry in [*a, *b]])

    both = joined(skip).solve(flint.fmpq_mat(8, d, [entry for row in target for entry in row]))
    basis = flint.fmpq_mat(d, d, both.entries()[: d * d])
    assert joined(skip).det() != 0 and basis.det() != 0
    assert basis.det() == joined(target).det() / joined(skip).det()


def test_the_rotated_front_end_is_as_well_scaled_as_the_drawn_one():
    shape = dict(d_vocab=8, n_ctx=3, d_model=8, n_heads=7, d_head=8)
    contexts = distinct_contexts(64, 3, 8, 0)
    targets = np.random.default_rng(0).standard_normal((64, 8))
    draw = drawing("random", **shape)
    found = memorize_with_skip_connection(draw, contexts, targets=targets, W_U=np.eye(8), attempts=5)
    drawn = draw(found.attempt)
    assert np.allclose(np.linalg.norm(found.front_end.W_E, axis=1), np.linalg.norm(drawn.W_E, axis=1))
    assert np.allclose(features(found.front_end, contexts), features(drawn, contexts), atol=1e-10)
    assert np.allclose(np.linalg.norm(last(found.front_end, contexts)), np.linalg.norm(last(drawn, contexts)))
    assert found.residual < 1e-10
