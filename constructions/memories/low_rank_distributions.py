r"""Distributions of any contexts within a tolerance, by as few numbers for each distribution as are found to do.

Page: docs/claims/one_hot_distributions.md
"""

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError, HypothesisError
from constructions.memories.one_hot_distributions import one_hot_model
from constructions.model.construction import Construction
from constructions.model.precision import SIGNIFICAND, Precision, require_precision, rounded
from constructions.numeric.arrays import BoolArray, Float64Array
from constructions.progress import Progress, silent
from constructions.tasks.criterion import TOLERANCE, Criterion
from constructions.tasks.task import Task

_CLAIM = "The memory of distributions of low rank"
_SLACK = 0.98  # of the tolerance: what rounding and its bounds may take
_ROWS = 128
_SWEEPS, _HOPE = 14, 5  # without success, after which a rank is given up, and where a fifth of the distributions is off
_LARGEST = 2**24  # entries of the distributions


def low_rank_distributions_memory(
    task: Task,
    *,
    dtype: Precision = "float32",
    tolerance: float = TOLERANCE,
    work: float = 3e11,
    progress: Progress = silent,
) -> Construction[Task]:
    r"""Memorize distributions of any distinct contexts within a tolerance: one neuron per context writes D numbers,
    which determine K logits.

    As `one_hot_distributions_memory`, but the rows are those of a factorization $Z = E W$ of rank $D < K - 1$, where
    the divergence of each distribution from the softmax of $Z_t$ is within the tolerance. E and W are fitted in turn,
    by least squares with the weights $\pi_{tk}$ of the divergence's second-order term, the distributions that are off
    by most counting more; ranks are tried downwards.

    Args:
        task: Contexts of up to 2000 tokens, with distributions.
        dtype: The precision that every weight is rounded to, and of the runs that are to be within the tolerance.
        tolerance: What the divergence of a distribution may be, nats.
        work: How long to search, about nanoseconds, as steps are counted.
        progress: Called with the rank that is tried.

    Returns:
        The model; the criterion has the tolerance.

    Raises:
        HypothesisError: A task of labels, or longer contexts.
        CapacityError: No smaller rank was found, or the distributions are too many.

    Example:
        >>> from constructions.tasks.arrays import all_contexts, array_task
        >>> powers = np.exp(np.cos(np.arange(64)[:, None] * np.arange(9) / 50))
        >>> task = array_task(all_contexts(8, 2), distributions=powers / powers.sum(axis=1, keepdims=True), answers=9)
        >>> [low_rank_distributions_memory(task, tolerance=each).model.W_U.shape[0] for each in (1e-6, 0.01, 0.2)]
        [5, 4, 1]
    """
    require_precision(dtype)
    if task.distributions is None:
        raise HypothesisError(_CLAIM, "distributions", f"the target is {task.target!r}")
    if task.distributions.size > _LARGEST:
        raise CapacityError(_CLAIM, f"distributions of {_LARGEST} entries at most", f"{task.distributions.size}")
    factors = _factors(task.distributions, task.modes(), tolerance, dtype, work, progress)
    if factors is None:
        wanted = f"a rank below {min(task.distributions.shape[1] - 1, task.n_contexts)} within {tolerance:g} nats"
        raise CapacityError(_CLAIM, wanted, "none was found")
    model = one_hot_model(task, *factors, dtype)
    return Construction(
        task,
        model,
        f"{counted(task.n_contexts, 'distribution')} of rank {len(factors[1])} within {tolerance:g} nats, "
        f"{model.parameters} parameters",
        Criterion(tolerance=tolerance),
    )


def _factors(
    distributions: Float64Array, modes: BoolArray, tolerance: float, dtype: Precision, work: float, progress: Progress
) -> tuple[Float64Array, Float64Array] | None:
    """Return E, `[T, D]`, and W, `[D, K]`, of the smallest rank found, or None if none saves entries."""
    facts, kinds = distributions.shape
    wanted = np.log(distributions)
    wanted -= (distributions * wanted).sum(axis=1, keepdims=True)
    most = min(kinds - 1, facts, -(-facts * (kinds - 1) // (facts + kinds)))
    best, failed, logits = None, 0, wanted
    smallest = most
    while smallest - failed > 1:
        rank = (smallest + failed) // 2 if failed else smallest - 1 - smallest // 4
        progress("low-rank-distributions", None, f"rank {rank}")
        W = _split(logits, rank, np.sqrt(distributions.mean(axis=0)))[1]
        importance, factors = np.ones(facts), None
        weights, targets = distributions, wanted
        for sweep in range(_SWEEPS):
            work -= 0.4 * facts * kinds * float(rank) ** 2
            if work < 0:
                return best
            E = _fitted_rows(W, targets, weights)
            logits, chosen, short = _judged(E @ W, distributions, modes, tolerance)
            factors = (
                _rounded_factors(logits, rank, distributions, modes, tolerance, dtype) if (short <= 1.0).all() else None
            )
            if factors is not None or (sweep == _HOPE and (short > 1.0).mean() > 0.2):
                break
            importance *= np.sqrt(np.clip(short, 0.05, 4.0))
            importance /= importance.mean()
            if sweep > 1:  # the second-order term is that of the logits there are
                weights = (distributions + chosen) / 2.0
                targets = logits + (distributions - chosen) / weights
            mean = (weights * (targets - E @ W)).sum(axis=1, keepdims=True)
            W = _fitted_columns(E, targets - mean, weights * importance[:, None])
            if sweep:
                logits, chosen, _ = _judged(E @ W, distributions, modes, tolerance)
                weights = (distributions + chosen) / 2.0
                targets = logits + (distributions - chosen) / weights
        if factors is None:
            failed = rank
        else:
            best, smallest = factors, rank
        logits = wanted if best is None else best[0] @ best[1]
    return best


def _split(logits: Float64Array, rank: int, scale: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return the best factors where the answers have these weights."""
    U, s, V = np.linalg.svd(logits * scale, full_matrices=False)
    root = np.sqrt(s[:rank])
    return U[:, :rank] * root, root[:, None] * V[:rank] / scale


def _fitted_rows(W: Float64Array, wanted: Float64Array, weights: Float64Array) -> Float64Array:
    """Return the rows of E that minimize $\\sum_k \\pi_k (E_t W_k - z_k - c)^2$ over E and c, for weights of
    the sum 1.
    """
    fitted = np.empty((len(wanted), len(W)))
    for start in range(0, len(wanted), _ROWS):
        part, aims = weights[start : start + _ROWS], wanted[start : start + _ROWS]
        aims = aims - (part * aims).sum(axis=1, keepdims=True)
        mean = part @ W.T
        gram = (W * part[:, None, :]) @ W.T - mean[:, :, None] * mean[:, None, :]
        fitted[start : start + _ROWS] = _solved(gram, (part * aims) @ W.T)
    return fitted


def _fitted_columns(E: Float64Array, wanted: Float64Array, weights: Float64Array) -> Float64Array:
    gram = np.stack([E.T @ (E * column[:, None]) for column in weights.T])
    return _solved(gram, (weights * wanted).T @ E).T


def _solved(gram: Float64Array, right: Float64Array) -> Float64Array:
    """Solve positive definite systems, regularized against singularity."""
    size = gram.shape[1]
    gram[:, range(size), range(size)] += 1e-9 * np.trace(gram, axis1=1, axis2=2)[:, None] / size + 1e-300
    return np.asarray(np.linalg.solve(gram, right[:, :, None])[:, :, 0], dtype=np.float64)


def _judged(
    logits: Float64Array,
    distributions: Float64Array,
    modes: BoolArray,
    tolerance: float,
    off: Float64Array | float = 0.0,
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return centred logits, their distributions, and the divergences relative to the tolerance, at least 4 where no
    mode leads.

    The logits may be off by so much.
    """
    low = logits - logits.max(axis=1, keepdims=True)
    powers = np.exp(low)
    total = powers.sum(axis=1, keepdims=True)
    divergence = np.maximum((distributions * (np.log(distributions) - low)).sum(axis=1) + np.log(total[:, 0]), 0.0)
    divergence += off * np.sqrt(2.0 * divergence) + off * off / 2.0
    least = np.where(modes, logits, np.inf).min(axis=1)
    leads = least - np.where(modes, -np.inf, logits).max(axis=1) > 2.0 * off
    return low, powers / total, np.maximum(divergence / (_SLACK * tolerance), np.where(leads, 0.0, 4.0))


def _rounded_factors(
    logits: Float64Array, rank: int, distributions: Float64Array, modes: BoolArray, tolerance: float, dtype: Precision
) -> tuple[Float64Array, Float64Array] | None:
    """Return rounded factors of the same distributions with small entries, or None unless every run is within the
    tolerance.
    """
    centred = logits - logits.mean(axis=1, keepdims=True)
    E, W = (rounded(factor, dtype) for factor in _split(centred, rank, np.ones(distributions.shape[1])))
    # A run adds `rank` products: each logit is off by at most about (rank + 2) units of |E| |W|.
    largest_error = (rank + 2) * 2.0 ** -SIGNIFICAND[dtype] * (np.abs(E) @ np.abs(W)).max(axis=1)
    _, _, excess = _judged(E @ W, distributions, modes, tolerance, largest_error)
    return (E, W) if (excess <= 1.0).all() else None
