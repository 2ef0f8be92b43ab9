"""Read distributions with vectors of low coherence: one token per distribution, an encoder, an unembedding.

Page: docs/constructions.md
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from constructions.encoders.low_entropy_encoder import LookupEncoder, lookup_encoder, missing_mass
from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.named.distributions import Distributions, as_distributions
from constructions.numeric.arrays import Float64Array
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from constructions.unembeddings.coherence import Unembedding
from constructions.unembeddings.johnson_lindenstrauss import gaussian_unembedding, johnson_lindenstrauss_unembedding

THEOREM = "Dana et al. (2024), Theorem 2"

_ROUNDING = 1e-9  # nats; more than the rounding of the weights and of the promise to float64 costs


@dataclass(frozen=True, eq=False, kw_only=True)
class LowCoherenceMemory(Construction[Task]):
    """A model that answers each token with a distribution: its row of the encoder, then the unembedding.

    Args:
        unembedding: The vectors, with their leads and coherence.
        encoder: One row of the stream for each distribution.
    """

    unembedding: Unembedding
    encoder: LookupEncoder


def random_distributions(*, d_vocab: int, n_distributions: int, noise: int, seed: int) -> Distributions:
    r"""Draw distributions close to a point mass.

    Args:
        d_vocab: Number of tokens, N, at least 2.
        n_distributions: How many, T.
        noise: A distribution leaves $1 / \mathrm{noise}$ to the other tokens, at random; at least 2.
        seed: Seed of the draw.

    Returns:
        Rational numbers that add up to 1.

    Raises:
        InputError: A number out of range.

    Example:
        >>> [[sum(row), max(row)] for row in random_distributions(d_vocab=3, n_distributions=1, noise=100, seed=0)]
        [[Fraction(1, 1), Fraction(99, 100)]]
    """
    require_at_least(2, d_vocab=d_vocab, noise=noise)
    require_at_least(1, n_distributions=n_distributions)
    require_at_least(0, seed=seed)
    rng = np.random.default_rng([seed, 8])
    tokens = rng.integers(0, d_vocab, n_distributions).tolist()
    weights = rng.integers(1, 2**20, (n_distributions, d_vocab)).tolist()
    distributions = []
    for token, row in zip(tokens, weights, strict=True):
        other_mass = sum(row) - row[token]
        shares = [Fraction(weight, other_mass * noise) for weight in row]
        shares[token] = 1 - Fraction(1, noise)
        distributions.append(shares)
    return distributions


def johnson_lindenstrauss_memory(
    distributions: Distributions, *, d_model: int, coherence: Fraction | float | None = None, seed: int = 0
) -> LowCoherenceMemory:
    r"""Encode distributions for vectors of random signs: Theorem 2 with an unembedding of Johnson and Lindenstrauss.

    Args:
        distributions: T distributions of full support over N tokens.
        d_model: Width of the stream, d.
        coherence: The largest that is accepted, between 0 and 1; by default any with which every token leads.
        seed: Seed of the vectors.

    Returns:
        The model. Asked is the mean of the bound (N1) of Theorem LE1.

    Raises:
        HypothesisError: A distribution without full support, or d too small for the coherence.
        InputError: Fewer than two tokens, or an argument out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 2, repaired: Theorem LE1.

    Example:
        >>> found = johnson_lindenstrauss_memory([[Fraction(9, 10), Fraction(1, 20), Fraction(1, 20)]], d_model=8)
        >>> found.model.parameters, found.unembedding.kappa
        (40, Fraction(4, 1))
    """
    return _memory(johnson_lindenstrauss_unembedding, distributions, d_model, coherence, seed)


def gaussian_memory(
    distributions: Distributions, *, d_model: int, coherence: Fraction | float | None = None, seed: int = 0
) -> LowCoherenceMemory:
    """Build the memory of `johnson_lindenstrauss_memory` with Gaussian vectors instead.

    Example:
        >>> gaussian_memory([[Fraction(9, 10), Fraction(1, 20), Fraction(1, 20)]], d_model=8).model.d_model
        8
    """
    return _memory(gaussian_unembedding, distributions, d_model, coherence, seed)


def _memory(
    unembed: Callable[..., Unembedding],
    distributions: Distributions,
    d_model: int,
    coherence: Fraction | float | None,
    seed: int,
) -> LowCoherenceMemory:
    masses = as_distributions(distributions)
    count, size = masses.shape[1], len(masses)
    if count < 2:
        raise InputError("distributions", f"are over {count} token", "at least two")
    bad = np.argwhere(masses <= 0.0)
    if len(bad):
        row, token = int(bad[0][0]) + 1, int(bad[0][1])
        hypothesis = "distributions of full support, as a softmax has"
        raise HypothesisError(THEOREM, hypothesis, f"row {row} gives token {token} the probability 0")
    unembedding = unembed(count, d_model, coherence=coherence or None, seed=seed)
    encoder = lookup_encoder(unembedding, masses)
    task = array_task(
        np.arange(size)[:, np.newaxis],
        distributions=masses,
        vocabulary=tuple(f"p{place}" for place in range(1, size + 1)),
        answers=tuple(map(str, range(count))),
    )
    model = Model(
        blocks=(),
        W_E=encoder.stream,
        W_pos=np.zeros((1, d_model)),
        W_U=unembedding.matrix(),
    )
    summary = (
        f"{size} distributions over {count} tokens in d = {d_model} dimensions: {unembedding.family}, "
        f"kappa = {float(unembedding.kappa):.4g}"
    )
    criterion = Criterion.at_most(_promised(unembedding, encoder, masses) + _ROUNDING)
    return LowCoherenceMemory(
        task=task, model=model, summary=summary, criterion=criterion, unembedding=unembedding, encoder=encoder
    )


def _promised(unembedding: Unembedding, encoder: LookupEncoder, distributions: Float64Array) -> float:
    r"""Return the mean of (N1), $h(s) + s \log(N - 1) - \eta$ with $s = \kappa_t \varepsilon_t$, or $\log N - \eta$
    beyond.

    In floating point: the judge encloses the divergences and the bound.
    """
    count = distributions.shape[1]
    rows = distributions / distributions.sum(axis=1, keepdims=True)
    products = encoder.encoders.astype(np.float64) @ unembedding.vectors.astype(np.float64).T
    own_products = products[np.arange(len(distributions)), encoder.tokens]
    leads = own_products[:, np.newaxis] - products
    is_other = np.arange(count) != encoder.tokens[:, np.newaxis]
    largest_lead = np.where(is_other, leads, -np.inf).max(axis=1)
    least_lead = np.where(is_other, leads, np.inf).min(axis=1)
    kappa = largest_lead / least_lead
    share = np.minimum(kappa * missing_mass(distributions, encoder.tokens), (count - 1) / count)
    entropy = -(rows * np.log(rows)).sum(axis=1)
    binary = -share * np.log(share) - (1 - share) * np.log1p(-share)
    return float(np.mean(binary + share * math.log(max(count - 1, 1)) - entropy))
