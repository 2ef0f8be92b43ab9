r"""Products of balls with an exact matrix of floats, by products of small integers that float64 computes exactly.

A ball is its middle, in units of a power of two, rounded down to an integer, and a radius in these units. The integers
are cut into digits of 24 bits, the matrix into slices of so few bits that all products of both, and their sums, are
integers below $2^{53}$: whatever the BLAS does, they are exact. What the radii become is one product more, in float64,
rounded up. So a product of any number of bits costs some plain products, and not one of long numbers for each entry.

Page: docs/rigour/forward.md, Lemma B8
"""

import math
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat, ctx, fmpz_mat

from constructions.numeric.arrays import Int64Array
from constructions.numeric.products import multiply
from verify.arithmetic.rounding import TINY, Floats, gamma

_DIGIT = 24  # bits of a digit of a middle; three bytes
_EXACT = 53  # below 2 to this all integers are numbers of float64
_HIGHEST = 900  # bits of middles that are written in units, at most; balls beyond are multiplied one by one
_LOWEST = -1000  # of the largest middle, at least, that decides about the unit
_COLUMNS = 4096  # of a wide matrix that are worked on together
_GUARD = 24  # bits more than those of the context, for entries that are smaller than the largest
_LONGEST = 512  # bits of a radius in its units, at most
_LEAST_RADIUS = 2.0**-1000  # of those above 0: so that none underflows
_PLAIN = 256  # of exponents of matrices whose sizes are taken as they are
_WORTH = 2**16  # products from which digits are cheaper


@dataclass(frozen=True)
class Digits:
    r"""Balls of the middles $2^e n$, with integers $n$, and of the radii $2^f \rho$.

    Args:
        digits: The digits of two's complement of $n$ to the base $2^{24}$, the least first, `[D, rows, inner]`; the
            last one has the sign.
        radius: Upper bounds of $\rho$, `[rows, inner]`.
        exponent: $e$.
        coarse: $f$.
    """

    digits: Floats
    radius: Floats
    exponent: int
    coarse: int

    @classmethod
    def of(cls, rows: arb_mat) -> "Digits | None":
        """Return the balls of a matrix in the precision of the context; None if one is unbounded or very large."""
        shape, entries = (rows.nrows(), rows.ncols()), rows.entries()
        try:
            middles = [x.mid().man_exp() for x in entries]
        except ValueError:  # a middle that is infinite, or not a number
            return None
        mantissas, powers = [int(mantissa) for mantissa, _ in middles], [int(power) for _, power in middles]
        lengths = [mantissa.bit_length() for mantissa in mantissas]
        sizes = [length + power for length, power in zip(lengths, powers, strict=True) if length]
        largest = max(sizes, default=_LOWEST)
        if largest > _HIGHEST:
            return None
        exponent = max(largest, _LOWEST) - ctx.prec - _GUARD
        radius, longer = _radii_in_units(rows, exponent)
        if not np.isfinite(radius).all():
            return None
        # A middle that is no integer, as its mantissa is odd, is less than one unit above the integer below.
        shifts = [power - exponent if length else 0 for power, length in zip(powers, lengths, strict=True)]
        radius = radius * (1.0 + 2.0**-50) + (np.array(shifts) < 0)
        whole = [n << by if by >= 0 else n >> -by for n, by in zip(mantissas, shifts, strict=True)]
        size = 3 * (1 + max(max(n.bit_length() for n in whole), 1) // _DIGIT)
        data = b"".join([n.to_bytes(size, "little", signed=True) for n in whole])
        parts = np.frombuffer(data, dtype=np.uint8).reshape(*shape, size // 3, 3).astype(np.int64)
        digits = parts[..., 0] | parts[..., 1] << 8 | parts[..., 2] << 16
        digits[..., -1] -= digits[..., -1] >> (_DIGIT - 1) << _DIGIT
        laid = np.ascontiguousarray(digits.transpose(2, 0, 1), dtype=np.float64)
        return cls(laid, radius.reshape(shape), exponent, exponent + longer)

    def times(self, matrix: Floats) -> arb_mat:
        """Return the product with an exact matrix `[inner, columns]` of finite numbers (Lemma B8)."""
        parts = [self._times(matrix[:, start : start + _COLUMNS]) for start in range(0, matrix.shape[1], _COLUMNS)]
        if len(parts) == 1:
            return parts[0]
        entries = [entry for part in parts for entry in part.transpose().entries()]
        return arb_mat(matrix.shape[1], len(self.radius), entries).transpose()

    def _times(self, matrix: Floats) -> arb_mat:
        count, (rows, inner), columns = len(self.digits), self.radius.shape, matrix.shape[1]
        # Sums of `inner` products of a digit below 2^24 and a slice of at most 2^bits.
        bits = _EXACT - _DIGIT - max(1, (inner - 1).bit_length())
        slices, exponent = _slices(matrix, bits)
        left = self.digits.reshape(count * rows, inner)
        total = np.zeros((count + bits * len(slices) // _DIGIT + 3, rows, columns), dtype=np.int64)
        for place, part in enumerate(reversed(slices)):
            product = multiply(left, part).astype(np.int64).reshape(count, rows, columns)
            digit, shift = divmod(bits * place, _DIGIT)
            _add(total, product, digit, shift)
        size = (exponent - bits * len(slices)) + self.exponent
        middle = arb_mat(fmpz_mat(rows, columns, _integers(total))) * arb(2) ** size
        # Sizes far below the largest float, and of those that are 1 or less in units of 2^unit none is below 2^-1074.
        unit = exponent if abs(exponent) > _PLAIN else 0
        sizes = np.abs(matrix) if not unit else np.maximum(np.ldexp(np.abs(matrix), -unit), 2.0**-1074)
        spread = multiply(self.radius, sizes) * (1.0 + 2.0 * gamma(inner + 8)) + inner * TINY
        # Zeros that are exact stay so.
        spread[~self.radius.any(axis=1)] = spread[:, ~matrix.any(axis=0)] = 0.0
        around = arb_mat(rows, columns, spread.ravel().tolist()) * (arb(0, 1) * arb(2) ** (self.coarse + unit))
        return middle + around


def _radii_in_units(rows: arb_mat, exponent: int) -> tuple[Floats, int]:
    r"""Return the radii of the balls, flat, in units of $2^{e + l}$, and $l$; infinite where a ball is unbounded."""
    entries = (rows * arb(2) ** -exponent).entries()
    radius, longer = np.array([float(x.rad()) for x in entries]), 0
    if radius.max(initial=0.0) >= 2.0**_LONGEST:
        # A radius of very many units is counted in longer ones, so that no float64 overflows.
        radii = [x.rad() for x in entries]
        if not all(x.is_finite() for x in radii):
            return np.full(len(radii), np.inf), 0
        mantissa, power = max(radii).man_exp()
        longer = max(0, int(mantissa).bit_length() + int(power) - _LONGEST)
        scale = arb(2) ** -longer
        radius = np.array([float((scale * x).upper()) for x in radii])
    for place in np.flatnonzero(radius < _LEAST_RADIUS).tolist():
        radius[place] = 0.0 if entries[place].is_exact() else _LEAST_RADIUS
    return radius, longer


def worth_digits(rows: int, inner: int, columns: int) -> bool:
    """Tell whether a product of these sizes is faster by digits."""
    return rows * inner * columns >= _WORTH


def _slices(matrix: Floats, bits: int) -> tuple[list[Floats], int]:
    r"""Return integers $A_j$ of at most $2^b$, and $e$, with the matrix equal to $\sum_j A_j 2^{e - b (j + 1)}$."""
    largest = float(np.abs(matrix).max(initial=0.0))
    exponent = math.frexp(largest)[1]
    slices, rest = list[Floats](), matrix
    while rest.any():
        # Times a power of two, which is exact: what is left is at most half of a unit of the slice before.
        scale = bits * (len(slices) + 1) - exponent
        slices.append(np.rint(np.ldexp(rest, scale)))
        rest = rest - np.ldexp(slices[-1], -scale)
    return slices or [np.zeros_like(matrix)], exponent


def _add(total: Int64Array, product: Int64Array, digit: int, shift: int) -> None:
    """Add products whose entries are digits, times 2^shift, starting at one digit; carries are not propagated."""
    carry = np.zeros(product.shape[1:], dtype=np.int64)
    mask = 2**_DIGIT - 1
    for place, digits in enumerate(product):
        sums = digits + carry
        total[digit + place] += (sums & mask) << shift
        carry = sums >> _DIGIT
    for place in range(digit + len(product), len(total) - 1):
        total[place] += (carry & mask) << shift
        carry = carry >> _DIGIT
    total[-1] += carry << shift


def _integers(total: Int64Array) -> list[int]:
    """Return the integers whose digits, not yet carried, these are, `[D, rows, columns]` laid flat."""
    count, rows, columns = total.shape
    digits, carry = np.empty((rows, columns, count + 1), dtype="<i4"), np.zeros((rows, columns), dtype=np.int64)
    for place in range(count):
        sums = total[place] + carry
        digits[:, :, place] = sums & (2**_DIGIT - 1)
        carry = sums >> _DIGIT
    digits[:, :, count] = carry  # the sign: `total` has more digits than its integers are long
    places = np.ascontiguousarray(digits.view(np.uint8).reshape(rows * columns, count + 1, 4)[:, :, :3])
    size, data = 3 * (count + 1), places.reshape(-1).data
    return [int.from_bytes(data[start : start + size], "little", signed=True) for start in range(0, len(data), size)]
