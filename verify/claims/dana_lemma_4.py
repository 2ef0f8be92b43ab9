"""Evidence on Lemma 4: sequences with a range of exp(1 / delta), laws whose sequences all diverge, and the repair.

Page: docs/claims/logit_range.md
"""

from collections.abc import Iterator
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq

from constructions.encoders.approximating_sequences import (
    FIRST,
    SECOND,
    ApproximatingSequence,
    bound_to_diverge,
    certain_token,
    undecided_token,
)
from verify.claims.evidence import Evidence
from verify.encoders.logit_range import BITS, admissible_range_floor, judge_approximation, logit_range
from verify.verdict import Verdict, decided, proved


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify (16) and the ranges on three sequences, the bound for all sequences of one law, and the repaired lemma.

    Args:
        full: More and smaller deltas.

    Yields:
        Evidence.

    Page: docs/claims/logit_range.md
    """
    few = [Fraction(1, 2**n) for n in range(2, 10)]
    yield exponential(undecided_token(), few, "law (1/2, 1/2, 0), logits (delta/2, -delta/2, -exp(1/delta))")
    yield exponential(certain_token(), few, "law (1, 0, 0), logits (0, -log(1/delta), -exp(1/delta))")
    many = [Fraction(3, 10), Fraction(1, 5)] + [Fraction(1, 2**n) for n in range(3, 121 if full else 61)]
    yield _admissible(bound_to_diverge(), many)
    yield _all_diverge(many)
    yield _repaired(2000 if full else 200)


def exponential(sequence: ApproximatingSequence, deltas: list[Fraction], name: str) -> Evidence:
    """Certify (16) for every delta, and a range of at least exp(1 / delta).

    Args:
        sequence: The encoders.
        deltas: Values of delta.
        name: What the sequence is.

    Returns:
        The counterexample.

    Page: docs/claims/logit_range.md
    """
    verdicts = [approximates(sequence, delta) for delta in deltas]
    with ctx.workprec(BITS):
        for delta in deltas:
            wide, shortest = logit_range(sequence.logits(delta)), (arb(1) / _ball(delta)).exp()
            verdicts.append(proved(bool(wide > shortest * (1 - arb(2) ** -400))))
        smallest = deltas[-1]
        seen = logit_range(sequence.logits(smallest)) * arb(2).log() / -_ball(smallest).log()
    return Evidence(
        "counterexample",
        f"{name}: (16) with c = {sequence.constant}, alpha = {sequence.exponent} for delta = {deltas[0]} .. {smallest}",
        "range O(log(1 / delta))",
        f"range >= exp(1 / delta), up to rounding; {_floor(seen)} log2(1 / delta) at delta = {smallest}",
        Verdict.all_of(verdicts),
        f"balls of {BITS} bits",
        {"law": [str(p) for p in sequence.laws[0]]},
    )


def approximates(sequence: ApproximatingSequence, delta: Fraction) -> Verdict:
    """Judge (16) for one member of a sequence in one dimension, with the constants that it claims.

    Args:
        sequence: The encoders.
        delta: Which one.

    Returns:
        The verdict.

    Page: docs/claims/logit_range.md
    """
    with ctx.workprec(BITS):
        weights, embeddings = sequence.encoder(delta)
        in_one_dimension = decided(all(len(row) == 1 for row in (*weights, *embeddings)))
        found = judge_approximation(
            sequence.logits(delta),
            sequence.laws,
            delta=delta,
            constant=sequence.constant,
            exponent=sequence.exponent,
        )
    return Verdict.all_of([in_one_dimension, found])


def _admissible(sequence: ApproximatingSequence, deltas: list[Fraction]) -> Evidence:
    verdicts = [approximates(sequence, delta) for delta in deltas]
    return Evidence(
        "counterexample",
        "laws (3/4, 1/4, 0) and (2/5, 2/5, 1/5), N = 3, d = 1: a sequence that satisfies (16) exists",
        f"(16) with c = {sequence.constant}, alpha = {sequence.exponent}",
        f"holds for {sum(verdict is Verdict.PROVED for verdict in verdicts)} of {len(verdicts)} values of delta from "
        f"{deltas[0]} to 2^-{deltas[-1].denominator.bit_length() - 1}",
        Verdict.all_of(verdicts),
        f"balls of {BITS} bits",
        {"laws": [[str(p) for p in law] for law in sequence.laws]},
    )


def _all_diverge(deltas: list[Fraction]) -> Evidence:
    sequence, verdicts = bound_to_diverge(), []
    with ctx.workprec(BITS):
        floors = [admissible_range_floor(FIRST, SECOND, delta) for delta in deltas]
        for delta, floor in zip(deltas, floors, strict=True):
            verdicts.append(proved(bool(floor <= logit_range(sequence.logits(delta)))))
        # r s / (2 delta) less r + s: the floor grows like 1 / delta.
        smallest = deltas[-1]
        product = floors[-1] * _ball(smallest)
    verdicts.append(proved(bool(product > 0.38)))
    return Evidence(
        "counterexample",
        "the same laws: every encoder of one dimension that is within delta of both on their supports has a range of "
        "at least (log 3 - 2 delta)(log 2 - 2 delta) / (2 delta) after the first context",
        "range O(log(1 / delta))",
        f"range * delta >= {_floor(product)} for all of them at delta = 2^-{smallest.denominator.bit_length() - 1}",
        Verdict.all_of(verdicts),
        "rank one and balls; the sequence above obeys the bound",
    )


def _repaired(count: int) -> Evidence:
    generator = np.random.default_rng(4)
    verdicts = []
    with ctx.workprec(BITS):
        for _ in range(count):
            tokens = int(generator.integers(2, 6))
            logits = [fmpq(int(x), 16) for x in generator.integers(-400, 400, tokens)]
            powers = [arb(x - max(logits)).exp() for x in logits]
            whole = sum(powers, arb(0))
            least = powers[0]
            for power in powers[1:]:
                least = least.min(power)
            # With all probabilities >= c delta^alpha = their least one, range <= alpha log(1/delta) + log(1/c).
            limit = (whole / least).log()
            verdicts.append(proved(bool(logit_range([logits]) <= limit)))
    return Evidence(
        "repair",
        f"{count} random rows of 2 to 5 logits: range <= log(1 / least probability), so that probabilities of at least "
        "c delta^alpha give alpha log(1 / delta) + log(1 / c)",
        "range <= alpha log(1 / delta) + log(1 / c)",
        f"within it on {sum(verdict is Verdict.PROVED for verdict in verdicts)} of {count}",
        Verdict.all_of(verdicts),
        "exact logits, balls",
    )


def _ball(value: Fraction) -> arb:
    return arb(value.numerator) / value.denominator


def _floor(x: arb) -> str:
    # Four digits, rounded down from below what the nearest float64 can be off.
    return str(Context(prec=4, rounding=ROUND_FLOOR).create_decimal(Decimal(float(x.lower()) * (1 - 2.0**-50))))
