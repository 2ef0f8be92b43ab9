"""Unembeddings: which logits a residual stream of d coordinates can reach, and the rows that reach them.

Pages: docs/claims/distribution_memory.md, docs/claims/association_memory.md, docs/claims/unembeddings.md
"""

from dataclasses import dataclass

import numpy as np

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.unembeddings.coherence import Unembedding
from constructions.unembeddings.unembedding_families import best_family

_STEPS = 1000  # of the repulsion, at most
_WORK = 2**29  # multiplications per coordinate that the repulsion may spend: steps x labels^2
_SHARPENING = 16.0  # by how much the soft maximum sharpens on the way
_BLOCK = 2**22  # inner products worked on at a time


@dataclass(frozen=True, eq=False)
class LabelUnembedding:
    r"""Unembedding vectors for labels, and the margin between them.

    Args:
        family: ``"axes"``, ``"circle"`` or ``"repelled"``.
        W_U: Columns are the unit vectors $u_j$ of the tokens that are labels and zero for all others, `[d_model, N]`.
        rank: The vectors live on the first `rank` coordinates.
        margin: The smallest $1 - \langle u_i, u_j \rangle$ over a label i and another token j; at most 2.
    """

    family: str
    W_U: Float64Array
    rank: int
    margin: float


def distribution_unembedding(d_model: int, d_vocab: int) -> Float64Array:
    r"""Return the unembedding that reaches every distribution exactly, `[d_model, N]`: Proposition 2 with d >= N - 1.

    Logits matter up to one constant per context, so N - 1 coordinates suffice: the first N (or N - 1) coordinates are
    the logits themselves (and that of the last token is 0). Zeros and ones are exact in every precision.

    Args:
        d_model: Embedding dimension d.
        d_vocab: Number of tokens N.

    Returns:
        The identity on the first min(d, N) coordinates.

    Raises:
        CapacityError: d < N - 1. The infimum over rank-d encoders is then positive for some distributions.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 2.

    Example:
        >>> distribution_unembedding(2, 3).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if d_model < d_vocab - 1:
        raise CapacityError(
            "Dana et al. (2024), Proposition 2",
            f"d_model >= N - 1 = {d_vocab - 1} to reach every distribution over N = {d_vocab} tokens",
            f"d_model = {d_model}; fewer only approximate distributions (constructions.encoders.sequence_encoder); "
            "labels need 2 (the target 'labels')",
        )
    return np.eye(d_model, d_vocab)


def label_unembedding(d_model: int, d_vocab: int, labels: Int64Array, *, seed: int = 0) -> LabelUnembedding:
    r"""Return unit vectors for the labels that occur, as far apart as the family for this dimension allows.

    With $\lambda u_g$ in the residual stream the logit of the label g exceeds every other by at least $\lambda$ times
    the margin. For L distinct labels:

    - $L \le 2d$: axes and their opposites, $\pm e_k$; margin 1 (2 for $d = 1$, $N = L = 2$), exact in every precision,
      and for $L \ge d + 2$ the best there is (Rankin 1955).
    - $d = 2$: the circle of Proposition 3, $u_k = (\cos, \sin)(2 \pi k / L)$, margin $1 - \cos(2 \pi / L)$. (The
      parabola $(2k, -k^2)$ is exact in integers, but relative to its norms its margin is smaller by a factor of order
      L.)
    - otherwise random unit vectors that have repelled each other: a local minimum of the largest inner product.

    Args:
        d_model: Embedding dimension d.
        d_vocab: Number of tokens N.
        labels: The label of each context, `[T]`; only the set matters.
        seed: Seed of the random start.

    Returns:
        The vectors and their margin.

    Raises:
        HypothesisError: d = 1 with three or more distinct labels.
        InputError: A label outside the vocabulary, or no label.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 3 and Theorem 2.

    Example:
        >>> found = label_unembedding(2, 5, np.array([1, 3, 1]))
        >>> found.family, found.W_U.tolist(), found.margin
        ('axes', [[0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0]], 1.0)
        >>> round(label_unembedding(2, 9, np.arange(8)).margin, 6)  # 1 - cos(2 pi / 8)
        0.292893
    """
    used = np.unique(labels)
    if len(used) == 0 or used[0] < 0 or used[-1] >= d_vocab:
        raise InputError("labels", f"hold {used.tolist()[:8]}", f"tokens 0 .. {d_vocab - 1}")
    family, vectors = _vectors(d_model, len(used), seed)
    W_U = np.zeros((d_model, d_vocab))
    W_U[: vectors.shape[1], used] = vectors.T
    margin = 1.0 - _largest_inner_product(vectors)
    if len(used) < d_vocab:
        margin = min(margin, 1.0)  # the other tokens have logit 0
    return LabelUnembedding(family, W_U, vectors.shape[1], margin)


def best(count: int, d_model: int) -> Unembedding:
    r"""Return vectors for N tokens in d dimensions whose proved $\kappa$ is the least of all families.

    $\kappa$ is the largest lead of a token over another, divided by the least, and the one number of the unembedding
    that the bounds of Theorem 2 ask for. It is 1 for $N \le d + 1$.

    Args:
        count: N, at least 2.
        d_model: d; coordinates that the family does not use are 0.

    Returns:
        The vectors, in integers, with exact margins; $N d$ bytes.

    Raises:
        CapacityError: No family holds N tokens in d dimensions.
        InputError: N < 2 or d < 1.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 2.

    Example:
        >>> found = best(144, 16)
        >>> found.family, found.kappa, found.coherence
        ('Kerdock, D = 16', Fraction(5, 3), Fraction(1, 4))
    """
    return best_family(count, d_model).build()


def _vectors(d_model: int, count: int, seed: int) -> tuple[str, Float64Array]:
    if count <= 2 * d_model:
        axes = np.eye(min(count, d_model))
        return "axes", np.vstack([axes, -axes])[:count]
    if d_model == 1:
        raise HypothesisError(
            "Dana et al. (2024), Proposition 3",
            "d_model >= 2 for more than two labels",
            f"d_model = 1 with {count} labels",
        )
    if d_model == 2:
        return "circle", _circle(count)
    return "repelled", _repelled(d_model, count, seed)


def _circle(count: int) -> Float64Array:
    angles = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _repelled(d_model: int, count: int, seed: int) -> Float64Array:
    """Return unit vectors after gradient descent on the soft maximum of their inner products, sharpened over time."""
    vectors = np.random.default_rng(seed).standard_normal((count, d_model))
    best, lowest = vectors, np.inf
    steps = max(1, min(_STEPS, _WORK // count**2))
    for step in range(steps + 1):
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        push, largest = _repulsion(vectors, sharpness=d_model * _SHARPENING ** (step / steps))
        if largest < lowest:
            best, lowest = vectors, largest
        vectors = vectors - (0.5 * (1 - step / steps)) * push
    return best


def _repulsion(vectors: Float64Array, *, sharpness: float) -> tuple[Float64Array, float]:
    """Return the softmax-weighted mean of the other vectors for each vector, and the largest inner product of two."""
    narrow = vectors.astype(np.float32)  # only a direction to move in
    push, largest = np.empty_like(vectors), -1.0
    rows = max(1, _BLOCK // len(vectors))
    for start in range(0, len(vectors), rows):
        products = narrow[start : start + rows] @ narrow.T
        products[np.arange(len(products)), np.arange(start, start + len(products))] = -np.inf
        highest = products.max(axis=1, keepdims=True)
        largest = max(largest, float(highest.max()))
        weights = np.exp(np.float32(sharpness) * (products - highest))
        push[start : start + rows] = (weights @ narrow) / weights.sum(axis=1, keepdims=True)
    return push, largest


def _largest_inner_product(vectors: Float64Array) -> float:
    """Return the largest inner product of two different rows; -1 for a single row."""
    count, largest = len(vectors), -1.0
    rows = max(1, _BLOCK // count)
    for start in range(0, count, rows):
        products = vectors[start : start + rows] @ vectors.T
        products[np.arange(len(products)), np.arange(start, start + len(products))] = -1.0
        largest = max(largest, float(products.max()))
    return largest
