"""Ranks proved by integer products from a witness that need not be believed; nothing is inverted.

Page: docs/rigour/certificate.md
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from operator import add, mul
from typing import Any, Protocol

from flint import arb, arb_mat, fmpz_mat

from constructions.errors import InputError
from verify.arithmetic.integers import (
    SMALL,
    compact,
    dyadic,
    matrix_of,
    power_of_two,
    product,
    rescaled,
    row_of,
    rows_of,
    shifted,
    truncated,
)
from verify.independent.ball_forward import NoInformationError
from verify.independent.plain.plain_arrays import PlainArray
from verify.verdict import Verdict

_BLOCK = 1024  # rows of a product that are looked at together
_SYMMETRIC = 256  # rows and columns of a block of a symmetric matrix


class FeatureMatrix(Protocol):
    """Integers at `features_scale`, each within `features_error` units of a feature, of `feature_bits` bits."""

    @property
    def features_scale(self) -> int: ...

    @property
    def features_error(self) -> int: ...

    @property
    def feature_bits(self) -> int: ...

    def feature_rows(self, with_skip: bool) -> Iterator[list[int]]:
        """The rows of the matrix, one after the other."""
        ...


@dataclass(frozen=True)
class FeatureRows:
    """Features as integers at `features_scale`, each within `features_error` units, and the rows that are skipped.

    Args:
        rows: One row for each example, of less than `feature_bits` bits and a sign.
        last: The rows that come before them in the matrix with a skip connection.
        features_scale: The scale.
        features_error: Bound of the error of each.
        feature_bits: How many bits they have.
    """

    rows: list[Sequence[int]]
    last: list[Sequence[int]]
    features_scale: int
    features_error: int
    feature_bits: int

    @classmethod
    def of(cls, features: list[list[arb]], last: list[list[arb]], bits: int = SMALL) -> "FeatureRows":
        r"""The integers for features that are balls.

        With $2^b$ above all of them the unit is $2^{b - f}$ for f bits. If all numbers of a scaled ball have one floor
        n, the feature is in $[n, n + 1)$; else n is the floor of its midpoint, off by at most 1 and the radius.

        Raises:
            NoInformationError: A feature is a ball without bounds.
        """
        width, size = len(features[0]), len(features)
        entries = arb_mat(size, width, [x for row in features for x in row])
        top = max((x.abs_upper() for x in entries.entries()), default=arb(0))
        if not top.is_finite():
            raise NoInformationError("a feature is not known to be below any bound")
        mantissa, exponent = map(int, top.man_exp())
        scale = bits - mantissa.bit_length() - exponent
        values, error = [], 1
        for x in (entries * arb((1, scale))).entries():
            n = x.floor().unique_fmpz()
            if n is None:
                mantissa, exponent = map(int, x.mid().man_exp())
                n = shifted(mantissa, exponent)
                error = max(error, 1 + _above(x.rad()))
            values.append(int(n))
        rows = [compact(values[i * width : (i + 1) * width], bits) for i in range(size)]
        return cls(rows, [_floors(row, scale) for row in last], scale, error + 1, bits)

    def feature_rows(self, with_skip: bool) -> Iterator[list[int]]:
        """The rows of the matrix, one after the other."""
        for i, row in enumerate(self.rows):
            yield [*(self.last[i] if with_skip else []), *row]


def _above(x: arb) -> int:
    """An integer at or above an exact ball of at least 0."""
    mantissa, exponent = map(int, x.man_exp())
    return shifted(mantissa, exponent) + 1


def _floors(row: list[arb], scale: int) -> list[int]:
    """Integers within 2 units of balls that are all but exact."""
    return [shifted(int(m), int(e) + scale) for m, e in (x.mid().man_exp() for x in row)]


@dataclass(frozen=True)
class NonsingularCheck:
    """The outcome of `recheck_nonsingular`.

    Args:
        verdict: PROVED, or UNDECIDED; a failing witness says nothing about the matrices.
        residual_upper: Upper bound of the norm of I - R A over all matrices A of the set; `None` if there is none.
        smallest_singular_value_lower: Positive lower bound of all singular values of them, or 0.
    """

    verdict: Verdict
    residual_upper: Fraction | None
    smallest_singular_value_lower: Fraction


def recheck_nonsingular(
    midpoint: Sequence[Sequence[float]],
    radius: float | Sequence[Sequence[float]],
    witness: Sequence[Sequence[float]],
) -> NonsingularCheck:
    r"""Prove in integers that every matrix within `radius` of `midpoint` is nonsingular, given an approximate inverse.

    Rows and columns are scaled by powers of two, $B = \mathrm{diag}(2^r) A\, \mathrm{diag}(2^c)$, so that the entries
    of the midpoints are integers of 60 bits but for less than one unit, which joins their radius. The witness becomes
    integers of 60 bits in one unit; what that rounds off is of no concern, since any witness $W$ will do. Then all
    terms of

    $$ \alpha = \max_i \sum_j \Bigl( |(B W - I)_{ij}| + \sum_k \Delta_{ik} |W_{kj}| \Bigr) $$

    are exact integers over powers of two. If $\alpha < 1$, every $B W$ and hence every $A$ is nonsingular, and
    $\|(B W)^{-1}\|_\infty \le 1 / (1 - \alpha)$. Nothing is inverted, and a bad witness can only fail.

    Args:
        midpoint: Square matrix of floats, `[n, n]`; an array is converted by its ``tolist``.
        radius: One float for all entries, or one each, `[n, n]`.
        witness: An approximate (right) inverse of the midpoint, `[n, n]`.

    Returns:
        The verdict with the bounds.

    Raises:
        InputError: Arguments that are not square matrices of one size.

    Source: Rump (2010), Verification methods, Section 10.

    Example:
        >>> recheck_nonsingular([[2.0, 1.0], [1.0, 1.0]], 0.125, [[1.0, -1.0], [-1.0, 2.0]]).verdict
        <Verdict.PROVED: 'PROVED'>
        >>> recheck_nonsingular([[2.0, 1.0], [1.0, 1.0]], 0.5, [[1.0, -1.0], [-1.0, 2.0]]).verdict
        <Verdict.UNDECIDED: 'UNDECIDED'>
    """
    rows, inverse = _as_rows("midpoint", midpoint), _as_rows("witness", witness)
    size = len(rows)
    radii = [[float(radius)] * size] * size if isinstance(radius, int | float) else _as_rows("radius", radius)
    for name, matrix in (("midpoint", rows), ("witness", inverse), ("radius", radii)):
        if size == 0 or len(matrix) != size or any(len(row) != size for row in matrix):
            raise InputError(name, f"is not a square matrix of {size} rows, as the midpoint has")
    unknown = NonsingularCheck(Verdict.UNDECIDED, None, Fraction(0))
    finite = all(all(map(math.isfinite, row)) for row in (*rows, *inverse, *radii))
    if not finite or not all(min(row) >= 0 for row in radii):
        return unknown
    first = [-_exponent(row) for row in rows]
    normal = [list(map(math.ldexp, row, repeat(r))) for row, r in zip(rows, first, strict=True)]
    columns = [-_exponent(column) for column in zip(*normal, strict=True)]
    if any(columns):
        normal = [list(map(math.ldexp, row, columns)) for row in normal]
    exponents = [r + SMALL - _exponent(row) for row, r in zip(normal, first, strict=True)]
    try:
        scaled = [truncated(row, [r + c for c in columns]) for row, r in zip(rows, exponents, strict=True)]
        # W is kept by its columns, W_kj in units of 2^(c_k - r_j - t): then (B W)_ij is in units of 2^-t for all i, j.
        back = [-c for c in columns]
        unscaled = [list(map(math.ldexp, column, back)) for column in zip(*inverse, strict=True)]
        scale = min(r + SMALL - _exponent(column) for column, r in zip(unscaled, exponents, strict=True))
        factors = [truncated(column, repeat(scale - r)) for column, r in zip(unscaled, exponents, strict=True)]
        weights = [sum(map(abs, entries)) for entries in zip(*factors, strict=True)]
        spreads = [2 * sum(weights)] * size  # one unit for the midpoint, one for the radius
        if any(map(any, radii)):
            spreads = [
                sum(map(mul, truncated(row, [r + c for c in columns]), weights)) + spread
                for row, r, spread in zip(radii, exponents, spreads, strict=True)
            ]
    except OverflowError:  # a witness or a radius out of all proportion to the matrix
        return unknown
    if not scale >= 0:
        return unknown
    defects = [_defect(row, 1 << (scale // 2)) for row in _defects(scaled, factors, scale)]
    residual = dyadic(max(map(add, defects, spreads)), scale)
    if not residual < 1:
        return NonsingularCheck(Verdict.UNDECIDED, residual, Fraction(0))
    # With D = diag(2^r), the maximum norm of (D A)^-1 is at most that of W D^-1 over 1 - alpha.
    norm = max(dyadic(weight, scale) * power_of_two(c) for weight, c in zip(weights, columns, strict=True))
    spectral = norm * (math.isqrt(size - 1) + 1) * power_of_two(max(exponents))
    return NonsingularCheck(Verdict.PROVED, residual, (1 - residual) / spectral)


def _defect(row: list[Any], negligible: int) -> int:
    """At least the sum of absolute values: n times the largest one where that is negligible, which is quicker."""
    coarse = len(row) * max(max(row), -min(row))
    return int(coarse if coarse < negligible else sum(map(abs, row)))


def _defects(rows: Sequence[Sequence[int]], factors: Sequence[Sequence[int]], scale: int) -> Iterator[list[Any]]:
    """The rows of B W - I in units of 2^-scale, where column j of W is `factors[j]`."""
    transposed = matrix_of(factors).transpose()
    for start in range(0, len(rows), _BLOCK):
        block = product(matrix_of(rows[start : start + _BLOCK]), transposed)
        for i, row in enumerate(rows_of(block), start):
            row[i] -= 1 << scale
            yield row


def rank_bounds(
    outputs: FeatureMatrix, with_skip: bool, witness: dict[str, PlainArray]
) -> tuple[Fraction, Fraction] | None:
    """Lower bound of the smallest singular value and upper bound of the condition number, or `None`.

    The witness, too, becomes integers of about as many bits as the features have.
    """
    squares = [sum(map(mul, row, row)) for row in outputs.feature_rows(with_skip)]
    scaled = _ScaledRows.of(outputs, with_skip, squares, witness)
    if scaled is None:
        return None
    smallest = _smallest_by_gram(scaled, witness) if "shift" in witness else _smallest_by_inverse(scaled, witness)
    if smallest is None:
        return None
    # The largest singular value is at most the Frobenius norm.
    entries = len(squares) * len(scaled.column_exponents)
    norm = math.isqrt(sum(squares)) + math.isqrt(entries * outputs.features_error**2) + 2
    return smallest, dyadic(norm, outputs.features_scale) / smallest


@dataclass(frozen=True)
class _ScaledRows:
    r"""Integers at `scale` within `errors` of $\mathrm{diag}(2^r) A\, \mathrm{diag}(2^c)$, where A are the features."""

    rows: list[Sequence[int]]
    errors: list[list[int]]
    scale: int
    row_exponents: Sequence[int]
    column_exponents: Sequence[int]
    bits: int = SMALL

    @classmethod
    def of(
        cls, outputs: FeatureMatrix, with_skip: bool, squares: list[int], witness: dict[str, PlainArray]
    ) -> "_ScaledRows | None":
        width = len(next(outputs.feature_rows(with_skip)))
        row_exponents = _witness_integers(witness, "row_exponents", (len(squares),))
        column_exponents: Sequence[int] | None = [0] * width
        if "column_exponents" in witness:
            column_exponents = _witness_integers(witness, "column_exponents", (width,))
        if row_exponents is None or column_exponents is None:
            return None
        # One scale for all, so that no row, or where columns are scaled too no entry, is longer than the features.
        lengths = [math.isqrt(s).bit_length() + r for s, r in zip(squares, row_exponents, strict=True)]
        if any(column_exponents):
            features = zip(outputs.feature_rows(with_skip), row_exponents, strict=True)
            lengths = [max(map(add, map(int.bit_length, row), column_exponents)) + r for row, r in features]
        bits = outputs.feature_bits
        gain = bits - max(lengths)
        shifts = {r: [r + c + gain for c in column_exponents] for r in set(row_exponents)}
        errors = {r: [1 - shifted(-outputs.features_error, k) for k in shift] for r, shift in shifts.items()}
        features = zip(outputs.feature_rows(with_skip), row_exponents, strict=True)
        return cls(
            rows=[compact(list(map(shifted, row, shifts[r])), bits) for row, r in features],
            errors=[errors[r] for r in row_exponents],
            scale=outputs.features_scale + gain,
            row_exponents=row_exponents,
            column_exponents=column_exponents,
            bits=bits,
        )


def _smallest_by_gram(scaled: _ScaledRows, witness: dict[str, PlainArray]) -> Fraction | None:
    r"""Lower bound of the smallest singular value from a factor L and a shift c, or `None`.

    Let $B$ be the integers, $E$ their errors. For any $L$ and $c$ the smallest eigenvalue of $B B^T = c I + L L^T + D$
    is at least $c - \|D\|_2$, because $L L^T \succeq 0$; the largest row sum of the symmetric $D$, like its Frobenius
    norm, bounds $\|D\|_2$. Hence

    $$ 2^{\max r} \sigma_{\min}(A) \ge \sqrt{c - \|D\|_2} - \|E\|_F. $$
    """
    rows, scale, size = scaled.rows, scaled.scale, len(scaled.rows)
    shift, factor = _witness_shift(witness, scale), _witness_factor(witness, size, scale, scaled.bits)
    if shift is None or factor is None or any(scaled.column_exponents):
        return None
    row_sums, squares = [0] * size, 0
    for start, first, difference in _differences(rows, factor):
        for i, row in enumerate(rows_of(difference), start):
            if start == first:
                row[i - start] -= shift
            row_sums[i] += sum(map(abs, row))
            squares += (1 if start == first else 2) * sum(map(mul, row, row))
        if start != first:  # the block above the diagonal is the transpose of this one
            for j, column in enumerate(rows_of(difference.transpose()), first):
                row_sums[j] += sum(map(abs, column))
    definite = int(shift - min(max(row_sums), math.isqrt(squares) + 1))
    if not definite > 0:
        return None
    errors = sum(sum(map(mul, row, row)) for row in scaled.errors)
    smallest = math.isqrt(definite) - math.isqrt(errors) - 1
    return dyadic(smallest, scale + max(scaled.row_exponents)) if smallest > 0 else None


def _differences(rows: list[Sequence[int]], factor: list[list[int]]) -> Iterator[tuple[int, int, fmpz_mat]]:
    """The blocks of B B^T - L L^T on and below the diagonal, each after its first row and column; L is triangular."""
    starts = range(0, len(rows), _SYMMETRIC)
    strips = [matrix_of(rows[start : start + _SYMMETRIC]) for start in starts]
    turned = [strip.transpose() for strip in strips]
    squares = [
        [matrix_of([row[at : at + _SYMMETRIC] for row in factor[start : start + _SYMMETRIC]]) for at in starts[: i + 1]]
        for i, start in enumerate(starts)
    ]
    columns = [[square.transpose() for square in row] for row in squares]
    for i, start in enumerate(starts):
        for j, first in enumerate(starts[: i + 1]):
            difference = product(strips[i], turned[j])
            for left, right in zip(squares[i], columns[j], strict=False):  # the columns that both have
                difference -= product(left, right)
            yield start, first, difference


def _smallest_by_inverse(scaled: _ScaledRows, witness: dict[str, PlainArray]) -> Fraction | None:
    r"""Lower bound of the smallest singular value from an approximate right inverse W, or `None`.

    If $\|B W - I\| < 1$ for all $B$ of the set, in the Frobenius norm or the maximum norm with any weights $v > 0$ (the
    largest $\alpha_i$ in $|B W - I| v = \mathrm{diag}(\alpha) v$), then $A V = M$ with
    $V = \mathrm{diag}(2^c) W$ and $M = \mathrm{diag}(2^{-r}) B W$ nonsingular, so
    $\sigma_{\min}(A) \ge \|V M^{-1}\|_2^{-1}$, which is bounded in two ways: by
    $\|M^{-1}\|_2 \le 2^{\max r} \|(B W)^{-1}\|_2$, and by $M \mathrm{diag}(2^r) - I = \mathrm{diag}(2^{-r}) (B W - I)\,
    \mathrm{diag}(2^r)$, the norm of which is at most $2^{\max r - \min r}$ times that of $B W - I$.
    """
    size, columns = len(scaled.rows), len(scaled.rows[0])
    exponents = _witness_integers(witness, "mantissa_exponents", (size,))
    mantissas = _witness_integers(witness, "mantissas", (size, columns), bits=54)
    weights = _witness_weights(witness, size)
    if exponents is None or mantissas is None or weights is None:
        return None
    # One unit for all of W; what is rounded off makes another witness.
    tops = [f + max(map(abs, row_of(mantissas, i, columns))).bit_length() for i, f in enumerate(exponents)]
    unit = max(tops) - scaled.bits
    factors = [rescaled(row_of(mantissas, i, columns), f - unit) for i, f in enumerate(exponents)]
    scale = scaled.scale - unit
    if not scale >= 0:
        return None
    sums = [sum(map(abs, entries)) for entries in zip(*factors, strict=True)]
    images = [sum(map(mul, map(abs, entries), weights)) for entries in zip(*factors, strict=True)]
    squares = spread_squares = 0
    shares = []
    for row, errors, weight in zip(_defects(scaled.rows, factors, scale), scaled.errors, weights, strict=True):
        shares.append(Fraction(int(sum(map(mul, map(abs, row), weights))) + sum(map(mul, errors, images)), weight))
        squares += int(sum(map(mul, row, row)))
        spread_squares += sum(map(mul, errors, sums)) ** 2
    contraction = max(shares) * power_of_two(-scale)
    frobenius = dyadic(math.isqrt(squares) + math.isqrt(spread_squares) + 2, scale)

    # The squared norms of the columns of V, in units of its finest scaling.
    least_row, least_column = min(scaled.row_exponents), min(scaled.column_exponents)
    stretches = [c - least_column for c in scaled.column_exponents]
    lengths = [sum(map(mul, v, v)) for v in (list(map(shifted, row, stretches)) for row in factors)]
    norm = dyadic(math.isqrt(sum(lengths)) + 1, -unit - least_column) * power_of_two(max(scaled.row_exponents))
    scaled_lengths = [length << 2 * (r - least_row) for length, r in zip(lengths, scaled.row_exponents, strict=True)]
    scaled_norm = dyadic(math.isqrt(sum(scaled_lengths)) + 1, -unit - least_column - least_row)
    skewed = frobenius * power_of_two(max(scaled.row_exponents) - least_row)
    bounds = [(1 - skewed) / scaled_norm, (1 - frobenius) / norm]
    imbalance = Fraction(max(weights), min(weights)) * dyadic(math.isqrt(size << 2 * SMALL) + 1, SMALL)
    bounds.append((1 - contraction) / (norm * imbalance))
    best = max(bounds)
    return best if best > 0 else None


def _witness_integers(
    witness: dict[str, PlainArray], name: str, shape: tuple[int, ...], bits: int = 11
) -> Sequence[int] | None:
    """The integers of that name, if there are as many as there should be and none is absurd."""
    found = witness.get(name)
    if found is None or found.shape != shape or found.values.typecode == "d":
        return None
    return found.values if all(abs(n) < 1 << bits for n in found.values) else None


def _witness_weights(witness: dict[str, PlainArray], size: int) -> Sequence[int] | None:
    """The weights of a norm, all 1 where there are none."""
    weights = _witness_integers(witness, "weights", (size,), bits=54) if "weights" in witness else [1] * size
    return weights if weights is not None and min(weights) > 0 else None


def _witness_shift(witness: dict[str, PlainArray], scale: int) -> int | None:
    """The shift c at twice the scale, rounded down."""
    found = witness["shift"]
    if found.shape != () or found.values.typecode != "d":
        return None
    return math.floor(dyadic(1, -2 * scale) * Fraction(found.values[0]))


def _witness_factor(witness: dict[str, PlainArray], size: int, scale: int, bits: int) -> list[list[int]] | None:
    """The factor L at that scale, rounded down, if its entries are as small as those of a factor must be."""
    exponents = _witness_integers(witness, "mantissa_exponents", (size,))
    mantissas = _witness_integers(witness, "mantissas", (size * (size + 1) // 2,), bits=54)
    if exponents is None or mantissas is None:
        return None
    rows, start = [], 0
    for i, exponent in enumerate(exponents):
        row = mantissas[start : start + i + 1]
        if max(map(abs, row)).bit_length() + exponent + scale > bits + 2:
            return None
        rows.append(rescaled(row, exponent + scale) + [0] * (size - i - 1))
        start += i + 1
    return rows


def _as_rows(name: str, matrix: Any) -> list[list[float]]:
    rows = matrix.tolist() if hasattr(matrix, "tolist") else matrix
    try:
        return [list(map(float, row)) for row in rows]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(name, f"is not a matrix of floats: {error}") from error


def _exponent(row: Sequence[float]) -> int:
    """The least integer k with |x| < 2^k for all entries; 0 for a row of zeros."""
    return math.frexp(max(map(abs, row)))[1]
