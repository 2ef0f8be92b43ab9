r"""Theorem 2 of Dana et al.: distributions that are nearly a look-up table, through an unembedding of nearly orthogonal
vectors.

Page: docs/claims/theorem_2.md
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq

from constructions.encoders.low_entropy_encoder import missing_mass, printed_strength, strength
from constructions.encoders.low_entropy_instances import (
    LowEntropyInstance,
    near_orthonormal_instance,
    random_instance,
    uniform_noise,
)
from constructions.errors import InputError
from constructions.heads_of_theorem_1.low_entropy_memory import noisy_lookup_memory
from constructions.model.construction import Construction
from constructions.tasks.task import Task
from constructions.unembeddings.coherence import kappa_bound
from constructions.unembeddings.johnson_lindenstrauss import random_signs
from constructions.unembeddings.unembedding import best
from constructions.unembeddings.unembedding_families import families
from verify.arithmetic.enclosure import Enclosure
from verify.divergence.kullback_leibler import divergence
from verify.forward.logits import enclose_logits
from verify.provers.memorization import certify_memorization
from verify.theorems.claim import Claim, Hypothesis
from verify.theorems.claims.dana_theorem_1_tail import at_most
from verify.theorems.encoders.low_entropy_bound import (
    LookupDistributions,
    bound_by_entropy,
    bound_by_missing,
    cross_entropy,
    enclose_leads,
    enclose_printed_strength,
    kappa_of_leads,
    lookup_distributions,
    mean_bound_by_entropy,
    mean_bound_by_missing,
    paper_factor,
    printed_constant,
    printed_cross_entropy,
    reaches_limit,
    slides_factor,
    within,
)
from verify.theorems.evidence import Comparison, Evidence, Means, Method, failed, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.theorems import REPAIRED_THEOREM_2
from verify.theorems.unembeddings.coherence import certify_margins
from verify.verdict import Verdict, decided, proved


def _memorized(d_vocab: int, noise: int, d_model: int, **_: object) -> bool:
    fitting_families = families(d_vocab, d_model) if d_vocab >= 2 and d_model >= 1 else []
    return bool(fitting_families) and noise * (d_vocab - 1) > fitting_families[0].kappa * d_vocab


CLAIM = Claim(
    id="dana.theorem-2",
    title="Distributions that are nearly a look-up table",
    source="Dana, Pydi, Chevaleyre (2024), Theorem 2",
    kind="statement",
    quotation=(
        r"Theorem 2. Let $g:[N]^S \to [N]$. There exists $W \in \mathbb{R}^{d,N}$ such that $$||WW^T - I_d||_{\infty} "
        r"\le C = \sqrt{\frac{32\log(N+1)}{d}}$$ [...] We obtain the bound $$d_{KL}(\pi, \mathcal{L}(N, S, d)) \leq "
        r"\mathbb{E}_{t_{1:S}} \left[ (1 - \pi(g(t_{1:S}) | t_{1:S})) \log \left( \frac{N - 1}{e^{-H(\pi_{t_{1:S}})} "
        r"- 1} \right) \left( \frac{1 + 2C + Cd_{TV}(\tilde{\pi}_{t_{1:S}}, \pi_{unif})}{1 - 2C} \right) \right]$$"
    ),
    printed=(
        "Some W has |W W' - I| of at most C, [[constant: sqrt(32 log(N + 1) / d)]], and with E := lambda w_g, lambda "
        "the solution of equation (6), d_KL is at most the mean of [[entropy: (1 - p) log((N - 1) / (exp(H) - 1))]] "
        "times [[printed: (1 + 2C + C t) / (1 - 2C)]], p the probability of g and t := d_TV."
    ),
    reading=(
        r'The H of the formula is the negative entropy, as "$H(\pi_{t_{1:S}}) = -\log(N)$ meaning that the '
        r'distribution is uniform" says, and I_d is I_N.'
    ),
    judgement="hypothesis",
    truth=(
        "For [[small: C < 1/2]], even without d_TV; for [[large: C > 1/2]] the right-hand side is negative. Sharper, "
        "for any vectors and encoders with leads from a positive a to kappa a: d_KL is at most the mean of "
        "[[sharp: h + s log(N - 1) - H]], h the binary entropy of [[share: kappa (1 - p)]], s for short, where this is "
        "no more than [[most: (N - 1) / N]], with the strength [[strength: log((N - 1) (1 - s) / s) / a]]; and that is "
        "at most the mean of [[simple: kappa (1 - p) log((N - 1) / (exp(H) - 1))]]."
    ),
    wrong="needs C < 1/2, which is d > 128 log(N + 1)",
    page="docs/claims/theorem_2.md",
    hypotheses=(
        *conditions("N >= 2 and S >= 2", "1 <= T <= N^S <= 2^22", "1 <= d_h <= d"),
        Hypothesis("a family that holds N tokens in d dimensions, and kappa / noise < (N - 1) / N", _memorized),
        *conditions("noise >= 3: each token is the mode of its distribution", "seed >= 0"),
    ),
    parameters={"d_vocab": 24, "n_ctx": 2, "contexts": 64, "noise": 100, "d_model": 16, "d_head": 4, "seed": 0},
    build=noisy_lookup_memory,
)

METHOD = "enclosures of leads, strengths, entropies and cross-entropies"


_TOKENS = 50_257


@dataclass(frozen=True, eq=False)
class Judged:
    """An instance with the enclosures of its distributions and leads.

    Args:
        instance: The instance.
        distributions: What is missing to certainty, entropies, prior.
        leads: Leads, `[T, N]`.
    """

    instance: LowEntropyInstance
    distributions: LookupDistributions
    leads: Enclosure

    @classmethod
    def of(cls, instance: LowEntropyInstance) -> "Judged":
        leads = enclose_leads(instance.vectors, instance.encoders, instance.tokens) / instance.scale
        return cls(instance, lookup_distributions(instance.distributions, instance.tokens, instance.prior), leads)

    def encodes_by_vectors(self) -> bool:
        """Whether $e_t = w_{g(t)}$ exactly, as in Theorem 2."""
        return np.array_equal(self.instance.encoders, self.instance.vectors[self.instance.tokens])

    def strengths(self, *, common: bool = False) -> np.ndarray:
        """Return the strengths of Theorem LE1 in floating point, one per context or a common one."""
        leads, others = self.leads.midpoint, self.distributions.others
        least, most = np.where(others, leads, np.inf).min(axis=1), np.where(others, leads, -np.inf).max(axis=1)
        missing = missing_mass(self.instance.distributions, self.instance.tokens)
        if common:
            missing = np.full(len(missing), np.average(missing, weights=self.instance.prior))
            least, most = np.full(len(least), least.min()), np.full(len(most), most.max())
        return strength(missing, least=least, kappa=most / least, d_vocab=leads.shape[1])

    def printed_cost(self) -> Enclosure:
        """Cross-entropies of the paper's encoder, whose strengths solve equation (6), `[T]`."""
        guess = printed_strength(self.leads.midpoint, self.distributions.entropy.midpoint)
        printed = enclose_printed_strength(self.distributions, self.leads, guess)
        return printed_cross_entropy(self.distributions, self.leads, printed)


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield negative_bound(CLAIM, paper_factor, "(1 + 2C + C d_TV)/(1 - 2C), d_TV = 0", "the infimum")
    yield _formulas(Fraction(8, 10), Fraction(3, 2), 3)
    yield printed_holds(
        CLAIM, paper_factor, "(1 + 2C)/(1 - 2C), without d_TV", range(900 if full else 45), name="printed"
    )
    yield rows_exist(CLAIM, ((50, 600), (200, 1024)) + (((2000, 4096),) if full else ()))
    instances = [Judged.of(random_instance(seed)) for seed in range(1500 if full else 60)]
    yield by_context(instances)
    yield by_mean(instances)
    for d_model, shares in ((4096, (10, 100)), (1024, (10,)), (64, (10,))):
        yield from at_scale(d_model, [Fraction(1, share) for share in shares], contexts=16 if full else 2)
    sizes = [(9, 8), (30, 16), (144, 16), (128, 64), (512, 32), (1000, 64)]
    yield limit(sizes + ([(2112, 64), (10_000, 256), (_TOKENS, 1024)] if full else []))
    yield memorized(CLAIM.construct())


def negative_bound(claim: Claim, factor: Callable[[Enclosure], Enclosure], shown: str, what: str) -> Evidence:
    """Certify that a printed right-hand side is negative for N = 2, d = 1 and the distribution (0.9, 0.1).

    Args:
        claim: The claim, with the printed constant and the printed factor as formulas.
        factor: The printed factor, a function of C.
        shown: The same in words.
        what: Of what it is an upper bound.

    Returns:
        The counterexample.
    """
    distributions = lookup_distributions([[9.0, 1.0]], np.array([0]))
    constant = printed_constant(2, 1)
    bound = mean_bound_by_entropy(distributions, factor(constant)) - distributions.mean(distributions.entropy)
    compared = [Comparison(bound, "<", 0), Comparison(constant, ">", Fraction(1, 2))]
    entropy = binary_entropy(Fraction(9, 10))
    plain = mean_bound_by_entropy(distributions, Enclosure(1.0)) - distributions.mean(distributions.entropy)
    for name in {"entropy", "mean"} & set(claim.formulas):
        compared.append(
            Comparison(plain, "agrees with", stated(claim, name, p=Fraction(9, 10), x=Fraction(1, 10), N=2, H=entropy))
        )
    compared += met(claim, *({"large"} & set(claim.formulas)), C=constant)
    compared += failed(claim, *({"small"} & set(claim.formulas)), C=constant)
    if "constant" in claim.formulas:
        compared.append(Comparison(constant, "agrees with", stated(claim, "constant", N=2, d=1)))
    compared += [
        Comparison(factor(Enclosure(float(c))), "agrees with", stated(claim, "printed", C=c, t=0))
        for c in (Fraction(0), Fraction(1, 8), Fraction(7, 16), Fraction(3))
    ]
    return Evidence(
        "without",
        f"N = 2, d = 1, the distribution (0.9, 0.1), g its mode: the printed bound of {what} with {shown} is negative",
        f"d_KL <= {at_most(bound)} nats",
        "d_KL >= 0, as every divergence",
        Method("one enclosure", Means.ENCLOSURES),
        data={"distributions": [["9/10", "1/10"]], "C": float(constant.midpoint)},
        compared=tuple(compared),
    )


def binary_entropy(p: Fraction) -> arb:
    """-p log p - (1 - p) log(1 - p), nats."""
    with ctx.workprec(192):
        return -sum((_ball(x) * _ball(x).log() for x in (p, 1 - p)), arb(0))


def _ball(x: Fraction) -> arb:
    return arb(fmpq(x.numerator, x.denominator))


def _formulas(p: Fraction, kappa: Fraction, d_vocab: int) -> Evidence:
    """The distribution that gives g the probability p and the others equal shares: the bounds as they are stated."""
    rest, s = (1 - p) / (d_vocab - 1), kappa * (1 - p)
    distributions = lookup_distributions([[float(p / rest), *[1.0] * (d_vocab - 1)]], np.array([0]))
    with ctx.workprec(192):
        entropy = binary_entropy(p) + _ball(1 - p) * arb(d_vocab - 1).log()
    sizes = {"p": p, "N": d_vocab, "H": entropy, "kappa": kappa, "s": s, "h": binary_entropy(s)}
    strengths = strength(
        np.array([float(1 - p)]), least=np.array([0.5]), kappa=np.array([float(kappa)]), d_vocab=d_vocab
    )
    simple, sharp = (
        bound(distributions, Enclosure(float(kappa))) - distributions.entropy
        for bound in (bound_by_entropy, bound_by_missing)
    )
    return Evidence(
        "with",
        f"N = {d_vocab}, a distribution with {p} at g and equal shares elsewhere, kappa = {kappa}, a = 1/2: the two "
        "bounds",
        f"{stated(CLAIM, 'sharp', **sizes)} and {stated(CLAIM, 'simple', **sizes)} nats",
        f"{at_most(distributions.mean(sharp))} and {at_most(distributions.mean(simple))} nats at most",
        Method(METHOD, Means.ENCLOSURES),
        compared=(
            Comparison(distributions.mean(sharp), "agrees with", stated(CLAIM, "sharp", **sizes)),
            Comparison(distributions.mean(simple), "agrees with", stated(CLAIM, "simple", **sizes)),
            Comparison(stated(CLAIM, "sharp", **sizes), "<", stated(CLAIM, "simple", **sizes)),
            Comparison(s, "=", stated(CLAIM, "share", **sizes)),
            Comparison(d_vocab * s, "<", d_vocab - 1),
            Comparison(Fraction(d_vocab - 1, d_vocab), "=", stated(CLAIM, "most", **sizes)),
            Comparison(float(strengths[0]), "agrees with", stated(CLAIM, "strength", **sizes, a=Fraction(1, 2))),
        ),
    )


def printed_holds(
    claim: Claim, factor: Callable[[Enclosure], Enclosure], shown: str, seeds: Iterable[int], *, name: str
) -> Evidence:
    """Certify a bound of the paper's encoder on unembeddings with a certified C < 1/2.

    Args:
        claim: The claim.
        factor: The factor, a function of C.
        shown: The same in words.
        seeds: Of `near_orthonormal_instance`.
        name: Name of the claim's formula for the factor.

    Returns:
        The evidence, with the instance that comes closest.
    """
    count = memorized = above = 0
    closest, largest = 0.0, 0.0
    compared = [
        Comparison(factor(Enclosure(float(c))), "agrees with", stated(claim, name, C=c, t=0))
        for c in (Fraction(1, 8), Fraction(7, 16))
    ]
    for seed in seeds:
        judged = Judged.of(near_orthonormal_instance(seed))
        applied = REPAIRED_THEOREM_2.at(vectors=judged.instance.vectors, scale=judged.instance.scale)
        constant = applied.value
        compared.append(Comparison(applied, "<", Fraction(1, 2)))
        compared += met(claim, *({"small"} & set(claim.formulas)), C=constant)
        bound, cost = bound_by_entropy(judged.distributions, factor(constant)), judged.printed_cost()
        count += len(judged.instance.tokens)
        memorized += int(within(cost, bound).sum()) if judged.encodes_by_vectors() else 0
        above += judged.instance.vectors.shape[0] > judged.instance.vectors.shape[1] + 1
        closest, largest = (
            max(closest, share_reached(judged.distributions, cost, bound)),
            max(largest, float(constant.upper())),
        )
    return Evidence(
        "with",
        f"{count} distributions with masses down to 10^-30, any g, W with C = max |W W' - I| up to {largest:.3f}, for "
        f"{above} of the W N > d + 1: equation (6) solved, and the bound with {shown}",
        "within the bound, on all",
        f"within it on {memorized} of {count}; the closest reaches {closest:.4f} of it",
        Method(METHOD, Means.ENCLOSURES),
        proved(0 < count == memorized),
        compared=tuple(compared),
    )


def rows_exist(claim: Claim, sizes: Iterable[tuple[int, int]]) -> Evidence:
    """Certify that the rows with the printed constant exist, below 1/2: random signs, whose products are integers.

    Args:
        claim: The claim, with the printed constant as a formula.
        sizes: N and d of each.

    Returns:
        The evidence.
    """
    compared, shown = [], []
    for count, d_model in sizes:
        rows = random_signs(count, d_model)
        printed = stated(claim, "constant", N=count, d=d_model)
        deviation = _coherence(rows)
        compared += [
            Comparison(deviation, "<=", printed),
            Comparison(printed, "<", Fraction(1, 2)),
            Comparison(printed_constant(count, d_model), "agrees with", printed),
        ]
        shown.append(f"{at_most(deviation)} <= {float(printed.value):.4f} for N = {count}, d = {d_model}")
    return Evidence(
        "claim",
        "rows of random signs over sqrt d: |W W' - I| is at most the printed C, and C < 1/2",
        "|W W' - I| <= C for some W",
        "; ".join(shown),
        Method("integer products; enclosures of the constant", Means.EXACT, Means.ENCLOSURES),
        compared=tuple(compared),
    )


def _coherence(rows: np.ndarray) -> Enclosure:
    """Return the largest |<w_i, w_j>| / d of different sign vectors, each of which has the product d with itself."""
    signs = rows.astype(np.int64)
    products = signs @ signs.T
    d_model = signs.shape[1]
    if not (np.abs(signs) == 1).all() or not (np.diag(products) == d_model).all():
        return Enclosure(0.0, np.inf)
    np.fill_diagonal(products, 0)
    return Enclosure(float(np.abs(products).max())) / float(d_model)


def by_context(found: Iterable[Judged]) -> Evidence:
    """Certify (N1) and (N2), context by context."""
    count, first, second = 0, 0, 0
    closest = 0.0
    for judged in found:
        kappa = kappa_of_leads(judged.distributions, judged.leads)
        cost = cross_entropy(judged.distributions, judged.leads, judged.strengths())
        sharp, simple = bound_by_missing(judged.distributions, kappa), bound_by_entropy(judged.distributions, kappa)
        count += len(cost)
        first += int(within(cost, sharp).sum())
        second += int((within(sharp, simple) & within(cost, simple)).sum())
        closest = max(closest, share_reached(judged.distributions, cost, sharp))
    return Evidence(
        "with",
        f"{count} distributions with masses down to 10^-30, any g, on families with proved margins and on vectors and "
        "encoders without structure: (N1) KL <= Phi(kappa epsilon) - H, and (N1) <= (N2) kappa epsilon phi(H)",
        "within (N1) and (N2), on all",
        f"(N1) on {first} of {count}, (N2) on {second}; the closest reaches {closest:.4f} of (N1)",
        Method(METHOD, Means.ENCLOSURES),
        proved(0 < count == first == second),
    )


def by_mean(found: Iterable[Judged]) -> Evidence:
    """Certify (N3), with one strength for all contexts of an instance, and that it is above the mean of (N1)."""
    count, memorized = 0, 0
    for judged in found:
        distributions, common = judged.distributions, kappa_of_leads(judged.distributions, judged.leads, common=True)
        cost = distributions.mean(cross_entropy(distributions, judged.leads, judged.strengths(common=True)))
        sharp, simple = mean_bound_by_missing(distributions, common[0]), mean_bound_by_entropy(distributions, common[0])
        mean_bound = distributions.mean(bound_by_missing(distributions, kappa_of_leads(distributions, judged.leads)))
        count += 1
        memorized += bool(within(cost, sharp) & within(sharp, simple) & within(mean_bound, sharp))
    return Evidence(
        "with",
        f"{count} instances of 6 such distributions with random probabilities, one strength for all: (N3) E KL <= "
        "Phi(kappa E epsilon) - E H <= kappa E epsilon phi(E H), and E (N1) <= (N3)",
        "within (N3), on all",
        f"within it on {memorized} of {count}",
        Method(METHOD, Means.ENCLOSURES),
        proved(0 < count == memorized),
    )


def at_scale(d_model: int, missing: Iterable[Fraction], *, contexts: int) -> Iterator[Evidence]:
    """Certify the bounds side by side for 50,257 tokens and uniform noise."""
    family = best(_TOKENS, d_model)
    tokens = np.linspace(0, _TOKENS - 1, contexts).astype(np.int64)
    leads = enclose_leads(family.vectors, family.encoders[tokens], tokens)
    constant = printed_constant(_TOKENS, d_model)
    for share in missing:
        instance = uniform_noise(family, tokens, float(share))
        judged = Judged(instance, lookup_distributions(instance.distributions, tokens), leads)
        verdict, shown = side_by_side(judged, constant)
        if family.vectors.shape != (_TOKENS, d_model) or not spreads_evenly(judged, share):
            verdict = Verdict.UNDECIDED
        yield Evidence(
            "with",
            f"N = {_TOKENS}, d = {d_model}, {contexts} distributions with {float(share):g} spread evenly over the "
            f"other tokens; {family.family}, kappa = {family.kappa}, the paper's C = {float(constant.midpoint):.3f}",
            f"at most {at_most(shown['(N1)'])} nats (N1)",
            "; ".join(f"{name} at most {at_most(value)}" for name, value in shown.items()),
            Method(METHOD, Means.ENCLOSURES),
            verdict,
            data={name: [float(value.lower()), float(value.upper())] for name, value in shown.items()},
        )


def spreads_evenly(judged: Judged, share: Fraction) -> bool:
    """Tell whether each distribution gives the other tokens equal shares, up to a relative $2^{-30}$."""
    missing, distributions = judged.distributions.missing, judged.instance.distributions
    lowest, highest = float(share) * (1 - 2.0**-30), float(share) * (1 + 2.0**-30)
    is_near = (missing.lower() > lowest) & (missing.upper() < highest)
    others = judged.distributions.others
    least = np.where(others, distributions, np.inf).min(axis=1)
    most = np.where(others, distributions, 0.0).max(axis=1)
    return bool(is_near.all() and (least == most).all())


def side_by_side(judged: Judged, constant: Enclosure) -> tuple[Verdict, dict[str, Enclosure]]:
    """Return the mean divergence of two encoders, and its bounds, in nats.

    Args:
        judged: The instance.
        constant: C, for the printed bounds.

    Returns:
        Whether the encoder of (N1) is proved to be within (N1), that within (N2), and the printed bounds to be larger
        for C < 1/2 and negative beyond; and the enclosures by name.
    """
    distributions, kappa = judged.distributions, kappa_of_leads(judged.distributions, judged.leads)
    bounds = {
        "slides": bound_by_entropy(distributions, slides_factor(constant)),
        "paper": bound_by_entropy(distributions, paper_factor(constant)),
        "(N2)": bound_by_entropy(distributions, kappa),
        "(N1)": bound_by_missing(distributions, kappa),
        "the paper's encoder": judged.printed_cost(),
        "the encoder of (N1)": cross_entropy(distributions, judged.leads, judged.strengths()),
    }
    holds = within(bounds["the encoder of (N1)"], bounds["(N1)"]) & within(bounds["(N1)"], bounds["(N2)"])
    shown = {name: distributions.mean(bound - distributions.entropy) for name, bound in bounds.items()}
    slides, paper, sharp = shown["slides"], shown["paper"], shown["(N2)"]
    if constant.upper() < 0.5:
        ordered = sharp.upper() < paper.lower() and paper.upper() < slides.lower()
    else:
        ordered = paper.upper() < 0.0 and slides.upper() < 0.0
    return proved(bool(holds.all()) and bool(ordered)), shown


def limit(sizes: Iterable[tuple[int, int]]) -> Evidence:
    """Certify the margins of the best families, and compare them with a limit for all vectors."""
    rows, verdicts = [], []
    for count, d_model in sizes:
        family = best(count, d_model)
        kappa = certify_margins(family.vectors, family.encoders).kappa
        fits = family.vectors.shape == (count, d_model)
        verdicts.append(fits and kappa is not None and kappa <= family.kappa and reaches_limit(kappa, count, d_model))
        rows.append([count, d_model, family.family, str(kappa), float(kappa_bound(count, d_model))])
    return Evidence(
        "with",
        "vectors and encoders of each size have at least the limit, ((kappa - 1)/(kappa + 1))^2 >= "
        "(N - d - 1)/((d + 1)(N - 1)); so do the best families",
        "kappa at least the limit, on all",
        ", ".join(f"{N} x {d}: {kappa} >= {least:.4f}" for N, d, _, kappa, least in rows),
        Method("exact margins of integer vectors, rational arithmetic", Means.EXACT),
        decided(bool(verdicts) and all(verdicts)),
        data={"families": rows},
    )


def memorized(built: Construction[Task]) -> Evidence:
    """Certify that attention heads hold distributions of low entropy in fewer dimensions than the distributions have,
    within (N1).

    Args:
        built: The network and its distributions.

    Returns:
        The evidence.
    """
    task, network = built.task, built.model
    if task.distributions is None:
        raise InputError("the task", f"has the target {task.target!r}", "distributions")
    distributions = lookup_distributions(task.distributions, task.labels, task.prior)
    family = best(task.d_vocab, network.d_model)
    margins = certify_margins(network.W_U.T.astype(np.int64), family.encoders)
    bound = (
        bound_by_missing(distributions, Enclosure(float(margins.largest)) / float(margins.least))
        - distributions.entropy
    )
    cost = divergence(enclose_logits(network, task.contexts), task.distributions)
    right = certify_memorization(network, task).answers.margin_lower > 0.0
    certified = bool(right.all())
    below = int((cost.upper() < bound.lower()).sum())
    exact = bool((network.W_U == network.W_U.astype(np.int64)).all()) and margins.least > 0
    return Evidence(
        "with",
        f"attention-only transformer, {network.n_heads} heads of dimension {network.d_head}: {built.summary}",
        f"at most {at_most(distributions.mean(bound))} nats (N1), the token first everywhere",
        f"at most {at_most(distributions.mean(cost))} nats; below (N1) on {below} of {task.n_contexts} contexts",
        Method("enclosure of the logits of the float64 weights", Means.ENCLOSURES),
        proved(exact and certified and below == task.n_contexts),
    )


def share_reached(distributions: LookupDistributions, cost: Enclosure, bound: Enclosure) -> float:
    """Return the largest share of a divergence bound that is reached, in floating point; for display."""
    entropy = distributions.entropy.midpoint
    room = bound.midpoint - entropy
    usable = np.isfinite(room) & (room > 1e-6 * entropy)
    return float(((cost.midpoint - entropy)[usable] / room[usable]).max(initial=0.0))
