"""Bounds and two encoders for distributions of low entropy at scale, and the times of proofs and of float64."""

import argparse

import numpy as np
from measure import median_seconds, print_head, print_row
from numpy.typing import NDArray

from constructions.encoders.low_entropy_encoder import missing_mass, printed_strength, strength
from constructions.encoders.low_entropy_instances import uniform_noise
from constructions.numeric.arrays import Float64Array
from constructions.unembeddings.unembedding import best
from verify.arithmetic.enclosure import Enclosure
from verify.divergence.kullback_leibler import divergence
from verify.theorems.encoders.low_entropy_bound import (
    bound_by_entropy,
    bound_by_missing,
    cross_entropy,
    enclose_leads,
    enclose_printed_strength,
    kappa_of_leads,
    lookup_distributions,
    paper_factor,
    printed_constant,
    printed_cross_entropy,
    slides_factor,
)


def plain_cost(distributions: Float64Array, leads: Float64Array, strengths: Float64Array) -> NDArray:
    """Return the divergence in float64, without any proof: the rival."""
    logits = -strengths[:, np.newaxis] * leads
    p = distributions / distributions.sum(axis=1, keepdims=True)
    return (p * (np.log(p) - logits)).sum(axis=1) + np.log(np.exp(logits).sum(axis=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=50_257)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[64, 256, 1024, 4096])
    parser.add_argument("--missing", type=float, nargs="+", default=[0.1, 0.01, 1e-20])
    parser.add_argument("--contexts", type=int, default=8)
    options = parser.parse_args()
    columns = (
        "d", "missing", "kappa", "slides", "paper", "(N2)", "(N1)", "encoder of (1)", "encoder of (N1)",
        "relative radius of its cross-entropy", "of its divergence as enclosed elsewhere",
        "proof / float64, time",
    )  # fmt: skip
    print(f"N = {options.tokens}, {options.contexts} distributions with uniform noise, nats\n")
    print_head(*columns)
    for d_model in options.dimensions:
        family = best(options.tokens, d_model)
        tokens = np.linspace(0, options.tokens - 1, options.contexts).astype(np.int64)
        leads = enclose_leads(family.vectors, family.encoders[tokens], tokens)
        constant = printed_constant(options.tokens, d_model)
        for missing in options.missing:
            instance = uniform_noise(family, tokens, missing)
            distributions = lookup_distributions(instance.distributions, tokens)
            kappa = kappa_of_leads(distributions, leads)
            chosen = strength(
                missing_mass(instance.distributions, tokens),
                least=float(family.least),
                kappa=float(family.kappa),
                d_vocab=options.tokens,
            )
            guess = printed_strength(leads.midpoint, distributions.entropy.midpoint)
            cost = cross_entropy(distributions, leads, chosen)
            direct = divergence(Enclosure(-chosen[:, np.newaxis] * leads.midpoint), instance.distributions)
            values = [
                bound_by_entropy(distributions, slides_factor(constant)),
                bound_by_entropy(distributions, paper_factor(constant)),
                bound_by_entropy(distributions, kappa),
                bound_by_missing(distributions, kappa),
                printed_cross_entropy(distributions, leads, enclose_printed_strength(distributions, leads, guess)),
                cost,
            ]

            def proof(given: NDArray = instance.distributions, at: NDArray = tokens, size: NDArray = chosen) -> object:
                return cross_entropy(lookup_distributions(given, at), leads, size)  # noqa: B023

            def plain(given: NDArray = instance.distributions, size: NDArray = chosen) -> object:
                return plain_cost(given, leads.midpoint, size)  # noqa: B023

            row = (
                d_model,
                f"{missing:g}",
                family.kappa,
                *(f"{float((distributions.mean(value - distributions.entropy)).upper()):.4g}" for value in values),
                f"{float((cost.radius / cost.midpoint).max()):.1e}",
                f"{float((direct.radius / np.abs(direct.midpoint)).max()):.1e}",
                f"{median_seconds(proof) / median_seconds(plain):.1f}",
            )
            print_row(*row)


if __name__ == "__main__":
    main()
