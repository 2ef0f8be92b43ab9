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
_LARGEST = 2.0**900  # of middles that are written in units; balls beyond are multiplied one by one
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
        """Return the balls of a matrix in the precision of the context; none where one is unbounded or very large."""
        shape, entries = (rows.nrows(), rows.ncols()), rows.entries()
        largest = np.abs([float(x.mid()) for x in entries]).max(initial=2.0**-1000)
        if not (largest < _LARGEST and all(x.is_finite() for x in entries)):
            return None
        exponent = math.frexp(largest)[1] - ctx.prec - _GUARD
        entries = (rows * arb(2) ** -exponent).entries()
        middles = [x.mid() for x in entries]
        below = [x.floor() for x in middles]
        whole = [_integer(x) for x in below]
        # A radius of very many units is counted in longer ones, so that no float64 overflows.
        mantissa, power = max(x.rad() for x in entries).man_exp()
        longer = max(0, int(mantissa).bit_length() + int(power) - _LONGEST)
        scale = arb(2) ** -longer
        radius = np.array([float(x.rad()) if not longer else float((scale * x.rad()).upper()) for x in entries])
        unsure = np.array([not x.is_exact() for x in entries])
        radius[unsure] = np.maximum(radius[unsure], _LEAST_RADIUS)
        # A middle is less than one unit above its integer.
        cut = [x != y for x, y in zip(middles, below, strict=True)]
        radius = radius * (1.0 + 2.0**-50) + np.array(cut, dtype=np.float64)
        size = 3 * (1 + max(n.bit_length() for n in whole) // _DIGIT)
        data = b"".join([n.to_bytes(size, "little", signed=True) for n in whole])
        parts = np.frombuffer(data, dtype=np.uint8).reshape(*shape, size // 3, 3).astype(np.int64)
        digits = parts[..., 0] | parts[..., 1] << 8 | parts[..., 2] << 16
        digits[..., -1] -= digits[..., -1] >> (_DIGIT - 1) << _DIGIT
        laid = np.ascontiguousarray(digits.transpose(2, 0, 1), dtype=np.float64)
        return cls(laid, radius.reshape(shape), exponent, exponent + longer)

    def times(self, matrix: Floats) -> arb_mat:
        """Return the product with an exact matrix `[inner, columns]` of finite numbers (Lemma B8)."""
        parts = [
            self._times(matrix[:, start : start + _COLUMNS]).transpose()
            for start in range(0, matrix.shape[1], _COLUMNS)
        ]
        if len(parts) == 1:
            return parts[0].transpose()
        entries = [entry for part in parts for entry in part.entries()]
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
        around = arb_mat(rows, columns, [arb(0, x) for x in spread.ravel().tolist()])
        return middle + around * arb(2) ** (self.coarse + unit)


def _integer(x: arb) -> int:
    """Return an integer that is given as an exact ball."""
    n, power = x.man_exp()
    return int(n) << int(power)


def worth_digits(rows: int, inner: int, columns: int) -> bool:
    """Whether a product of these sizes is faster by digits."""
    return rows * inner * columns >= _WORTH


def _slices(matrix: Floats, bits: int) -> tuple[list[Floats], int]:
    r"""Integers $A_j$ of at most $2^b$, and $e$, with the matrix equal to $\sum_j A_j 2^{e - b (j + 1)}$."""
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
    """Add products, whose places are digits, times 2^shift, from one digit on; the carries are left in place."""
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
    places, carry = np.empty((rows, columns, count, 3), dtype=np.uint8), np.zeros((rows, columns), dtype=np.int64)
    for place in range(count):
        sums = total[place] + carry
        for byte in range(3):
            places[:, :, place, byte] = (sums >> (8 * byte)) & 255
        carry = sums >> _DIGIT
    size = 3 * count
    signs = carry.ravel().tolist()
    data = memoryview(places.reshape(-1, size).tobytes())
    return [
        int.from_bytes(data[size * i : size * (i + 1)], "little") + (sign << (8 * size)) for i, sign in enumerate(signs)
    ]
