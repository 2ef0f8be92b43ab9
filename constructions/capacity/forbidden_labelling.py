"""Search for a linear relation that makes a labelling impossible for one head, whatever its weights and its width.

Page: docs/claims/corollary_1.md
"""

import numpy as np
import scipy.optimize
from flint import fmpz_mat

from constructions.arrays import Int64Array
from constructions.capacity.generic_rank import checked_contexts
from constructions.errors import InputError

_TINY = 1e-9
_LARGEST = 2**53


def forbidding_multipliers(contexts: Int64Array, labels: Int64Array) -> Int64Array | None:
    r"""Find multipliers that prove that no network with one head memorizes these labels.

    Let $1_t$ be the indicator of the pairs $(s, t_s)$. Wanted are integers $\lambda_{t,j} \ge 0$, not all 0, for
    contexts t with one last token and tokens $j$ other than the label $g(t)$, with

    $$ \sum_t \Bigl( [g(t) = i] \sum_j \lambda_{t,j} - \lambda_{t,i} \Bigr) 1_t = 0 \quad \text{for every token } i. $$

    For every last token this is one linear program; the support of a vertex of its solutions is solved again in
    integers. Whether the result is right is for `verify.capacity.sign_relation.forbids_one_head` to judge.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        labels: The label of each, `[T]`.

    Returns:
        $\lambda$, `[T, largest label + 1]`, or `None` if none was found, which proves nothing.

    Raises:
        InputError: Contexts that are not distinct rows of tokens, or labels that do not fit.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> forbidding_multipliers(xor, np.array([0, 0, 1, 1])).tolist()
        [[0, 1], [0, 1], [1, 0], [1, 0]]
        >>> forbidding_multipliers(xor, np.array([0, 1, 1, 1])) is None
        True
    """
    contexts = checked_contexts(contexts)
    labels = np.asarray(labels)
    if labels.shape != (len(contexts),) or labels.dtype.kind not in "iu" or labels.min() < 0:
        raise InputError(f"labels is {labels.dtype} of shape {labels.shape}, expected {len(contexts)} tokens")
    for token in np.unique(contexts[:, -1]):
        rows = np.flatnonzero(contexts[:, -1] == token)
        duels = [(t, int(j)) for t in rows.tolist() for j in np.unique(labels[rows]) if j != labels[t]]
        if not duels:
            continue
        solution = _nonnegative_kernel_vector(_relations(contexts, labels, duels))
        if solution is not None:
            multipliers = np.zeros((len(contexts), int(labels.max()) + 1), dtype=np.int64)
            multipliers[tuple(np.array(duels).T)] = solution
            return multipliers
    return None


def _relations(contexts: Int64Array, labels: Int64Array, duels: list[tuple[int, int]]) -> Int64Array:
    """One column for each multiplier, one row for each token i and pair (s, n)."""
    size, length = int(max(contexts.max(), labels.max())) + 1, contexts.shape[1]
    columns = np.zeros((len(duels), size, length, size), dtype=np.int64)
    for column, (t, j) in zip(columns, duels, strict=True):
        column[labels[t], np.arange(length), contexts[t]] += 1
        column[j, np.arange(length), contexts[t]] -= 1
    flat = columns.reshape(len(duels), -1)
    return np.unique(flat[:, flat.any(axis=0)].T, axis=0)


def _nonnegative_kernel_vector(matrix: Int64Array) -> Int64Array | None:
    """Integers x >= 0, x != 0 with matrix x = 0 at a vertex of the solutions of sum x = 1, if one is found."""
    rows, columns = matrix.shape
    found = scipy.optimize.linprog(
        np.zeros(columns),
        A_eq=np.vstack([matrix, np.ones(columns)]),
        b_eq=np.append(np.zeros(rows), 1.0),
        method="highs-ds",
    )
    if not found.success:
        return None
    support = np.flatnonzero(found.x > _TINY)
    kernel, dimension = fmpz_mat(matrix[:, support].tolist()).nullspace()
    if dimension != 1:
        return None
    vector = np.array([int(kernel[i, 0]) for i in range(len(support))], dtype=object)
    vector = vector // np.gcd.reduce(vector) * (1 if vector[0] > 0 else -1)
    if not all(0 < entry < _LARGEST for entry in vector):
        return None
    solution = np.zeros(columns, dtype=np.int64)
    solution[support] = vector
    return solution
