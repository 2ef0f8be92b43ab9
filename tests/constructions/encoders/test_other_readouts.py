"""Encoders whose logits have a bias, or are capped."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from constructions.encoders.other_readouts import biased_encoder, capped_encoder


def test_the_biased_encoder_has_its_distributions_exactly_and_as_logarithms():
    found = biased_encoder()
    assert found.squares() == tuple(tuple(mass**2 for mass in distribution) for distribution in found.distributions)
    assert all(sum(distribution) == 1 for distribution in found.distributions)
    logits = np.log(np.array(found.bias, dtype=float)) / 2 + np.outer(
        np.log(np.array(found.stream, dtype=float)) / 2, found.W
    )
    assert np.allclose(np.exp(logits), np.array(found.distributions, dtype=float), atol=1e-15)


def test_another_bias_has_other_distributions():
    found = biased_encoder()
    other = replace(found, bias=(Fraction(1, 3), *found.bias[1:]))
    assert other.squares() != tuple(tuple(mass**2 for mass in distribution) for distribution in found.distributions)


def test_the_capped_logits_span_two_dimensions():
    found = capped_encoder()
    logits = np.tanh(np.outer(found.stream, found.W))
    assert np.linalg.matrix_rank(logits - logits[:, :1]) == 2
    assert np.linalg.matrix_rank(np.outer(found.stream, found.W)) == 1
