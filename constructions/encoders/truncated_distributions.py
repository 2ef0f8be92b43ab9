r"""Logits of rank d that are nearest to the logarithms of distributions in least squares, and distributions on which
that costs most.

Page: docs/claims/least_squares.md
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.numeric.arrays import Float64Array


@dataclass(frozen=True, eq=False)
class TruncatedDistributions:
    r"""Logits $F = E W^\top$ of rank d that approximate the logarithms of distributions.

    Args:
        E: The encoded contexts, `[T, d]`.
        W: The unembedding vectors of the tokens, `[N, d]`, with orthonormal columns.
    """

    E: Float64Array
    W: Float64Array


def truncated_distributions(
    distributions: Float64Array, rank: int, *, prior: Float64Array | None = None, without_means: bool = True
) -> TruncatedDistributions:
    r"""Truncate the singular value decomposition of $L P_1$ to rank d, where $L = \log \pi$.

    $P_1$ subtracts the mean of each row, which the softmax does not see. Among all logits of rank d these minimize
    $\lVert F - L P_1 \rVert_F$, and with a prior $\sum_t \rho_t \lVert F_t - L_t P_1 \rVert^2$.

    Args:
        distributions: Positive weights, `[T, N]`; the distribution is the row divided by its sum.
        rank: d, 0 to min(T, N).
        prior: Weights of the contexts, `[T]`, for the weighted problem.
        without_means: Whether $P_1$ is applied; False to truncate $L$ itself.

    Returns:
        The factors.

    Raises:
        HypothesisError: A distribution with a zero.
        InputError: A rank out of range, distributions that are not finite, or a prior that is none.

    Source: slides of Dana (2024), "Almost rank d"; Eckart and Young (1936).

    Example:
        >>> distributions = np.array([[4.0, 1.0, 2.0], [1.0, 4.0, 2.0]])
        >>> found = truncated_distributions(distributions, 1)
        >>> (np.exp(found.E @ found.W.T) * 2.0).round(9).tolist()
        [[4.0, 1.0, 2.0], [1.0, 4.0, 2.0]]
    """
    weights = np.asarray(distributions, dtype=np.float64)
    if weights.ndim != 2 or not weights.size or not np.isfinite(weights).all():
        raise InputError("distributions", f"has shape {weights.shape}", "[T, N] with finite entries, at least one")
    if not 0 <= rank <= min(weights.shape):
        raise InputError("rank", f"= {rank} and distributions of shape {weights.shape}", "0 <= rank <= min(T, N)")
    if not weights.min() > 0.0:
        problem = f"a mass is {weights.min()}"
        raise HypothesisError("the logarithm of a distribution", "distributions of full support", problem)
    logarithms = np.log(weights)
    logarithms -= logarithms.mean(axis=1, keepdims=True) if without_means else np.log(weights.sum(axis=1))[:, None]
    scaled = logarithms
    if prior is not None:
        shares = np.asarray(prior, dtype=np.float64)
        if shares.shape != (len(weights),) or not ((shares >= 0.0) & np.isfinite(shares)).all():
            raise InputError("prior", f"has shape {shares.shape}", f"{len(weights)} finite weights of at least 0")
        scaled = logarithms * np.sqrt(shares)[:, None]
    _, _, right = np.linalg.svd(scaled, full_matrices=False)
    W = right[:rank].T
    return TruncatedDistributions(E=logarithms @ W, W=W)


def hadamard_distributions(d_vocab: int, size: float) -> Float64Array:
    r"""Return N - 1 distributions whose centred logarithms are orthogonal: $\pi_t = \mathrm{softmax}(a h_t)$.

    The $h_t$ are the rows of the Hadamard matrix of order N but the constant one. All singular values of $L P_1$ are
    equal, so a bound by one of them sees one N-th of what is lost.

    Args:
        d_vocab: N, a power of two.
        size: a.

    Returns:
        Weights `[N - 1, N]` of two values only, so that the logarithms are orthogonal exactly.

    Raises:
        InputError: No power of two.

    Example:
        >>> hadamard_distributions(2, np.log(2.0)).round(12).tolist()
        [[2.0, 0.5]]
    """
    if d_vocab < 2 or d_vocab & (d_vocab - 1):
        raise InputError("d_vocab", f"= {d_vocab}", "a power of two, at least 2")
    signs = scipy.linalg.hadamard(d_vocab)[1:]
    return np.where(signs > 0, np.exp(size), np.exp(-size))


def token_pair_distributions(pairs: int, *, size: float, depth: float) -> Float64Array:
    """Return distributions of 2 n contexts on n pairs of tokens: a context is nearly undecided within its own pair.

    Context 2 k has the logits $(a, -a)$ on pair k, context 2 k + 1 has $(-a, a)$, and both $-b$ elsewhere. The
    truncation of $L$ itself to rank n keeps the pairs and forgets the preferences.

    Args:
        pairs: n, at least 2.
        size: a.
        depth: b.

    Returns:
        Weights `[2 n, 2 n]` of three values only.

    Raises:
        InputError: Fewer than two pairs.

    Example:
        >>> token_pair_distributions(2, size=0.0, depth=700.0).round(3).tolist()[0]
        [1.0, 1.0, 0.0, 0.0]
    """
    require_at_least(2, pairs=pairs)
    distributions = np.full((2 * pairs, 2 * pairs), np.exp(-depth))
    own_token = np.arange(2 * pairs)
    distributions[own_token, own_token] = np.exp(size)
    distributions[own_token, own_token ^ 1] = np.exp(-size)
    return distributions


def sharp_distributions(size: float, *, copies: int = 1) -> Float64Array:
    r"""Return distributions on three tokens for which the first one's truncation to rank 1 costs almost $\sigma_2^2 /
    4$.

    The logits are $(a, -a, -12)$ and, for one context or more, $(0, 0, -700)$. So the first singular vector is nearly
    $(1, 1, -2)$, and what is lost of the first distribution is $(a, -a, 0)$, of squared norm $2 a^2$ and
    divergence $a^2 / 2$.

    Args:
        size: a.
        copies: How many contexts have the second distribution; more of them turn the singular vector as a larger logit
            does.

    Returns:
        Weights `[1 + copies, 3]`.

    Example:
        >>> sharp_distributions(0.01).shape
        (2, 3)
    """
    return np.exp([[size, -size, -12.0]] + [[0.0, 0.0, -700.0]] * copies)


def rank_one_distributions(d_vocab: int, contexts: int) -> Float64Array:
    r"""Return distributions $\pi_t(i) \propto 2^{t i}$, whose centred logarithms have rank 1 while those with their
    means have rank 2.

    Args:
        d_vocab: N, at least 3.
        contexts: T, at least 3.

    Returns:
        Weights `[T, N]`, powers of two.

    Raises:
        InputError: Sizes too small, or so large that the powers overflow.

    Example:
        >>> rank_one_distributions(3, 3).tolist()
        [[1.0, 1.0, 1.0], [1.0, 2.0, 4.0], [1.0, 4.0, 16.0]]
    """
    if not (d_vocab >= 3 and contexts >= 3 and (d_vocab - 1) * (contexts - 1) < 1000):
        raise InputError("d_vocab", f"= {d_vocab}, contexts = {contexts}", "at least 3 with (N - 1)(T - 1) < 1000")
    return np.exp2(np.outer(np.arange(contexts), np.arange(d_vocab)))


def random_distributions(
    contexts: int, d_vocab: int, *, spread: float, rank: int, noise: float, seed: int
) -> Float64Array:
    """Draw distributions whose logarithms are a random matrix of rank r plus noise.

    Args:
        contexts: T.
        d_vocab: N.
        spread: Standard deviation of the logits of rank r, nats.
        rank: r, at least 1.
        noise: Standard deviation of the noise, nats.
        seed: Seed of the draw.

    Returns:
        Weights `[T, N]`, the largest of each row being 1.

    Example:
        >>> random_distributions(2, 3, spread=1.0, rank=1, noise=0.1, seed=0).max(axis=1).tolist()
        [1.0, 1.0]
    """
    rng = np.random.default_rng(seed)
    low = rng.standard_normal((contexts, rank)) @ rng.standard_normal((rank, d_vocab)) / np.sqrt(rank)
    logits = spread * low + noise * rng.standard_normal((contexts, d_vocab))
    return np.exp(logits - logits.max(axis=1, keepdims=True))


def nearly_planar_distributions(d_vocab: int, *, noise: float, seed: int) -> Float64Array:
    """Return one distribution per token with logits $-(i - t)^2 / 4$ plus small noise: almost of rank 2, with clear
    modes.

    Args:
        d_vocab: N.
        noise: The noise is uniform between minus this and this, nats.
        seed: Seed of the noise.

    Returns:
        Distributions `[N, N]`.

    Example:
        >>> nearly_planar_distributions(4, noise=0.01, seed=0).argmax(axis=1).tolist()
        [0, 1, 2, 3]
    """
    places = np.arange(d_vocab)
    logits = -0.25 * (places[:, None] - places) ** 2
    logits = logits + np.random.default_rng(seed).uniform(-noise, noise, logits.shape)
    distributions = np.exp(logits)
    return distributions / distributions.sum(axis=1, keepdims=True)
