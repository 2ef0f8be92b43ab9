r"""Section 4.4 of Mahdavi et al.: whether sinusoidal positions make the tokens of a context independent.

Page: docs/claims/assumptions.md
"""

import numpy as np

from constructions.arrays import Float64Array
from constructions.claims.claim import Claim
from constructions.errors import InputError

CLAIM = Claim(
    id="mahdavi.sinusoidal-positions",
    title="Sinusoidal positions and Assumption 2",
    source="Mahdavi, Liao, Thrampoulidis (2024), section 4.4",
    printed=(
        "The matrix of sinusoidal positions is inherently of full rank. This extends to the contexts of embedded "
        "tokens plus positions, and establishes Assumption 2."
    ),
    judgement="hypothesis",
    truth=(
        "The positions have rank n for n <= d, d even. It extends to the contexts if the embedded tokens are shorter "
        "than the least singular value of the positions over sqrt n; and for almost all embeddings. For others it "
        "fails: two tokens embedded as the positions of each other make two equal rows."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/assumptions.md",
)


def sinusoidal_positions(count: int, width: int) -> Float64Array:
    r"""Sines and cosines of the positions 0, 1, .. at the frequencies $10000^{-2k/d}$, `[n, d]`, in float64.

    Args:
        count: n, at least 1.
        width: d, even and at least 2.

    Returns:
        Row s holds $\sin(\omega_k s), \cos(\omega_k s)$ for k = 0, .., d/2 - 1.

    Raises:
        InputError: A size out of range.

    Example:
        >>> sinusoidal_positions(2, 2).round(3).tolist()
        [[0.0, 1.0], [0.841, 0.54]]
    """
    if count < 1 or width < 2 or width % 2:
        raise InputError(f"count = {count}, width = {width}, expected count >= 1 and an even width >= 2")
    angles = np.arange(count)[:, None] * 10000.0 ** (-np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(count, width)
