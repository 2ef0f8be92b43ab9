"""Minimum-norm solutions of Y W = B for a wide matrix Y, to rounding level.

Page: docs/claims/full_rank_attention.md
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from constructions.errors import HypothesisError, InputError
from constructions.numeric.arrays import Float64Array
from constructions.numeric.cholesky import cholesky
from constructions.numeric.products import multiply

_UNIT = 2.0**-53
_REFINEMENTS = 6
_ROUNDING_LEVEL = 64 * _UNIT  # largest |Y W - B| / (|Y_t| |W_j|) that counts as rounding: measured ones are below 4 u
_SMALL = 512  # below this number of rows the condition number is found from all singular values


@dataclass(frozen=True, eq=False)
class RightInverse:
    r"""The pseudo-inverse $Y^+$ of a wide matrix of full row rank, ready to be applied.

    $Y^+ B$ is the solution of $Y W = B$ of smallest norm, and $I - Y^+ Y$ is the orthogonal projection on
    $\{Q : Y Q = 0\}$.

    Args:
        matrix: The matrix Y, `[T, P]`, P >= T.
        method: How it was factored: ``"cholesky"`` of the Gram matrix $Y Y^T$, or ``"qr"`` of $Y^T$.
        condition: Estimate of $\sigma_{max}(Y) / \sigma_{min}(Y)$, to a few digits.
        apply: One application of the factors: $Y^+ B$ to the accuracy of the factorization, `[T, r]` to `[P, r]`.

    Source: Golub, Van Loan, Matrix Computations, Section 5.6; Higham, Accuracy and Stability of Numerical Algorithms,
    Chapters 12 and 21.

    Example:
        >>> inverse = right_inverse(np.array([[3.0, 4.0]]))
        >>> inverse.method, inverse.solve(np.array([[25.0]])).ravel().tolist()
        ('cholesky', [3.0, 4.0])
        >>> inverse.project(np.array([[4.0], [-3.0]])).ravel().tolist()
        [4.0, -3.0]
    """

    matrix: Float64Array
    method: str
    condition: float
    apply: Callable[[Float64Array], Float64Array]

    def project(self, values: Float64Array) -> Float64Array:
        """Return the component $(I - Y^+ Y) Q$ of `values` in the null space of Y, `[P, r]`."""
        return values - self.apply(multiply(self.matrix, values))

    def solve(self, right: Float64Array, *, start: Float64Array | None = None) -> Float64Array:
        r"""Solve $Y W = B$, with W - `start` of smallest norm, and refine until the residual stops falling.

        The residual is computed in float64: more digits would not help, since rounding W itself already moves
        $Y W$ by as much as the product's own rounding errors, about $u \lVert Y_t \rVert \lVert W_j \rVert$.

        Args:
            right: The matrix B, `[T, r]`.
            start: A matrix near a solution, `[P, r]`; zero by default.

        Returns:
            The matrix W, `[P, r]`.
        """
        best = np.zeros((self.matrix.shape[1], right.shape[1])) if start is None else start
        residual = right - multiply(self.matrix, best) if start is not None else right
        size = np.inf if start is None else float(np.abs(residual).max(initial=0.0))
        for _ in range(_REFINEMENTS):
            candidate = best + self.apply(residual)
            left = right - multiply(self.matrix, candidate)
            largest = float(np.abs(left).max(initial=0.0))
            if not largest < size:
                break
            stagnates = largest > size / 4
            best, residual, size = candidate, left, largest
            if stagnates or size == 0:
                break
        return best

    def residual_level(self, solution: Float64Array, right: Float64Array) -> float:
        r"""Return the largest $|Y W - B|_{tj} / (\lVert Y_t \rVert \lVert W_j \rVert)$: a few $2^{-53}$ at rounding
        level.
        """
        row_norms = np.sqrt(np.einsum("tp,tp->t", self.matrix, self.matrix))
        column_norms = np.sqrt(np.einsum("pr,pr->r", solution, solution))
        scale = np.maximum(row_norms[:, None] * column_norms[None, :], np.finfo(np.float64).tiny)
        residual = np.abs(multiply(self.matrix, solution) - right)
        return float((residual / scale).max(initial=0.0))


def right_inverse(matrix: Float64Array) -> RightInverse:
    r"""Factor a wide matrix so that minimum-norm solutions and null-space projections are cheap.

    The Gram matrix $G = Y Y^T$ is factored by Cholesky, half the cost of a QR factorization of $Y^T$; one application
    then has a relative error of about $\kappa(Y)^2 u$, and iterative refinement brings the residual down to rounding
    level as long as $\kappa(Y)^2 u < 1$. A trial solve checks that it does. Otherwise $Y^T = Q R$ takes its place,
    which needs $\kappa(Y) u < 1$ only. A diagonal entry of R that is not above $16 P u \max |r|$ counts as zero: its
    row of Y is then a combination of the rows before it, up to rounding.

    Args:
        matrix: The matrix Y, `[T, P]` with `P >= T >= 1`.

    Returns:
        The factored pseudo-inverse.

    Raises:
        InputError: The matrix is not wide, or has a NaN or an infinity.
        HypothesisError: Its rows are dependent, up to rounding.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, Chapter 21.

    Example:
        >>> right_inverse(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1e-9]])).method
        'qr'
        >>> right_inverse(np.array([[1.0, 1.0], [1.0, 1.0]]))
        Traceback (most recent call last):
        ...
        constructions.errors.HypothesisError: A minimum-norm solution needs 2 independent rows, but 1 of them ...
    """
    rows, columns = matrix.shape
    if rows < 1 or columns < rows:
        raise InputError("matrix", f"has shape {matrix.shape}", "at least one row and at least as many columns")
    # One non-finite entry makes this sum non-finite, at no extra memory.
    if not np.isfinite(np.einsum("tp,tp->", matrix, matrix)):
        raise InputError("matrix", "has a NaN, an infinity, or entries too large to be squared")
    return _cholesky(matrix) or _qr(matrix)


def _cholesky(matrix: Float64Array) -> RightInverse | None:
    try:
        factor = cholesky(multiply(matrix, matrix.T))
    except np.linalg.LinAlgError:
        return None

    def core(right: Float64Array) -> Float64Array:
        return scipy.linalg.cho_solve((factor.T, False), right, check_finite=False)

    def apply(right: Float64Array) -> Float64Array:
        return multiply(matrix.T, core(right))

    trial = _trial(len(matrix))
    unchecked = RightInverse(matrix, "cholesky", np.nan, apply)
    if not unchecked.residual_level(unchecked.solve(trial), trial) <= _ROUNDING_LEVEL:
        return None
    return RightInverse(matrix, "cholesky", _condition(matrix, core), apply)


def _qr(matrix: Float64Array) -> RightInverse:
    basis, factor = np.linalg.qr(matrix.T)
    pivots = np.abs(np.diag(factor))
    dependent = int(np.count_nonzero(~(pivots > 16 * matrix.shape[1] * _UNIT * np.abs(factor).max())))
    if dependent:
        raise HypothesisError(
            "A minimum-norm solution",
            f"{len(matrix)} independent rows",
            f"{dependent} of them are combinations of the others up to rounding",
        )

    def lower(right: Float64Array) -> Float64Array:
        return scipy.linalg.solve_triangular(factor, right, trans=1, check_finite=False)

    def core(right: Float64Array) -> Float64Array:
        return scipy.linalg.solve_triangular(factor, lower(right), check_finite=False)

    return RightInverse(matrix, "qr", _condition(matrix, core), lambda right: basis @ lower(right))


def _condition(matrix: Float64Array, core: Callable[[Float64Array], Float64Array]) -> float:
    """Estimate the condition: by singular values for few rows, by the Lanczos method on the Gram matrix and its inverse
    for many.
    """
    rows = len(matrix)
    if rows <= _SMALL:
        values = scipy.linalg.svdvals(matrix, check_finite=False)
        return float(values[0] / values[-1]) if values[-1] > 0 else np.inf
    largest = [
        scipy.sparse.linalg.eigsh(
            scipy.sparse.linalg.LinearOperator((rows, rows), matvec=product, dtype=np.float64),  # type: ignore[call-arg]
            k=1,
            v0=_trial(rows).ravel(),
            tol=1e-3,  # type: ignore[arg-type]
            return_eigenvectors=False,
        )[0]
        for product in (lambda v: matrix @ (matrix.T @ v), core)
    ]
    return float(np.sqrt(largest[0]) * np.sqrt(largest[1]))


def _trial(rows: int) -> Float64Array:
    """Return a deterministic right-hand side with a component along every singular direction."""
    return np.random.default_rng(0).standard_normal((rows, 1))
