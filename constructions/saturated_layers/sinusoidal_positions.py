"""Build sinusoidal positions as vectors.

Page: docs/claims/assumptions.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array


def sinusoidal_positions(count: int, d_model: int) -> Float64Array:
    r"""Return the sines and cosines of the positions 0, 1, ... at the frequencies $10000^{-2k/d}$, `[n, d]`, in
    float64.

    Args:
        count: n, at least 1.
        d_model: d, even and at least 2.

    Returns:
        Row s holds $\sin(\omega_k s), \cos(\omega_k s)$ for k = 0, .., d/2 - 1.

    Raises:
        InputError: A size out of range.

    Example:
        >>> sinusoidal_positions(2, 2).round(3).tolist()
        [[0.0, 1.0], [0.841, 0.54]]
    """
    if count < 1 or d_model < 2 or d_model % 2:
        raise InputError("count", f"= {count}, d_model = {d_model}", "count >= 1 and an even width >= 2")
    angles = np.arange(count)[:, None] * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(count, d_model)
