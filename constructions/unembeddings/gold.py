r"""Linear spaces of quadratic forms $\mathrm{Tr}(a x^3 + \dots)$, for any number of variables.

Page: docs/claims/unembeddings.md
"""

from itertools import product

import numpy as np

from constructions.errors import InputError
from constructions.unembeddings.finite_field import finite_field
from constructions.unembeddings.quadratic_forms import Forms


def gold_rank(m: int, r: int) -> int:
    r"""Return the least rank of a nonzero form of `gold_forms`: m - 2r for even m, and m + 1 - 2r for odd m.

    Example:
        >>> gold_rank(9, 1), gold_rank(8, 1), gold_rank(7, 2)
        (8, 6, 4)
    """
    return m - 2 * r + m % 2


def gold_forms(m: int, r: int) -> Forms:
    r"""Return the $2^{m r}$ forms $\sum_{i=1}^{r} \mathrm{Tr}(a_i x^{2^i + 1})$ on $\mathrm{GF}(2^m)$.

    The difference of two is a third one, of rank at least m - 2r; for odd m at least m - 2r + 1, as ranks are even.

    Args:
        m: At least 3.
        r: At least 1, with `gold_rank(m, r)` >= 2.

    Returns:
        The forms, one after the other; the first is 0.

    Raises:
        InputError: m or r is out of range.

    Source: Gold (1968).

    Example:
        >>> [bool(form.any()) for form in gold_forms(3, 1)].count(True)
        7
    """
    if m < 3 or r < 1 or gold_rank(m, r) < 2:
        raise InputError("m", f"= {m}, r = {r}", "m >= 3, r >= 1 and forms of rank 2 at least")
    return _forms(m, r)


def _forms(m: int, r: int) -> Forms:
    field = finite_field(2**m)
    x = np.arange(field.size)
    powers = [field.power(x, 2**i + 1) for i in range(1, r + 1)]
    for a in product(range(field.size), repeat=r):
        terms = (field.traces[field.multiply(np.array(c), power)] for c, power in zip(a[::-1], powers, strict=True))
        yield sum(terms, 0 * x) % 2
