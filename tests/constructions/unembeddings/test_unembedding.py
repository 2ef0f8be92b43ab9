"""Unembedding vectors: their margins, and what no vectors can do."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.unembeddings.unembedding import best, distribution_unembedding, label_unembedding
from constructions.unembeddings.unembedding_families import best_family


def exact_margin(W_U, labels):
    """The smallest <u_i, u_i> - <u_i, u_j> over a label i and a token j, in rationals."""
    columns = [[Fraction(float(x)) for x in column] for column in W_U.T]
    return min(
        sum(a * (a - b) for a, b in zip(columns[i], columns[j], strict=True))
        for i in set(labels.tolist())
        for j in range(len(columns))
        if i != j
    )


@given(st.integers(1, 9), st.data())
def test_the_margin_is_the_one_of_the_vectors(d_model, data):
    size = data.draw(st.integers(2, 14))
    most = size if d_model > 1 else 2
    labels = np.array(data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=20)))
    labels = np.unique(labels)[:most]
    found = label_unembedding(d_model, size, labels)
    assert abs(float(exact_margin(found.W_U, labels)) - found.margin) < 1e-14
    assert found.margin > 0
    assert found.W_U.shape == (d_model, size)
    assert not found.W_U[:, np.setdiff1d(np.arange(size), labels)].any()
    assert not found.W_U[found.rank :].any() and found.W_U[found.rank - 1].any()
    assert np.allclose(np.linalg.norm(found.W_U[:, labels], axis=0), 1, rtol=1e-15)
    # Unit vectors with all inner products below -1/(L-1) do not exist.
    assert len(labels) == 1 or found.margin <= 1 + 1 / (len(labels) - 1) + 1e-15


@pytest.mark.parametrize("count", [1, 2, 5, 6, 9, 10])
def test_up_to_2d_labels_take_axes_which_are_exact(count):
    found = label_unembedding(5, 12, np.arange(count))
    assert found.family == "axes" and set(np.unique(found.W_U)) <= {-1.0, 0.0, 1.0}
    assert found.margin == exact_margin(found.W_U, np.arange(count)) == 1


def test_two_labels_that_are_all_tokens_have_the_margin_two():
    assert label_unembedding(1, 2, np.array([0, 1])).margin == 2


@pytest.mark.parametrize("count", [5, 8, 64, 500])
def test_in_the_plane_labels_take_the_circle(count):
    found = label_unembedding(2, count, np.arange(count))
    assert found.family == "circle"
    assert found.margin == pytest.approx(1 - math.cos(2 * math.pi / count), rel=1e-9)


@pytest.mark.parametrize(
    ("d_model", "count", "largest"),
    [
        (3, 8, 0.35),
        (8, 64, 0.45),
        (16, 64, 0.2),
        (16, 256, 0.4),
        pytest.param(64, 300, 0.12, marks=pytest.mark.slow),
    ],
)
def test_repelled_vectors_are_far_better_than_random_ones(d_model, count, largest):
    found = label_unembedding(d_model, count, np.arange(count))
    random = np.random.default_rng(0).standard_normal((count, d_model))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    products = random @ random.T - 2 * np.eye(count)
    assert found.family == "repelled"
    assert 1 - found.margin < largest < products.max() - 0.15


def test_seeds_decide_the_vectors():
    one, same, other = (label_unembedding(3, 20, np.arange(20), seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.W_U, same.W_U) and not np.array_equal(one.W_U, other.W_U)


def test_a_large_vocabulary_costs_no_more_than_its_labels():
    labels = np.random.default_rng(0).integers(0, 50_000, 200)
    found = label_unembedding(64, 50_000, labels)
    assert found.W_U.shape == (64, 50_000) and found.margin > 0.85
    assert np.count_nonzero(found.W_U.any(axis=0)) == len(np.unique(labels))


def test_three_labels_do_not_fit_on_a_line():
    with pytest.raises(HypothesisError, match=r"Proposition 3 needs d_model >= 2 .* d_model = 1 with 3 labels"):
        label_unembedding(1, 5, np.array([0, 1, 4]))


@pytest.mark.parametrize("labels", [[], [5], [-1, 2]])
def test_labels_outside_the_vocabulary_are_refused(labels):
    with pytest.raises(InputError, match=r"expected tokens 0 \.\. 4"):
        label_unembedding(3, 5, np.array(labels, dtype=np.int64))


@pytest.mark.parametrize(("d_model", "size", "rank"), [(4, 5, 4), (5, 5, 5), (9, 5, 5), (1, 1, 1), (1, 2, 1)])
def test_distributions_take_the_identity(d_model, size, rank):
    W_U = distribution_unembedding(d_model, size)
    assert W_U.shape == (d_model, size) and W_U.sum() == rank == np.trace(W_U)


@pytest.mark.parametrize(("d_model", "size"), [(1, 3), (8, 64)])
def test_distributions_need_one_dimension_less_than_tokens(d_model, size):
    with pytest.raises(CapacityError) as error:
        distribution_unembedding(d_model, size)
    message = str(error.value)
    assert "Proposition 2" in message and f"N - 1 = {size - 1}" in message and f"d_model = {d_model}" in message
    assert "the target 'labels'" in message and error.value.fewest_heads is None


def test_the_best_vectors_are_those_of_the_best_family():
    found = best(144, 16)
    assert found.family == best_family(144, 16).name and found.kappa == Fraction(5, 3)
    products = found.vectors.astype(np.int64) @ found.vectors.T
    others = products[~np.eye(144, dtype=bool)]
    assert np.array_equal(np.diag(products), np.full(144, 16)) and (others.min(), others.max()) == (-4, 4)


def test_what_no_family_holds_has_no_best():
    with pytest.raises(CapacityError, match="more dimensions for N = 13 tokens, but d = 4"):
        best(13, 4)
