"""The least-squares bound of the slides: what the truncated logarithms of distributions cost.

Page: docs/claims/least_squares.md
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpz_mat

from constructions.encoders.bottleneck import truncated_distributions_memory
from constructions.encoders.truncated_distributions import (
    hadamard_distributions,
    random_distributions,
    rank_one_distributions,
    sharp_distributions,
    token_pair_distributions,
    truncated_distributions,
)
from constructions.numeric.arrays import Float64Array
from verify.arithmetic.decimals import decimal_above, decimal_below
from verify.arithmetic.enclosure import Enclosure, largest, matmul, sqrt
from verify.arithmetic.sums import total
from verify.linear_algebra.singular_values import enclose_singular_values
from verify.theorems.claim import Claim
from verify.theorems.encoders.truncation_bound import (
    MomentBounds,
    least_squares_bound,
    log_distribution_singular_values,
    log_distributions,
    mean_over,
    moment_bounds,
    probabilities,
    sharp_divergence,
    tail_value,
)
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.encoder_bracket import bracketed
from verify.theorems.evidence.theorems import ENCODER_DIVERGENCE, LEAST_SQUARES
from verify.verdict import proved

CLAIM = Claim(
    id="slides.least-squares",
    title="The cost of the least-squares solution",
    source="Dana, slides of 13 June 2024, Almost rank d",
    kind="statement",
    quotation=(
        r"$f_{ls}$ solution to the least-square problem $$||W_{ls} - L||_2$$ $$d_{KL}(\pi, f_{ls}) \leq "
        r"N||\pi||_{+\infty}^2 \sigma_{d+1}^2 + (N||\pi||_{+\infty})^{\frac{3}{2}} \sigma_{d+1}^3$$"
    ),
    printed=(
        "For the truncation f_ls of L := log pi to rank d, d_KL(pi, f_ls) is at most "
        "[[printed: N p^2 sigma^2 + (N p)^(3/2) sigma^3]], p := |pi|_inf, sigma := sigma_(d+1)."
    ),
    reading=(
        r'pi are the conditional probabilities, as in "$w_U(t_{S+1})^T w_E(t_{1:S}) = \log(\pi(t_{S+1}|t_{1:S}))$ so '
        r'if $L = \log(\pi)$ has rank d" before. With the largest joint or prior probability for the norm the bound '
        r"is false."
    ),
    judgement="holds",
    truth=(
        "It holds, and is loose. Sharp: d_KL is at most [[sharp: sigma^2 / 4]] for every prior, and "
        "[[mass: (p/2) sigma^2 / (1 - sqrt 2 sigma / 3)]] for [[range: sigma < 3 / sqrt 2]], with the singular "
        "values of L or, never worse, of L without its row means. With p the largest joint or prior probability the "
        "printed bound fails."
    ),
    page="docs/claims/least_squares.md",
    hypotheses=conditions("3 <= N <= 32", "2 <= d <= N", "seed >= 0"),
    parameters={"d_vocab": 8, "d_model": 2, "seed": 0},
    build=truncated_distributions_memory,
)

_SHAPES = ((4, 3, 1), (6, 5, 2), (12, 10, 3), (30, 20, 4))  # T, N, d


_SPREADS = ((0.1, 0.01), (1.0, 0.3), (3.0, 1.0), (12.0, 4.0))  # of the part of rank d, and of the noise


_WORDS = {"conditional": "max pi(i|t)", "joint": "max rho_t pi(i|t)", "prior": "max rho_t"}


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _joint_reading_fails()
    yield _prior_reading_fails()
    instances = [judged(distributions, rank) for distributions, rank in random_instances(12 if full else 3)]
    yield from _hold_on(instances)
    yield bracketed("claim")
    yield _almost_attained()
    yield _means_cost_a_rank()
    yield _bound_is_not_divergence(400 if full else 40)


@dataclass(frozen=True, eq=False)
class Judged:
    """The truncation of $L P_1$ to rank d in float64, with its divergences and their bounds.

    Args:
        distributions: Weights, `[T, N]`.
        rank: d.
        divergence: Divergence of each distribution from the truncation, nats, `[T]`.
        moments: Its bounds by moments.
        singular_values: Of $L P_1$.
    """

    distributions: Float64Array
    rank: int
    divergence: Enclosure
    moments: MomentBounds
    singular_values: Enclosure

    def sharp_bound_holds(self) -> bool:
        r"""Whether every divergence is proved to be at most $\sigma_{d+1}^2 / 4$: then every mean of them is."""
        return never_above(self.divergence, least_squares_bound(self.singular_values, self.rank))

    def printed_bound_holds(self) -> bool:
        """Return whether the printed bound holds, with the largest conditional probability for the norm."""
        return never_above(self.divergence, self.printed(norm(self.distributions, None, "conditional")))

    def mass_bound_holds(self) -> bool | None:
        r"""Return whether $\frac12 p \sigma^2 / (1 - \sqrt2 \sigma / 3)$ is a bound, p the largest mass; `None` out of
        its range.
        """
        value = tail_value(self.singular_values, self.rank)
        if not float((1.0 - sqrt(2.0) * value / 3.0).lower()) > 0.0:
            return None
        return never_above(self.divergence, _mass_bound(norm(self.distributions, None, "conditional"), value))

    def moments_hold(self) -> bool:
        """Return whether the divergence is proved to lie between its moment bounds, up to a relative $2^{-16}$.

        A distribution with tiny masses has next to two points, and then the bounds are next to equal.
        """
        bounds = self.moments
        above = (bounds.two_point, bounds.upper, bounds.by_range, bounds.by_norm)
        wider = self.divergence * (1.0 + 2.0**-16)
        return never_above(bounds.lower, wider) and all(
            never_above(self.divergence, x * (1.0 + 2.0**-16)) for x in above
        )

    def printed(self, size: Enclosure) -> Enclosure:
        r"""Return the printed bound $N a^2 \sigma_{d+1}^2 + (N a)^{3/2} \sigma_{d+1}^3$ for the norm a."""
        return printed_bound(self.distributions.shape[1], size, tail_value(self.singular_values, self.rank))


def judged(distributions: Float64Array, rank: int) -> Judged:
    """Truncate $L P_1$ and enclose the cost."""
    logits = truncation(distributions, rank)
    return Judged(
        distributions,
        rank,
        sharp_divergence(logits, distributions),
        moment_bounds(logits, distributions),
        log_distribution_singular_values(distributions),
    )


def truncation(
    distributions: Float64Array, rank: int, *, prior: Float64Array | None = None, without_means: bool = True
) -> Enclosure:
    """Return the enclosed logits of a truncation with rounded factors; arguments as for the builder.

    No more than `rank` columns of the factors are used, whatever the builder returns.
    """
    truncated = truncated_distributions(distributions, rank, prior=prior, without_means=without_means)
    return matmul(truncated.E[:, :rank], truncated.W[:, :rank].T)


def never_above(values: Enclosure, bound: Enclosure) -> bool:
    """Tell whether each value is proved to be at most the bound."""
    return bool((values.upper() <= bound.lower()).all())


def norm(distributions: Float64Array, prior: Float64Array | None, reading: str) -> Enclosure:
    r"""Enclose $\lVert \pi \rVert_\infty$, read as the largest conditional, joint or prior probability.

    Args:
        distributions: Weights, `[T, N]`.
        prior: Weights of the contexts, `[T]`; equal ones by default.
        reading: ``"conditional"``, ``"joint"`` or ``"prior"``.
    """
    return largest(_flat(distributions, prior, reading), 0)


def least(distributions: Float64Array, prior: Float64Array | None, reading: str) -> Enclosure:
    r"""Enclose $\lVert \pi \rVert_{-\infty}$, the least of the same probabilities; arguments as of `norm`."""
    masses = _flat(distributions, prior, reading)
    return Enclosure.between(masses.lower().min(), masses.upper().min())


def _flat(distributions: Float64Array, prior: Float64Array | None, reading: str) -> Enclosure:
    shares = probabilities(np.ones(len(distributions)) if prior is None else prior, len(distributions))
    if reading == "prior":
        return shares
    masses = Enclosure(distributions) / total(distributions, 1).reshape(len(distributions), 1)
    if reading == "joint":
        masses = masses * shares.reshape(len(distributions), 1)
    return masses.reshape(masses.size)


def printed_bound(d_vocab: int, size: Enclosure, value: Enclosure) -> Enclosure:
    r"""Enclose $N a^2 s^2 + (N a)^{3/2} s^3$ for the norm a and the singular value s."""
    product = size * float(d_vocab)
    return product * size * value * value + product * sqrt(product) * value * value * value


def _mass_bound(size: Enclosure, value: Enclosure) -> Enclosure:
    r"""Enclose $\frac12 p s^2 / (1 - \sqrt2 s / 3)$ for the largest mass p and the singular value s."""
    return size * value * value * 0.5 / (1.0 - sqrt(2.0) * value / 3.0)


def random_instances(seeds: int) -> Iterator[tuple[Float64Array, int]]:
    """Draw distributions and ranks: logarithms of rank d with noise, from nearly uniform to masses below 1e-30."""
    for seed in range(seeds):
        for contexts, d_vocab, rank in _SHAPES:
            for spread, noise in _SPREADS:
                yield random_distributions(contexts, d_vocab, spread=spread, rank=rank, noise=noise, seed=seed), rank


def at_least(x: Enclosure | float) -> str:
    """Return a five-digit decimal lower bound of an enclosed number."""
    return decimal_below(float(_ends(x)[0]), 5)


def at_most(x: Enclosure | float) -> str:
    """Return a five-digit decimal upper bound of an enclosed number."""
    return decimal_above(float(_ends(x)[1]), 5)


def _ends(x: Enclosure | float) -> tuple[float, float]:
    return (float(x.lower()), float(x.upper())) if isinstance(x, Enclosure) else (x, x)


def _joint_reading_fails() -> Evidence:
    distributions = hadamard_distributions(4, 0.01)
    floor = ENCODER_DIVERGENCE.at("lower", distributions=distributions, d_model=1)
    values = [log_distribution_singular_values(distributions, without_means=without) for without in (False, True)]
    bound = max(
        (
            printed_bound(distributions.shape[1], norm(distributions, None, "joint"), tail_value(value, 1))
            for value in values
        ),
        key=lambda x: float(x.upper()),
    )
    return Evidence(
        "boundary",
        f"T = {distributions.shape[0]}, N = {distributions.shape[1]}, "
        f"d = 1, uniform prior, softmax(0.01 h) for the nonconstant "
        "rows h of the Hadamard matrix: with the norm read as the largest joint probability the bound fails for "
        "rank 1, be it the truncation of L or of L P1 that is meant",
        f"<= {at_most(bound)} nats",
        f">= {at_least(floor.value)} nats at rank 1",
        Method("a floor of a rank, by weighted singular values", Means.ENCLOSURES),
        data={"distributions": distributions.tolist(), "norm": _WORDS["joint"]},
        quantifier=Quantifier.ALL_ENCODERS,
        compared=(Comparison(floor, ">", bound),),
    )


def _prior_reading_fails() -> Evidence:
    pairs = 6
    distributions = token_pair_distributions(pairs, size=0.01, depth=30.0)
    swapped = np.arange(2 * pairs) ^ 1
    matrix = log_distributions(distributions)
    half, rest = (matrix + matrix[:, swapped]) * 0.5, (matrix - matrix[:, swapped]) * 0.5
    kept, lost = enclose_singular_values(half), enclose_singular_values(rest)[0]
    symmetric = np.array_equal(distributions[swapped][:, swapped], distributions)
    unique = bool(symmetric and kept.lower()[pairs - 1] > lost.upper())
    cost = mean_over(np.ones(len(distributions)), sharp_divergence(half, distributions))
    bound = printed_bound(2 * pairs, norm(distributions, None, "prior"), lost)
    return Evidence(
        "boundary",
        f"T = N = {2 * pairs}, d = {pairs}, uniform prior, {pairs} pairs of tokens with the logits 0.01 and -0.01, "
        "-30 elsewhere: with the norm read as the largest prior probability the bound fails for the truncation of "
        "L, which is unique",
        f"<= {at_most(bound)} nats",
        f">= {at_least(cost)} nats",
        Method(
            "the truncation by a symmetry that is checked exactly; singular values and divergence enclosed",
            Means.EXACT,
            Means.ENCLOSURES,
        ),
        proved(unique and float(cost.lower()) > float(bound.upper())),
        data={"logits": {"own": [0.01, -0.01], "elsewhere": -30.0}, "norm": _WORDS["prior"]},
    )


def _hold_on(instances: list[Judged]) -> Iterator[Evidence]:
    described = (
        f"{len(instances)} random instances, T x N = {', '.join(f'{t} x {n}' for t, n, _ in _SHAPES)}, "
        f"d = {', '.join(str(rank) for *_, rank in _SHAPES)}, masses down to "
        f"{at_least(min(float(least(x.distributions, None, 'conditional').lower()) for x in instances))}"
    )
    worst = _worst(instances, lambda x: least_squares_bound(x.singular_values, x.rank))
    compared = []
    for x in instances:
        applied = LEAST_SQUARES.at(singular_values=x.singular_values, rank=x.rank)
        value = tail_value(x.singular_values, x.rank)
        compared.append(Comparison(applied, "<=", stated(CLAIM, "sharp", sigma=value * (1.0 + 2.0**-20))))
        compared.append(Comparison(stated(CLAIM, "sharp", sigma=value), "<=", applied.value * (1.0 + 2.0**-20)))
    yield Evidence(
        "claim",
        f"{described}: every divergence, hence the mean for every prior, is at most sigma_(d+1)^2 / 4",
        "<= 1 times the bound",
        f"<= {at_most(worst)} times the bound",
        Method("singular values of L P1, factors as rounded, divergences enclosed", Means.ENCLOSURES),
        proved(all(instance.sharp_bound_holds() for instance in instances)),
        compared=tuple(compared),
    )
    worst = _worst(instances, lambda x: x.printed(norm(x.distributions, None, "conditional")))
    formulas = [
        Comparison(
            printed_bound(d_vocab, Enclosure(a), Enclosure(b)),
            "agrees with",
            stated(CLAIM, "printed", N=d_vocab, p=a, sigma=b),
        )
        for d_vocab, a, b in ((4, 0.5, 0.25), (7, 0.75, 3.0), (3, 1.0, 0.125))
    ]
    yield Evidence(
        "claim",
        f"{described}: the printed bound with the largest conditional probability for the norm",
        "<= 1 times the bound",
        f"<= {at_most(worst)} times the bound",
        Method("the same", Means.ENCLOSURES),
        proved(all(instance.printed_bound_holds() for instance in instances)),
        compared=tuple(formulas),
    )
    masses = [
        Comparison(_mass_bound(Enclosure(a), Enclosure(b)), "agrees with", stated(CLAIM, "mass", p=a, sigma=b))
        for a, b in ((0.5, 0.25), (0.75, 1.5))
    ]
    within = [holds for holds in (instance.mass_bound_holds() for instance in instances) if holds is not None]
    yield Evidence(
        "claim",
        f"the {len(within)} of these with sigma_(d+1) < 3 / sqrt 2: the divergence is at most "
        "(p/2) sigma^2 / (1 - sqrt 2 sigma / 3), p the largest conditional probability",
        "<= the bound",
        f"<= the bound in {sum(within)} of {len(within)}",
        Method("the same", Means.ENCLOSURES),
        proved(len(within) > 0 and all(within)),
        compared=(
            *masses,
            *(
                one
                for x in instances
                if x.mass_bound_holds() is not None
                for one in met(CLAIM, "range", sigma=tail_value(x.singular_values, x.rank))
            ),
        ),
    )
    rows = sum(len(instance.distributions) for instance in instances)
    yield Evidence(
        "claim",
        f"the {rows} distributions of these: KL is at least log(1 + V phi(-m)), and at most the two-point bound, "
        "log(1 + V phi(M)), range^2 / 8 and norm^2 / 4, for the errors of the logits, up to a relative 2^-16",
        "between the bounds",
        f"between the bounds in {sum(x.moments_hold() for x in instances)} of {len(instances)} instances",
        Method("moments enclosed, phi by its ends", Means.ENCLOSURES),
        proved(all(instance.moments_hold() for instance in instances)),
    )


def _worst(instances: Iterable[Judged], bound: Callable[[Judged], Enclosure]) -> float:
    """Return an upper bound of the largest quotient of a divergence and its bound."""
    return max(float((instance.divergence / bound(instance)).upper().max()) for instance in instances)


def _almost_attained() -> Evidence:
    distributions = sharp_distributions(0.003, copies=400)
    prior = np.array([1e9] + [1.0] * 400)
    instance = judged(distributions, 1)
    ratio = mean_over(prior, instance.divergence) / least_squares_bound(instance.singular_values, 1)
    return Evidence(
        "claim",
        "N = 3, T = 401, d = 1: logits (0.003, -0.003, -12) once and (0, 0, -700) otherwise, nearly all of the "
        "prior on the first: the constant 1/4 cannot be improved by more than the quotient says",
        "sup of KL / (sigma_2^2 / 4) = 1",
        f"KL >= {at_least(ratio)} sigma_2^2 / 4, and KL <= sigma_2^2 / 4",
        Method("singular values and divergence enclosed", Means.ENCLOSURES),
        proved(float(ratio.lower()) > 0.999 and instance.sharp_bound_holds()),
        compared=(
            Comparison(ratio, ">", Fraction(999, 1000)),
            Comparison(
                mean_over(prior, instance.divergence) / 0.999,
                ">",
                stated(CLAIM, "sharp", sigma=tail_value(instance.singular_values, 1)),
            ),
        ),
    )


def _means_cost_a_rank() -> Evidence:
    distributions = rank_one_distributions(5, 6)
    values = log_distribution_singular_values(distributions, without_means=False)
    cost = float(judged(distributions, 1).divergence.upper().max())
    # Powers of two have integers for logarithms; after multiplication by N the means are integers too.
    mantissas, exponents = np.frexp(distributions)
    powers = exponents.astype(np.int64) - 1
    rank = fmpz_mat((powers * distributions.shape[1] - powers.sum(axis=1, keepdims=True)).tolist()).rank()
    exact = bool((mantissas == 0.5).all())
    return Evidence(
        "claim",
        f"T = {distributions.shape[0]}, N = {distributions.shape[1]}, "
        f"pi_t(i) proportional to 2^(t i): L has rank at least 2, yet "
        "L P1 has rank 1 and logits of rank 1 lose nothing but the rounding of their factors; rank d of L P1 is "
        "the condition for divergence 0, not of L",
        "rank L >= 2, divergence 0 at d = 1",
        f"sigma_2(L) >= {at_least(values[1])}, rank L P1 = {rank}, divergence <= {at_most(cost)} nats",
        Method("singular values of L and divergence enclosed, rank of L P1 in integers", Means.EXACT, Means.ENCLOSURES),
        proved(float(values.lower()[1]) > 0.0 and exact and rank == 1 and cost < 1e-24),
        data={"distributions": distributions.tolist()},
    )


def _bound_is_not_divergence(count: int) -> Evidence:
    instances = [random_distributions(3, 3, spread=4.0, rank=1, noise=4.0, seed=seed) for seed in range(count)]
    costs = [
        [
            mean_over(np.ones(3), sharp_divergence(truncation(distributions, 1, without_means=x), distributions))
            for x in (True, False)
        ]
        for distributions in instances
    ]
    larger = [t for t, (without, with_means) in enumerate(costs) if without.lower() > with_means.upper()]
    chosen = max(larger, key=lambda t: float((costs[t][0] / costs[t][1]).lower()), default=0)
    return Evidence(
        "claim",
        "T = N = 3, d = 1: subtracting the means never makes the bound worse, but it can make the divergence "
        f"larger, as in {len(larger)} of {count} random instances",
        "larger in some instance",
        f">= {at_least(costs[chosen][0])} nats with L P1, <= {at_most(costs[chosen][1])} nats with L",
        Method("both float64 truncations, divergences enclosed", Means.ENCLOSURES),
        proved(len(larger) > 0),
        data={"distributions": instances[chosen].tolist()},
    )
