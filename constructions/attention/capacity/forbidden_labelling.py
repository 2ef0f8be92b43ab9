"""Search for a relation that rules out a labelling for a given number of heads, whatever their weights and widths.

Page: docs/claims/heads_of_any_width.md
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse
from flint import fmpz_mat

from constructions.errors import InputError, require_at_least
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts

_TINY = 1e-9
_LARGEST = 2**62
_MOST_ENTRIES = 2**18  # nonzero entries of one linear program: about a second
_MOST_SUPPORT = 1024  # columns whose kernel is solved in integers


@dataclass(frozen=True, eq=False)
class ForbiddenHeads:
    r"""Multipliers that forbid a number of heads to memorize a labelling.

    Args:
        n_heads: The number of heads that they forbid; -1 if nothing was found.
        multipliers: $\lambda$, `[T, largest label + 1]`.
    """

    n_heads: int
    multipliers: Int64Array

    @property
    def contexts(self) -> Int64Array:
        """Row numbers of the contexts in the relation."""
        return np.flatnonzero(self.multipliers.any(axis=1))


def forbidding_multipliers(contexts: Int64Array, labels: Int64Array, *, n_heads: int = 1) -> Int64Array | None:
    r"""Find multipliers that prove that no network with H heads memorizes these labels.

    Let $M_H(t)$ be the products of at most $H$ indicators of the pairs $(s, t_s)$, $s < S$, with the constant. Wanted
    are integers $\lambda_{t,j} \ge 0$, not all 0, for contexts t with one last token and tokens $j$ other than the
    label $g(t)$, with

    $$ \sum_t \Bigl( [g(t) = i] \sum_j \lambda_{t,j} - \lambda_{t,i} \Bigr) M_H(t) = 0
       \quad \text{for every token } i. $$

    For every last token this is one linear program. The support of its solution is reduced by Caratheodory's walk,
    until the multipliers are determined up to a factor, and these are solved for in integers. Whether the result is
    right is for `verify.theorems.capacity.sign_relation.forbids_heads` to judge. Last tokens with more contexts than a
    program of 2^18 entries has room for are omitted.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        labels: The label of each, `[T]`.
        n_heads: $H$, at least 0.

    Returns:
        $\lambda$, `[T, largest label + 1]`, or `None` if none was found, which proves nothing.

    Raises:
        InputError: Contexts that are not distinct rows of tokens, labels that do not fit, or a negative number of
            heads.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> forbidding_multipliers(xor, np.array([0, 0, 1, 1])).tolist()
        [[0, 1], [0, 1], [1, 0], [1, 0]]
        >>> forbidding_multipliers(xor, np.array([0, 1, 1, 1])) is None
        True
    """
    contexts, labels = _checked(contexts, labels)
    require_at_least(0, n_heads=n_heads)
    for token in np.unique(contexts[:, -1]):
        multipliers_in_class = _in_class(contexts, labels, np.flatnonzero(contexts[:, -1] == token), n_heads)
        if multipliers_in_class is not None:
            return multipliers_in_class
    return None


def most_forbidden_heads(contexts: Int64Array, labels: Int64Array) -> ForbiddenHeads:
    r"""Return the largest number of heads that `forbidding_multipliers` forbids to memorize these labels.

    Multipliers for $H$ heads take $2^{H+1}$ contexts with one last token or more, and forbid fewer heads too; so each
    last token is asked about one head more than the last ones, as long as it has room.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        labels: The label of each, `[T]`.

    Returns:
        The number and the multipliers.

    Raises:
        InputError: As for `forbidding_multipliers`.

    Example:
        >>> parity = np.array([[a, b, c, 0] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
        >>> found = most_forbidden_heads(parity, parity.sum(axis=1) % 2)
        >>> found.n_heads, len(found.contexts)
        (2, 8)
    """
    contexts, labels = _checked(contexts, labels)
    best = ForbiddenHeads(-1, np.zeros((len(contexts), int(labels.max()) + 1), dtype=np.int64))
    tokens, sizes = np.unique(contexts[:, -1], return_counts=True)
    for token in tokens[np.argsort(-sizes, kind="stable")]:
        rows = np.flatnonzero(contexts[:, -1] == token)
        while len(rows) >= 2 ** (best.n_heads + 2):
            class_multipliers = _in_class(contexts, labels, rows, best.n_heads + 1)
            if class_multipliers is None:
                break
            best = ForbiddenHeads(best.n_heads + 1, class_multipliers)
    return best


def _checked(contexts: Int64Array, labels: Int64Array) -> tuple[Int64Array, Int64Array]:
    contexts, labels = checked_contexts(contexts, distinct=True), np.asarray(labels)
    if labels.shape != (len(contexts),) or labels.dtype.kind not in "iu" or labels.min() < 0:
        raise InputError("labels", f"is {labels.dtype} of shape {labels.shape}", f"{len(contexts)} tokens")
    return contexts, labels


def _in_class(contexts: Int64Array, labels: Int64Array, rows: Int64Array, n_heads: int) -> Int64Array | None:
    """Return the multipliers of the contexts with one last token, or None if the search finds none."""
    kinds = np.unique(labels[rows])
    duels = [(t, int(j)) for t in rows.tolist() for j in kinds if j != labels[t]]
    if not duels or n_heads >= contexts.shape[1] - 1:  # then the products tell every context from all others
        return None
    products = _products(contexts[rows, :-1], n_heads, _MOST_ENTRIES // (2 * len(duels)) * len(rows))
    if products is None:
        return None
    solution = _nonnegative_kernel_vector(_relations(products, rows, labels, kinds, duels))
    if solution is None:
        return None
    multipliers = np.zeros((len(contexts), int(labels.max()) + 1), dtype=np.int64)
    multipliers[tuple(np.array(duels).T)] = solution
    return multipliers


def _products(tokens: Int64Array, n_heads: int, most: int) -> scipy.sparse.csr_array | None:
    """Return the products of at most `n_heads` indicators, one per column; None if they have more entries than
    `most`.
    """
    chosen = [positions for r in range(n_heads + 1) for positions in combinations(range(tokens.shape[1]), r)]
    if len(chosen) * len(tokens) > most:
        return None
    columns, offset = [], 0
    for positions in chosen:
        _, which = np.unique(tokens[:, positions], axis=0, return_inverse=True)
        columns.append(offset + which.ravel())
        offset += int(which.max()) + 1
    entries = np.stack(columns, axis=1)
    ones, ends = np.ones(entries.size), np.arange(0, entries.size + 1, len(chosen))
    return scipy.sparse.csr_array((ones, entries.ravel(), ends), shape=(len(tokens), offset))


def _relations(
    products: scipy.sparse.csr_array, rows: Int64Array, labels: Int64Array, kinds: Int64Array, duels: list
) -> scipy.sparse.csc_array:
    """Return a matrix with one column per multiplier and one row per label and product, without repeated rows."""
    place = {int(t): i for i, t in enumerate(rows)}
    t, j = np.array(duels).T
    signs = np.zeros((len(kinds), len(duels)))
    signs[np.searchsorted(kinds, labels[t]), np.arange(len(duels))] = 1.0
    signs[np.searchsorted(kinds, j), np.arange(len(duels))] = -1.0
    of_duels = products[[place[int(one)] for one in t]].T
    blocks = [of_duels.multiply(sign[None, :]) for sign in signs]
    return scipy.sparse.csc_array(scipy.sparse.vstack(blocks))


def _nonnegative_kernel_vector(matrix: Any) -> Int64Array | None:
    """Return integers x >= 0, x != 0 with matrix x = 0, or None; Caratheodory's reduction keeps the support small."""
    import scipy.optimize

    columns = matrix.shape[1]
    program = scipy.optimize.linprog(
        np.zeros(columns),
        A_eq=scipy.sparse.vstack([matrix, np.ones((1, columns))]),
        b_eq=np.append(np.zeros(matrix.shape[0]), 1.0),
        method="highs-ds",
    )
    if not program.success:
        return None
    support = np.flatnonzero(program.x > _TINY)
    x = program.x[support]
    while 0 < len(support) <= _MOST_SUPPORT:
        dense = matrix[:, support].toarray().astype(np.int64)
        kernel, dimension = fmpz_mat(np.unique(dense[dense.any(axis=1)], axis=0).tolist()).nullspace()
        if dimension == 0:
            return None
        direction = np.array([int(kernel[i, 0]) for i in range(len(support))], dtype=object)
        direction = direction // np.gcd.reduce(direction) * (1 if direction.max() > 0 else -1)
        if dimension == 1:
            if not all(0 <= entry < _LARGEST for entry in direction):
                return None
            solution = np.zeros(columns, dtype=np.int64)
            solution[support] = direction
            return solution
        # A step along the kernel that makes one multiplier 0: the others still solve the equations.
        slope = (direction / max(map(abs, direction))).astype(np.float64)
        steps = np.full(len(x), np.inf)
        steps[slope > 0] = x[slope > 0] / slope[slope > 0]
        x = x - steps.min() * slope
        keep = (np.arange(len(x)) != steps.argmin()) & (x > 0)
        support, x = support[keep], x[keep]
    return None
