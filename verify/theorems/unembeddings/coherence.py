"""The judge of unembeddings: exact margins, by the cheapest certificate that fits the rows.

Page: docs/claims/unembeddings.md
"""

import numpy as np

from verify.theorems.unembeddings.agreement_margins import agreement_margins
from verify.theorems.unembeddings.coset_margins import coset_margins
from verify.theorems.unembeddings.margins import IntegerArray, Margins, gram_margins

_SMALL = 2**31  # multiplications that are not worth avoiding
_ROWS_PER_CLASS = 8  # from which on the transforms take less time than the inner products


def certify_margins(vectors: IntegerArray, encoders: IntegerArray | None = None) -> Margins:
    r"""Return certified bounds of all margins $\langle w_g - w_j, e_g \rangle$, using only the given integers.

    Three certificates, each with its own test of whether it applies: Walsh transforms for rows of signs and axis
    vectors, counting for words, and all inner products for everything else (and for everything small).

    Args:
        vectors: $w_j$ as the rows, `[N, d]`, integers, N >= 2.
        encoders: $e_g$ as the rows; by default, and if equal, the vectors.

    Returns:
        The margins.

    Raises:
        InputError: Not integer matrices of one shape with N >= 2, or entries too large.
        BlasError: The BLAS fails its probe, where it is used.

    Example:
        >>> found = certify_margins(np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, 1, 1, -1]], dtype=np.int8))
        >>> found.kappa, found.attained
        (Fraction(2, 1), True)
    """
    if encoders is not None and np.array_equal(vectors, encoders):
        encoders = None
    if encoders is None and len(vectors) * vectors.size > _SMALL:
        margins = coset_margins(vectors, most_classes=len(vectors) // _ROWS_PER_CLASS)
        margins = margins or agreement_margins(vectors)
        if margins is not None:
            return margins
    return gram_margins(vectors, encoders)
