r"""Encode distributions that are nearly a look-up table: one vector per token and one strength per context.

With a vector $w_j$ and an encoder $e_j$ for each token (`constructions.unembeddings.unembedding`), a context whose
likeliest token is $g$ gets $E = \lambda e_g$. Token j is then behind by $\lambda \alpha_j$ nats, with the lead
$\alpha_j = \langle w_g - w_j, e_g \rangle$. Only $\lambda$ is left to choose.

Page: docs/claims/theorem_2.md
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.numeric.arrays import Float64Array, Int8Array, Int64Array
from constructions.tasks.task import require_sums_of_one
from constructions.unembeddings.coherence import Unembedding

_LEAST_MASS = 1e-300  # of what is not the token: for certainty the strength would be infinite
_HALVINGS = 100


@dataclass(frozen=True, eq=False)
class LookupEncoder:
    r"""One row of the residual stream per distribution: $E_t = \lambda_t e_{g(t)}$.

    Args:
        tokens: $g(t)$, the likeliest token, `[T]`.
        encoders: $e_{g(t)}$, `[T, d]`.
        strengths: $\lambda_t$, in nats per unit of the leads, `[T]`.
    """

    tokens: Int64Array
    encoders: Int8Array
    strengths: Float64Array

    @property
    def stream(self) -> Float64Array:
        """$E$, `[T, d]`, rounded to float64."""
        return self.strengths[:, np.newaxis] * self.encoders


def lookup_encoder(unembedding: Unembedding, distributions: ArrayLike) -> LookupEncoder:
    r"""Encode each distribution by the row of its likeliest token, with the strength of Theorem LE1 for its leads.

    Args:
        unembedding: Vectors and encoders of N tokens.
        distributions: `[T, N]`, each with the sum 1 within $10^{-9}$; of equal likeliest tokens the first counts.

    Returns:
        The rows of the stream; what they cost is enclosed by `verify/theorems/encoders/lookup_divergence.py`.

    Raises:
        InputError: Another number of tokens, entries that are negative or not finite, or a row that does not add up
            to 1.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Theorem 2.

    Example:
        >>> from constructions.unembeddings.axes import simplex
        >>> made = lookup_encoder(simplex(3, 2), [[0.98, 0.01, 0.01], [0.25, 0.5, 0.25]])
        >>> made.tokens.tolist(), made.stream.shape
        ([0, 1], (2, 2))
    """
    distributions = np.asarray(distributions, dtype=np.float64)
    count = len(unembedding.vectors)
    if distributions.ndim != 2 or distributions.shape[1] != count:
        raise InputError(
            "distributions", f"has shape {distributions.shape}", f"[T, {count}], one entry for each vector"
        )
    if not (np.isfinite(distributions).all() and (distributions >= 0).all() and distributions.any(axis=1).all()):
        raise InputError("distributions", "has an entry that is negative or not finite, or a row of zeros")
    require_sums_of_one(distributions)
    tokens = distributions.argmax(axis=1)
    encoders = unembedding.encoders[tokens]
    products = encoders.astype(np.float64) @ unembedding.vectors.astype(np.float64).T
    leads = products[np.arange(len(distributions)), tokens][:, np.newaxis] - products
    is_other = np.arange(count) != tokens[:, np.newaxis]
    least, largest = np.where(is_other, leads, np.inf).min(axis=1), np.where(is_other, leads, -np.inf).max(axis=1)
    strengths = strength(missing_mass(distributions, tokens), least=least, kappa=largest / least, d_vocab=count)
    return LookupEncoder(tokens, encoders, strengths)


def missing_mass(distributions: Float64Array, tokens: Int64Array) -> Float64Array:
    r"""Return $\varepsilon_t = 1 - p_t(g(t))$, summed from the masses of the other tokens, so that small ones are not
    lost.

    Args:
        distributions: Weights that are at least 0, `[T, N]`; the distribution is the row divided by its sum.
        tokens: g(t), `[T]`.

    Returns:
        Probabilities, `[T]`.

    Example:
        >>> missing_mass(np.array([[1.0, 1e-30, 1e-30]]), np.array([0])).tolist()
        [2e-30]
    """
    other_mass = np.where(np.arange(distributions.shape[1]) == tokens[:, np.newaxis], 0.0, distributions).sum(axis=1)
    return np.minimum(other_mass / distributions.sum(axis=1), 1.0)


def strength(missing: ArrayLike, *, least: ArrayLike, kappa: ArrayLike, d_vocab: int) -> Float64Array:
    r"""Return the strength of Theorem LE1, in nats per unit of the leads.

    With $\varepsilon$ what the distribution leaves to the other tokens and all leads between $a$ and $\kappa a$,

    $$ \lambda = \frac1a \log \frac{(N - 1)(1 - s)}{s}, \qquad s = \kappa \varepsilon, $$

    which minimizes the bound $\log(1 + (N - 1) e^{-\lambda a}) + \lambda \kappa a \varepsilon$ of the cross-entropy,
    and 0 where $s \ge (N - 1) / N$. For one strength for all contexts take the mean of $\varepsilon$, the least $a$ and
    the largest $\kappa$.

    Args:
        missing: $\varepsilon$, in [0, 1]; below $10^{-300}$ it counts as that.
        least: $a > 0$; broadcasts.
        kappa: $\kappa \ge 1$; broadcasts.
        d_vocab: N, at least 2.

    Returns:
        $\lambda \ge 0$, of the shape of the arguments together.

    Raises:
        InputError: An argument out of range.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Theorem 2.

    Example:
        >>> strength([0.1, 0.9], least=1.0, kappa=1.0, d_vocab=11).round(3).tolist()
        [4.5, 0.105]
    """
    epsilon, a, k = (np.asarray(x, dtype=np.float64) for x in (missing, least, kappa))
    require_at_least(2, d_vocab=d_vocab)
    for name, values, holds, wanted in (
        ("missing", epsilon, (epsilon >= 0) & (epsilon <= 1), "probabilities"),
        ("least", a, a > 0, "leads above 0"),
        ("kappa", k, k >= 1, "numbers >= 1"),
    ):
        if not holds.all():
            raise InputError(name, f"holds {values[~holds].ravel()[0]}", wanted)
    flat = (d_vocab - 1) / d_vocab
    s = k * np.maximum(epsilon, _LEAST_MASS)
    inside = np.minimum(s, flat)
    lead = math.log(d_vocab - 1) + np.log1p(-inside) - np.log(inside)
    return np.where(s < flat, np.maximum(lead, 0.0), 0.0) / a


def printed_strength(leads: Float64Array, entropies: Float64Array) -> Float64Array:
    r"""Return the strength of the paper: the solution of its equation (6) with the entropy in place of minus the
    entropy.

    $$ H_t = \log \sum_j e^{-\lambda \alpha_{t,j}} . $$

    The right-hand side falls from $\log N$ to 0 if all leads of other tokens are positive. Found by bisection in
    floating point; `verify.theorems.encoders.low_entropy_bound.enclose_printed_strength` proves it.

    Args:
        leads: $\alpha_{t,j}$, 0 for the token itself, above 0 for the others, `[T, N]`.
        entropies: $H_t$ in nats, above 0, `[T]`.

    Returns:
        $\lambda_t$, `[T]`.

    Raises:
        HypothesisError: A lead that is not positive, or an entropy that is not.

    Source: Dana, Pydi, Chevaleyre (2024), equation (6).

    Example:
        >>> printed_strength(np.array([[0.0, 1.0, 1.0]]), np.array([np.log(2.0)])).round(6).tolist()
        [0.693147]
    """
    other_leads = np.sort(leads, axis=1)[:, 1:]  # the token itself has lead 0, the least of the row
    least = other_leads.min(axis=1) if other_leads.shape[1] else np.zeros(len(leads))
    for name, values in (("leads of other tokens above 0", least), ("entropies above 0", entropies)):
        if not (values > 0).all():
            raise HypothesisError("Dana et al. (2024), equation (6)", name, f"{values[~(values > 0)][0]} occurs")
    # The sum is at most 1 + (N - 1) exp(-lambda a), so this is above the root.
    high = np.maximum(0.0, math.log(other_leads.shape[1]) - np.log(np.expm1(entropies))) / least
    low = np.zeros_like(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = np.log1p(np.exp(-middle[:, np.newaxis] * other_leads).sum(axis=1)) > entropies
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return (low + high) / 2
