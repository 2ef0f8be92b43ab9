r"""What logits in balls say: the gap of the modes above the others, and divergences of laws from their softmax.

Page: docs/rigour/certificate.md
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from flint import arb


@dataclass(frozen=True)
class LogSoftmax:
    """One row of logits relative to about the largest, their exponentials, and how far each logit may be off.

    Args:
        logits: The logits less a constant, balls.
        error: What each logit may be off beside the radius of its ball, a number.
        exponentials: Their exponentials.
    """

    logits: list[arb]
    error: arb
    exponentials: list[arb]

    @classmethod
    def of(cls, logits: list[arb], error: arb | None = None) -> "LogSoftmax":
        """From logits up to a common constant, which softmax does not see; wide radii are taken as errors."""
        error = arb(0) if error is None else error
        widest = arb(0) if all(map(arb.is_exact, logits)) else max(map(arb.rad, logits))
        if not widest < 1:
            logits, error = [z.mid() for z in logits], error + widest
        top = max(logits).mid()
        relative = [z - top for z in logits]
        return cls(relative, error, [z.exp() for z in relative])

    def divergence(self, masses: dict[int, int], logarithms: dict[int, arb]) -> arb:
        r"""The divergence of the law with these masses (any common unit) from the softmax, in nats.

        With $w_i$ the masses, $W$ their sum and $z$ the logits,

        $$ d_{KL} = \sum_i \frac{w_i}{W} (\log w_i - \log W - z_i) + \log \sum_j e^{z_j}. $$

        Its gradient in $z$ is $\mathrm{softmax}(z) - w / W$, of 1-norm at most 2, so an error
        $\varepsilon$ of each logit moves it by at most $2 \varepsilon$. A law of one mass is that of a label.

        Args:
            masses: The positive masses, by place.
            logarithms: Of masses, kept from call to call at one precision.
        """
        if len(masses) == 1:
            return self.label_divergence(next(iter(masses)))
        return self._divergence(masses, logarithms)

    def _divergence(self, masses: dict[int, int], logarithms: dict[int, arb]) -> arb:
        total = sum(masses.values())
        for mass in masses.values():
            if mass not in logarithms:
                logarithms[mass] = arb(mass).log()
        entropy = sum((mass * logarithms[mass] for mass in masses.values()), arb(0))
        cross = sum((mass * self.logits[token] for token, mass in masses.items()), arb(0))
        value = (entropy - cross) / total - arb(total).log() + sum(self.exponentials, arb(0)).log()
        return value + arb(0, 2 * self.error)

    def label_divergence(self, label: int) -> arb:
        r"""The divergence of the point mass at the label, $\log(1 + \sum_{j \ne l} e^{z_j - z_l})$, in nats.

        Errors $\varepsilon$ of the logits multiply the sum by at most $e^{2 \varepsilon}$: the relative accuracy stays,
        however small the divergence is, and with one token alone it is 0. Where they are large, of huge logits, that
        says nothing, and the absolute bound of `divergence` is taken.
        """
        if not self.error < 1:
            return self._divergence({label: 1}, {})
        others = sum(self.exponentials[:label], sum(self.exponentials[label + 1 :], arb(0)))
        return (others / self.exponentials[label] * arb(0, 2 * self.error).exp()).log1p()


def at_least_zero(divergence: arb) -> arb:
    """The lower end of a divergence, or of a mean of such, which is at least 0 (Gibbs)."""
    lower = divergence.lower()
    return lower if lower > 0 else arb(0)


def gap(logits: list[arb], modes: set[int]) -> arb | None:
    """How far the least logit of the modes lies above the largest of the others; nothing where all are modes.

    A ball that surely is the smaller of two is taken as it is, so that exact logits of any length are compared exactly.
    """
    others = [z for place, z in enumerate(logits) if place not in modes]
    if not others:
        return None
    return reduce(_least, [logits[place] for place in modes]) - reduce(_largest, others)


def entropy(masses: Iterable[arb]) -> arb:
    """The entropy of the law with these masses, of any common unit, in nats; masses of 0 play no part."""
    masses = [mass for mass in masses if mass != 0]
    total = sum(masses, arb(0))
    return total.log() - sum((mass * mass.log() for mass in masses), arb(0)) / total


def _least(a: arb, b: arb) -> arb:
    return a if a <= b else b if b <= a else a.min(b)


def _largest(a: arb, b: arb) -> arb:
    return a if a >= b else b if b >= a else a.max(b)
