r"""Enclose the divergences of look-up encoders for nearly certain distributions: Theorem 2 in its true form.

Page: docs/claims/theorem_2.md
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from constructions.errors import HypothesisError, InputError
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import require_sums_of_one
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.exact_inputs import as_float64
from verify.theorems.encoders.low_entropy_bound import (
    bound_by_entropy,
    bound_by_missing,
    cross_entropy,
    enclose_leads,
    kappa_of_leads,
    lookup_distributions,
    paper_factor,
    printed_constant,
)


@dataclass(frozen=True, eq=False)
class LookupDivergence:
    r"""The divergences of distributions from those of an encoder, and their bounds, in nats, `[T]`.

    Args:
        missing: $\varepsilon_t$, what the distribution leaves to other tokens than $g(t)$.
        entropy: $\eta_t$.
        kappa: $\kappa_t$, the largest lead over the least; no information where a lead may not be positive.
        divergence: $\mathrm{KL}(p_t \parallel \mathrm{softmax}(\lambda_t \langle w_j, e_t \rangle))$, from both sides.
        bound: (N1), $\Phi(\kappa_t \varepsilon_t) - \eta_t$, which the strengths of Theorem LE1 keep.
        printed: The bound of Theorem 2, $\frac{1 + 2C}{1 - 2C} \varepsilon_t \varphi(\eta_t)$ with
            $C = \sqrt{32 \log(N + 1) / d}$; `None` for $C \ge \frac12$, where it says nothing.
    """

    missing: Enclosure
    entropy: Enclosure
    kappa: Enclosure
    divergence: Enclosure
    bound: Enclosure
    printed: Enclosure | None


def lookup_divergence(
    vectors: NDArray, encoders: NDArray, strengths: Float64Array, *, tokens: Int64Array, distributions: ArrayLike
) -> LookupDivergence:
    r"""Enclose the divergences of distributions from the softmax of $\lambda_t \langle w_j, e_t \rangle$.

    Args:
        vectors: $w_j$ as the rows, `[N, d]`; integers, whose leads are exact, or float64.
        encoders: $e_t$, one for each distribution, `[T, d]`; likewise.
        strengths: $\lambda_t \ge 0$, `[T]`.
        tokens: $g(t)$, `[T]`.
        distributions: `[T, N]`, each with the sum 1 within $10^{-9}$; they stand for themselves over their exact sum.

    Returns:
        The divergences and the bounds.

    Raises:
        InputError: Arrays that do not fit each other, or a distribution that does not add up to 1.
        HypothesisError: A strength that is negative or not finite.
        BlasError: The BLAS fails its probe.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 2, repaired: Theorem LE1.

    Example:
        >>> from constructions.encoders.low_entropy_encoder import lookup_encoder
        >>> from constructions.unembeddings.johnson_lindenstrauss import johnson_lindenstrauss_unembedding
        >>> unembedding = johnson_lindenstrauss_unembedding(50, 256)
        >>> distributions = np.full((3, 50), 0.01 / 49)
        >>> distributions[np.arange(3), [4, 0, 7]] = 0.99
        >>> made = lookup_encoder(unembedding, distributions)
        >>> found = lookup_divergence(
        ...     unembedding.vectors, made.encoders, made.strengths, tokens=made.tokens, distributions=distributions)
        >>> bool((found.divergence.upper() <= found.bound.upper()).all()), found.printed is None
        (True, True)
    """
    distributions = as_float64(distributions, "distributions")
    if distributions.ndim != 2 or distributions.shape[1] != len(vectors):
        raise InputError(
            "distributions", f"has shape {distributions.shape}", f"[T, {len(vectors)}], one entry for each vector"
        )
    if not (np.isfinite(distributions).all() and (distributions >= 0.0).all()):
        raise InputError("distributions", "has an entry that is negative or not finite")
    require_sums_of_one(distributions)
    steepness = as_float64(strengths, "strengths")
    if steepness.shape != (len(distributions),) or not (np.isfinite(steepness).all() and (steepness >= 0.0).all()):
        raise HypothesisError("Theorem 2", "finite strengths >= 0", f"strengths {steepness.tolist()[:8]}")
    looked = lookup_distributions(distributions, tokens)
    leads = enclose_leads(vectors, encoders, tokens)
    kappa = kappa_of_leads(looked, leads)
    divergence = cross_entropy(looked, leads, steepness) - looked.entropy
    constant = printed_constant(len(vectors), vectors.shape[1])
    printed = bound_by_entropy(looked, paper_factor(constant)) - looked.entropy if constant.upper() < 0.5 else None
    least = np.maximum(divergence.lower(), 0.0)  # Gibbs
    return LookupDivergence(
        missing=looked.missing,
        entropy=looked.entropy,
        kappa=kappa,
        divergence=Enclosure.between(least, np.maximum(divergence.upper(), least)),
        bound=bound_by_missing(looked, kappa) - looked.entropy,
        printed=printed,
    )
