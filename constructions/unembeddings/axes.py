"""Unembeddings along the axes: the basis, the simplex, and the basis with its opposites.

Page: docs/claims/unembeddings.md
"""

from fractions import Fraction

import numpy as np

from constructions.errors import CapacityError
from constructions.unembeddings.coherence import Unembedding


def basis(count: int, d_model: int) -> Unembedding:
    r"""Return the first N axis vectors: every lead is 1, $\kappa = 1$.

    Args:
        count: $N \le d$.
        d_model: d.

    Returns:
        The vectors.

    Raises:
        CapacityError: N > d.

    Example:
        >>> basis(2, 3).vectors.tolist()
        [[1, 0, 0], [0, 1, 0]]
    """
    _require(count <= d_model, "an orthonormal basis", f"d >= N = {count}", d_model)
    vectors = np.eye(count, d_model, dtype=np.int8)
    return Unembedding("orthonormal basis", vectors, vectors, 1, 1, Fraction(0))


def simplex(count: int, d_model: int) -> Unembedding:
    r"""Return the vertices of a simplex in $d = N - 1$ dimensions: every lead is 1, $\kappa = 1$.

    $w_j$ is the axis vector j, and 0 for the last token; $e_g$ is the axis vector g, and $(-1, \dots, -1)$ for the last
    one. All leads are 1. A linear map makes of it the regular simplex of unit vectors, which has irrational
    coordinates.

    Args:
        count: $N \le d + 1$, at least 2.
        d_model: d.

    Returns:
        The vectors and the encoders, which differ here.

    Raises:
        CapacityError: N > d + 1.

    Example:
        >>> triangle = simplex(3, 2)
        >>> (triangle.encoders @ triangle.vectors.T).tolist()
        [[1, 0, 0], [0, 1, 0], [-1, -1, 0]]
    """
    _require(count <= d_model + 1, "a simplex", f"d >= N - 1 = {count - 1}", d_model)
    vectors = np.eye(count, d_model, dtype=np.int8)
    vectors[-1] = 0
    encoders = vectors.copy()
    encoders[-1, : count - 1] = -1
    return Unembedding("simplex", vectors, encoders, 1, 1, Fraction(1, count - 1))


def cross_polytope(count: int, d_model: int) -> Unembedding:
    r"""Return the axis vectors, then their opposites: leads are 1 and 2, $\kappa = 2$.

    Args:
        count: $N \le 2 d$.
        d_model: d.

    Returns:
        The vectors.

    Raises:
        CapacityError: N > 2d.

    Example:
        >>> cross_polytope(3, 2).vectors.tolist()
        [[1, 0], [0, 1], [-1, 0]]
    """
    _require(count <= 2 * d_model, "a cross-polytope", f"2d >= N = {count}", d_model)
    axes = np.eye(d_model, dtype=np.int8)
    vectors = np.vstack([axes, -axes])[:count]
    return Unembedding("cross-polytope", vectors, vectors, 1, 2, Fraction(1))


def _require(holds: bool, family: str, hypothesis: str, d_model: int) -> None:
    if not holds:
        raise CapacityError(family, hypothesis, f"d = {d_model}")
