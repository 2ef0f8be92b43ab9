"""One head at its best: right on two contexts of the exclusive or, and three points on a line as good as any."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.one_head_optimum import (
    exclusive_or_contexts,
    exclusive_or_optimum,
    line_contexts,
    line_optimum,
)
from constructions.errors import InputError
from constructions.model.attention import logits


def mean_divergence(z: np.ndarray, distributions: np.ndarray) -> float:
    z = z - z.max(axis=1, keepdims=True)
    predicted = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return float((distributions * (np.log(distributions) - predicted)).sum(axis=1).mean())


@given(st.floats(-9, 9), st.floats(1, 40))
def test_one_head_has_the_logits_of_the_derivation(logit: float, bits: float) -> None:
    m = 2.0**bits + 1.0
    z = logits(exclusive_or_optimum(logit, size=m), exclusive_or_contexts())
    undecided = (5 * m + 1) * logit / 2
    expected = [-undecided / (m * m + 2 * m), logit, undecided / (m * m + m + 1), -logit]
    assert np.allclose(z[:, 0] - z[:, 1], expected, rtol=0, atol=1e-10)


def test_a_larger_size_comes_closer_to_the_floor() -> None:
    p = 0.99
    distributions = np.array([[p, 1 - p], [p, 1 - p], [1 - p, p], [1 - p, p]])
    floor = (math.log(2) + p * math.log(p) + (1 - p) * math.log(1 - p)) / 2
    excess = [
        mean_divergence(
            logits(exclusive_or_optimum(math.log(p / (1 - p)), size=size), exclusive_or_contexts()), distributions
        )
        - floor
        for size in (2.0**8, 2.0**16, 2.0**24)
    ]
    assert excess[0] > 2**7 * excess[1] > 2**14 * excess[2] > 0
    assert excess[2] < 1e-6


@pytest.mark.parametrize("size", [1.0, 0.5, math.inf, math.nan])
def test_a_size_that_is_none_is_refused(size: float) -> None:
    with pytest.raises(InputError, match="size"):
        exclusive_or_optimum(1.0, size=size)


def test_the_contexts_are_padded_and_never_shorter_than_three() -> None:
    assert exclusive_or_contexts(5)[:, :3].tolist() == exclusive_or_contexts().tolist()
    assert not exclusive_or_contexts(5)[:, 3:].any()
    with pytest.raises(InputError, match="n_ctx = 2"):
        exclusive_or_contexts(2)


@pytest.mark.parametrize("tokens", [2, 3, 5])
def test_the_logits_are_on_a_line_in_the_right_order(tokens: int) -> None:
    distributions = np.random.default_rng(tokens).dirichlet(np.ones(tokens), 3) + 1e-3
    z = logits(line_optimum(distributions), line_contexts())
    values = np.linalg.svd(z[1:] - z[0], compute_uv=False)
    assert values[1] < 1e-12 * values[0]


def test_distributions_with_logits_on_a_line_are_memorized() -> None:
    distributions = np.array([[1.0, 1.0, 1.0], [4.0, 2.0, 1.0], [16.0, 4.0, 1.0]])
    distributions /= distributions.sum(axis=1, keepdims=True)
    for order in ([0, 1, 2], [1, 0, 2], [0, 2, 1]):
        assert mean_divergence(logits(line_optimum(distributions[order]), line_contexts()), distributions[order]) < 1e-8


def test_no_perturbation_of_the_line_is_better() -> None:
    distributions = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    network = line_optimum(distributions)
    z = logits(network, line_contexts())
    best = mean_divergence(z, distributions)
    rng = np.random.default_rng(0)
    direction = z[1] - z[0]
    for _ in range(200):
        moved = z + 0.01 * np.outer(rng.normal(size=3), direction) + 0.01 * rng.normal(size=3)
        assert mean_divergence(moved, distributions) > best - 1e-9
    assert best == pytest.approx(0.1611246, abs=1e-6)


@pytest.mark.parametrize("distributions", [np.ones((2, 3)), np.zeros((3, 3)), np.ones(3)])
def test_distributions_that_are_none_are_refused(distributions: np.ndarray) -> None:
    with pytest.raises(InputError, match="distributions"):
        line_optimum(distributions)
