"""Lemma 4 of Dana et al.: the range of the logits of a sequence that approximates at a polynomial rate.

Page: docs/claims/logit_range.md
"""

from collections.abc import Iterator
from fractions import Fraction

from flint import arb, ctx

from constructions.encoders.approximating_sequences import (
    FIRST,
    SECOND,
    ApproximatingSequence,
    bound_to_diverge,
    certain_token,
    least_likely,
    shortest_range,
    undecided_token,
)
from verify.arithmetic.decimals import decimal_below
from verify.theorems.claim import Claim
from verify.theorems.encoders.logit_range import BITS, ball, judge_approximation, log_ratios, logit_range
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.theorems import RANGE
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="dana.lemma-4",
    title="The range of logits that approximate a distribution",
    source="Dana, Pydi, Chevaleyre (2024), Lemma 4",
    kind="statement",
    quotation=(
        r"Lemma 4. Let π, c > 0 and f_{δ} that satisfy equation (16) when $\pi(t_{S+1}|t_{1:S}) > 0$. Then, for "
        r"all $t_{1:S}$, $\max_i f_{\delta}(t_{1:S})_i - \min_i f_{\delta}(t_{1:S})_i = "
        r"O\left(\log\left(\frac{1}{\delta}\right)\right)$."
    ),
    printed=(
        "If encoders f_delta satisfy [[near: c delta^alpha <= x <= delta]] for the size x of every log(pi / softmax "
        "f_delta) of a possible token, then the range of the logits is O([[printed: log(1 / delta)]]) after every "
        "context."
    ),
    reading=(
        "As it is written: (16) is asked for the possible tokens, the range is that of all logits. Under full "
        "support it is true."
    ),
    judgement="false",
    truth=(
        "The range can be [[wide: exp(1 / delta)]]. For the distributions in the proportions [[three: 3]] : [[one: 1]] "
        ": [[none: 0]] and [[two: 2]] : [[two: 2]] : [[one: 1]] and [[line: d = 1]] such f_delta exist, and all of "
        "them have a range of at least [[least: (log 3 - 2 delta)(log 2 - 2 delta) / (2 delta)]]. If all probabilities "
        "(also those of impossible tokens) are at least c delta^alpha, the range is at most "
        "[[repaired: alpha log(1 / delta) + log(1 / c)]]; with full support it is bounded."
    ),
    wrong=(
        "the logits (delta/2, -delta/2, -exp(1/delta)) fit (1/2, 1/2, 0), but their range exceeds "
        "exp(1/delta); true if all probabilities are at least c delta^alpha: the range is then at most alpha "
        "log(1/delta) + log(1/c)"
    ),
    page="docs/claims/logit_range.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    few = [Fraction(1, 2**n) for n in range(2, 10)]
    yield exponential(undecided_token(), few, "distribution (1/2, 1/2, 0), logits (delta/2, -delta/2, -exp(1/delta))")
    yield exponential(certain_token(), few, "distribution (1, 0, 0), logits (0, -log(1/delta), -exp(1/delta))")
    many = [Fraction(3, 10), Fraction(1, 5)] + [Fraction(1, 2**n) for n in range(3, 121 if full else 61)]
    yield _admissible(bound_to_diverge(), many)
    yield _all_diverge(many)
    yield _least_range_is_met()
    yield _repaired((1, 2, 3), few + [Fraction(1, 2**n) for n in range(20, 121 if full else 41, 20)])


def exponential(sequence: ApproximatingSequence, deltas: list[Fraction], name: str) -> Evidence:
    """Certify (16) for every delta, a range of exp(1 / delta), and that the repaired lemma does not ask for less."""
    verdicts, compared = [approximates(sequence, delta) for delta in deltas], []
    with ctx.workprec(BITS):
        for delta in deltas:
            wide = logit_range(sequence.logits(delta))
            compared.append(Comparison(wide * (1 + arb(2) ** -40), ">", stated(CLAIM, "wide", delta=delta)))
            ratios = [
                abs(x)
                for row, distribution in zip(sequence.logits(delta), sequence.distributions, strict=True)
                for x in log_ratios(row, distribution)
            ]
            values = {"c": sequence.constant, "alpha": sequence.exponent, "delta": delta}
            compared += [one for x in ratios for one in met(CLAIM, "near", **values, x=x)]
            compared.append(Comparison(-ball(delta).log(), "agrees with", stated(CLAIM, "printed", delta=delta)))
            compared.append(Comparison(wide, ">", stated(CLAIM, "printed", delta=delta)))
            compared.append(Comparison(wide * (1 - ball(delta) / 8), "<", stated(CLAIM, "wide", delta=delta)))
            compared.append(Comparison(least_log_probability(sequence, delta), "<", _log_of_least(sequence, delta)))
        smallest = deltas[-1]
        seen = logit_range(sequence.logits(smallest)) * arb(2).log() / -ball(smallest).log()
    return Evidence(
        "counterexample",
        f"{name}: (16) with c = {sequence.constant}, alpha = {sequence.exponent} for delta = {deltas[0]} .. {smallest}",
        "range O(log(1 / delta))",
        f"range >= exp(1 / delta), up to rounding; {decimal_below(seen)} log2(1 / delta) at delta = {smallest}",
        Method(f"balls of {BITS} bits", Means.BALLS),
        Verdict.all_of(verdicts),
        {"distribution": [str(p) for p in sequence.distributions[0]]},
        compared=tuple(compared),
    )


def least_log_probability(sequence: ApproximatingSequence, delta: Fraction) -> arb:
    """Return the logarithm of the least probability that an encoder gives to any token, impossible ones too."""
    least = arb("inf")
    for row in sequence.logits(delta):
        whole = sum((entry.exp() for entry in row), arb(0)).log()
        for entry in row:
            least = least.min(entry - whole)
    return least


def _log_of_least(sequence: ApproximatingSequence, delta: Fraction) -> arb:
    """Return the logarithm of c delta^alpha."""
    return ball(sequence.constant).log() + sequence.exponent * ball(delta).log()


def approximates(sequence: ApproximatingSequence, delta: Fraction) -> Verdict:
    """Judge (16) for one member of a sequence in one dimension, with its claimed constants.

    Args:
        sequence: The encoders.
        delta: The value of delta.

    Returns:
        The verdict.
    """
    with ctx.workprec(BITS):
        weights, embeddings = sequence.encoder(delta)
        in_one_dimension = decided(all(len(row) == 1 for row in (*weights, *embeddings)))
        judgement = judge_approximation(
            sequence.logits(delta),
            sequence.distributions,
            delta=delta,
            constant=sequence.constant,
            exponent=sequence.exponent,
        )
    return Verdict.all_of([in_one_dimension, judgement])


def _admissible(sequence: ApproximatingSequence, deltas: list[Fraction]) -> Evidence:
    verdicts = [approximates(sequence, delta) for delta in deltas]
    return Evidence(
        "counterexample",
        "distributions (3/4, 1/4, 0) and (2/5, 2/5, 1/5), N = 3, d = 1: a sequence that satisfies (16) exists",
        f"(16) with c = {sequence.constant}, alpha = {sequence.exponent}",
        f"holds for {sum(verdict is Verdict.PROVED for verdict in verdicts)} of {len(verdicts)} values of delta from "
        f"{deltas[0]} to 2^-{deltas[-1].denominator.bit_length() - 1}",
        Method(f"balls of {BITS} bits", Means.BALLS),
        Verdict.all_of(verdicts),
        {"distributions": [[str(p) for p in distribution] for distribution in sequence.distributions]},
        compared=(
            Comparison(FIRST[0] / FIRST[1], "=", stated(CLAIM, "three")),
            Comparison(FIRST[1] / FIRST[1], "=", stated(CLAIM, "one")),
            Comparison(FIRST[2], "=", stated(CLAIM, "none")),
            *(Comparison(part / SECOND[2], "=", stated(CLAIM, "two")) for part in SECOND[:2]),
            *met(CLAIM, "line", d=len(sequence.encoder(deltas[0])[0][0])),
        ),
    )


def _all_diverge(deltas: list[Fraction]) -> Evidence:
    sequence, compared = bound_to_diverge(), []
    with ctx.workprec(BITS):
        floors = [RANGE.at(first=FIRST, second=SECOND, delta=delta) for delta in deltas]
        for delta, floor in zip(deltas, floors, strict=True):
            compared.append(Comparison(floor, "<=", logit_range(sequence.logits(delta))))
            compared.append(Comparison(floor, "agrees with", stated(CLAIM, "least", delta=delta)))
        # r s / (2 delta) less r + s: the floor grows like 1 / delta.
        smallest = deltas[-1]
        product = floors[-1].value * ball(smallest)
    compared.append(Comparison(product, ">", Fraction(38, 100)))
    return Evidence(
        "counterexample",
        "the same distributions: one dimension that is within delta of both on their supports has a range of at least "
        "(log 3 - 2 delta)(log 2 - 2 delta) / (2 delta) after the first context",
        "range O(log(1 / delta))",
        f"range * delta >= {decimal_below(product)} at delta = 2^-{smallest.denominator.bit_length() - 1}",
        Method("rank one and balls; the sequence above obeys the bound", Means.BALLS),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=tuple(compared),
    )


def _least_range_is_met() -> Evidence:
    """Encoders within delta of both distributions whose range is the bound, up to a factor: no larger bound is true."""
    compared, near, shown = [], [], []
    for n in (6, 10, 20):
        delta = Fraction(1, 2**n)
        floor = RANGE.at(first=FIRST, second=SECOND, delta=delta)
        with ctx.workprec(BITS):
            weights, embeddings = shortest_range(delta)
            logits = [[e[0] * w[0] for w in weights] for e in embeddings]
            near += [abs(x) <= ball(delta) for row, distribution in zip(logits, (FIRST, SECOND), strict=True)
                     for x in log_ratios(row, distribution)]  # fmt: skip
            seen = logit_range([logits[0]])
            compared += [Comparison(floor, "<=", seen), Comparison(floor, ">", seen * (1 - 7 * ball(delta)))]
            shown.append(decimal_below(floor.value / seen))
    return Evidence(
        "reached",
        "the same distributions: encoders of one dimension within delta of both on their supports, for delta = 2^-6, "
        "2^-10, 2^-20, whose range is as short as the bound allows, up to a factor 1 - 7 delta",
        "bound / range -> 1",
        f"bound / range >= {', '.join(shown)}",
        Method(f"balls of {BITS} bits", Means.BALLS),
        proved(len(near) == 15 and all(near)),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=tuple(compared),
    )


def _repaired(exponents: tuple[int, ...], deltas: list[Fraction]) -> Evidence:
    """Sequences all of whose probabilities are as large as the repaired lemma asks; they nearly have its range."""
    verdicts, compared = [], []
    with ctx.workprec(BITS):
        for exponent in exponents:
            sequence = least_likely(exponent)
            verdicts += [approximates(sequence, delta) for delta in deltas]
            for delta in deltas:
                seen = logit_range(sequence.logits(delta))
                limit = stated(CLAIM, "repaired", alpha=exponent, delta=delta, c=sequence.constant)
                compared.append(
                    Comparison(least_log_probability(sequence, delta), ">=", _log_of_least(sequence, delta))
                )
                compared.append(Comparison(seen, "<=", limit))
                if delta == deltas[-1]:
                    compared.append(Comparison(seen * 20 / 19, ">=", limit))
    return Evidence(
        "repair",
        f"distributions (1, 0), logits (0, -alpha log(1 / delta)), alpha = {', '.join(map(str, exponents))}, "
        f"{len(deltas)} values of delta down to {deltas[-1]}: (16) and probabilities of at least c delta^alpha, c = "
        "1/2",
        "range <= alpha log(1 / delta) + log(1 / c), and not much less",
        f"within it on {sum(one.verdict is Verdict.PROVED for one in compared if one.relation == '<=')} of "
        f"{len(exponents) * len(deltas)}, and above 19/20 of it for the last delta",
        Method(f"balls of {BITS} bits", Means.BALLS),
        Verdict.all_of(verdicts),
        compared=tuple(compared),
    )
