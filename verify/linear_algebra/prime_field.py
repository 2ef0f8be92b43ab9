"""Compute ranks modulo primes: a minor that is nonzero modulo a prime is nonzero.

The rank of an integer matrix modulo any prime is at most its rank over the rationals, and equal to it for all but
finitely many primes.
"""

from dataclasses import dataclass

from flint import fmpz, fmpz_mat, nmod_mat

# One that is fast, then larger ones for matrices on which the first is unlucky.
PRIMES = (8388593, 2**31 - 1, 2**61 - 1, 4611686018427387847, 9223372036854775783)


@dataclass(frozen=True)
class Minor:
    """Rows and columns whose minor is not zero modulo a prime: a proof that the rank is at least their number.

    Args:
        prime: The prime.
        rows: Distinct row indices, increasing.
        columns: As many distinct column indices, increasing.
    """

    prime: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def proves_rank_of(self, matrix: fmpz_mat) -> bool:
        """Tell whether the minor of `matrix` is nonzero modulo the prime; any indices and any number are accepted."""
        size = len(self.rows)
        increasing = all(
            all(isinstance(i, int) for i in indices)
            and list(indices) == sorted(set(indices))
            and all(0 <= i < bound for i in indices)
            for indices, bound in ((self.rows, matrix.nrows()), (self.columns, matrix.ncols()))
        )
        if not increasing or len(self.columns) != size or not 1 < self.prime < 2**64 or not fmpz(self.prime).is_prime():
            return False
        return size == 0 or nmod_mat(submatrix(matrix, self.rows, self.columns), self.prime).rank() == size


def largest_minor(matrix: fmpz_mat, prime: int) -> Minor:
    """Return a largest minor that is nonzero modulo `prime`."""
    columns = _pivots(nmod_mat(matrix, prime))
    every_row = tuple(range(matrix.nrows()))
    if len(columns) == matrix.nrows():
        return Minor(prime, every_row, columns)
    chosen = nmod_mat(submatrix(matrix, every_row, columns), prime)
    return Minor(prime, _pivots(chosen.transpose()), columns)


def submatrix(matrix: fmpz_mat, rows: tuple[int, ...], columns: tuple[int, ...]) -> fmpz_mat:
    """Return the entries of `matrix` in the given rows and columns."""
    if len(rows) == matrix.nrows() and len(columns) == matrix.ncols():
        return matrix
    table = matrix.tolist()
    return fmpz_mat(len(rows), len(columns), [table[i][j] for i in rows for j in columns])


def _pivots(matrix: nmod_mat) -> tuple[int, ...]:
    """Return the pivot columns of the reduced row echelon form."""
    if matrix.nrows() == 0 or matrix.ncols() == 0:
        return ()
    reduced, rank = matrix.rref()
    pivots, column = [], 0
    for row in range(rank):
        while int(reduced[row, column]) == 0:
            column += 1
        pivots.append(column)
        column += 1
    return tuple(pivots)
