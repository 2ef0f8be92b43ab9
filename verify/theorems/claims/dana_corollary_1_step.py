r"""Section 4 of Dana et al.: the step from distributions of full support to labels.

Page: docs/claims/corollary_1.md
"""

from collections.abc import Iterator
from fractions import Fraction

from flint import arb, ctx, fmpq

from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, met, stated
from verify.verdict import proved

CLAIM = Claim(
    id="dana.corollary-1-step",
    title="From the divergence of Theorem 1 to the labels of Corollary 1",
    source="Dana, Pydi, Chevaleyre (2024), section 4, before Corollary 1",
    kind="statement",
    quotation=(
        r"We can also use our Theorem 1 under Assumption 1: we use it on the probability $\pi_{\delta} = \frac{\pi + "
        r"\delta}{1 + N\delta}$ with $\delta > 0$ small enough that satisfy Assumption 2, such that the Transformer "
        r"has perfect accuracy for π, with $\gamma > 0$ small."
    ),
    printed=(
        "Under Assumption 1, use Theorem 1 for pi_delta := (pi + delta) / (a sum of the masses) with a positive "
        "delta small enough and a positive gamma small enough: the transformer has perfect accuracy for pi."
    ),
    reading="As a step from Theorem 1 to Corollary 1, whatever Theorem 1 is.",
    judgement="holds",
    truth=(
        "It follows from the conclusion of Theorem 1, for contexts of which that holds, if [[plane: d >= 2]]. With a "
        "for [[label: (1 + delta) / (1 + N delta)]], the probability of a label under pi_delta, every encoder whose "
        "mean divergence from pi_delta is below p_min ([[gap: log 2 + a log a + (1 - a) log(1 - a)]]), p_min the least "
        "probability of a context, gives every label more than [[most: half]] of the probability; and the least "
        "divergence with [[plane: d >= 2]] vanishes with delta. The gap is the least divergence of a distribution that "
        "gives a label just [[most: half]]."
    ),
    page="docs/claims/corollary_1.md",
)

_BITS = 192


_SIZES = ((2, 2), (5, 25), (10, 100))  # N, T


_SIZES_FULL = ((50, 2500), (200, 40_000))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab, contexts in _SIZES + (_SIZES_FULL if full else ()):
        yield _small_enough(d_vocab, contexts)
    for d_vocab in (2, 3, 10):
        yield _gap_is_reached(d_vocab)


def _delta(bits: int) -> Fraction:
    return Fraction(1, 2**bits)


def _number(value: Fraction | int) -> arb:
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def _circle_divergence(d_vocab: int, delta: Fraction, strength: int) -> arb:
    r"""KL(pi_delta || softmax) of the encoder on the circle: the logits of the label l are $s \cos(2 \pi (j - l) / N)$.

    A rotation of the circle carries one label to another, so it is the same for all labels.
    """
    probability = [Fraction(delta, 1 + d_vocab * delta)] * d_vocab
    probability[0] = Fraction(1 + delta, 1 + d_vocab * delta)
    first = _circle_point(d_vocab, 0)
    logits = [
        strength * (sum((x * y for x, y in zip(first, _circle_point(d_vocab, j), strict=True)), arb(0)) - 1)
        for j in range(d_vocab)
    ]
    normalizer = sum((logit.exp() for logit in logits), arb(0)).log()
    parts = (_number(p) * (_number(p).log() - logit + normalizer) for p, logit in zip(probability, logits, strict=True))
    return sum(parts, arb(0))


def _circle_point(d_vocab: int, j: int) -> tuple[arb, arb]:
    """Return the token j on the circle, in two dimensions."""
    angle = arb(fmpq(2 * j, d_vocab))
    return angle.cos_pi(), angle.sin_pi()


def _small_enough(d_vocab: int, contexts: int) -> Evidence:
    """With T equally likely contexts the mean has to be below the gap over T; the circle, in d = 2, is far below."""
    bits = 40 + 2 * (d_vocab * contexts).bit_length()
    delta, strength = _delta(bits), 8 * d_vocab**2
    a = stated(CLAIM, "label", N=d_vocab, delta=delta)
    gap = stated(CLAIM, "gap", a=a.value)
    with ctx.workprec(_BITS):
        divergence = _circle_divergence(d_vocab, delta, strength)
    probability = Fraction(1 + delta, 1 + d_vocab * delta)
    return Evidence(
        "claim",
        f"N = {d_vocab}, {contexts} contexts of equal probability, delta = 2^-{bits}: the divergence of the encoder on "
        "the circle in d = 2 from pi_delta leaves room for gamma below what gives each label more than half of the "
        "probability",
        f"below (log 2 - h(a)) / {contexts}",
        f"{float(divergence.upper()):.3g} nats, below half of ({gap}) / {contexts}",
        Method(f"balls of {_BITS} bits", Means.BALLS),
        proved(bool(divergence > 0)),
        compared=(
            Comparison(2 * contexts * divergence, "<", gap),
            Comparison(a, "=", probability),
            Comparison(a, ">", stated(CLAIM, "most")),
            *met(CLAIM, "plane", d=len(_circle_point(d_vocab, 0))),
        ),
    )


def _gap_is_reached(d_vocab: int) -> Evidence:
    """The distribution with 1/2 at the label and equal shares elsewhere costs the gap: no larger one is enough."""
    compared = []
    for bits in (20, 40, 60):
        delta = _delta(bits)
        a = Fraction(1 + delta, 1 + d_vocab * delta)
        with ctx.workprec(_BITS):
            label, other, half = _number(a), _number(Fraction(delta, 1 + d_vocab * delta)), _number(Fraction(1, 2))
            gap = label * (label / half).log() + (d_vocab - 1) * other * (other * (d_vocab - 1) / half).log()
        compared += [
            Comparison(gap, "agrees with", stated(CLAIM, "gap", a=a)),
            Comparison(half, "agrees with", stated(CLAIM, "most")),
        ]
    return Evidence(
        "sharper",
        f"N = {d_vocab}, delta = 2^-20, 2^-40, 2^-60: the distribution that gives the label just half, the others "
        "equal parts",
        "its divergence from pi_delta is log 2 - h(a): no larger gap gives the label more than half",
        "equal to it, up to 2^-30 of it",
        Method(f"balls of {_BITS} bits", Means.BALLS),
        proved(len(compared) == 6),
        compared=tuple(compared),
    )
