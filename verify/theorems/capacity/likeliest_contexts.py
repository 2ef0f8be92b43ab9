"""Count how many of the likeliest contexts carry a share of the probability, in integers.

Page: docs/claims/theorem_1_tail.md
"""

from collections.abc import Iterable
from fractions import Fraction

from constructions.errors import InputError


def likeliest_contexts(weights: Iterable[int], epsilon: Fraction | int, *, strictly: bool = False) -> int | None:
    r"""Return the smallest number of contexts whose probabilities add up to at least $1 - \varepsilon$, exactly.

    The sum of a number of probabilities is largest for the largest of them, so these are added one by one.

    Args:
        weights: Non-negative integers proportional to the probabilities of the contexts; not all 0.
        epsilon: In [0, 1].
        strictly: More than $1 - \varepsilon$ instead of at least.

    Returns:
        The number; `None` if there is none, which happens for `strictly` and $\varepsilon = 0$ alone.

    Raises:
        InputError: Weights that are not probabilities, or an epsilon out of range.

    Source: Dana, Pydi, Chevaleyre (2024), section 4.

    Example:
        >>> quarter = Fraction(1, 4)
        >>> likeliest_contexts([1, 1, 1, 1], quarter), likeliest_contexts([1, 1, 1, 1], quarter, strictly=True)
        (3, 4)
    """
    descending = sorted((int(weight) for weight in weights), reverse=True)
    if not descending or descending[-1] < 0 or descending[0] == 0:
        raise InputError("weights", "are expected to be non-negative integers, not all 0")
    if not 0 <= epsilon <= 1:
        raise InputError("epsilon", f"= {epsilon}", "a number in [0, 1]")
    needed, carried = (1 - Fraction(epsilon)) * sum(descending), 0
    for count, weight in enumerate([0, *descending]):
        carried += weight
        if carried > needed or (carried == needed and not strictly):
            return count
    return None
