r"""Prove that rows of balls are linearly independent, by an untrusted factor.

**Lemma (Weyl).** Let $M = \varepsilon I + L L^T + D$ be symmetric, whatever L is. Then
$\lambda_{\min}(M) \ge \varepsilon - \|D\|_2 \ge \varepsilon - \|D\|_F$, since $L L^T$ is positive semidefinite. So M is
positive definite if $\|D\|_F < \varepsilon$.

It is applied to $M = S (A A^T - c I) S$ with powers of two in the diagonal S, which is positive definite if and only if
$A A^T - c I$ is: if and only if $\sigma_{\min}(A)^2 > c$. Of L only midpoints are taken, so that it is exact, and D is
computed in balls.

Page: docs/rigour/kernel.md
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from operator import add, mul

from flint import arb, arb_mat, ctx

from verify.kernel.balls import Row

_BLOCK = 512  # rows and columns of M that are looked at together
_LONG = 60.0  # seconds of which one is told beforehand
_SMALL = 48  # of a matrix whose root is found number by number


def exceeds(rows: Sequence[Row], least: arb, bits: int, tell: Callable[[str], None] = lambda text: None) -> bool | None:
    r"""Tell whether the squares of all singular values of the matrix with these rows exceed a number >= 0.

    With 0 that is whether the rows are linearly independent.

    Args:
        rows: A, balls.
        least: c.
        bits: Precision; $\varepsilon$ is a power of two that follows from it.
        tell: Told how long it takes, where that is more than a minute.

    Returns:
        True or False where it is proved, none where it is not.
    """
    with ctx.workprec(bits):
        tops = [_exponent(row) for row in rows]
        if None in tops:
            return None
        scales = [arb((1, -top)) for top in tops if top is not None]
        scaled = [[x * scale for x in row] for row, scale in zip(rows, scales, strict=True)]
        subtracted = [least * scale * scale for scale in scales]
        return _is_positive(scaled, subtracted, arb((1, -5 * bits // 8)), tell)


def has_rank(rows: Sequence[Row], rank: int, bits: int, tell: Callable[[str], None] = lambda text: None) -> bool:
    r"""Tell whether the matrix with these rows is proved to have at least this rank.

    $\mathrm{rank}(A) \ge \mathrm{rank}(P A)$ for every P. So that many combinations of the rows, or all rows, or all
    columns, are proved to be linearly independent. What P is does not matter; it is drawn by a hash.
    """
    count, width = len(rows), len(rows[0]) if rows else 0
    if rank == 0 or rank > min(count, width):
        return rank == 0
    with ctx.workprec(bits):
        if rank == count:
            chosen = list(rows)
        elif rank == width:
            chosen = [list(column) for column in zip(*rows, strict=True)]
        else:
            drawn = hashlib.shake_128(f"{rank} {count}".encode()).digest(rank * count)
            squeezed = arb_mat(rank, count, [byte - 128 for byte in drawn]) * arb_mat(list(map(list, rows)))
            chosen = squeezed.tolist()
        return exceeds(chosen, arb(0), bits, tell) is True


def _exponent(row: Row) -> int | None:
    """Return the least k such that no entry exceeds 2^k; None if a row is 0 or an entry may be unbounded."""
    top = max([x.abs_upper() for x in row], default=arb(0))
    if not top.is_finite() or top == 0:
        return None
    mantissa, exponent = top.man_exp()
    return int(mantissa).bit_length() + int(exponent)


def _is_positive(rows: list[Row], subtracted: list[arb], epsilon: arb, tell: Callable[[str], None]) -> bool | None:
    r"""Tell whether $A A^T$ minus a diagonal is positive definite, block by block of rows and columns.

    A block of L follows from those to its left and above it (Cholesky): with the rest
    $R = M_{ij} - \varepsilon I_{ij} - \sum_{k<j} L_{ik} L_{jk}^T$ it is about $R L_{jj}^{-T}$, and what that leaves,
    $R - L_{ij} L_{jj}^T$, is the block of D. A block below the diagonal counts twice in $\|D\|_F^2$.
    """
    starts = range(0, len(rows), _BLOCK)
    strips = [arb_mat(rows[start : start + _BLOCK]) for start in starts]
    factor: list[list[arb_mat]] = [[] for _ in strips]
    squares, begun = arb(0), time.process_time()
    for j, start in enumerate(starts):
        for i in range(j, len(strips)):
            rest = strips[i] * strips[j].transpose()
            if i == j:
                for k in range(rest.nrows()):
                    rest[k, k] -= subtracted[start + k] + epsilon
            for left, right in zip(factor[i], factor[j][:j], strict=True):
                rest -= left * right.transpose()
            if i == j:
                block = _root(rest)
                if isinstance(block, int):
                    return False if _is_indefinite(rows[: start + block + 1], subtracted) else None
            else:
                block = factor[j][j].solve(rest.transpose(), algorithm="approx").mid().transpose()
            factor[i].append(block)
            left_over = rest - block * factor[j][j].transpose()
            squares += (1 if i == j else 2) * sum((x * x for x in left_over.entries()), arb(0))
        if j == 0:
            seconds = (time.process_time() - begun) * (_products(len(strips), len(rows[0])) - 1)
            if seconds > _LONG:
                tell(f"about {seconds / 60:.0f} minutes more")
    return True if squares < epsilon * epsilon else None


def _products(strips: int, columns: int) -> float:
    """Return the work of all block columns of L as a multiple of that of the first one."""
    of_rows = columns / _BLOCK
    return sum((of_rows + j + 1) * (strips - j) for j in range(strips)) / (of_rows + 1) / strips


def _root(matrix: arb_mat) -> arb_mat | int:
    """Return an exact triangular L with $L L^T$ close to the matrix, or the index of a pivot that is not above 0."""
    entries, size, half = matrix.tolist(), matrix.nrows(), matrix.nrows() // 2
    if size <= _SMALL:
        return _small_root(entries)
    first = _root(arb_mat([row[:half] for row in entries[:half]]))
    if isinstance(first, int):
        return first
    beside = first.solve(arb_mat([row[half:] for row in entries[:half]]), algorithm="approx").mid()
    second = _root(arb_mat([row[half:] for row in entries[half:]]) - beside.transpose() * beside)
    if isinstance(second, int):
        return half + second
    above = [[*row, *[arb(0)] * (size - half)] for row in first.tolist()]
    return arb_mat([*above, *map(add, beside.transpose().tolist(), second.tolist())])


def _small_root(given: list[Row]) -> arb_mat | int:
    """Return the result of `_root` by Cholesky's formulas, row by row."""
    rows: list[Row] = []
    for i, wanted in enumerate(given):
        row: Row = []
        for known in rows:
            row.append(((wanted[len(row)] - sum(map(mul, row, known), arb(0))) / known[len(row)]).mid())
        pivot = (wanted[i] - sum(map(mul, row, row), arb(0))).mid()
        if not pivot > 0:
            return i
        rows.append([*row, pivot.sqrt().mid()])
    return arb_mat([[*row, *[arb(0)] * (len(given) - len(row))] for row in rows])


def _is_indefinite(rows: list[Row], subtracted: list[arb]) -> bool:
    """Tell whether a vector v shows that $A A^T$ minus a diagonal is not positive semidefinite: $v^T M v < 0$.

    With the last pivot p below 0, the solution of $M v = e_{last}$ has $v^T M v = v_{last} = 1 / p$.
    """
    matrix = arb_mat(rows)
    gram = matrix * matrix.transpose()
    for k in range(len(rows)):
        gram[k, k] -= subtracted[k]
    last = arb_mat(len(rows), 1, [arb(k == len(rows) - 1) for k in range(len(rows))])
    try:
        vector = gram.mid().solve(last, algorithm="approx").mid()
    except ZeroDivisionError:
        return False
    return (vector.transpose() * gram * vector)[0, 0] < 0
