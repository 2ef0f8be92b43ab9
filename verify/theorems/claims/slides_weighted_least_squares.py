"""The weighted least-squares bound of the slides.

Page: docs/claims/least_squares.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.encoders.truncated_distributions import (
    hadamard_distributions,
    random_distributions,
    sharp_distributions,
)
from constructions.numeric.arrays import Float64Array
from verify.arithmetic.enclosure import Enclosure, sqrt
from verify.arithmetic.sums import total
from verify.theorems.claim import Claim
from verify.theorems.claims.slides_least_squares import (
    at_least,
    at_most,
    least,
    never_above,
    norm,
    random_instances,
    truncation,
)
from verify.theorems.encoders.truncation_bound import (
    log_distribution_singular_values,
    mean_over,
    sharp_divergence,
    tail_sum_bound,
    tail_value,
)
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.encoder_bracket import bracketed
from verify.theorems.evidence.theorems import ENCODER_DIVERGENCE
from verify.verdict import proved

CLAIM = Claim(
    id="slides.weighted-least-squares",
    title="The cost of the weighted least-squares solution",
    source="Dana, slides of 13 June 2024, Almost rank d",
    kind="statement",
    quotation=(
        r"$f_{wls}$ solution to the weighted least-square problem $$||I_{\sqrt{\pi}}(W_{wls}-L)||_2$$ "
        r"$$d_{\mathit{KL}}(\pi, f_{\mathit{wls}}) \leq ||\pi||_{+\infty} \sigma_{d+1}^2 + "
        r"\left(\frac{||\pi||_{+\infty}}{||\pi||_{-\infty}}\right)^{\frac{3}{2}} \sigma_{d+1}^3$$"
    ),
    printed=(
        "For the minimizer f_wls of |I_sqrt(pi) (W - L)|_2 of rank d, d_KL(pi, f_wls) is at most "
        "[[printed: p sigma^2 + (p / q)^(3/2) sigma^3]], p := |pi|_inf, q := |pi|_-inf, sigma := sigma_(d+1)."
    ),
    reading=(
        "As the bullet before, which is true so: pi are the conditional probabilities that L = log(pi) are the "
        "logarithms of, each entry is weighted by the root of its own, and sigma is a singular value of L. In the "
        "other readings (joint or prior probabilities for the norms; the root of the prior before the singular "
        "values) the bound is false."
    ),
    judgement="open",
    truth=(
        "Open in this reading: no counterexample is known, and no proof. Of the others: false with the singular "
        "values of sqrt(prior) L, whatever the norms are, and for every encoder of rank d; false with joint "
        "probabilities for the norms. Proved in their place: with the singular values of sqrt(prior) L without its "
        "row means d_KL is at most [[sharp: s / 4]], s the sum of the squares of the sigma_i beyond the first d."
    ),
    page="docs/claims/least_squares.md",
)

_READINGS = ("conditional", "joint", "prior")


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _singular_value_is_not_enough()
    yield _elementwise_joint_reading_fails()
    yield _tail_sum_holds(12 if full else 3)
    yield _tail_sum_is_attained()
    yield bracketed("known")


def printed_bound(size: Enclosure, smallest: Enclosure, value: Enclosure) -> Enclosure:
    r"""Enclose $a s^2 + (a / b)^{3/2} s^3$ for the norms a, b and the singular value s."""
    quotient = size / smallest
    return size * value * value + quotient * sqrt(quotient) * value * value * value


def _largest_bound(distributions: Float64Array, reading: str, prior: Float64Array | None) -> float:
    """Return the printed bound of rank 1 for one reading of the norms, with the means of L or without, whichever is
    larger.
    """
    values = [
        log_distribution_singular_values(distributions, prior=prior, without_means=without) for without in (False, True)
    ]
    ends = norm(distributions, None, reading), least(distributions, None, reading)
    return max(float(printed_bound(*ends, tail_value(value, 1)).upper()) for value in values)


def _singular_value_is_not_enough() -> Evidence:
    distributions = hadamard_distributions(8, 0.01)
    prior = np.ones(len(distributions))
    floor = ENCODER_DIVERGENCE.at("lower", distributions=distributions, d_model=1)
    bounds = {reading: _largest_bound(distributions, reading, prior) for reading in _READINGS}
    worst = max(bounds.values())
    formulas = [
        Comparison(
            printed_bound(Enclosure(a), Enclosure(b), Enclosure(c)),
            "agrees with",
            stated(CLAIM, "printed", p=a, q=b, sigma=c),
        )
        for a, b, c in ((0.5, 0.25, 0.125), (0.75, 0.5, 3.0))
    ]
    return Evidence(
        "boundary",
        f"T = {distributions.shape[0]}, N = {distributions.shape[1]}, "
        f"d = 1, uniform prior, softmax(0.01 h) for the nonconstant "
        "rows h of the Hadamard matrix: with the singular values of sqrt(prior) L, or of sqrt(prior) L P1, the "
        "bound fails in each reading of the norms, at rank 1",
        ", ".join(f"<= {at_most(bound)} nats ({reading})" for reading, bound in bounds.items()),
        f">= {at_least(floor.value)} nats at rank 1",
        Method("a floor of a rank, by weighted singular values", Means.ENCLOSURES),
        quantifier=Quantifier.ALL_ENCODERS,
        data={"distributions": distributions.tolist()},
        compared=(Comparison(floor, ">", worst), *formulas),
    )


def _elementwise_joint_reading_fails() -> Evidence:
    distributions = hadamard_distributions(8, 1e-4)
    floor = ENCODER_DIVERGENCE.at("lower", distributions=distributions, d_model=1)
    bound = _largest_bound(distributions, "joint", None)
    return Evidence(
        "boundary",
        f"T = {distributions.shape[0]}, N = {distributions.shape[1]}, "
        f"d = 1, logits of 0.0001 h: with every entry weighted by its "
        "own joint probability, singular values of L itself and joint probabilities for the norms the bound "
        "fails at rank 1",
        f"<= {at_most(bound)} nats",
        f">= {at_least(floor.value)} nats at rank 1",
        Method("a floor of a rank, by weighted singular values", Means.ENCLOSURES),
        quantifier=Quantifier.ALL_ENCODERS,
        data={"distributions": distributions.tolist()},
        compared=(Comparison(floor, ">", bound),),
    )


def weighted_cost(distributions: Float64Array, rank: int, prior: Float64Array) -> tuple[Enclosure, Enclosure]:
    r"""Return the mean divergence of the weighted truncation of $L P_1$, and $\frac14 \sum_{i > d} \sigma_i^2$; in
    nats.
    """
    cost = mean_over(prior, sharp_divergence(truncation(distributions, rank, prior=prior), distributions))
    return cost, tail_sum_bound(log_distribution_singular_values(distributions, prior=prior), rank)


def _tail_squares(distributions: Float64Array, rank: int, prior: Float64Array) -> Enclosure:
    """Return the sum of the squares of the singular values beyond the rank."""
    values = log_distribution_singular_values(distributions, prior=prior)[rank:]
    return total(values * values, 0)


def _tail_sum_holds(seeds: int) -> Evidence:
    rng = np.random.default_rng(5)
    holds = []
    for distributions, rank in random_instances(seeds):
        prior = 10.0 ** rng.uniform(-6.0, 0.0, len(distributions))
        holds.append(weighted_cost(distributions, rank, prior))
    distributions = random_distributions(8, 6, spread=1.0, rank=2, noise=1.0, seed=0)
    holds.append(weighted_cost(distributions, 2, np.array([1.0] * 5 + [0.0] * 3)))
    worst = max(float((cost / bound).upper()) for cost, bound in holds)
    return Evidence(
        "known",
        f"{len(holds)} random instances up to T x N = 30 x 20, priors over six orders of magnitude and with zeros: "
        "the mean divergence is at most a quarter of the sum of the squares of the singular values beyond d",
        "<= 1 times the bound",
        f"<= {at_most(worst)} times the bound",
        Method("singular values of sqrt(prior) L P1, factors as rounded, divergences enclosed", Means.ENCLOSURES),
        proved(all(never_above(cost, bound) for cost, bound in holds)),
    )


def _tail_sum_is_attained() -> Evidence:
    distributions = sharp_distributions(0.003)
    prior = np.array([1.0, 1000.0])
    cost, bound = weighted_cost(distributions, 1, prior)
    ratio = cost / bound
    return Evidence(
        "known",
        "N = 3, T = 2, d = 1, prior 1 : 1000, logits (0.003, -0.003, -12) and (0, 0, -700): the constant 1/4 "
        "cannot be improved by more than the quotient says",
        "sup of KL / (tail sum / 4) = 1",
        f"KL >= {at_least(ratio)} of the bound, and not above it",
        Method("singular values and divergence enclosed", Means.ENCLOSURES),
        proved(float(ratio.lower()) > 0.999 and never_above(cost, bound)),
        compared=(
            Comparison(
                bound, "<=", stated(CLAIM, "sharp", s=_tail_squares(distributions, 1, prior) * (1.0 + 2.0**-20))
            ),
            Comparison(cost / 0.999, ">", stated(CLAIM, "sharp", s=_tail_squares(distributions, 1, prior))),
        ),
    )
