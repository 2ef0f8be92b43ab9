"""Instances of Theorem 2: what they promise, in floating point."""

import numpy as np
import pytest

from constructions.encoders.low_entropy_instances import (
    mistaken_token,
    near_orthonormal_instance,
    random_distributions,
    random_instance,
    two_distributions,
    uniform_noise,
)
from constructions.errors import InputError
from constructions.unembeddings.unembedding import best


def test_random_instances_have_positive_leads_and_reach_all_sizes() -> None:
    shapes = set()
    for seed in range(60):
        instance = random_instance(seed)
        leads = instance.float_leads()
        assert np.sort(leads, axis=1)[:, 1:].min() > 0
        assert (leads[np.arange(6), instance.tokens] == 0).all()
        assert (
            instance.distributions.shape == leads.shape
            and (instance.distributions > 0).all()
            and (instance.prior > 0).all()
        )
        shapes.add(instance.vectors.shape)
    assert {count for count, _ in shapes} >= {2, 3, 4} and min(d for _, d in shapes) == 1
    assert any(count > d + 1 for count, d in shapes)


def test_near_orthonormal_instances_deviate_by_less_than_a_half_and_come_near_it() -> None:
    far = []
    for seed in range(45):
        instance = near_orthonormal_instance(seed)
        wide = instance.vectors.astype(np.float64)
        far.append(np.abs(wide @ wide.T / instance.scale - np.eye(len(wide))).max())
        assert (instance.encoders == instance.vectors[instance.tokens]).all()
    assert 0.4 < max(far) < 0.5


def test_distributions_of_every_kind_occur() -> None:
    leads = np.arange(5.0) * np.ones((400, 1))
    tokens = np.zeros(400, dtype=np.int64)
    distributions = random_distributions(np.random.default_rng(0), tokens, leads)
    uniform = (distributions == distributions[:, :1]).all(axis=1)
    certain = np.sort(distributions, axis=1)[:, -2] < 1e-6
    mistaken = distributions.argmax(axis=1) != 0
    rival = (distributions[:, 4] > 1e-20) & (distributions[:, 1:4] == 1e-30).all(axis=1)
    for kind in (uniform, certain, mistaken, rival, distributions.min(axis=1) <= 1e-29):
        assert 0 < kind.sum() < 400


def test_instances_by_hand() -> None:
    small, large = two_distributions(), mistaken_token(50)
    assert (small.float_leads() == [0.0, 1.0, 1.0]).all()
    assert (
        large.distributions[0].argmax() == 1 and large.tokens.tolist() == [0, 0] and (large.distributions[1] == 1).all()
    )
    noisy = uniform_noise(best(4, 4), np.array([2]), 0.25)
    assert noisy.distributions.tolist() == [[1 / 12, 1 / 12, 0.75, 1 / 12]]
    with pytest.raises(InputError, match=r"missing = 0\.0"):
        uniform_noise(best(4, 4), np.array([2]), 0.0)
