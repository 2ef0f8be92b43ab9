"""Sinusoidal positions, as vectors."""

import numpy as np

from constructions.saturated_layers.sinusoidal_positions import sinusoidal_positions


def test_a_shift_of_the_positions_is_a_rotation_of_each_pair() -> None:
    positions = sinusoidal_positions(9, 4).reshape(9, 2, 2)
    first, second = positions[1:, 0], positions[1:, 1]
    for pair, frequency in ((first, 1.0), (second, 0.01)):
        angles = frequency * np.arange(1, 9)
        np.testing.assert_allclose(pair, np.stack([np.sin(angles), np.cos(angles)], axis=1), atol=1e-12)
