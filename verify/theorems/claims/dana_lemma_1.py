"""Lemma 1 of Dana et al.: under full support there is a best encoder; and a memory that holds the best one found.

Page: docs/claims/sequence_encoder.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from flint import arb

from constructions.encoders.sequence_encoder import best_encoder
from constructions.heads_of_theorem_1.random.distributions import (
    distributions_with_a_mode,
    low_rank_distributions_memory,
)
from constructions.numeric.arrays import Float64Array
from verify.arithmetic.decimals import number
from verify.arithmetic.elementary import exp, log1p
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.sums import total
from verify.certificates.certificate import FEATURE_RANK
from verify.divergence.kullback_leibler import entropy
from verify.provers.memorization import certify_memorization
from verify.theorems.claim import Claim, Hypothesis
from verify.theorems.encoders.encoder_ceiling import encoder_divergence, mean_divergence, network_divergence
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.encoder_bracket import bracketed
from verify.theorems.evidence.theorems import ENCODER_DIVERGENCE
from verify.verdict import Verdict, proved

CLAIM = Claim(
    id="dana.lemma-1",
    title="The best encoder exists under full support",
    source="Dana, Pydi, Chevaleyre (2024), Lemma 1",
    kind="statement",
    quotation=(
        r"Lemma 1. Under Assumption 2, there exists $f \in \mathcal{L}(N, S, d)$ such that $d_{KL}(\pi, f) = "
        r"d_{KL}(\pi, \mathcal{L}(N, S, d))$"
    ),
    printed="Under Assumption 2 (full support) some f in L(N, S, d) attains the infimum d_KL(pi, L(N, S, d)).",
    judgement="holds",
    truth=(
        "True: centred logits of divergence at most U are bounded by [[bound: (U / rho + H) / p]] up to a constant, H "
        "the largest entropy, rho and p the least probabilities of a context and of a token, and the matrices of rank "
        "at most d are closed. The centring has to be the uniform one. Without full support it fails for "
        "[[tokens: N = 2]], [[line: d = 1]] and a distribution that is sure of a token: the infimum is not attained. "
        "The best encoder that is found is bracketed: no encoder is better than the sharpened Theorem SE1 allows."
    ),
    page="docs/claims/sequence_encoder.md",
    hypotheses=(
        Hypothesis(
            "sizes of at least 1 and a seed of at least 0",
            lambda d_vocab, n_ctx, d_model, d_head, seed, **_: min(d_vocab, n_ctx, d_model, d_head) >= 1 and seed >= 0,
        ),
        Hypothesis(
            "S >= 2 or N <= d (features of rank N)",
            lambda d_vocab, n_ctx, d_model, **_: n_ctx >= 2 or d_vocab <= d_model,
        ),
        Hypothesis("d_h <= d", lambda d_model, d_head, **_: d_head <= d_model),
    ),
    parameters={"d_vocab": 4, "n_ctx": 2, "d_model": 2, "d_head": 2, "seed": 0},
    build=low_rank_distributions_memory,
)

_FLOATS = "float64 with proved error bounds"


_SIZES = ((3, 2, 1), (4, 6, 2), (6, 10, 3), (8, 16, 3))


_SIZES_FULL = ((12, 30, 5), (16, 64, 4), (32, 128, 8))


def evidence(*, full: bool) -> Iterator[Evidence]:
    sizes = _SIZES + (_SIZES_FULL if full else ())
    yield _attained(sizes)
    for spread in (0.1, 1.0):
        yield _bracketed(sizes, spread)
    yield bracketed("claim")
    yield _full_support_is_needed((1, 10, 100, 700) if full else (1, 10, 100))
    yield _built()


def logit_radius(distributions: Float64Array, level: float) -> float:
    r"""Return an upper bound of the centred logits of an encoder whose mean divergence is at most `level`, in nats.

    For equal priors $1/T$ every context has a divergence of at most $T U$, so
    $-\log q_j \le (T U + H(\pi_t)) / \pi_{t,j}$, and centred logits differ by no more than the logarithms do.

    Args:
        distributions: Positive weights, `[T, N]`.
        level: U, nats.

    Returns:
        The bound, rounded up; infinite where a distribution has a zero.

    Example:
        >>> 2.7 < logit_radius(np.array([[1.0, 1.0]]), 0.6931472) < 2.8
        True
    """
    masses = Enclosure(distributions) / total(distributions, 1).reshape(len(distributions), 1)
    largest = (entropy(distributions) + float(len(distributions)) * Enclosure(level)).reshape(
        len(distributions), 1
    ) / masses
    return float(largest.upper().max())


def _attained(sizes: tuple[tuple[int, int, int], ...]) -> Evidence:
    verdicts, radii, compared = [], [], []
    for d_vocab, rows, rank in sizes:
        distributions = distributions_with_a_mode(rows, d_vocab, seed=rank)
        silent, level = mean_divergence(Enclosure(np.zeros_like(distributions)), distributions)
        encoder = best_encoder(distributions, rank, starts=8)
        _, upper = encoder_divergence(encoder.E, encoder.W, distributions)
        radius = logit_radius(distributions, level)
        # A distribution that is uniform: all bounds of one context are equal.
        flat = stated(CLAIM, "bound", U=level, rho=Fraction(1, rows), H=arb(d_vocab).log(), p=Fraction(1, d_vocab))
        compared.append(Comparison(logit_radius(np.ones((rows, d_vocab)), level), "agrees with", flat))
        verdicts += [proved(upper < silent < np.inf), proved(radius < np.inf)]
        radii.append(radius)
    return Evidence(
        "claim",
        f"distributions of full support, (N, T, d) = {_listed(sizes)}: encoders that are no worse than E = 0 have "
        "centred logits of a bounded size, so that the infimum is over a compact set of matrices of rank at most d and "
        "is attained; an encoder that is strictly better than E = 0 is there",
        "a minimum exists",
        f"|centred logits| <= {number(max(radii), digits=4, bound='upper')} where KL is at most that of E = 0",
        Method(f"{_FLOATS}: (T U + H(pi_t)) / pi_tj", Means.ENCLOSURES),
        Verdict.all_of(verdicts),
        compared=tuple(compared),
    )


def _bracketed(sizes: tuple[tuple[int, int, int], ...], spread: float) -> Evidence:
    compared, shares, shown = [], [], []
    for d_vocab, rows, rank in sizes:
        distributions = np.exp(spread * np.random.default_rng(rank).standard_normal((rows, d_vocab)))
        encoder = best_encoder(distributions, rank, starts=8)
        _, upper = encoder_divergence(encoder.E, encoder.W, distributions)
        floor = ENCODER_DIVERGENCE.at("lower", distributions=distributions, d_model=rank)
        lower = floor.value
        compared += [Comparison(floor, ">", 0), Comparison(floor, "<=", upper)]
        shares.append(lower / upper)
        shown.append(f"[{number(lower, digits=4, bound='lower')}, {number(upper, digits=4, bound='upper')}]")
    return Evidence(
        "claim",
        f"distributions with normal logarithms of deviation {spread}, (N, T, d) = {_listed(sizes)}: the best encoder "
        "that was found is an upper bound of the minimum, the sharpened Theorem SE1 a lower bound",
        "0 < lower <= minimum <= upper",
        f"minimum in {', '.join(shown)} nats; the lower bounds are >= {min(shares):.2f} of the upper ones",
        Method(f"{_FLOATS}: singular values, divergences", Means.ENCLOSURES),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=tuple(compared),
    )


def _full_support_is_needed(sizes: tuple[int, ...]) -> Evidence:
    # N = 2, d = 1, pi = (1, 0): the logits differ by x = (w_1 - w_2) e, any real number, and KL = log(1 + e^-x) > 0.
    weights, distribution = np.array([[0.5], [-0.5]]), np.array([1.0, 0.0])
    values = [log1p(exp(Enclosure(-float(x)))) for x in sizes]
    lower, upper = [float(value.lower()) for value in values], [float(value.upper()) for value in values]
    falls = all(after < before for before, after in zip(lower, upper[1:], strict=False))
    return Evidence(
        "boundary",
        "Assumption 2 is needed: N = 2, d = 1, pi = (1, 0): KL = log(1 + exp(-x)) is positive for every difference "
        f"x of the logits and falls to 0; x = {', '.join(map(str, sizes))}",
        "no minimum without full support",
        f"0 < KL <= {', '.join(number(value, bound='upper') for value in upper)}",
        Method(f"{_FLOATS}: log1p", Means.ENCLOSURES),
        proved(all(value > 0.0 for value in lower) and falls),
        compared=(*met(CLAIM, "tokens", N=len(distribution)), *met(CLAIM, "line", d=weights.shape[1])),
    )


def _built() -> Evidence:
    construction = CLAIM.construct()
    task, network = construction.task, construction.model
    distributions = task.distributions if task.distributions is not None else np.zeros((1, 1))
    certified = certify_memorization(network, task, construction.criterion, rank=True)
    lower, upper = network_divergence(network, task)
    floor = ENCODER_DIVERGENCE.at("lower", distributions=distributions, d_model=network.d_model, prior=task.prior)
    ranked = proved(certified.certificate.statement(FEATURE_RANK) is not None)
    return Evidence(
        "claim",
        f"weights built: {construction.summary}; their mean divergence is that of the best encoder found",
        "divergence of the best encoder",
        f"KL in [{number(lower, digits=6, bound='lower')}, {number(upper, digits=6, bound='upper')}], rank "
        f"{network.d_model} not below {number(floor.value, digits=4, bound='lower')} nats",
        Method(f"certificate of the float64 weights, {_FLOATS}", Means.ENCLOSURES),
        Verdict.all_of([ranked, certified.certificate.verdict, proved(upper < np.inf)]),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=(Comparison(floor, ">", 0), Comparison(floor, "<=", upper)),
    )


def _listed(sizes: tuple[tuple[int, int, int], ...]) -> str:
    return ", ".join(map(str, sizes))
