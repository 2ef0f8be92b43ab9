"""Place labels on a line: the limits of one dimension, and weights on many scales that reach them.

Page: docs/claims/lookup_in_two_dimensions.md
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from constructions.errors import InputError

_RATIO = 2**60  # of one gap to the next one outwards


@dataclass(frozen=True)
class Line:
    """Tokens on a line, and one number per label: the logit of token j after label g is the product.

    Args:
        positions: One integer per token, w_j.
        slopes: One rational per label, e_g.
    """

    positions: tuple[int, ...]
    slopes: tuple[Fraction, ...]

    def logits(self, label: int) -> list[Fraction]:
        """Return the logits after contexts with this label."""
        return [self.slopes[label] * position for position in self.positions]


def multi_scale_line(masses: Sequence[Fraction | int], *, sharpness: int = 40, ratio: int = _RATIO) -> Line:
    r"""Return weights of one dimension whose divergence is close to $\sum_i \rho_{(i)} \log \lceil i/2 \rceil$ nats,
    the infimum.

    The likeliest two tokens are at the ends, the next two inside of them, and so on. From either end towards the
    centre the k-th gap is $B^k$. The label in place k from its end has the slope $\pm b / B^k$: the gap on its inner
    side counts b nats, those on its outer side together less than $b / (B - 1)$. So the k - 1 tokens outside of it are
    as likely as itself and the others are negligible:

    $$ \log k \le -\log q \le \log(k + (N - k) e^{-b}) + b / (B - 1) . $$

    Args:
        masses: Probability of each token as a label, at least 0; not normalized.
        sharpness: b, in nats, at least 1.
        ratio: B, at least 2.

    Returns:
        The positions and slopes.

    Raises:
        InputError: No masses, or parameters out of range.

    Source: complements Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> line = multi_scale_line([4, 3, 2, 1], ratio=10)
        >>> line.positions, [str(slope) for slope in line.slopes]
        ((120, 0, 110, 10), ['4', '-4', '2/5', '-2/5'])
    """
    if not masses or min(masses) < 0 or sharpness < 1 or ratio < 2:
        raise InputError(
            f"{len(masses)} masses, sharpness",
            f"= {sharpness} and ratio = {ratio}",
            "masses >= 0, sharpness >= 1 and ratio >= 2",
        )
    count = len(masses)
    order = sorted(range(count), key=lambda token: (-masses[token], token))
    right, left = order[0::2], order[1::2]  # from the ends inwards
    places = [0]
    for k in range(1, len(left)):
        places.append(places[-1] + ratio**k)
    inwards = list(places)  # of the left half, from its end
    middle = inwards[-1] + ratio ** len(right) if left else 0
    outwards = [middle]
    for k in range(len(right) - 1, 0, -1):
        outwards.append(outwards[-1] + ratio**k)
    positions, slopes = [0] * count, [Fraction(0)] * count
    for k, (token, place) in enumerate(zip(left, inwards, strict=False), start=1):
        positions[token], slopes[token] = place, -Fraction(sharpness, ratio**k)
    for k, (token, place) in enumerate(zip(right, reversed(outwards), strict=True), start=1):
        positions[token], slopes[token] = place, Fraction(sharpness, ratio**k)
    return Line(tuple(positions), tuple(slopes))
