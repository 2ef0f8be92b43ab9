"""Enclosures of the solutions of linear systems: square, least-squares and minimum-norm.

Page: docs/rigour/linear_algebra.md
"""

from fractions import Fraction
from typing import Any

import numpy as np
from flint import ctx, fmpq, fmpq_mat, fmpz_mat
from numpy.typing import ArrayLike, NDArray

from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.fixed_point import fixed_point
from verify.arithmetic.rounding import Floats, up
from verify.linear_algebra import balls
from verify.linear_algebra.approximate_inverse import Residual, exact_residual, float_residual, right_inverse
from verify.linear_algebra.balancing import balanced
from verify.linear_algebra.given_matrix import GivenMatrix, given_matrix
from verify.linear_algebra.norms import float_above, times_positive

_SCALAR_BITS = 64
_LIMBS = 4  # at most 192 fractional bits of the balanced midpoints
_ITERATE_BITS = 160
_ITERATIONS = 60
_NEGLIGIBLE = 2.0**-12  # defects this much smaller than what the radii make cannot be seen
_LARGEST_EXACT = 256


def enclose_solution(a: Enclosure | ArrayLike, b: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclose the solutions $x$ of $A x = b$ for every $A$ and $b$ of two sets, in the unit of $b$ over that of $A$.

    Square: the solution. More rows than columns: the least-squares solution, of
    $\begin{pmatrix} s I & A \\ A^T & 0 \end{pmatrix} \begin{pmatrix} r / s \\ x \end{pmatrix}
    = \begin{pmatrix} b \\ 0 \end{pmatrix}$; fewer: the solution of least norm, $x = -A^T y$, of
    $\begin{pmatrix} s I & A^T \\ A & 0 \end{pmatrix} \begin{pmatrix} x \\ s y \end{pmatrix}
    = \begin{pmatrix} 0 \\ b \end{pmatrix}$ (with $s$ a power of two near $\sigma_{\min}$).

    With an approximate inverse $W$, $E = AW - I$, weights $v$ with $|E| v \le \alpha v$, $\alpha < 1$, and
    $\rho = b - A \tilde x$ for an approximate solution $\tilde x$,

    $$ |x - \tilde x| \le |W| \Bigl( |\rho| + \frac{\alpha}{1 - \alpha} \max_i \frac{|\rho_i|}{v_i}\, v \Bigr). $$

    $\tilde x$ has 160 fractional bits and its residual is exact (integers), so that for exact data the enclosure ends
    up next to the last bit.

    Why it is rigorous: neither $W$ nor $\tilde x$ is trusted; the residual is exact, and the rest is bounded upwards.

    Args:
        a: `[m, n]`: an `Enclosure`, or an exactly given matrix as in `certify_nonsingular`.
        b: `[m]` or `[m, k]`, likewise.

    Returns:
        `[n]` or `[n, k]`; with infinite radii where the set of matrices is not proved to have full rank.

    Raises:
        InputError: Shapes that do not fit, or entries that are not finite real numbers.
        BlasError: The BLAS of this machine fails its probes.

    Source: Krawczyk (1969); Rump (2010), Verification methods, Section 10.5; Bjorck (1967) for the augmented systems.

    Example:
        >>> x = enclose_solution([[2.0, 1.0], [1.0, 1.0]], [1.0, 0.0])
        >>> x.midpoint.tolist(), float(x.radius.max()) < 1e-15
        ([1.0, -1.0], True)
        >>> enclose_solution([[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0]).radius.tolist()
        [inf, inf]
    """
    matrix = given_matrix(a, name="a")
    vector = np.ndim(b.midpoint if isinstance(b, Enclosure) else np.asarray(b, dtype=object)) == 1
    right = given_matrix(_as_column(b) if vector else b, name="b")
    if right.shape[0] != matrix.shape[0]:
        raise InputError("b", f"has {right.shape[0]} rows", f"{matrix.shape[0]}, like a")
    blas.probe()
    with ctx.workprec(_SCALAR_BITS):
        solution = _enclose(matrix, right)
    return solution.reshape(-1) if vector else solution


def _as_column(b: Any) -> Any:
    if isinstance(b, Enclosure):
        return b.reshape(-1, 1)
    return b.reshape(-1, 1) if isinstance(b, np.ndarray) else [[entry] for entry in b]


def _enclose(matrix: GivenMatrix, right: GivenMatrix) -> Enclosure:
    """Return the solutions for a matrix of any shape (Lemma M19); the unknown ones have infinite radii."""
    rows, columns = matrix.shape
    if rows == columns:
        return _enclose_square(matrix, right)
    scale = _near_smallest_singular_value(matrix.enclosure.midpoint)
    if rows > columns:
        return _enclose_square(_augmented(matrix, scale), _stacked(right, columns, zeros_first=False))[rows:]
    return _enclose_square(_augmented(matrix.transposed(), scale), _stacked(right, columns, zeros_first=True))[:columns]


def _enclose_square(matrix: GivenMatrix, right: GivenMatrix) -> Enclosure:
    if right.enclosure.size == 0:
        return Enclosure(np.zeros(right.shape))
    exact = matrix.exact and right.exact and len(matrix.enclosure) <= _LARGEST_EXACT
    rounded = matrix.entries is not None or right.entries is not None
    solution = _exactly(matrix, right) if exact and rounded else None
    if solution is None:
        solution = _by_an_inverse(matrix.enclosure, right.enclosure)
    if solution is None and exact and not rounded:
        solution = _exactly(matrix, right)
    if solution is None:
        solution = _by_balls(matrix, right)
    return Enclosure(np.zeros(right.shape), np.full(right.shape, np.inf)) if solution is None else solution


def _by_an_inverse(a: Enclosure, b: Enclosure) -> Enclosure | None:
    """Return the enclosure of the docstring of `enclose_solution`, for the balanced system."""
    scaled = balanced(a)
    inverse = right_inverse(scaled.scaled.midpoint)
    if inverse is None:
        return None
    residual: Residual | None = float_residual(scaled.scaled, inverse)
    if not residual.contraction[0] < 1 and residual.fails_by_rounding:
        residual = exact_residual(scaled.scaled, inverse)
    if residual is None or not residual.contraction[0] < 1:
        return None
    alpha, weights = residual.contraction
    rows, columns = scaled.row_exponents[:, None], scaled.column_exponents[:, None]
    with np.errstate(all="ignore"):
        # What underflows here is far below the 2^-1060 that `_refined` adds; column exponents are not negative.
        right = Enclosure(np.ldexp(b.midpoint, rows), np.ldexp(b.radius, rows))
        refined = _refined(scaled.scaled, right, residual.w)
        if refined is None:
            return None
        solution, defect = refined
        ratio = up(defect / weights[:, None]).max(axis=0)
        spread = up(up(float_above(alpha / (1 - alpha)) * ratio) * weights[:, None])
        distance = times_positive(np.abs(residual.w), up(defect + spread))
        return Enclosure(np.ldexp(solution.midpoint, columns), np.ldexp(up(distance + solution.radius), columns))


def _refined(a: Enclosure, b: Enclosure, inverse: Floats) -> tuple[Enclosure, Floats] | None:
    r"""Return an approximate solution $\tilde x$, within its enclosure, and an upper bound of $|b - A x|$ for $x =
    \tilde x$.

    The iterate is an integer matrix, and its residual for the midpoints is exact; Lemma M18.
    """
    first = inverse @ b.midpoint
    if not np.isfinite(first).all():
        return None
    integers, bits, exact = fixed_point(a.midpoint, _LIMBS)
    # Column j of the iterate is in units of 2^unit[j], that of the residual in units of 2^(unit[j] - bits).
    largest = np.maximum(np.abs(first).max(axis=0), np.abs(b.midpoint).max(axis=0))
    unit = np.frexp(largest)[1].astype(np.int64) - _ITERATE_BITS
    target, iterate = _in_units(b.midpoint, unit - bits), _in_units(first, unit)
    radius = np.broadcast_to(up(a.radius + (0.0 if exact else 2.0 ** (-bits - 1))), a.shape)
    for _ in range(_ITERATIONS):
        defect = _as_floats(target - integers * iterate, unit - bits)
        step = _in_units(inverse @ defect, unit)
        uncertainty = radius @ np.abs(_as_floats(iterate, unit)) + b.radius
        if not any(step.entries()) or (np.abs(defect) <= _NEGLIGIBLE * uncertainty).all():
            break
        iterate += step
    midpoint = _as_floats(iterate, unit)
    # Lemma M18 (b): integers are cut off by less than one unit, and a conversion that underflows loses at most 2^-1074,
    # the least subnormal number; so 2^-1060 is above all of them together.
    one = np.ldexp(1.0, unit) + 2.0**-1060
    missed = up(up(np.abs(_as_floats(iterate - _in_units(midpoint, unit), unit))) + one)
    size = up(np.abs(midpoint) + missed)
    computed = up(up(np.abs(_as_floats(target - integers * iterate, unit - bits))) + one)
    return Enclosure(midpoint, missed), up(up(computed + times_positive(radius, size)) + b.radius)


def _in_units(x: Floats, unit: Int64Array) -> fmpz_mat:
    """Return the floats as integers in units of 2 to the `unit` of their column, cut off towards zero."""
    fraction, exponent = np.frexp(x)
    mantissas = np.ldexp(fraction, 53).astype(np.int64).ravel().tolist()
    shifts = (exponent - 53 - unit).ravel().tolist()
    return fmpz_mat(x.shape[0], x.shape[1], [_shifted(m, shift) for m, shift in zip(mantissas, shifts, strict=True)])


def _shifted(n: int, shift: int) -> int:
    if shift >= 0:
        return n << shift
    return n >> -shift if n >= 0 else -(-n >> -shift)


def _as_floats(x: fmpz_mat, unit: Int64Array) -> Floats:
    """Return the nearest floats of integers in units of 2 to the `unit` of their column."""
    values = np.array([float(int(n)) for n in x.entries()]).reshape(x.nrows(), x.ncols())
    return np.ldexp(values, unit)


def _exactly(matrix: GivenMatrix, right: GivenMatrix) -> Enclosure | None:
    """Return the exact rational solution, rounded outwards."""
    try:
        solution = _rationals(matrix).solve(_rationals(right))
    except ZeroDivisionError:
        return None
    entries = [Fraction(int(x.p), int(x.q)) for x in solution.entries()]
    return given_matrix(np.array(entries, dtype=object).reshape(right.shape)).enclosure


def _rationals(given: GivenMatrix) -> fmpq_mat:
    return fmpq_mat(*given.shape, [fmpq(x.numerator, x.denominator) for row in given.fractions for x in row])


def _by_balls(matrix: GivenMatrix, right: GivenMatrix) -> Enclosure | None:
    """Return the solution by ball arithmetic of rising precision, rounded outwards; Lemma M13."""
    if len(matrix.enclosure) > balls.LARGEST:
        return None
    for bits in balls.PRECISIONS:
        with ctx.workprec(bits):
            try:
                solution = balls.matrix_of_balls(matrix).solve(balls.matrix_of_balls(right), algorithm="precond")
            except ZeroDivisionError:
                continue
            midpoints = [float(x.mid()) for x in solution.entries()]
            radii = [float_above(abs(x - m)) for x, m in zip(solution.entries(), midpoints, strict=True)]
        return Enclosure(np.reshape(midpoints, right.shape), np.reshape(radii, right.shape))
    return None


def _near_smallest_singular_value(midpoint: Floats) -> float:
    """Return a power of two near the smallest singular value of the midpoint; untrusted."""
    try:
        smallest = float(np.linalg.svd(midpoint, compute_uv=False).min(initial=np.inf))
    except np.linalg.LinAlgError:
        return 1.0
    return 2.0 ** np.frexp(smallest)[1] if 2.0**-500 < smallest < 2.0**500 else 1.0


def _augmented(matrix: GivenMatrix, scale: float) -> GivenMatrix:
    """Return the square matrix of the least-squares problem of a tall matrix."""
    rows, columns = matrix.shape
    size = rows + columns
    midpoint, radius = np.zeros((size, size)), np.zeros((size, size))
    midpoint[:rows, :rows] = scale * np.eye(rows)
    midpoint[:rows, rows:], midpoint[rows:, :rows] = matrix.enclosure.midpoint, matrix.enclosure.midpoint.T
    radius[:rows, rows:] = matrix.enclosure.radius
    radius[rows:, :rows] = radius[:rows, rows:].T
    entries = None
    if matrix.entries is not None:
        entries = np.vectorize(Fraction, otypes=[object])(midpoint)
        entries[:rows, rows:], entries[rows:, :rows] = matrix.entries, matrix.entries.T
    return GivenMatrix(Enclosure(midpoint, radius), matrix.exact, entries)


def _stacked(right: GivenMatrix, zeros: int, *, zeros_first: bool) -> GivenMatrix:
    """Return the right-hand side with rows of zeros before or after it."""

    def stack(x: NDArray[Any]) -> NDArray[Any]:
        block = np.zeros((zeros, right.shape[1]), dtype=x.dtype)
        return np.concatenate([block, x] if zeros_first else [x, block])

    radius = np.broadcast_to(right.enclosure.radius, right.shape)
    entries = None if right.entries is None else stack(right.entries)
    return GivenMatrix(Enclosure(stack(right.enclosure.midpoint), stack(radius)), right.exact, entries)
