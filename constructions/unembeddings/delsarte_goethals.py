"""Kerdock sets and the families of Delsarte and Goethals: quadratic forms that differ by forms of high rank.

Page: docs/claims/unembeddings.md
"""

from itertools import product

import numpy as np

from constructions.errors import InputError
from constructions.unembeddings.finite_field import finite_field
from constructions.unembeddings.quadratic_forms import Forms


def delsarte_goethals_forms(m: int, r: int) -> Forms:
    r"""Return $2^{(m-1)(r+1)}$ quadratic forms on $\mathrm{GF}(2)^m$, m even, whose differences have rank at least m -
    2r.

    On $F \times \mathrm{GF}(2)$, $F = \mathrm{GF}(2^{m-1})$, the forms are

    $$ Q_{a,b}(x, s) = \sum_{i=1}^{m/2-1} \mathrm{Tr}\bigl((a x)^{2^i + 1}\bigr) + s \, \mathrm{Tr}(a x)
       + \sum_{i=1}^{r} \mathrm{Tr}(b_i x^{2^i + 1}), \qquad a, b_1, \dots, b_r \in F. $$

    For r = 0 this is a Kerdock set: all differences are nonsingular. The proof is on the page.

    Args:
        m: Even, at least 2.
        r: Between 0 and m/2 - 1.

    Returns:
        The forms, one after the other, those with b = 0 first; the very first is 0.

    Raises:
        InputError: m is not even and positive, or r is out of range.

    Source: Kerdock (1972); Delsarte, Goethals (1975); Hammons, Kumar, Calderbank, Sloane, Solé (1994).

    Example:
        >>> [form.tolist() for form in delsarte_goethals_forms(2, 0)]
        [[0, 0, 0, 0], [0, 0, 0, 1]]
        >>> len(list(delsarte_goethals_forms(4, 1)))
        64
    """
    if m < 2 or m % 2 or not 0 <= r < m // 2:
        raise InputError("m", f"= {m}, r = {r}", "an even m >= 2 and 0 <= r < m/2")
    return _forms(m, r)


def _forms(m: int, r: int) -> Forms:
    field = finite_field(2 ** (m - 1))
    x = np.arange(field.size)
    powers = [field.power(x, 2**i + 1) for i in range(1, m // 2)]
    kerdock = sum((field.traces[power] for power in powers), np.zeros_like(x)) % 2
    for *b, a in product(range(field.size), repeat=r + 1):
        scaled = field.multiply(np.array(a), x)
        twist = sum(
            (field.traces[field.multiply(np.array(c), power)] for c, power in zip(b, powers, strict=False)), 0 * x
        )
        at_zero = (kerdock[scaled] + twist) % 2
        yield np.concatenate([at_zero, (at_zero + field.traces[scaled]) % 2])
