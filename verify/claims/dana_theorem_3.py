"""Evidence on Theorem 3: exclusive or, the step (19) of its proof, the rate of its argument, and Theorem E.

Page: docs/claims/logit_range.md
"""

import itertools
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat

from constructions.encoders.approximating_sequences import FIRST, SECOND, within_range
from constructions.memories.bounded_range import bounded_transformer, laws_of_contexts
from constructions.memories.left_out import LeftOut, random_instance
from constructions.memories.one_head_optimum import exclusive_or_contexts
from constructions.models.exact_network import ExactNetwork
from verify.capacity.divergence_floor import one_head_divergence_floor
from verify.claims.evidence import Evidence
from verify.encoders.logit_range import (
    BITS,
    ball,
    best_trade_off,
    divergence_floor_at_range,
    logit_range,
    mean_divergence,
)
from verify.encoders.range_bound import RangeBound, range_bound
from verify.verdict import Verdict, decided, proved

_HALVES = (Fraction(1, 2), Fraction(1, 2))


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify the counterexamples to the statement and to its proof, then Theorem E on instances.

    Args:
        full: More ranges and instances.

    Yields:
        Evidence.

    Page: docs/claims/logit_range.md
    """
    yield exclusive_or()
    yield printed_maximum()
    yield cost_of_a_range([Fraction(10 * 2**n) for n in range(16 if full else 8)])
    yield best_rate([Fraction(1, 100**n) for n in range(2, 9 if full else 6)])
    yield theorem_e_on_random_transformers(range(1000 if full else 60))
    yield theorem_e_on_the_laws_of_lemma_4([10**n for n in range(2, 10 if full else 7)])


def exclusive_or() -> Evidence:
    """Certify that one head misses the laws of exclusive or, although d + H d_h = 4 = T_epsilon and d_KL(pi, M) = 0.

    Returns:
        The counterexample to the statement, for given sizes.

    Page: docs/claims/logit_range.md
    """
    contexts, odds = exclusive_or_contexts(3), Fraction(99, 100)
    laws = [[odds, 1 - odds]] * 2 + [[1 - odds, odds]] * 2
    floor = one_head_divergence_floor(contexts, laws)
    return Evidence(
        "counterexample",
        f"exclusive or: {len(contexts)} equally likely contexts of 3 tokens, laws (99/100, 1/100) and (1/100, 99/100), "
        f"d = d_h = 2, H = 1: d_h H + d = 4 = T_epsilon for every epsilon < 1/4, and d_KL(pi, M) = 0 as d >= N - 1",
        "d_KL(pi, T) = O(epsilon log(1 / epsilon)) for every epsilon, so <= gamma for every gamma > 0",
        f"d_KL(pi, T) >= {_decimal(arb(floor.lower), ROUND_FLOOR)} nats for all weights of one head",
        floor.verdict,
        "a linear relation in integers, and duality with rational multipliers in balls",
        {"contexts": contexts.tolist(), "laws": [[str(p) for p in law] for law in laws]},
    )


def printed_maximum() -> Evidence:
    """Certify that (19) exchanges two maxima that differ: N = 2, two contexts with the logits (1, 0), x = (1, 1).

    Returns:
        The counterexample to a step of the proof.

    Page: docs/claims/logit_range.md
    """
    rows, x = fmpq_mat([[1, 0], [1, 0]]), fmpq_mat([[1, 1]])
    of_sum = max((x * rows).entries()) - min((x * rows).entries())
    of_rows = max(max(row) - min(row) for row in rows.tolist())
    within = all(abs(entry) <= 1 for entry in x.entries())
    return Evidence(
        "counterexample",
        "(19), from its third line to its fourth: N = 2, logits f_1 = f_2 = (1, 0) and x = (1, 1), |x|_inf = 1",
        f"range(f_1 x_1 + f_2 x_2) <= max_t range(f_t) = {of_rows}",
        f"range(f_1 x_1 + f_2 x_2) = {of_sum}",
        decided(within and of_sum > of_rows),
        "exact rational arithmetic",
        {"logits": [[1, 0], [1, 0]], "x": [1, 1]},
    )


def cost_of_a_range(ranges: list[Fraction]) -> Evidence:
    """Certify from both sides what a bounded range costs on the laws of Lemma 4: about (r s)^2 / (20 R^2) nats.

    Args:
        ranges: Values of R, increasing.

    Returns:
        The counterexample to a rate of log(1 / epsilon).

    Page: docs/claims/logit_range.md
    """
    verdicts, seen = [], []
    for largest in ranges:
        weights, embeddings = within_range(largest)
        logits = [[e * w for w in weights] for e in embeddings]
        floor = divergence_floor_at_range(FIRST, SECOND, _HALVES, largest)
        reached = mean_divergence(logits, [FIRST, SECOND], _HALVES)
        with ctx.workprec(BITS):
            verdicts += [
                proved(bool(0 < floor) and bool(floor <= reached)),
                proved(bool(logit_range(logits) <= ball(largest))),
            ]
            seen.append((floor * ball(largest) ** 2, reached * ball(largest) ** 2))
    with ctx.workprec(BITS):
        limit = (arb(3).log() * arb(2).log()) ** 2 / 20
        verdicts.append(proved(bool(seen[-1][0] > 0.99 * limit) and bool(seen[-1][1] < 1.01 * limit)))
    return Evidence(
        "counterexample",
        f"laws (3/4, 1/4, 0) and (2/5, 2/5, 1/5), equally likely, d = 1: the least divergence K(R) of all encoders "
        f"with logits of range <= R, for {len(ranges)} values of R from {ranges[0]} to {ranges[-1]}",
        "d_KL(pi, M) = 0 reached at range O(log(1 / delta)) up to delta: K(R) exponentially small",
        f"R^2 K(R) in [{_decimal(seen[0][0], ROUND_FLOOR)}, {_decimal(seen[0][1], ROUND_CEILING)}] for the first R, in "
        f"[{_decimal(seen[-1][0], ROUND_FLOOR)}, {_decimal(seen[-1][1], ROUND_CEILING)}] for the last",
        Verdict.all_of(verdicts),
        f"a bound for all encoders, and an encoder; balls of {BITS} bits",
        {"laws": [[str(p) for p in FIRST], [str(p) for p in SECOND]]},
    )


def best_rate(prices: list[Fraction]) -> Evidence:
    """Certify that the best trade-off of the proof is of the order epsilon^(2/3), not epsilon log(1 / epsilon).

    Args:
        prices: Values of epsilon C, decreasing.

    Returns:
        The counterexample to the rate of the argument.

    Page: docs/claims/logit_range.md
    """
    verdicts, shares = [], []
    for price in prices:
        floor = best_trade_off(FIRST, SECOND, _HALVES, price)
        with ctx.workprec(BITS):
            power = (ball(price).log() * 2 / 3).exp()
            verdicts.append(proved(bool(floor > arb(2) / 5 * power)))
            shares.append(floor / (ball(price) * -ball(price).log()))
    with ctx.workprec(BITS):
        verdicts.append(proved(all(bool(b > a) for a, b in itertools.pairwise(shares))))
    return Evidence(
        "counterexample",
        f"the same laws: min over all R > 0 of K(R) + a R, a = epsilon C, for a = {prices[0]} .. {prices[-1]}",
        "O(a log(1 / a)) by the proof of Theorem 3",
        f"> 2 a^(2/3) / 5 for each a; {_decimal(shares[0], ROUND_FLOOR)} .. {_decimal(shares[-1], ROUND_FLOOR)} times "
        "a log(1 / a) or more, increasing",
        Verdict.all_of(verdicts),
        f"monotonicity of K on 200 intervals of R, balls of {BITS} bits",
    )


def theorem_e_on_random_transformers(seeds: range) -> Evidence:
    """Certify the bound by the range on random and adversarial rational transformers.

    Args:
        seeds: Of the instances.

    Returns:
        The evidence.

    Page: docs/claims/logit_range.md
    """
    bounds = [judged(random_instance(seed)) for seed in seeds]
    within = sum(bound.verdict is Verdict.PROVED for bound in bounds)
    with ctx.workprec(BITS):
        closest = max((float((b.transformer - b.encoder) / b.bound) for b in bounds if b.bound > 0), default=0.0)
    return Evidence(
        "repair",
        f"{len(bounds)} rational transformers with N, S in 2..3, d <= 3, T <= d + H d_h, random and adversarial "
        "encoders",
        "d_KL(pi, T) - d_KL(pi, f) <= Pr(left out) C_1 R, on all",
        f"within it on {within} of {len(bounds)}; the closest reaches {closest:.3f} of it",
        Verdict.all_of([bound.verdict for bound in bounds]),
        "exact features, logits and z; divergences in balls",
    )


def theorem_e_on_the_laws_of_lemma_4(occurrences: list[int]) -> Evidence:
    """Certify Theorem E, against the best encoder of each range, for transformers that hold six of nine contexts.

    Args:
        occurrences: How often a kept context occurs, increasing: epsilon = 1 / (2 occurrences + 1).

    Returns:
        The evidence.

    Page: docs/claims/logit_range.md
    """
    verdicts, lines = [], []
    laws = laws_of_contexts()
    for count in occurrences:
        # K(R) + (5/2) epsilon R is least near this R; any one is allowed.
        largest = Fraction(max(2, round((2 * 0.02899 * 2 * count / 2.5) ** (1 / 3))))
        held = bounded_transformer(largest, occurrences=count)
        bound = judged(held, laws)
        weights = [int(x) for x in held.occurrences]
        mass = [sum(w for w, law in zip(weights, laws, strict=True) if law == one) for one in (FIRST, SECOND)]
        floor = divergence_floor_at_range(FIRST, SECOND, mass, largest)
        with ctx.workprec(BITS):
            gamma = bound.encoder - floor
            promised = floor + arb(bound.bound) + gamma
            verdicts += [
                bound.verdict,
                proved(bound.largest_range <= fmpq(largest.numerator, largest.denominator)),
                proved(bool(gamma >= 0) and bool(bound.transformer <= promised + arb(2) ** -400)),
            ]
        lines.append(
            f"1/{2 * count + 1}: R = {largest}, C_1 = {bound.factor}, {_decimal(bound.transformer, ROUND_CEILING)} <= "
            f"{_decimal(floor, ROUND_FLOOR)} + {_decimal(arb(bound.bound), ROUND_FLOOR)} + gamma, gamma <= "
            f"{_decimal(gamma, ROUND_CEILING)}"
        )
    return Evidence(
        "repair",
        "the laws of Lemma 4 on the nine contexts of two of three tokens, d = d_h = 1, H = 5: six contexts held, three "
        "of probability epsilon left out, R chosen for epsilon",
        "d_KL(pi, T) <= inf {d_KL(pi, f): range <= R} + epsilon C_1 R + gamma",
        "; ".join(lines),
        Verdict.all_of(verdicts),
        f"exact transformers; a bound for all encoders of range R; balls of {BITS} bits",
    )


def judged(instance: LeftOut, laws: list[tuple[Fraction, ...]] | None = None) -> RangeBound:
    """What `verify.encoders.range_bound` says of a rational instance.

    Args:
        instance: The transformer beside the encoder.
        laws: The laws after all contexts; by default those of the encoder, or of the instance where it has its own.

    Returns:
        Both sides of the bound.

    Page: docs/claims/logit_range.md
    """
    network, stream = instance.model, instance.stream
    if not isinstance(network, ExactNetwork) or isinstance(stream, np.ndarray):
        raise TypeError("instance is rounded, expected a rational one")
    return range_bound(
        network,
        instance.contexts,
        kept=instance.kept,
        stream=stream,
        occurrences=instance.occurrences,
        laws=laws if laws is not None else _completed(instance),
    )


def _completed(instance: LeftOut) -> list[list[Fraction]] | None:
    """Laws on the contexts left out, with uniform ones on the others, where both sides are equal."""
    if instance.laws is None:
        return None
    tokens = instance.laws.shape[1]
    return [[Fraction(1)] * tokens] * instance.kept + [[Fraction(p) for p in law] for law in instance.laws.tolist()]


def _decimal(x: arb, rounding: str) -> str:
    # The end of the ball as float64 may be on the wrong side by 2^-53; digits are rounded outwards from beyond that.
    end = float(x.lower() if rounding == ROUND_FLOOR else x.upper())
    nudge = abs(end) * 2.0**-50 * (-1 if rounding == ROUND_FLOOR else 1)
    return str(Context(prec=5, rounding=rounding).create_decimal(Decimal(end + nudge)))
