"""Finite fields: their elements as integers, added, multiplied and traced in arrays.

Page: docs/claims/unembeddings.md
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array

LARGEST = 2**16
"""Elements of the largest field that is made."""


@dataclass(frozen=True, eq=False)
class FiniteField:
    r"""The field with $q = p^e$ elements.

    The element $\sum_i c_i x^i$ is the integer $\sum_i c_i p^i$, so that in characteristic 2 the bits of an element are
    its coordinates over GF(2), and addition is exclusive or. Multiplication goes through a primitive element.

    Args:
        size: q.
        characteristic: p.
        degree: e.
        powers: $x^0, \dots, x^{q-2}$ for a primitive element x, `[q - 1]`.
    """

    size: int
    characteristic: int
    degree: int
    powers: Int64Array

    @cached_property
    def logarithms(self) -> Int64Array:
        """The exponent of each element, `[q]`; -1 for zero."""
        logarithms = np.full(self.size, -1)
        logarithms[self.powers] = np.arange(self.size - 1)
        return logarithms

    def add(self, a: Int64Array, b: Int64Array) -> Int64Array:
        """Return the sums of elements, arrays that broadcast."""
        if self.characteristic == 2:
            return np.bitwise_xor(a, b)
        places = [self.characteristic**i for i in range(self.degree)]
        return sum(((a // place + b // place) % self.characteristic * place for place in places), np.int64(0) * a)

    def multiply(self, a: Int64Array, b: Int64Array) -> Int64Array:
        """Return the products of elements, arrays that broadcast."""
        exponents = (self.logarithms[a] + self.logarithms[b]) % (self.size - 1)
        return np.where((a == 0) | (b == 0), 0, self.powers[exponents])

    def power(self, a: Int64Array, exponent: int) -> Int64Array:
        """Return the powers of elements with a positive exponent."""
        return np.where(a == 0, 0, self.powers[self.logarithms[a] * exponent % (self.size - 1)])

    @cached_property
    def traces(self) -> Int64Array:
        r"""$\mathrm{Tr}(a) = a + a^p + \dots + a^{p^{e-1}}$ of every element a, in GF(p), `[q]`."""
        conjugate = np.arange(self.size)
        trace = np.zeros(self.size, dtype=np.int64)
        for _ in range(self.degree):
            trace = self.add(trace, conjugate)
            conjugate = self.power(conjugate, self.characteristic)
        return trace


def finite_field(size: int) -> FiniteField:
    r"""Return the field with `size` elements.

    The first monic polynomial modulo which x has order q - 1 is taken. The powers of x are then q - 1 different
    residues, all of them nonzero, so that every nonzero residue has an inverse and the residues are a field.

    Args:
        size: A prime power $q = p^e$.

    Returns:
        The field.

    Raises:
        InputError: `size` is no prime power, or above `LARGEST`.

    Source: Lidl, Niederreiter, Finite Fields, section 2.1.

    Example:
        >>> field = finite_field(8)
        >>> field.multiply(np.array([2, 3]), np.array([4, 0])).tolist()  # x * x^2 = x + 1
        [3, 0]
        >>> field.traces.tolist().count(1), finite_field(9).add(np.array(4), np.array(5)).item()
        (4, 6)
    """
    split = prime_power(size)
    if split is None or size > LARGEST:
        raise InputError("size", f"is {size}", f"a prime power of at most {LARGEST}")
    p, e = split
    for lowest_last in product(range(p), repeat=e):
        reduction = lowest_last[::-1]
        if reduction[0] and _is_primitive(p, reduction):
            return FiniteField(size, p, e, _powers(p, reduction))
    raise AssertionError("every finite field has a primitive element")


def prime_power(size: int) -> tuple[int, int] | None:
    """Return the prime and the exponent of a prime power; `None` for every other integer.

    Example:
        >>> prime_power(27), prime_power(12), prime_power(1)
        ((3, 3), None, None)
    """
    if size < 2:
        return None
    p = next((divisor for divisor in range(2, int(size**0.5) + 2) if size % divisor == 0), size)
    exponent, rest = 0, size
    while rest % p == 0:
        exponent, rest = exponent + 1, rest // p
    return (p, exponent) if rest == 1 else None


def _is_primitive(p: int, reduction: tuple[int, ...]) -> bool:
    """Tell whether x has order p^e - 1 modulo x^e = sum of reduction[i] x^i over GF(p)."""
    e = len(reduction)
    order = p**e - 1
    times_x = np.eye(e, k=-1, dtype=np.int64)
    times_x[:, -1] = reduction
    one = np.eye(e, dtype=np.int64)

    def is_one(exponent: int) -> bool:
        return np.array_equal(_matrix_power(times_x, exponent, p), one)

    return is_one(order) and not any(is_one(order // prime) for prime in _prime_divisors(order))


def _matrix_power(matrix: Int64Array, exponent: int, p: int) -> Int64Array:
    result = np.eye(len(matrix), dtype=np.int64)
    while exponent:
        if exponent % 2:
            result = result @ matrix % p
        matrix, exponent = matrix @ matrix % p, exponent // 2
    return result


def _prime_divisors(n: int) -> list[int]:
    return [r for r in range(2, n + 1) if n % r == 0 and prime_power(r) == (r, 1)]


def _powers(p: int, reduction: tuple[int, ...]) -> Int64Array:
    """x^0, ..., x^(p^e - 2) modulo x^e = sum of reduction[i] x^i."""
    e = len(reduction)
    top = p ** (e - 1)
    powers, element = [], 1
    for _ in range(p**e - 1):
        powers.append(element)
        carry, element = element // top, element % top * p
        element = sum((element // p**i + carry * c) % p * p**i for i, c in enumerate(reduction))
    return np.array(powers)
