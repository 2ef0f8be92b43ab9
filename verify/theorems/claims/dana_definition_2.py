"""Definition 2 of Dana et al.: the distributions that encoders approximate at a polynomial rate.

Page: docs/claims/logit_range.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from constructions.counted import counted
from constructions.encoders.approximating_sequences import FIRST, SECOND, bound_to_diverge, scaled_encoder
from verify.arithmetic.decimals import decimal_above, decimal_below
from verify.theorems.claim import Claim
from verify.theorems.encoders.logit_range import BITS, ball, judge_approximation, mean_divergence, scaling_constants
from verify.theorems.evidence import Comparison, Evidence, Means, Method, failed, met, stated
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="dana.definition-2",
    title="Polynomially approximable distributions",
    source="Dana, Pydi, Chevaleyre (2024), Definition 2 and the question below Lemma 4",
    kind="statement",
    quotation=(
        r"Whether any distribution which is the limit of a sequence encoder is in the closure of $\mathcal{M}(N, S, "
        r"d)$ is an open question."
    ),
    printed=(
        "M(N, S, d) are the distributions for which some encoders f_delta have [[near: c delta^alpha <= x <= delta]] "
        "for the size x of every log(pi / softmax f_delta) of a possible token, with a positive c and "
        "[[power: alpha >= 1]]. Whether any distribution which is the limit of a sequence "
        "encoder is in the closure of M is an open question."
    ),
    reading="'The limit of a sequence encoder' is the limit of the distributions of a sequence of encoders.",
    judgement="redundant",
    truth=(
        "For [[tokens: N >= 2]] and [[width: d >= 1]] d_KL(pi, M) is d_KL(pi, L) for every pi, and the closure of M is "
        "that of softmax(L), so the answer is yes. If no logit of an encoder equals the mean of the logits under its "
        "distribution, the distributions of the encoder are in M with [[linear: alpha = 1]] and the constant "
        "[[constant: g / (4R)]], g being the least distance from that mean and R the range: equation (16) holds for "
        "[[factor: 1 + delta / (2R)]] times the encoder. For [[alone: N = 1]], or without any dimension, M is empty."
    ),
    page="docs/claims/logit_range.md",
)

Rows = list[list[Fraction]]

_SIZES = ((2, 1, 1), (3, 1, 2), (4, 2, 5), (6, 3, 8))


_DEPTH = 12


_POWER = 1  # alpha of the construction


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab, d_model, contexts in _SIZES + ((12, 5, 30),) * full:
        yield _in_general_position(d_vocab, d_model, contexts, encoders=20 if full else 4, depth=3 * _DEPTH)
    yield _uniform_encoder(30 if full else _DEPTH)
    yield _no_more_than_encoders(400 if full else 60)
    yield _one_token()


def _in_general_position(d_vocab: int, d_model: int, contexts: int, *, encoders: int, depth: int) -> Evidence:
    generator = np.random.default_rng((2, d_vocab, d_model, contexts))
    verdicts, least, compared = [], None, []
    for _ in range(encoders):
        weights, embeddings = _random(generator, d_vocab, d_model), _random(generator, contexts, d_model)
        g, limit = scaling_constants(logits_of(weights, embeddings))
        with ctx.workprec(BITS):
            verdicts.append(proved(bool(g > 0)))
            constant = arb(ball(stated(CLAIM, "constant", g=g, R=limit).value).lower())
            # Any R above the range will do for the sequence; an exact one.
            largest = Fraction(float(limit) * (1 + 2.0**-40))
            first = min(Fraction(1), Fraction(float(8 * g / limit) * (1 - 2.0**-40)))
        if not constant > 0:
            verdicts.append(Verdict.UNDECIDED)
            continue
        least = constant if least is None else arb.min(least, constant)
        smallest = arb("inf")
        for n in range(depth):
            verdict, smallest, factor = _approximates_own_distribution(
                weights, embeddings, largest, first / 2**n, constant
            )
            verdicts.append(verdict)
            compared.append(Comparison(factor, "=", stated(CLAIM, "factor", delta=first / 2**n, R=largest)))
            compared += met(CLAIM, "near", c=constant / 2, delta=first / 2**n, alpha=_POWER, x=smallest)
        compared += met(CLAIM, "tokens", "width", N=len(weights), d=len(weights[0]))
        compared += met(CLAIM, "power", "linear", alpha=_POWER)
        # For small delta the log ratios tend to g / (2R) times delta: c is half of what is true of the construction.
        half = stated(CLAIM, "constant", g=g, R=limit)
        with ctx.workprec(BITS):
            slope = smallest / ball(first / 2 ** (depth - 1))
            compared += [Comparison(slope / arb("1.9"), ">", half), Comparison(slope / arb("2.1"), "<", half)]
    return Evidence(
        "needless",
        f"{encoders} random encoders, N = {d_vocab}, d = {d_model}, {counted(contexts, 'context')}: no logit is the "
        f"mean of its row, and (1 + delta / (2R)) f satisfies (16) for the distributions of f, for {depth} values of "
        "delta",
        "softmax(f) in M with alpha = 1, c = g / (4R)",
        f"(16) holds with c >= {decimal_below(least, 3)}" if least is not None else "not decided",
        Method(f"exact encoders, balls of {BITS} bits", Means.EXACT, Means.BALLS),
        Verdict.all_of(verdicts),
        compared=tuple(compared),
    )


def _approximates_own_distribution(
    weights: Rows, embeddings: Rows, largest: Fraction, delta: Fraction, constant: arb
) -> tuple[Verdict, arb, Fraction]:
    """(16) for the distributions of an encoder, which are no rational numbers: log ratios are differences of
    log-softmaxes.

    Also the least log ratio, and the factor between the two encoders.
    """
    own = logits_of(weights, embeddings)
    other = logits_of(*scaled_encoder(weights, embeddings, largest_range=largest, delta=delta))
    factor = next(b / a for a, b in zip(own[0], other[0], strict=True) if a)
    verdicts = [decided(other == [[factor * entry for entry in row] for row in own])]
    least = arb("inf")
    # A factor 1 - 2^-30 of c pays for R, which was rounded up.
    with ctx.workprec(BITS):
        lowest = constant * (1 - arb(2) ** -30) * ball(delta) ** _POWER
        for row, scaled in zip(own, other, strict=True):
            shift = _log_sum_exp(scaled) - _log_sum_exp(row)
            for f, h in zip(row, scaled, strict=True):
                ratio = abs(ball(f) - ball(h) + shift)
                least = least.min(ratio)
                verdicts.append(proved(bool(lowest <= ratio) and bool(ratio <= ball(delta))))
    return Verdict.all_of(verdicts), least, factor


def _uniform_encoder(depth: int) -> Evidence:
    generator = np.random.default_rng(22)
    weights, embeddings = _random(generator, 4, 2), _random(generator, 3, 2)
    uniform = [[Fraction(1, 4)] * 4] * 3
    nothing, _ = scaling_constants([[Fraction(0)] * 4] * 3)
    verdicts, last = [proved(bool(nothing <= 0))], arb(1)
    for n in range(1, depth + 1):
        near = [[entry / 4**n for entry in row] for row in embeddings]
        logits = logits_of(weights, near)
        g, limit = scaling_constants(logits)
        last = mean_divergence(logits, uniform, [1, 1, 1])
        with ctx.workprec(BITS):
            verdicts.append(proved(bool(g > 0) and bool(last <= limit * limit / 8)))
    return Evidence(
        "needless",
        f"uniform distributions, N = 4, d = 2, 3 contexts: the encoder f = 0 is no member of the construction (g = 0), "
        f"and {depth} encoders in general position tend to it",
        "d_KL(pi, M) <= R^2 / 8 for each",
        f"g > 0 and at most {decimal_above(last, 3)} nats for the last",
        Method(f"exact encoders, balls of {BITS} bits", Means.EXACT, Means.BALLS),
        Verdict.all_of(verdicts),
    )


def _no_more_than_encoders(count: int) -> Evidence:
    generator = np.random.default_rng(23)
    sequence, verdicts = bound_to_diverge(), []
    limits = [FIRST, SECOND]
    for _ in range(count):
        # Distributions that are absolutely continuous with respect to the limit: the others are infinitely far from it.
        distributions = [[Fraction(int(x)) if p > 0 else Fraction(0) for x, p in zip(row, limit, strict=True)]
                for row, limit in zip(generator.integers(1, 100, (2, 3)), limits, strict=True)]  # fmt: skip
        prior = [int(x) for x in generator.integers(1, 10, 2)]
        delta = Fraction(1, 2 ** int(generator.integers(2, 40)))
        with ctx.workprec(BITS):
            logits = sequence.logits(delta)
            verdicts.append(
                judge_approximation(logits, limits, delta=delta, constant=sequence.constant, exponent=sequence.exponent)
            )
            reached = mean_divergence(logits, distributions, prior)
            verdicts.append(proved(bool(reached <= _divergence_from(limits, distributions, prior) + ball(delta))))
    return Evidence(
        "needless",
        f"{count} random pairs of distributions pi with the supports of phi = (3/4, 1/4, 0), (2/5, 2/5, 1/5), N = 3, d "
        "= 1, and encoders f_delta that satisfy (16) for phi",
        "d_KL(pi, L) <= d_KL(pi, f_delta) <= d_KL(pi, phi) + delta",
        f"the second one holds on {sum(verdict is Verdict.PROVED for verdict in verdicts[1::2])} of {count}",
        Method(f"balls of {BITS} bits", Means.BALLS),
        Verdict.all_of(verdicts),
    )


def _one_token() -> Evidence:
    logits = [[Fraction(5)]]
    judgement = judge_approximation(
        logits, [[Fraction(1)]], delta=Fraction(1, 2), constant=Fraction(1, 100), exponent=1
    )
    return Evidence(
        "boundary",
        "N = 1: the only distribution has the log ratio 0, so that (16) fails and M is empty",
        "the hypothesis N >= 2 is needed",
        f"(16): {judgement.value}",
        Method("balls", Means.BALLS),
        Verdict.PROVED if judgement is Verdict.REFUTED else Verdict.UNDECIDED,
        compared=(*met(CLAIM, "alone", N=len(logits[0])), *failed(CLAIM, "tokens", N=len(logits[0]))),
    )


def logits_of(weights: Rows, embeddings: Rows) -> Rows:
    """Return the logits of an encoder, exactly."""
    return [[sum((a * b for a, b in zip(e, w, strict=True)), Fraction(0)) for w in weights] for e in embeddings]


def _divergence_from(limits: list[tuple[Fraction, ...]], distributions: Rows, prior: list[int]) -> arb:
    """Return KL(pi || phi) for distributions with equal supports; a logarithm of a probability serves as a logit."""
    mean = arb(0)
    for weight, distribution, limit in zip(prior, distributions, limits, strict=True):
        support = [(p, q) for p, q in zip(distribution, limit, strict=True) if p > 0]
        logits = [ball(q).log() for _, q in support]
        mean += weight * mean_divergence([logits], [[p for p, _ in support]], [1])
    return mean / sum(prior)


def _log_sum_exp(row: list[Fraction]) -> arb:
    top = max(row)
    return ball(top) + sum((ball(entry - top).exp() for entry in row), arb(0)).log()


def _random(generator: np.random.Generator, rows: int, columns: int) -> Rows:
    return [[Fraction(int(x), 64) for x in row] for row in generator.integers(-200, 201, (rows, columns))]
