r"""The simpler bound below Theorem 2 of Dana et al., with the expectations inside of the logarithm.

Page: docs/claims/theorem_2.md
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from constructions.encoders.low_entropy_instances import (
    LowEntropyInstance,
    mistaken_token,
    near_orthonormal_instance,
    two_distributions,
)
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.claim import Claim
from verify.theorems.claims.dana_theorem_1_tail import at_least, at_most
from verify.theorems.claims.dana_theorem_2 import METHOD, Judged, negative_bound
from verify.theorems.encoders.low_entropy_bound import (
    beyond,
    cross_entropy,
    largest_deviation,
    mean_bound_by_entropy,
    paper_factor,
    printed_constant,
    slides_factor,
    within,
)
from verify.theorems.evidence import Comparison, Evidence, Means, Method, met, stated
from verify.theorems.evidence.theorems import REPAIRED_THEOREM_2
from verify.verdict import proved

CLAIM = Claim(
    id="dana.theorem-2-simple",
    title="The bound of Theorem 2 with its expectations inside",
    source="Dana, Pydi, Chevaleyre (2024), the second bound of Theorem 2",
    kind="statement",
    quotation=(
        r"A simpler bound for Theorem 2 can be found by simplifying the expectation, and gives $$d_{KL}(\pi, "
        r"\mathcal{L}(N, S, d)) \le \frac{1 + 4C}{1 - 2C} \mathbb{E}_{t_{1:S}} \left[ \pi(t_{S+1} \ne g(t_{1:S}) | "
        r"t_{1:S}) \right] \log \left( \frac{N - 1}{e^{-\mathbb{E}_{t_{1:S}} \left[ H(\pi_{t_{1:S}}) \right]} - 1} "
        r"\right)$$"
    ),
    printed=(
        "d_KL(pi, L(N, S, d)) is at most [[printed: (1 + 4C)/(1 - 2C)]] times [[mean: x log((N - 1) / (exp(H) - 1))]], "
        "x the mean of what g misses and H that of the entropies, from the bound of Theorem 2 by simplifying the "
        "expectation."
    ),
    reading="As a bound of the infimum, which is what is printed; it is none of the encoder of Theorem 2.",
    judgement="hypothesis",
    truth=(
        "True of the infimum for [[small: C < 1/2]], with [[smaller: (1 + 2C)/(1 - 2C)]], by an encoder with the same "
        "strength for all contexts. It is no bound of the encoder of Theorem 2, whose strengths solve equation (6), so "
        "that it does not follow from that theorem."
    ),
    wrong="needs C < 1/2; true of the infimum, not of the encoder of Theorem 2",
    page="docs/claims/theorem_2.md",
)

_LARGE = 10_000


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield negative_bound(CLAIM, slides_factor, "(1 + 4C)/(1 - 2C)", "the infimum")
    small, large = Judged.of(two_distributions()), Judged.of(mistaken_token(_LARGE))
    own = Enclosure(0.0)  # C of orthonormal vectors
    yield encoder_is_beyond(small, own, "N = d = 3, W = I, C = max |W W' - I| = 0, g the mode of both distributions")
    constant = printed_constant(_LARGE, _LARGE)
    yield encoder_is_beyond(
        large,
        constant,
        f"N = d = {_LARGE}, W = I, the paper's C = {float(constant.midpoint):.4f}, g not the mode of one distribution",
    )
    yield one_strength("the two instances above", [(small, own), (large, constant)])
    yield one_strength(
        "distributions with masses down to 10^-30, any g, any probabilities, certified C < 1/2",
        (with_constant(near_orthonormal_instance(seed)) for seed in range(600 if full else 60)),
    )


def with_constant(instance: LowEntropyInstance) -> tuple[Judged, Enclosure]:
    """Return an instance, judged, and its certified C."""
    return Judged.of(instance), largest_deviation(instance.vectors, scale=instance.scale)


def is_identity(instance: LowEntropyInstance) -> bool:
    """Tell whether $W = I$ and $e_t = w_{g(t)}$, exactly; then $C = 0$, and any larger C is valid too."""
    vectors = instance.vectors
    same = instance.scale == 1.0 and np.array_equal(vectors, np.eye(len(vectors), dtype=np.int8))
    return same and np.array_equal(instance.encoders, vectors[instance.tokens])


def encoder_is_beyond(judged: Judged, constant: Enclosure, shown: str) -> Evidence:
    """Certify that the encoder of Theorem 2, whose strengths solve equation (6), is beyond the simpler bound."""
    distributions = judged.distributions
    cost = distributions.mean(judged.printed_cost())
    bound = mean_bound_by_entropy(distributions, slides_factor(constant))
    entropy = distributions.mean(distributions.entropy)
    rows = [row[:3].tolist() for row in judged.instance.distributions]
    return Evidence(
        "without",
        f"{shown}: the encoder of Theorem 2 is beyond the simpler bound, which so does not follow from the theorem "
        "(the infimum is 0: d >= N - 1)",
        f"at most {at_most(bound - entropy)} nats",
        f"at least {at_least(cost - entropy)} nats",
        Method(METHOD, Means.ENCLOSURES),
        proved(is_identity(judged.instance) and bool(beyond(cost, bound)) and bool(constant.upper() < 0.5)),
        data={"first_weights_of_the_distributions": rows, "prior": judged.instance.prior.tolist()},
    )


def one_strength(kind: str, found: Iterable[tuple[Judged, Enclosure]]) -> Evidence:
    """Certify the simpler bound, with (1 + 2C)/(1 - 2C), for the encoder with one strength for all contexts."""
    count = memorized = 0
    compared = [
        Comparison(paper_factor(Enclosure(float(c))), "agrees with", stated(CLAIM, "smaller", C=c))
        for c in (Fraction(1, 8), Fraction(7, 16))
    ]
    for judged, constant in found:
        vectors, scale = judged.instance.vectors, judged.instance.scale
        if len(vectors) < _LARGE:  # the identity of the other one is checked by itself
            compared.append(Comparison(REPAIRED_THEOREM_2.at(vectors=vectors, scale=scale), "<", Fraction(1, 2)))
            compared += met(CLAIM, "small", C=constant)
        cost = judged.distributions.mean(
            cross_entropy(judged.distributions, judged.leads, judged.strengths(common=True))
        )
        bound = mean_bound_by_entropy(judged.distributions, paper_factor(constant))
        count += 1
        memorized += bool(within(cost, bound)) and bool(constant.upper() < 0.5)
    return Evidence(
        "with",
        f"{count} instances: {kind}; one strength for all contexts",
        "within (1 + 2C)/(1 - 2C) E[1 - p_g] log((N - 1)/(e^E[H] - 1)), on all",
        f"within it on {memorized} of {count}",
        Method(METHOD, Means.ENCLOSURES),
        proved(0 < count == memorized),
        compared=tuple(compared),
    )
