r"""Appendix A.4 of Dana et al.: the range of the logits at a rate that is slower than every power.

Page: docs/claims/logit_range.md
"""

from collections.abc import Iterator
from fractions import Fraction

from flint import arb, ctx

from constructions.encoders.approximating_sequences import undecided_token
from verify.theorems.claim import Claim
from verify.theorems.claims.dana_lemma_4 import approximates
from verify.theorems.encoders.logit_range import BITS, ball, judge_approximation, logit_range
from verify.theorems.evidence import Comparison, Evidence, Means, Method, stated
from verify.theorems.evidence.theorems import RANGE_CEILING
from verify.verdict import Verdict

CLAIM = Claim(
    id="dana.slow-rate",
    title="The range at a rate slower than every power",
    source="Dana, Pydi, Chevaleyre (2024), appendix A.4, after Lemma 4",
    kind="remark",
    quotation=(
        r"If the speed in the lower bound was $\delta^{\frac{1}{\delta}}$, the resulting norm would be "
        r"$O\left(\frac{1}{\delta}\log\left(\frac{1}{\delta}\right)\right)$, which would diverge too fast for Theorem "
        r"1."
    ),
    printed=(
        "With [[slow: delta^(1 / delta)]] for the rate c delta^alpha from below in Lemma 4 the range of the logits is "
        "of the order of [[printed: log(1 / delta) / delta]]."
    ),
    reading="The norm is the range of Lemma 4, and 'the lower bound' that of equation (16).",
    judgement="hypothesis",
    truth=(
        "True if the rate bounds the probabilities themselves: if all are at least [[slow: delta^(1 / delta)]], "
        "those of impossible tokens among them, the range is at most [[printed: log(1 / delta) / delta]], and this "
        "is approached. As a lower bound in equation (16), which says nothing of impossible tokens, it allows a "
        "range of [[wide: exp(1 / delta)]], as every rate does."
    ),
    wrong="needs the rate for impossible tokens too",
    page="docs/claims/logit_range.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    deltas = [Fraction(1, 2**n) for n in range(3, 12 if full else 9)]
    yield _beyond(deltas)
    yield _reached([Fraction(1, 2**n) for n in (2, 3, 4)])


def _beyond(deltas: list[Fraction]) -> Evidence:
    sequence, verdicts, compared = undecided_token(), [], []
    with ctx.workprec(BITS):
        for delta in deltas:
            seen, printed = logit_range(sequence.logits(delta)), stated(CLAIM, "printed", delta=delta)
            verdicts.append(approximates(sequence, delta))
            polynomial = ball(sequence.constant) * ball(delta) ** sequence.exponent
            near = stated(CLAIM, "wide", delta=delta)
            compared += [
                Comparison(stated(CLAIM, "slow", delta=delta), "<", polynomial),
                Comparison(seen, ">", printed),
                Comparison(seen * (1 + arb(2) ** -40), ">", near),
                Comparison(seen * (1 - ball(delta * delta)), "<", near),
            ]
        first, last = (logit_range(sequence.logits(delta)) for delta in (deltas[0], deltas[-1]))
        grows = last * stated(CLAIM, "printed", delta=deltas[0]).value
        compared.append(Comparison(grows, ">", 1000 * first * stated(CLAIM, "printed", delta=deltas[-1]).value))
    return Evidence(
        "without",
        f"the distribution (1/2, 1/2, 0), logits (delta/2, -delta/2, -exp(1/delta)), delta = {deltas[0]} .. "
        f"{deltas[-1]}: log "
        "ratios between the rate and delta",
        "range O(log(1 / delta) / delta)",
        "range >= exp(1 / delta), a thousand times as far above it for the last delta as for the first",
        Method(f"balls of {BITS} bits", Means.BALLS),
        Verdict.all_of(verdicts),
        compared=tuple(compared),
    )


def _reached(deltas: list[Fraction]) -> Evidence:
    """The distribution (1, 0) with the logits (0, -log(1 / delta) / delta): the other token has the least allowed."""
    verdicts, compared = [], []
    with ctx.workprec(BITS):
        for delta in deltas:
            least = -(1 / ball(delta)).log() / ball(delta)
            logits = [[arb(0), least]]
            verdicts.append(
                judge_approximation(
                    logits,
                    [(Fraction(1), Fraction(0))],
                    delta=delta,
                    constant=Fraction(1, 2),
                    exponent=delta.denominator,
                )
            )
            probability = 1 / (1 + (-least).exp())
            ceiling = RANGE_CEILING.at(least=probability)
            compared += [
                Comparison(logit_range(logits) * (1 - arb(2) ** -40), "<=", ceiling),  # next to equal
                Comparison(probability * (1 + arb(2) ** -5), ">", stated(CLAIM, "slow", delta=delta)),
                Comparison(probability * (1 - arb(2) ** -5), "<", stated(CLAIM, "slow", delta=delta)),
                Comparison(logit_range(logits), "agrees with", stated(CLAIM, "printed", delta=delta)),
            ]
    return Evidence(
        "with",
        f"the distribution (1, 0), logits (0, -log(1 / delta) / delta), delta = {deltas[0]} .. {deltas[-1]}",
        "range log(1 / delta) / delta, the probability of the other token about delta^(1 / delta)",
        "so for each delta",
        Method(f"balls of {BITS} bits", Means.BALLS),
        Verdict.all_of(verdicts),
        compared=tuple(compared),
    )
