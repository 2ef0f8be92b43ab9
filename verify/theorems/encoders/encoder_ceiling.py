"""Bound the least divergence of sequence encoders of a rank from above, by a given encoder or by truncation.

Page: docs/claims/sequence_encoder.md
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from constructions.errors import InputError, require_at_least
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array
from constructions.progress import Progress
from constructions.tasks.task import Task
from verify.arithmetic.elementary import log
from verify.arithmetic.enclosure import Enclosure, matmul, sqrt
from verify.arithmetic.exact_inputs import as_float64
from verify.arithmetic.sums import total
from verify.divergence.kullback_leibler import divergence, quadratic_divergence_bound
from verify.forward.logits import logit_chunks
from verify.linear_algebra.singular_values import enclose_singular_values


def mean_divergence(
    logits: Enclosure, distributions: ArrayLike, *, prior: ArrayLike | None = None
) -> tuple[float, float]:
    r"""Enclose $\sum_t \rho_t \mathrm{KL}(\pi_t \| \mathrm{softmax}(z_t))$ in nats.

    Where the logits are near the logarithms of the distributions, the upper end is the quadratic bound.

    Why it is rigorous: `divergence` and `quadratic_divergence_bound`, and sums of enclosures.

    Args:
        logits: Logits, `[T, N]`.
        distributions: Weights that are at least 0, `[T, N]`; the distribution is the row divided by its exact sum.
        prior: As in `encoder_floor`.

    Returns:
        Lower and upper bound; the upper one is infinite where nothing is known.

    Raises:
        InputError: Arguments of wrong shapes or ranges.

    Example:
        >>> mean_divergence(Enclosure([[0.0, 0.0], [0.0, 0.0]]), [[1, 0], [1, 1]], prior=[3, 1])
        (0.51986038541995..., 0.51986038541996...)
    """
    weights, shares = checked_distributions(distributions, prior, 0)
    return _mean(*_bounds(logits, weights), shares)


def network_divergence(
    network: Model, task: Task, *, logits: Enclosure | None = None, progress: Progress | None = None
) -> tuple[float, float]:
    r"""Enclose the mean divergence of a task's distributions from a network's, weighted by the prior of the task, in
    nats.

    By Proposition 1 the upper end is an upper bound of the infimum over all encoders of rank d, since the logits of the
    network are those of an encoder.

    Why it is rigorous: as `mean_divergence`; the contexts are streamed.

    Args:
        network: The weights.
        task: A task with distributions.
        logits: Enclosure of the logits of the memorized contexts, if it is known already.
        progress: Called with the stage and the finished share of it.

    Returns:
        Lower and upper bound.

    Raises:
        InputError: The target of the task is not ``distributions``, or the network cannot read it.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 1.

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> from constructions.tasks.task import Counts, make_task
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((1, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.zeros((2, 2)))
        >>> task = make_task(np.array([[0]]), Counts.from_rows([{0: 2, 1: 2}]), vocabulary=("a", "b"))
        >>> network_divergence(network, task)[1] < 1e-30
        True
    """
    if task.distributions is None:
        raise InputError("target", f"is {task.target!r}", "'distributions'")
    lower, upper = np.zeros(task.n_contexts), np.full(task.n_contexts, np.inf)
    chunks = logit_chunks(network, task.contexts) if logits is None else [(0, logits)]
    for start, part in chunks:
        rows = slice(start, start + len(part))
        lower[rows], upper[rows] = _bounds(part, task.distributions[rows])
        if progress is not None:
            progress("encoder", rows.stop / task.n_contexts, f"{rows.stop} of {task.n_contexts} contexts")
    return _mean(lower, upper, task.prior)


def _bounds(logits: Enclosure, distributions: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Bound each divergence from both sides; the quadratic upper bound is used too if a distribution has no zeros."""
    direct = divergence(logits, distributions)
    lower, upper = np.maximum(direct.lower(), 0.0), direct.upper()
    full = np.flatnonzero(distributions.min(axis=1) > 0.0)
    if len(full):
        upper = upper.copy()
        upper[full] = np.minimum(upper[full], quadratic_divergence_bound(logits[full], distributions[full]))
    return lower, upper


def _mean(lower: Float64Array, upper: Float64Array, prior: Float64Array) -> tuple[float, float]:
    """Bound the mean; contexts of weight 0 are ignored."""
    present = prior > 0.0
    mass = total(prior, 0)
    below = total(Enclosure(lower[present]) * prior[present], 0) / mass
    above = total(Enclosure(upper[present]) * prior[present], 0) / mass
    return max(0.0, float(below.lower())), float(above.upper())


def encoder_divergence(
    E: ArrayLike, W: ArrayLike, distributions: ArrayLike, *, prior: ArrayLike | None = None
) -> tuple[float, float]:
    r"""Enclose the mean divergence of the encoder $F = E W^\top$ with these very float64 factors, in nats.

    The upper end is an upper bound of the infimum over all encoders of the rank.

    Why it is rigorous: the product is enclosed, then `mean_divergence`.

    Args:
        E: The encoded contexts, `[T, d]`.
        W: The unembedding vectors, `[N, d]`.
        distributions: As in `mean_divergence`.
        prior: As in `encoder_floor`.

    Returns:
        Lower and upper bound.

    Raises:
        InputError: Arguments of wrong shapes or ranges.

    Example:
        >>> encoder_divergence([[2.0]], [[1.0], [1.0]], [[1, 1]])[1] < 1e-30
        True
    """
    left, right = as_float64(E, "E"), as_float64(W, "W")
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[1]:
        raise InputError("E and W", f"have shapes {left.shape} and {right.shape}", "[T, d] and [N, d]")
    zeros = np.zeros((len(left), len(right)))
    logits = matmul(left, np.ascontiguousarray(right.T)) if left.shape[1] else Enclosure(zeros)
    return mean_divergence(logits, distributions, prior=prior)


def truncation_ceiling(distributions: ArrayLike, d_model: int, *, prior: ArrayLike | None = None) -> float:
    r"""Return an upper bound of the infimum over all encoders of rank d, in nats, from singular values.

    $$ \inf_{E, W} \; \sum_t \rho_t \, \mathrm{KL}\bigl(\pi_t \,\|\, \mathrm{softmax}(E_t W^\top)\bigr)
       \le \tfrac14 \sum_{i > d} \sigma_i\bigl(\mathrm{diag}(\sqrt{\rho_t}) \, L J\bigr)^2 , $$

    $L$ the logarithms of the distributions, $J = I - \frac1N \mathbf{1} \mathbf{1}^\top$.

    Why it is rigorous: Hoeffding's lemma for the truncated singular value decomposition; the values are enclosed.

    Args:
        distributions: Positive weights, `[T, N]`; the distribution is the row divided by its exact sum.
        d_model: The rank d, at least 0.
        prior: As in `encoder_floor`.

    Returns:
        The bound, rounded up; infinite where a context of positive weight has a distribution with a zero.

    Raises:
        InputError: Arguments of wrong shapes or ranges.

    Example:
        >>> 0.0523 < truncation_ceiling([[6, 3, 1], [6, 1, 3]], 1) < 0.16
        True
    """
    weights, shares = checked_distributions(distributions, prior, d_model)
    present = shares > 0.0
    weights, shares = weights[present], shares[present]
    if not weights.min() > 0.0:
        return math.inf
    logarithms = log(weights)
    centred = logarithms - (total(logarithms, 1) / float(weights.shape[1])).reshape(len(weights), 1)
    rooted = centred * sqrt(Enclosure(shares) / total(shares, 0)).reshape(len(weights), 1)
    tail = enclose_singular_values(rooted)[d_model:]
    return float((total(tail * tail, 0) * 0.25).upper()) if tail.size else 0.0


def checked_distributions(
    distributions: ArrayLike, prior: ArrayLike | None, d_model: int
) -> tuple[Float64Array, Float64Array]:
    """Return the distributions and the prior as float64 weights, whose exact sums normalize them.

    Args:
        distributions: `[T, N]`.
        prior: `[T]`, or `None` for equal weights.
        d_model: A rank.

    Returns:
        The weights of the distributions and of the prior.

    Raises:
        InputError: Wrong shapes, a distribution or a prior that cannot be normalized, or a negative rank; names the
            argument.

    Example:
        >>> checked_distributions([[1, 3]], None, 0)
        (array([[1., 3.]]), array([1.]))
    """
    weights = as_float64(distributions, "distributions")
    if weights.ndim != 2 or 0 in weights.shape:
        raise InputError(
            "distributions", f"has shape {weights.shape}", "[T, N] with at least one context and one token"
        )
    if not (np.isfinite(weights).all() and weights.min() >= 0.0 and weights.any(axis=1).all()):
        raise InputError(
            "distributions", "has a negative or non-finite entry, or a row of zeros", "distributions in its rows"
        )
    shares = np.ones(len(weights)) if prior is None else as_float64(prior, "prior")
    if shares.shape != (len(weights),) or not (np.isfinite(shares).all() and shares.min() >= 0.0 < shares.max()):
        raise InputError("prior", f"has shape {shares.shape}", f"{len(weights)} weights of at least 0, not all 0")
    require_at_least(0, d_model=d_model)
    return weights, shares
