r"""Encoders whose logits have a bias, or are capped.

Page: docs/claims/sequence_encoder.md
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class BiasedEncoder:
    r"""An encoder of rank 1 with an output bias, by the squares of the powers of e that make its softmax.

    $e^{2 (b_j + w_j x_t)} = B_j X_t^{w_j}$ with $B_j = e^{2 b_j}$, $X_t = e^{2 x_t}$: all rational, so that its
    distributions are compared exactly.

    Args:
        distributions: The distributions that it has, exactly.
        bias: $B_j$.
        W: $w_j$, integers.
        stream: $X_t$.
    """

    distributions: tuple[tuple[Fraction, ...], ...]
    bias: tuple[Fraction, ...]
    W: tuple[int, ...]
    stream: tuple[Fraction, ...]

    def squares(self) -> tuple[tuple[Fraction, ...], ...]:
        """Return the squares of the exponentials of its logits, exactly."""
        return tuple(tuple(b * x**w for b, w in zip(self.bias, self.W, strict=True)) for x in self.stream)


def biased_encoder() -> BiasedEncoder:
    r"""Return the distributions (.6, .3, .1) and (.6, .1, .3), exact with a bias and one dimension.

    $b = (\log .6, \frac12 \log .03, \frac12 \log .03)$, $w = (0, 1, -1)$, $x = \pm \frac12 \log 3$.

    Example:
        >>> found = biased_encoder()
        >>> found.squares() == tuple(tuple(mass**2 for mass in distribution) for distribution in found.distributions)
        True
    """
    tenth = Fraction(1, 10)
    return BiasedEncoder(
        distributions=((6 * tenth, 3 * tenth, tenth), (6 * tenth, tenth, 3 * tenth)),
        bias=(Fraction(36, 100), Fraction(3, 100), Fraction(3, 100)),
        W=(0, 1, -1),
        stream=(Fraction(3), Fraction(1, 3)),
    )


@dataclass(frozen=True)
class CappedEncoder:
    r"""An encoder of rank 1 whose logits are capped: $\tanh(w_j x_t)$, integers inside.

    Args:
        W: $w_j$.
        stream: $x_t$.
    """

    W: tuple[int, ...]
    stream: tuple[int, ...]


def capped_encoder() -> CappedEncoder:
    """Return two contexts whose capped logits span two dimensions: $w = (0, 1, 2)$, $x = 1, 2$.

    Example:
        >>> capped_encoder()
        CappedEncoder(W=(0, 1, 2), stream=(1, 2))
    """
    return CappedEncoder(W=(0, 1, 2), stream=(1, 2))
