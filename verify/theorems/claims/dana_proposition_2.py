"""Proposition 2 of Dana et al.: N - 1 dimensions reach every distribution, and no fewer do.

Page: docs/claims/sequence_encoder.md
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from flint import fmpz_mat

from constructions.encoders.exact_factors import exact_factors, gap_distributions
from constructions.encoders.sequence_encoder import best_encoder
from constructions.heads_of_theorem_1.random.distributions import full_rank_distributions_memory
from constructions.numeric.arrays import Float64Array
from verify.arithmetic.decimals import number
from verify.arithmetic.elementary import log
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.sums import total
from verify.divergence.kullback_leibler import divergence
from verify.provers.memorization import certify_memorization
from verify.theorems.claim import Claim, Hypothesis
from verify.theorems.encoders.ball_cover import cover_floor_in_balls
from verify.theorems.encoders.encoder_ceiling import encoder_divergence, truncation_ceiling
from verify.theorems.encoders.encoder_floor import encoder_floor
from verify.theorems.encoders.truncation_bound import log_distribution_singular_values
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, failed, met, stated
from verify.theorems.evidence.encoder_bracket import bracketed
from verify.theorems.evidence.theorems import ENCODER_DIVERGENCE
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="dana.proposition-2",
    title="N - 1 dimensions reach every distribution",
    source="Dana, Pydi, Chevaleyre (2024), Proposition 2",
    kind="statement",
    quotation=(
        r"Proposition 2. For any distribution π , if $d \ge N - 1$, then $d_{KL}(\pi, \mathcal{L}(N, S, d)) = 0$. "
        r"Conversely, if d < N - 1, there exists a distribution π such that $d_{KL}(\pi, \mathcal{L}(N, S, d)) > 0$."
    ),
    printed=(
        "If [[enough: d >= N - 1]], then d_KL(pi, L(N, S, d)) vanishes for every pi; if [[fewer: d < N - 1]], there is "
        "a pi for which it is positive."
    ),
    judgement="holds",
    truth=(
        "True, and sharper: under full support the infimum vanishes if and only if diag(sqrt rho) L J has rank at most "
        "d, L the logarithms and J the uniform centring; it vanishes for all pi if and only if "
        "[[needed: d >= min(N - 1, k)]], k the number of contexts of positive probability. With s the sum of the "
        "squares of the singular values beyond the first d it is between c s and [[upper: s / 4]], where a positive c "
        "is explicit (Theorem SE1), and sharper bounds weight the tokens."
    ),
    page="docs/claims/sequence_encoder.md",
    hypotheses=(
        Hypothesis(
            "sizes of at least 1 and a seed of at least 0",
            lambda d_vocab, n_ctx, d_head, seed, **_: min(d_vocab, n_ctx, d_head) >= 1 and seed >= 0,
        ),
        Hypothesis("S >= 2 (features of rank N^S)", lambda n_ctx, **_: n_ctx >= 2),
        Hypothesis("N >= 2", lambda d_vocab, **_: d_vocab >= 2),
        Hypothesis("d_h <= d = N - 1", lambda d_vocab, d_head, **_: d_head <= d_vocab - 1),
    ),
    parameters={"d_vocab": 5, "n_ctx": 2, "d_head": 2, "seed": 0},
    build=full_rank_distributions_memory,
)

_FLOATS = "float64 with proved error bounds"


_TINY = 1e-20  # nats; what roundings may leave of a divergence that is 0


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _exact_for_all_distributions(256 if full else 64)
    yield _exact_in_floats((2, 3, 8, 64, 256) if full else (2, 3, 8, 64))
    yield _zeros((1e-1, 1e-3, 1e-6, 1e-12))
    yield _few_contexts()
    yield _gap(24 if full else 8)
    yield _sandwich(60 if full else 12)
    yield bracketed("claim")
    yield _closed()
    yield _built()


def _exact_for_all_distributions(largest: int) -> Evidence:
    verdicts: list[Verdict] = []
    compared: list[Comparison] = []
    for d_vocab in range(1, largest + 1):
        D, W_U = exact_factors(d_vocab)
        entries = [int(i == j) - int(i == d_vocab - 1) for i in range(d_vocab) for j in range(d_vocab)]
        verdicts.append(decided(D.ncols() == d_vocab - 1 and D * W_U == fmpz_mat(d_vocab, d_vocab, entries)))
        compared += met(CLAIM, "enough", d=D.ncols(), N=d_vocab)
    return Evidence(
        "claim",
        f"N = 1 .. {largest}, d = N - 1, E = L D and W = [I; 0]: the logits E W^T = L (I - e_N 1^T) differ from the "
        "logarithms L by one number in each row, so that KL = 0 for all distributions of full support",
        "KL = 0",
        "D W^T = I - e_N 1^T",
        Method("products of integer matrices", Means.EXACT),
        Verdict.all_of(verdicts),
        compared=tuple(compared),
    )


def _exact_in_floats(sizes: Sequence[int]) -> Evidence:
    worst = 0.0
    for d_vocab in sizes:
        for smallest in (1.0, 1e-30):
            rng = np.random.default_rng(d_vocab)
            distributions = smallest ** rng.random((16, d_vocab)) * (0.5 + rng.random((16, d_vocab)))
            encoder = best_encoder(distributions, d_vocab - 1)
            worst = max(worst, encoder_divergence(encoder.E, encoder.W, distributions)[1])
    return Evidence(
        "claim",
        f"N in {', '.join(map(str, sizes))}, d = N - 1, 16 distributions each, generic ones and ones with masses down "
        "to 1e-30: the encoder in float64 is exact but for rounding",
        "KL = 0",
        f"KL <= {number(worst, bound='upper')} nats",
        Method(f"{_FLOATS}: range(z - log pi)^2 / 8", Means.ENCLOSURES),
        proved(worst < _TINY),
    )


def _zeros(noises: Sequence[float]) -> Evidence:
    distributions = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 5, 3, 0], [1, 2, 3, 4]], dtype=np.float64)
    verdicts, shown = [], []
    for noise in noises:
        # (1 - eta) pi + eta / N, in enclosures: its logarithms are the logits of an exact encoder.
        masses = Enclosure(distributions) / total(distributions, 1).reshape(len(distributions), 1)
        smooth = masses * (1.0 - Enclosure(noise)) + Enclosure(noise) / float(distributions.shape[1])
        largest = float(divergence(log(smooth), distributions).upper().max())
        allowed = -log(1.0 - Enclosure(noise))
        # Where a distribution has one token only, KL = -log(1 - eta + eta / N): less than allowed by about eta / N.
        verdicts.append(proved(largest <= float(allowed.lower())))
        shown.append(number(largest, bound="upper"))
    return Evidence(
        "claim",
        "four distributions over N = 4 tokens, three of them with zeros: the distributions (1 - eta) pi + eta / N have "
        f"full support, are exact at d = N - 1, and cost at most -log(1 - eta); eta = {', '.join(map(str, noises))}",
        "inf = 0",
        f"KL <= {', '.join(shown)} <= -log(1 - eta)",
        Method(f"{_FLOATS}: divergences", Means.ENCLOSURES),
        Verdict.all_of(verdicts),
        {"distributions": distributions.astype(int).tolist()},
    )


def _few_contexts() -> Evidence:
    worst, compared = 0.0, list[Comparison]()
    for d_vocab, rows in ((5, 1), (7, 3), (20, 6)):
        distributions = np.exp(3.0 * np.random.default_rng(rows).standard_normal((rows, d_vocab)))
        encoder = best_encoder(distributions, rows)
        compared += met(CLAIM, "needed", d=encoder.E.shape[1], N=d_vocab, k=rows)
        worst = max(worst, encoder_divergence(encoder.E, encoder.W, distributions)[1])
    return Evidence(
        "claim",
        "d = T contexts are enough for any distributions of full support: (N, T) = (5, 1), (7, 3), (20, 6)",
        "KL = 0 for d >= min(N - 1, T)",
        f"KL <= {number(worst, bound='upper')} nats",
        Method(f"{_FLOATS}: range(z - log pi)^2 / 8", Means.ENCLOSURES),
        proved(worst < _TINY),
        compared=tuple(compared),
    )


def _gap(largest: int) -> Evidence:
    verdicts, floors, sizes = [], [], list[Comparison]()
    for d_vocab in range(2, largest + 1):
        for rank in range(d_vocab - 1):
            distributions = gap_distributions(d_vocab, rank)
            floor = ENCODER_DIVERGENCE.at("lower", distributions=distributions, d_model=rank)
            verdicts.append(decided(np.array_equal(distributions, 1 + np.eye(rank + 1, d_vocab))))
            floors.append(floor)
            sizes += met(CLAIM, "fewer", d=rank, N=d_vocab)
            sizes += failed(CLAIM, "needed", d=rank, N=d_vocab, k=len(distributions))
    return Evidence(
        "claim",
        f"for every N = 2 .. {largest} and every d < N - 1 there are d + 1 distributions, each with twice the mass at "
        "a token of its own, that rank d does not reach",
        "inf > 0",
        f"inf >= {number(min(floor.value for floor in floors), bound='lower')} nats in all {len(floors)} cases",
        Method(f"{_FLOATS}: singular values", Means.ENCLOSURES),
        Verdict.all_of(verdicts),
        {"N = 3, d = 1": gap_distributions(3, 1).astype(int).tolist()},
        quantifier=Quantifier.ALL_ENCODERS,
        compared=(*(Comparison(floor, ">", 0) for floor in floors), *sizes),
    )


def _closed() -> Evidence:
    """Peaked distributions: covers of all directions, judged twice, and encoders that are nearly as good as any."""
    compared, shown, again = list[Comparison](), [], []
    for d_vocab, contexts, rank, cones in ((3, 2, 1, 200), (4, 12, 2, 1000), (4, 12, 1, 400)):
        distributions = np.random.default_rng(d_vocab).integers(1, 100, (contexts, d_vocab)).astype(np.float64) ** 2
        encoder = best_encoder(distributions, rank, starts=6)
        reached = encoder_divergence(encoder.E[:, :rank], encoder.W[:, :rank], distributions)[1]
        floor = ENCODER_DIVERGENCE.at("lower", distributions=distributions, d_model=rank, cones=cones)
        near = Fraction(95, 100) * Fraction(reached) if np.isfinite(reached) else float("inf")
        again.append(proved(_read_again(distributions, rank, cones) >= near))
        compared += [Comparison(floor, "<=", reached), Comparison(floor, ">=", near), Comparison(floor, ">", 0)]
        shown.append(f"[{number(floor.value, digits=4, bound='lower')}, {number(reached, digits=4, bound='upper')}]")
    return Evidence(
        "claim",
        "peaked distributions, (N, T, d) = (3, 2, 1), (4, 12, 2), (4, 12, 1): the gap, by covers of all directions, "
        "and encoders within 5 %",
        "inf > 0, at least 0.95 of what an encoder reaches",
        f"inf in {', '.join(shown)} nats",
        Method("entropies on cones that are cut in integers, and again in fractions and balls", Means.ENCLOSURES),
        Verdict.all_of(again),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=tuple(compared),
    )


def _read_again(distributions: Float64Array, rank: int, cones: int) -> float:
    """Return the bound of the cover by the second reader, rounded down."""
    cover = encoder_floor(distributions, rank, cones=cones).cover
    if cover is None:
        return 0.0
    read = (x.tolist() for x in (cover.cuts, cover.scales, cover.moves))
    return math.nextafter(
        float(cover_floor_in_balls(distributions.tolist(), [1.0] * len(distributions), rank, *read).lower()), 0.0
    )


def _sandwich(count: int) -> Evidence:
    verdicts, ratios, compared = [], [], list[Comparison]()
    for seed in range(count):
        rng = np.random.default_rng(seed)
        d_vocab, rows = int(rng.integers(3, 8)), int(rng.integers(3, 13))
        rank = int(rng.integers(0, min(d_vocab - 1, rows)))
        distributions = np.exp(rng.normal(size=(rows, d_vocab)) * 10.0 ** rng.uniform(-3, 0.5))
        prior = rng.random(rows)
        encoder = best_encoder(distributions, rank, prior=prior, starts=4)
        floor = encoder_floor(distributions, rank, prior=prior).lower
        lower, upper = encoder_divergence(encoder.E, encoder.W, distributions, prior=prior)
        ceiling = truncation_ceiling(distributions, rank, prior=prior)
        verdicts.append(proved(0.0 < floor <= upper and 0.0 < floor <= ceiling and lower <= upper < np.inf))
        values = log_distribution_singular_values(distributions, prior=prior)[rank:]
        quarter = stated(CLAIM, "upper", s=total(values * values, 0))
        compared += [
            Comparison(ceiling * (1 + 2.0**-20), ">", quarter),
            Comparison(ceiling * (1 - 2.0**-20), "<", quarter),
        ]
        ratios.append(floor / min(upper, ceiling))
    return Evidence(
        "claim",
        f"{count} random instances, N <= 7, T <= 12, d < min(N - 1, T), logarithms of deviation 0.001 to 3, random "
        "priors: Theorem SE1 <= the encoder found, and Theorem SE1 <= (1/4) sum of the squares of the last singular "
        "values",
        "Theorem SE1 <= inf <= (1/4) sum_{i>d} s_i^2",
        f"both in all; lower / upper between {min(ratios):.3f} and {max(ratios):.3f}",
        Method(f"{_FLOATS}: singular values, divergences", Means.ENCLOSURES),
        Verdict.all_of(verdicts),
        compared=tuple(compared),
    )


def _built() -> Evidence:
    construction = CLAIM.construct()
    certificate = certify_memorization(construction.model, construction.task)
    worst = float(certificate.answers.loss_upper.max())
    return Evidence(
        "claim",
        f"weights built: {construction.summary}",
        "KL = 0",
        f"KL <= {number(worst, bound='upper')} nats in every context",
        Method("certificate of the float64 weights", Means.ENCLOSURES),
        Verdict.all_of([certificate.certificate.verdict, proved(worst < _TINY)]),
    )
