"""Sinusoidal positions, and the room that they leave for tokens."""

import mpmath
import numpy as np
import pytest

from constructions.errors import InputError
from constructions.saturated_layers.sinusoidal_positions import sinusoidal_positions
from verify.theorems.saturated_layers.sinusoidal_positions import enclosed_positions, room_for_tokens


def test_the_real_sines_and_cosines_are_enclosed_narrowly():
    found = enclosed_positions(7, 6)
    with mpmath.workdps(50):
        for s in range(7):
            for k in range(3):
                angle = s * mpmath.mpf(10000) ** (-mpmath.mpf(2 * k) / 6)
                for column, value in ((2 * k, mpmath.sin(angle)), (2 * k + 1, mpmath.cos(angle))):
                    assert abs(value - mpmath.mpf(float(found.midpoint[s, column]))) <= float(found.radius[s, column])
    assert found.radius.max() < 1e-15
    assert np.abs(found.midpoint - sinusoidal_positions(7, 6)).max() < 1e-13


def test_the_room_is_a_lower_bound_of_the_least_singular_value_over_the_root_of_n():
    room = room_for_tokens(count=4, d_model=8)
    least = np.linalg.svd(sinusoidal_positions(4, 8), compute_uv=False)[-1] / 2
    assert 0.8 * least < room <= least * (1 + 1e-12)
    assert room_for_tokens(count=5, d_model=4) == 0.0


@pytest.mark.parametrize(("count", "width"), [(0, 2), (1, 3), (1, 0)])
def test_sizes_out_of_range_are_refused(count, width):
    with pytest.raises(InputError, match=f"count = {count}, d_model = {width}"):
        enclosed_positions(count, width)
    with pytest.raises(InputError, match=f"count = {count}, d_model = {width}"):
        sinusoidal_positions(count, width)
