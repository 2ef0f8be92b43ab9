"""Compute the infimum of the divergence over all one-dimensional encoders of labels, and the divergence of one encoder.

Page: docs/claims/lookup_in_two_dimensions.md
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

from flint import arb, ctx, fmpq

from constructions.errors import InputError

_BITS = 192
_MOST_TOKENS = 8


def line_infimum(masses: Sequence[Fraction | int]) -> arb:
    r"""Return the infimum over all encoders of one dimension, $\sum_i \rho_{(i)} \log \lceil i / 2 \rceil$ nats.

    $\rho_{(1)} \ge \rho_{(2)} \ge \dots$ are the probabilities of the labels.

    Why it is rigorous: a theorem, for all real weights; the masses are exact and the logarithms balls.

    Args:
        masses: Weight of each token as a label, at least 0; divided by their sum.

    Returns:
        A ball around the infimum.

    Raises:
        InputError: Masses that are not weights.

    Source: complements Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> round(float(line_infimum([4, 3, 2, 1])), 5)
        0.20794
    """
    ordered = sorted(_normalized(masses), reverse=True)
    with ctx.workprec(_BITS):
        return sum((mass * arb((i + 2) // 2).log() for i, mass in enumerate(ordered)), arb(0))


def arrangement_floor(masses: Sequence[Fraction | int]) -> arb:
    r"""Return a lower bound for all encoders whose weights $w_j$ do not decrease in the order of these tokens, in nats.

    Whatever the sign of $e$, the label at place k has k - 1 or N - k tokens with logits no smaller than its own, so its
    probability is at most $1 / \min(k, N + 1 - k)$.

    Args:
        masses: Weight of each token as a label, in the order of the positions; divided by their sum.

    Returns:
        A ball around $\sum_k \rho_k \log \min(k, N + 1 - k)$.

    Raises:
        InputError: Masses that are not weights.

    Example:
        >>> round(float(arrangement_floor([4, 2, 1, 3])), 5)
        0.20794
    """
    shares = _normalized(masses)
    with ctx.workprec(_BITS):
        floors = (arb(min(k + 1, len(shares) - k)).log() for k in range(len(shares)))
        return sum((share * floor for share, floor in zip(shares, floors, strict=True)), arb(0))


def least_arrangement_floor(masses: Sequence[Fraction | int]) -> arb:
    """Return a lower bound for all one-dimensional encoders, in nats: the least one over all token orders.

    Args:
        masses: Weight of each token as a label, at most 8 of them; divided by their sum.

    Returns:
        A ball around the least of the bounds of all orders.

    Raises:
        InputError: Masses that are not weights, or more than 8.

    Example:
        >>> round(float(least_arrangement_floor([4, 3, 2, 1])), 5)
        0.20794
    """
    if len(masses) > _MOST_TOKENS:
        raise InputError(
            "masses", f"are of {len(masses)} tokens", f"at most {_MOST_TOKENS}, because all orders are searched"
        )
    with ctx.workprec(_BITS):
        floors = [arrangement_floor(order) for order in sorted(set(permutations(masses)))]
        least = floors[0]
        for floor in floors[1:]:
            least = least.min(floor)
    return least


def line_divergence(
    positions: Sequence[int], slopes: Sequence[Fraction | int], masses: Sequence[Fraction | int]
) -> arb:
    r"""Return the divergence $\sum_g \rho_g \log \sum_j e^{e_g (w_j - w_g)}$ of an encoder of one dimension, in nats.

    Args:
        positions: $w_j$, one per token.
        slopes: $e_g$, one per label.
        masses: Weight of each token as a label; divided by their sum.

    Returns:
        A ball around it.

    Raises:
        InputError: Numbers of tokens that differ, or masses that are not weights.

    Example:
        >>> line_divergence([0, 1], [0, 0], [1, 1]).overlaps(arb(2).log())
        True
    """
    shares = _normalized(masses)
    if not len(positions) == len(slopes) == len(shares):
        raise InputError(
            "positions, slopes and masses", f"are {len(positions)}, {len(slopes)}, {len(shares)}", "as many"
        )
    mean = arb(0)
    with ctx.workprec(_BITS):
        for own, slope, share in zip(positions, slopes, shares, strict=True):
            exact = fmpq(Fraction(slope).numerator, Fraction(slope).denominator)
            mean += share * sum((arb(exact * (other - own)).exp() for other in positions), arb(0)).log()
    return mean


def _normalized(masses: Sequence[Fraction | int]) -> list[fmpq]:
    exact = [fmpq(Fraction(mass).numerator, Fraction(mass).denominator) for mass in masses]
    if not exact or min(exact) < 0 or not any(exact):
        raise InputError("masses", f"are {list(masses)[:8]}", "numbers >= 0, not all of them 0")
    whole = sum(exact, fmpq(0))
    return [mass / whole for mass in exact]
