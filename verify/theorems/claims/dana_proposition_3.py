"""Proposition 3 of Dana et al.: two dimensions are enough for one next token per context.

Page: docs/claims/lookup_in_two_dimensions.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from constructions.encoders.circle import arc, circle, strength
from constructions.encoders.one_dimension import multi_scale_line
from constructions.encoders.parabola import MOST, parabola, power_for, stream
from constructions.heads_of_theorem_1.random.labels import planar_memory
from constructions.model.precision import SIGNIFICAND, rounded
from constructions.numeric.arrays import Float64Array
from verify.arithmetic.decimals import decimal_above, decimal_below
from verify.provers.memorization import certify_memorization
from verify.theorems.claim import Claim
from verify.theorems.encoders.circle_rate import circle_rate, parabola_rate
from verify.theorems.encoders.line_infimum import line_divergence, line_infimum
from verify.theorems.encoders.rounded_circle import always_enough, is_rounded_circle, losing_pair, never_enough, winners
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, failed, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.theorems import LINE
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="dana.proposition-3",
    title="Two dimensions hold any number of labels",
    source="Dana, Pydi, Chevaleyre (2024), Proposition 3",
    kind="statement",
    quotation=r"Proposition 3. Under Assumption 1, for $d \geq 2$, $d_{KL}(\pi, \mathcal{L}(N, S, d)) = 0$.",
    printed="If every context has a next token of its own, then d_KL(pi, L(N, S, d)) vanishes for [[plane: d >= 2]].",
    judgement="holds",
    truth=(
        "On the circle of [[circle: N >= 3]] tokens, m := [[m: 1 - cos(2 pi / N)]] and x := exp(-lambda m), the "
        "divergence is the same for all labels and lies between [[low: log(1 + 2x)]] and [[high: 2x / (1 - x)]]; the "
        "strength [[strength: log(1 + 2 / eta) / m]] gives eta nats. On the parabola ([[across: 2 j]], [[down: -j^2]]) "
        "all leads are integers. For [[line: d = 1]] the infimum is the sum of "
        "[[term: log(ceil(i / 2))]] times the probability of the i-th likeliest label, positive for [[labels: i >= 3]] "
        "labels. Rounded to p bits, the circle keeps all its winners for N up to about [[enough: 3.7 2^(p/2)]], and "
        "for no N from about [[never: 6.3 2^(p/2)]] on."
    ),
    page="docs/claims/lookup_in_two_dimensions.md",
    hypotheses=(
        *conditions("N >= 1 and S >= 1", "S >= 2 or N <= 2: the heads tell more contexts apart"),
        *conditions("H >= 1", "1 <= d_h <= 2", "seed >= 0"),
    ),
    parameters={"d_vocab": 6, "n_ctx": 2, "n_heads": 18, "d_head": 2, "seed": 0},
    build=planar_memory,
)

_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 16, 25, 59, 100, 200)


_SIZES_FULL = (333, 1000, 4096, 20000)


_WANTED = (1.0, 1e-3, 1e-12, 1e-30)


_DECAYS = (Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(7), Fraction(60))


_LINES = ((1,), (2, 1), (1, 1, 1), (4, 3, 2, 1), (5, 1, 1, 1, 1), (9, 8, 4, 2, 1, 0))


_TINY = Fraction(1, 10**12)


def evidence(*, full: bool) -> Iterator[Evidence]:
    sizes = _SIZES + _SIZES_FULL * full
    yield _two_sided(sizes)
    yield _strength_suffices(sizes)
    yield _built()
    yield _parabola_rates((2, 3, 10, 1000, 50257) + (MOST,) * full)
    yield _parabola_is_exact((2, 5, 1000, 50257) + (2**20, MOST) * full)
    for masses in _LINES + ((7, 6, 5, 4, 3, 2, 1),) * full:
        yield _line(masses)
    for name in ("bfloat16", "float16"):
        yield _all_sizes(name)
    yield _float32(everything=full)
    yield _float64(100_000 if not full else 1_000_000)


def _two_sided(sizes: tuple[int, ...]) -> Evidence:
    rates = [circle_rate(n, _factor(n, decay)) for n in sizes for decay in _DECAYS]
    memorized = sum(rate.verdict is Verdict.PROVED for rate in rates)
    return Evidence(
        "claim",
        f"{len(rates)} circles, N = {sizes[0]} .. {sizes[-1]}, lambda m = {', '.join(map(str, _DECAYS))}, nearly: "
        "log(1 + 2x) <= KL <= 2x / (1 - x), x = exp(-lambda m); log(1 + x) for N = 2",
        "divergence between the two bounds, on all",
        f"between them on {memorized} of {len(rates)}",
        Method("balls", Means.BALLS),
        Verdict.all_of([rate.verdict for rate in rates]),
        compared=tuple(one for n in sizes if n >= 3 for decay in _DECAYS[1:] for one in _as_stated(n, decay)),
    )


def _as_stated(n: int, decay: Fraction) -> tuple[Comparison, ...]:
    """Return the step of a circle and the two bounds as stated."""
    rate, factor = circle_rate(n, _factor(n, decay)), _factor(n, decay)
    with ctx.workprec(256):
        step = 2 * (arb.pi() / n).sin() ** 2
        x = (-step * factor.numerator / factor.denominator).exp()
        return (
            Comparison(step, "agrees with", stated(CLAIM, "m", N=n, pi=arb.pi())),
            Comparison(rate.lower, "agrees with", stated(CLAIM, "low", x=x)),
            Comparison(rate.upper, "agrees with", stated(CLAIM, "high", x=x)),
            *met(CLAIM, "circle", N=n),
        )


def _strength_suffices(sizes: tuple[int, ...]) -> Evidence:
    pairs = [(n, wanted) for n in sizes if n > 1 for wanted in _WANTED]
    rates = [circle_rate(n, strength(n, wanted)) for n, wanted in pairs]
    memorized = [bool(rate.divergence <= arb(wanted)) for rate, (_, wanted) in zip(rates, pairs, strict=True)]
    n, wanted = 200, 1e-12
    divergence = circle_rate(n, strength(n, wanted)).divergence
    return Evidence(
        "claim",
        f"lambda = log(1 + 2 / eta) / m on {len(pairs)} circles, eta = {', '.join(map(str, _WANTED))} nats",
        "divergence <= eta, on all",
        f"at most eta on {sum(memorized)} of {len(pairs)}; for N = {n} and eta = {wanted}, lambda = "
        f"{strength(n, wanted):.2f} gives at most {decimal_above(divergence, 7)} nats",
        Method("balls", Means.BALLS),
        proved(len(pairs) > 0 and all(memorized)),
        compared=tuple(
            Comparison(
                strength(n, wanted),
                "agrees with",
                stated(CLAIM, "strength", eta=wanted, m=stated(CLAIM, "m", N=n, pi=arb.pi()).value),
            )
            for n, wanted in pairs
            if n >= 3
        ),
    )


def _built() -> Evidence:
    construction = CLAIM.construct()
    certificate = certify_memorization(construction.model, construction.task).certificate
    margin = certificate.answers.values.get("margin_lower", 0)
    return Evidence(
        "claim",
        f"a transformer on the circle: {construction.summary}",
        "every label is the argmax",
        f"all are, by {margin} nats or more",
        Method("enclosures of features and logits", Means.ENCLOSURES),
        certificate.verdict if margin > 0 else Verdict.UNDECIDED,
        compared=met(CLAIM, "plane", d=construction.model.d_model),
    )


def _parabola_rates(sizes: tuple[int, ...]) -> Evidence:
    pairs = [(n, wanted) for n in sizes for wanted in _WANTED]
    rates = [(parabola_rate(n, 2.0 ** power_for(wanted)), wanted) for n, wanted in pairs]
    verdicts = [rate.verdict for rate, _ in rates]
    verdicts += [proved(bool(rate.divergence <= arb(wanted))) for rate, wanted in rates]
    return Evidence(
        "claim",
        f"{len(pairs)} parabolas, N = {sizes[0]} .. {sizes[-1]}, lambda the least power of two for eta = "
        f"{', '.join(map(str, _WANTED))} nats: KL <= 2 exp(-lambda) / (1 - exp(-3 lambda)) for the label in the "
        "middle, which has the largest",
        "divergence <= eta, on all",
        f"at most eta on {sum(bool(rate.divergence <= arb(wanted)) for rate, wanted in rates)} of {len(pairs)}",
        Method("balls", Means.BALLS),
        Verdict.all_of(verdicts),
    )


def _parabola_is_exact(sizes: tuple[int, ...]) -> Evidence:
    verdicts, looked_at, compared = [], 0, list[Comparison]()
    for count in sizes:
        # The largest product is 2 (N - 1)^2: integers below 2^53 are exact in every order of evaluation.
        verdicts.append(decided(2 * (count - 1) ** 2 < 2**53))
        vectors = parabola(count)
        labels = np.unique(np.array([0, 1, count // 2, count - 1]))
        near = np.arange(min(count, 1000))
        for j in labels[1:].tolist():
            compared += [
                Comparison(int(vectors[j, 0]), "=", stated(CLAIM, "across", j=j)),
                Comparison(int(vectors[j, 1]), "=", stated(CLAIM, "down", j=j)),
            ]
        for tokens in (near, count - 1 - near):
            computed = stream(labels, power=0) @ vectors[tokens].T
            leads = (labels * labels)[:, None] - computed.astype(np.int64)
            verdicts.append(decided(bool((leads == (labels[:, None] - tokens) ** 2).all())))
            looked_at += leads.size
    return Evidence(
        "claim",
        f"parabolas of N = {', '.join(map(str, sizes))}: all integers are below 2^53, and {looked_at} logits computed "
        "in float64, those of the first and last tokens among them, equal g^2 - (g - j)^2",
        "leads of exactly (g - j)^2",
        "exact" if all(verdict is Verdict.PROVED for verdict in verdicts) else "not exact",
        Method("integers", Means.EXACT),
        Verdict.all_of(verdicts),
        compared=tuple(compared),
    )


def _line(masses: tuple[int, ...]) -> Evidence:
    infimum = line_infimum(masses)
    floor = LINE.at(masses=masses)
    line = multi_scale_line(masses)
    reached = line_divergence(line.positions, line.slopes, masses)
    room = arb(_TINY.numerator) / _TINY.denominator
    return Evidence(
        "claim",
        f"d = 1, labels with probabilities in the ratio {':'.join(map(str, masses))}: the bound of each "
        "order of the tokens on the line, and weights on many scales",
        f"infimum = sum rho_(i) log ceil(i / 2) = {decimal_below(infimum, 7)} .. {decimal_above(infimum, 7)} nats",
        f"KL >= {decimal_below(floor.value, 7)} nats; weights with <= {decimal_above(reached, 7)} nats",
        Method("balls", Means.BALLS),
        proved(bool(reached <= infimum + room)),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=(Comparison(floor, ">=", infimum - room), *_beyond_two(len(masses), np.atleast_2d(line.positions))),
    )


def _beyond_two(labels: int, stream: Float64Array) -> tuple[Comparison, ...]:
    """In one dimension labels cost something from the third on: what the last of equally likely ones adds."""
    sizes = {"d": len(stream)}
    comparisons = (*met(CLAIM, "line", **sizes), *failed(CLAIM, "plane", **sizes))
    costs = [count * line_infimum((1,) * count) for count in range(1, labels + 1)]
    for i, cost in enumerate(costs[2:], start=3):
        added = Comparison(cost - costs[i - 2], "agrees with", stated(CLAIM, "term", i=i))
        comparisons += (added, Comparison(cost, ">", 0), *met(CLAIM, "labels", i=i))
    if labels == 2:
        comparisons += (Comparison(costs[-1], "<=", 0), *failed(CLAIM, "labels", i=labels))
    return comparisons


def _all_sizes(name: str) -> Evidence:
    bits = SIGNIFICAND[name]
    enough, never = always_enough(bits), never_enough(bits)
    verdicts, works = [], []
    for count in range(1, never):
        vectors = rounded(circle(count), name)
        result = winners(vectors)
        verdicts.append(proved(is_rounded_circle(vectors, bits)))
        works.append(result.verdict is Verdict.PROVED)
        if count <= enough:
            verdicts.append(result.verdict)
    first = 1 + works.index(False)
    largest = max(count for count, work in enumerate(works, start=1) if work)
    return Evidence(
        "claim",
        f"{name}: the rounded circle of every N < {never}, decided in exact arithmetic; from {never} on tokens 0 and 1 "
        "tie",
        f"all labels win for every N <= {enough}, and for no N >= {never}",
        f"they win for every N <= {first - 1}, not for N = {first}, for {sum(works)} N in all, the largest "
        f"N = {largest}",
        Method(
            "distances from the circle, then float64 with an error bound, then rationals", Means.EXACT, Means.ENCLOSURES
        ),
        Verdict.all_of(verdicts),
        compared=(*_about(enough, "enough", bits), *_about(never, "never", bits)),
    )


def _about(count: int, name: str, bits: int) -> tuple[Comparison, ...]:
    """State that a number of tokens is within 5 % of the stated one."""
    limit = stated(CLAIM, name, p=bits)
    return Comparison(Fraction(21 * count, 20), ">", limit), Comparison(Fraction(19 * count, 20), "<", limit)


_LAST, _LARGEST = 15681, 17996  # float32: what the search found; everything said of them is certified


def _float32(*, everything: bool) -> Evidence:
    name, bits = "float32", SIGNIFICAND["float32"]
    enough, never = always_enough(bits), never_enough(bits)
    work = range(enough + 1, _LAST + 1) if everything else range(_LAST - 19, _LAST + 1)
    fail = range(_LARGEST + 1, never) if everything else range(_LARGEST + 1, _LARGEST + 201)
    verdicts = []
    for count in (*work, _LARGEST):
        vectors = rounded(circle(count), name)
        verdicts += [winners(vectors).verdict, proved(is_rounded_circle(vectors, bits))]
    for count in (_LAST + 1, *fail):
        arcs = (rounded(arc(count, points), name) for points in (count // 8, count))  # an eighth is mostly enough
        verdicts.append(proved(any(losing_pair(count, vectors, bits) is not None for vectors in arcs)))
    certified = (
        f"they win for every N from {work[0]} to {work[-1]} and for N = {_LARGEST}, and not for N = {_LAST + 1} and "
        f"any from {fail[0]} to {fail[-1]}"
    )
    return Evidence(
        "claim",
        f"{name}: the rounded circle decided in exact arithmetic for {len(work) + len(fail) + 2} numbers of tokens",
        f"all labels win for every N <= {enough}, and for no N >= {never}",
        certified if all(verdict is Verdict.PROVED for verdict in verdicts) else "not decided as expected",
        Method("as before; a pair that loses is checked in rationals", Means.EXACT),
        Verdict.all_of(verdicts),
    )


def _float64(count: int) -> Evidence:
    enough, never = always_enough(53), never_enough(53)
    result = winners(circle(count))
    return Evidence(
        "claim",
        f"float64: the circle of N = {count} as constructed, at most {result.distance:.1e} from the exact one",
        f"all labels win for every N <= {enough} if rounded correctly, and for no N >= {never}",
        f"all labels win: {result.verdict.value}",
        Method("distance from the circle, in enclosures", Means.ENCLOSURES),
        result.verdict,
    )


def _factor(count: int, decay: Fraction) -> Fraction:
    """Return a factor lambda for which lambda m is near a number."""
    return Fraction(float(decay) / (2 * np.sin(np.pi / max(count, 2)) ** 2))
