"""Enclosures of condition numbers.

Page: docs/rigour/linear_algebra.md
"""

from flint import arb, ctx
from numpy.typing import ArrayLike

from constructions.errors import InputError
from verify.arithmetic.enclosure import Enclosure
from verify.linear_algebra.given_matrix import given_matrix
from verify.linear_algebra.norms import float_above, float_below
from verify.linear_algebra.row_rank import prove_by_floats
from verify.linear_algebra.singular_values import enclose_singular_values

_SCALAR_BITS = 64


def enclose_condition(a: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclose $\sigma_{\max} / \sigma_{\min}$ over the smaller side of every matrix of a set; a scalar without unit.

    The enclosures of `enclose_singular_values`, with the smallest singular value raised to what the
    floating-point methods of `certify_full_row_rank` prove.

    Why it is rigorous: both bounds of the quotient are of proved bounds (Lemma M17).

    Args:
        a: `[m, n]`, not empty: an `Enclosure`, or an exactly given matrix as in `certify_nonsingular`.

    Returns:
        A scalar; of infinite radius if the set is not proved to have full rank.

    Raises:
        InputError: Not a matrix of finite real numbers.
        BlasError: The BLAS of this machine fails its probes.

    Source: as the two functions named.

    Example:
        >>> condition = enclose_condition([[3.0, 0.0], [0.0, 4.0]])
        >>> bool(condition.lower() <= 4 / 3 <= condition.upper() and condition.radius < 1e-13)
        True
    """
    given = given_matrix(a, name="a")
    if min(given.shape) == 0:
        raise InputError("a", f"has the shape {given.shape}: the condition number of an empty matrix is not defined")
    values = enclose_singular_values(given.enclosure)
    proof = prove_by_floats(given if given.shape[0] <= given.shape[1] else given.transposed(), witness=False)
    smallest = max(float(values.lower()[-1]), proof.smallest_singular_value if proof else 0.0)
    largest = float(values.upper()[0])
    with ctx.workprec(_SCALAR_BITS):
        lower = arb(float(values.lower()[0])) / arb(float(values.upper()[-1]))
        return Enclosure.between(max(1.0, float_below(lower)), float_above(arb(largest) / arb(smallest)))
