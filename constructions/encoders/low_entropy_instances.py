"""Build instances of Theorem 2: distributions that are nearly a look-up table, or far from it, with vectors for their
tokens.

Page: docs/claims/theorem_2.md
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.unembeddings.coherence import Unembedding
from constructions.unembeddings.unembedding import best

DISTRIBUTIONS = ("certain", "certain of another", "two masses", "one rival", "tied", "uniform", "generic")
"""The kinds of distributions that `random_distributions` draws from."""

_LEAST_LEAD = 1e-3
_FAR = 0.49  # from the identity, entry by entry


@dataclass(frozen=True, eq=False)
class LowEntropyInstance:
    r"""Distributions, a token for each, and the vectors that define the logits of an encoder with strengths
    $\lambda_t$.

    The vectors are $\sqrt c$ times those that are meant, so that families whose entries are integers over $\sqrt d$
    stay integers; leads are to be divided by c.

    Args:
        vectors: $\sqrt c \, w_j$ as the rows, `[N, d]`; integers or float64.
        encoders: $\sqrt c \, e_t$, one for each context, `[T, d]`; likewise.
        scale: c.
        tokens: g(t), `[T]`.
        distributions: Weights that are at least 0, `[T, N]`; the distribution is the row divided by its exact sum.
        prior: Positive weights of the contexts, `[T]`.
    """

    vectors: NDArray[Any]
    encoders: NDArray[Any]
    scale: float
    tokens: Int64Array
    distributions: Float64Array
    prior: Float64Array

    def float_leads(self) -> Float64Array:
        r"""Return $\alpha_{t,j} = \langle w_g - w_j, e_t \rangle$ in floating point, `[T, N]`."""
        products = self.encoders.astype(np.float64) @ self.vectors.T.astype(np.float64) / self.scale
        return products[np.arange(len(products)), self.tokens][:, np.newaxis] - products


def random_distributions(generator: np.random.Generator, tokens: Int64Array, leads: Float64Array) -> Float64Array:
    r"""Draw varied distributions around given tokens, with masses down to $10^{-30}$.

    Args:
        generator: Source of randomness.
        tokens: g(t), `[T]`.
        leads: $\alpha_{t,j}$, `[T, N]`; one kind puts its noise on the token of the largest lead, where it costs most.

    Returns:
        Positive weights, `[T, N]`.

    Example:
        >>> distributions = random_distributions(np.random.default_rng(0), np.array([0, 1, 2]), np.zeros((3, 4)))
        >>> distributions.shape, bool((distributions > 0).all())
        ((3, 4), True)
    """
    d_vocab = leads.shape[1]
    distributions = np.empty(leads.shape)
    for row, token in enumerate(tokens):
        kind = DISTRIBUTIONS[generator.integers(len(DISTRIBUTIONS))]
        distribution = generator.exponential(size=d_vocab) + 1e-9
        if kind == "certain" or kind == "certain of another":
            distribution *= 10.0 ** -generator.integers(1, 30, d_vocab)
            distribution[token if kind == "certain" else generator.integers(d_vocab)] = 1.0
        elif kind == "two masses":
            distribution[:] = 10.0 ** -generator.integers(0, 30)
            distribution[token] = 1.0
        elif kind == "one rival":
            distribution[:] = 1e-30
            distribution[token] = 1.0
            distribution[leads[row].argmax()] = 10.0 ** -generator.uniform(0, 12)
        elif kind == "tied":
            distribution = generator.integers(1, 3, d_vocab).astype(np.float64)
        elif kind == "uniform":
            distribution[:] = 1.0
        distributions[row] = distribution
    return distributions


def with_random_distributions(
    found: Unembedding, n_contexts: int, generator: np.random.Generator
) -> LowEntropyInstance:
    """Return vectors of a family with proved margins, random tokens, and random distributions.

    Args:
        found: The vectors.
        n_contexts: T.
        generator: Source of randomness.

    Returns:
        The instance, of scale 1.

    Example:
        >>> with_random_distributions(best(6, 4), 3, np.random.default_rng(0)).distributions.shape
        (3, 6)
    """
    tokens = generator.integers(0, len(found.vectors), n_contexts)
    return _instance(found.vectors, found.encoders[tokens], tokens, generator)


def random_instance(seed: int) -> LowEntropyInstance:
    r"""Return a small instance with positive leads: a family with proved margins, or vectors and encoders with no
    structure.

    Args:
        seed: Seed of the generator.

    Returns:
        N from 2 to 24 tokens, d from 1 to 16, and 6 contexts.

    Example:
        >>> leads = random_instance(1).float_leads()
        >>> bool(np.sort(leads, axis=1)[:, 1:].min() > 0)
        True
    """
    generator = np.random.default_rng((21, seed))
    if seed % 2 == 0:
        d_model = int(generator.integers(1, 17))
        most = d_model + 1 if d_model < 4 else min(24, d_model + 4)
        return with_random_distributions(best(int(generator.integers(2, most + 1)), d_model), 6, generator)
    while True:
        count, d_model = int(generator.integers(2, 13)), int(generator.integers(1, 13))
        vectors = generator.normal(size=(count, d_model)) + 2.0 * np.eye(count, d_model)
        aimed = vectors + generator.uniform(0, 1) * generator.normal(size=vectors.shape)  # encoders need not be vectors
        products = aimed @ vectors.T
        leads = np.diag(products)[:, np.newaxis] - products + np.where(np.eye(count), np.inf, 0.0)
        usable = np.flatnonzero(leads.min(axis=1) > _LEAST_LEAD)
        if len(usable):
            tokens = generator.choice(usable, 6)
            return _instance(vectors, aimed[tokens], tokens, generator)


def near_orthonormal_instance(seed: int) -> LowEntropyInstance:
    r"""Return an instance with $e_t = w_{g(t)}$ and $\max |W W^\top - I| < 1/2$, often with more tokens than d + 1.

    Args:
        seed: Seed of the generator.

    Returns:
        Axis vectors with noise, or a family of signs over $\sqrt d$, exact or with noise; 6 contexts.

    Example:
        >>> instance = near_orthonormal_instance(1)
        >>> W = instance.vectors.astype(float)
        >>> bool(np.abs(W @ W.T / instance.scale - np.eye(len(W))).max() < 0.5)
        True
    """
    generator = np.random.default_rng((22, seed))
    if seed % 3 == 0:
        count = int(generator.integers(2, 9))
        vectors, scale = np.eye(count, count + 2), 1.0
    else:
        d_model = int(generator.choice([16, 64]))
        unit_vectors = best(int(generator.integers(d_model + 2, 2 * d_model)), d_model).vectors
        # Signs, or an axis vector, of squared norm d; the family stores multiples of these.
        norms = np.sqrt((unit_vectors.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
        vectors, scale = unit_vectors / norms * np.sqrt(d_model), float(d_model)
    size = 0.0 if seed % 3 == 1 else float(generator.uniform(0, 0.3))
    noise = np.sqrt(scale) * generator.normal(size=vectors.shape)
    while np.abs((vectors + size * noise) @ (vectors + size * noise).T / scale - np.eye(len(vectors))).max() > _FAR:
        size /= 2
    tokens = generator.integers(0, len(vectors), 6)
    vectors = vectors + size * noise
    return _instance(vectors, vectors[tokens], tokens, generator, scale)


def uniform_noise(found: Unembedding, tokens: Int64Array, missing: float) -> LowEntropyInstance:
    r"""Return distributions with $p_g = 1 - \varepsilon$ and the rest spread evenly.

    Args:
        found: The vectors.
        tokens: g(t), `[T]`.
        missing: $\varepsilon$, in (0, 1).

    Returns:
        The instance, of scale 1.

    Raises:
        InputError: $\varepsilon$ out of range.

    Example:
        >>> uniform_noise(best(3, 2), np.array([2]), 0.5).distributions.tolist()
        [[0.25, 0.25, 0.5]]
    """
    if not 0.0 < missing < 1.0:
        raise InputError("missing", f"= {missing}", "a probability strictly between 0 and 1")
    distributions = np.full((len(tokens), len(found.vectors)), missing / (len(found.vectors) - 1))
    distributions[np.arange(len(tokens)), tokens] = 1.0 - missing
    return LowEntropyInstance(found.vectors, found.encoders[tokens], 1.0, tokens, distributions, np.ones(len(tokens)))


def two_distributions() -> LowEntropyInstance:
    r"""Return the distributions (1/2, 1/2, 0) and (3/5, 1/5, 1/5) of weights 2/5 and 3/5, and W = I: g is the mode."""
    unembedding = best(3, 3)
    distributions = np.array([[1.0, 1.0, 0.0], [3.0, 1.0, 1.0]])
    return LowEntropyInstance(
        unembedding.vectors, unembedding.encoders[[0, 0]], 1.0, np.array([0, 0]), distributions, np.array([2.0, 3.0])
    )


def mistaken_token(d_vocab: int) -> LowEntropyInstance:
    r"""Return a distribution that is almost certain of a token other than g, and the uniform one, equally likely; W =
    I.

    The first distribution has the weights $(0, 1, 4.4373 \cdot 10^{-10}, 0, \dots)$, so that its entropy is about
    $10^{-8}$ nats, and g is the first token.

    Args:
        d_vocab: N, at least 3.
    """
    unembedding = best(d_vocab, d_vocab)
    distributions = np.zeros((2, d_vocab))
    distributions[0, 1:3] = 1.0, 4.4373e-10
    distributions[1] = 1.0
    return LowEntropyInstance(
        unembedding.vectors, unembedding.encoders[[0, 0]], 1.0, np.array([0, 0]), distributions, np.array([1.0, 1.0])
    )


def _instance(
    vectors: NDArray[Any],
    encoders: NDArray[Any],
    tokens: Int64Array,
    generator: np.random.Generator,
    scale: float = 1.0,
) -> LowEntropyInstance:
    prior = generator.integers(1, 10, len(tokens)).astype(np.float64)
    blank = LowEntropyInstance(vectors, encoders, scale, tokens, np.ones((len(tokens), len(vectors))), prior)
    distributions = random_distributions(generator, tokens, blank.float_leads())
    return LowEntropyInstance(vectors, encoders, scale, tokens, distributions, prior)
