"""Build unembeddings from polynomials: graphs of low degree meet in few points.

Page: docs/claims/unembeddings.md
"""

from fractions import Fraction

import numpy as np

from constructions.errors import InputError
from constructions.unembeddings.coherence import Unembedding
from constructions.unembeddings.finite_field import finite_field


def reed_solomon(size: int, points: int, degree: int, *, count: int, d_model: int) -> Unembedding:
    r"""Return the indicators of the graphs of polynomials of degree at most k over GF(q), at n points.

    A graph is $\{ (x, f(x)) \}$ over the first n elements x, and after all q of them the point at infinity, where f
    has the value of its coefficient of degree k. Two polynomials agree at k points at most, infinity included. So the
    inner products are between 0 and k, the leads between n - k and n, and $\kappa = n / (n - k)$. DeVore's matrices
    are n = q = p.

    Args:
        size: q, a prime power.
        points: $n \le q + 1$.
        degree: $k < n$.
        count: $N \le q^{k+1}$ vectors.
        d_model: $d \ge n q$; the other coordinates are 0.

    Returns:
        The vectors, with entries 0 and 1.

    Raises:
        InputError: The sizes do not fit.

    Source: DeVore (2007); Reed, Solomon (1960).

    Example:
        >>> lines = reed_solomon(2, 3, 1, count=4, d_model=6)
        >>> lines.vectors.tolist(), lines.kappa
        ([[1, 0, 1, 0, 1, 0], [1, 0, 0, 1, 0, 1], [0, 1, 0, 1, 1, 0], [0, 1, 1, 0, 0, 1]], Fraction(3, 2))
    """
    if not 0 <= degree < points <= size + 1 or points * size > d_model or not 1 <= count <= size ** (degree + 1):
        raise InputError(
            "q",
            f"= {size}, n = {points}, k = {degree}, N = {count}, d = {d_model}",
            "0 <= k < n <= q + 1, n q <= d and N <= q^(k + 1)",
        )
    field = finite_field(size)
    index = np.arange(count)
    coefficients = [index // size**i % size for i in range(degree, -1, -1)]  # the constant varies slowest
    vectors = np.zeros((count, d_model), dtype=np.int8)
    for place in range(points):
        value = coefficients[-1]
        if place < size:
            for coefficient in coefficients[-2::-1]:
                value = field.add(field.multiply(value, np.array(place)), coefficient)
        vectors[index, place * size + value] = 1
    family = f"Reed-Solomon, q = {size}, n = {points}, k = {degree}"
    return Unembedding(family, vectors, vectors, points - degree, points, Fraction(degree, points))
