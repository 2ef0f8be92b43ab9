r"""Associations in a matrix: $W = \sum_i u_{g(i)} e_i^\top$ answers i with the token of the largest $u_j^\top W e_i$.

With embeddings of entries 1 and -1 everything is an integer. Unit vectors would have entries $\pm 1/\sqrt d$: that
divides all logits by $d^2$ and moves no argmax.

Page: docs/claims/outer_product_memory.md
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from flint import fmpq_mat, fmpz_mat

from constructions.encoders.bottleneck import bottleneck
from constructions.errors import HypothesisError, InputError
from constructions.model.construction import Construction
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task


@dataclass(frozen=True, eq=False)
class Associations:
    """Embeddings of inputs and outputs, the labels, and the matrix that stores the associations.

    Args:
        outputs: The vectors $u_j$ of the output tokens, `[M, d]`.
        inputs: The vectors $e_i$ of the inputs, `[N, d]`.
        labels: $g(i)$, `[N]`.
        memory: $W$, `[d, d]`.
    """

    outputs: Int64Array
    inputs: Int64Array
    labels: Int64Array
    memory: Int64Array


def outer_products(outputs: Int64Array, inputs: Int64Array, labels: Int64Array) -> Associations:
    r"""Add up the outer products: $W = \sum_i u_{g(i)} e_i^\top$.

    Args:
        outputs: Integers, `[M, d]`.
        inputs: Integers, `[N, d]`.
        labels: Rows of `outputs`, `[N]`.

    Returns:
        The associations with their matrix, exact while $N \max|u| \max|e| < 2^{63}$.

    Raises:
        InputError: Shapes that do not fit, entries that are not integers, or labels out of range.

    Source: Bietti et al. (2023), arXiv 2306.00802, Section 2.

    Example:
        >>> outer_products(np.array([[1, 1], [1, -1]]), np.array([[1, 1], [1, -1]]), np.array([1, 0])).memory.tolist()
        [[2, 0], [0, -2]]
    """
    outputs, inputs, labels = (np.asarray(x) for x in (outputs, inputs, labels))
    if any(x.dtype.kind not in "iu" for x in (outputs, inputs, labels)):
        kinds = f"{outputs.dtype}, {inputs.dtype} and {labels.dtype}"
        raise InputError("outputs, inputs and labels", f"are {kinds}", "integers")
    outputs, inputs, labels = (x.astype(np.int64) for x in (outputs, inputs, labels))
    if outputs.ndim != 2 or inputs.ndim != 2 or labels.shape != (len(inputs),) or not labels.size:
        shapes = f"{outputs.shape}, {inputs.shape} and {labels.shape}"
        raise InputError("outputs, inputs and labels", f"have shapes {shapes}", "[M, d], [N, d] and [N], N >= 1")
    if labels.min() < 0 or labels.max() >= len(outputs):
        raise InputError("labels", f"are {labels.min()} .. {labels.max()}", f"0 .. {len(outputs) - 1}")
    return Associations(outputs, inputs, labels, outputs[labels].T @ inputs)


def random_associations(d_model: int, count: int, *, outputs: int | None = None, seed: int = 0) -> Associations:
    r"""Draw random signs as embeddings, and a permutation as labels or, with fewer output tokens, all of them in turn.

    Args:
        d_model: d.
        count: N.
        outputs: M; by default N, and the labels are a random permutation. Otherwise $g(i) = i \bmod M$.
        seed: Seed of the draw.

    Returns:
        The associations.

    Raises:
        InputError: Sizes below 1.

    Source: Bietti et al. (2023), arXiv 2306.00802, Section 2.

    Example:
        >>> made = random_associations(4, 3, outputs=2)
        >>> made.memory.shape, made.labels.tolist(), sorted(set(made.inputs.ravel().tolist()))
        ((4, 4), [0, 1, 0], [-1, 1])
    """
    M = count if outputs is None else outputs
    if min(d_model, count, M) < 1:
        raise InputError("d_model", f"= {d_model}, count = {count}, outputs = {M}", "at least 1 each")
    rng = np.random.default_rng(seed)
    u, e = (2 * rng.integers(0, 2, (rows, d_model)) - 1 for rows in (M, count))
    labels = rng.permutation(count) if outputs is None else np.arange(count) % M
    return outer_products(u, e, labels)


def tight_associations(bases: int, d_model: int, *, seed: int = 0) -> Associations:
    r"""Return as many associations as vectors in some Hadamard bases, with random signs as inputs and a random
    permutation.

    The output vectors are the rows of $H \mathrm{diag}(q_1), H \mathrm{diag}(q_2), \dots$ for the Hadamard matrix H and
    random signs $q$, so that $\sum_j u_j u_j^\top = N I$.

    Args:
        bases: N / d.
        d_model: d, a power of two.
        seed: Seed of the draw.

    Returns:
        The associations, N = `bases` * `d_model`.

    Raises:
        InputError: No basis, or a width that is not a power of two.

    Example:
        >>> made = tight_associations(3, 4)
        >>> (made.outputs.T @ made.outputs == 12 * np.eye(4)).all()
        np.True_
    """
    if bases < 1 or d_model < 1 or d_model & (d_model - 1):
        raise InputError("bases", f"= {bases}, d_model = {d_model}", "at least 1 and a power of two")
    rng = np.random.default_rng(seed)
    count = bases * d_model
    q, e = (2 * rng.integers(0, 2, (rows, d_model)) - 1 for rows in (bases, count))
    hadamard = scipy.linalg.hadamard(d_model).astype(np.int64)
    return outer_products((hadamard * q[:, None, :]).reshape(count, d_model), e, rng.permutation(count))


def solved_associations(outputs: Int64Array, inputs: Int64Array, labels: Int64Array) -> Associations:
    r"""Return a matrix with $W e_i = c \, u_{g(i)}$ for independent inputs, $c$ a positive integer: any labels, at most
    d.

    Args:
        outputs: Integers, `[M, d]`.
        inputs: Integers, `[N, d']`, independent.
        labels: Rows of `outputs`, `[N]`.

    Returns:
        The associations; W has Python integers for entries, as they may be large.

    Raises:
        HypothesisError: The inputs are dependent.
        InputError: Labels out of range.

    Example:
        >>> signs = np.array([[1, 1], [1, -1]])
        >>> solved_associations(signs, signs, np.array([1, 1])).memory.tolist()
        [[1, 0], [-1, 0]]
    """
    if labels.min() < 0 or labels.max() >= len(outputs):
        raise InputError("labels", f"are {labels.min()} .. {labels.max()}", f"0 .. {len(outputs) - 1}")
    e = fmpq_mat(fmpz_mat(inputs.tolist()))
    gram = e * e.transpose()
    if gram.rank() < len(inputs):
        raise HypothesisError("A matrix for all labels", "independent inputs", f"their rank is {gram.rank()}")
    exact = (e.transpose() * gram.solve(fmpq_mat(fmpz_mat(outputs[labels].tolist())))).transpose()
    multiple = math.lcm(*(int(entry.q) for entry in exact.entries()))
    memory = np.array([int(entry * multiple) for entry in exact.entries()], dtype=object)
    return Associations(outputs, inputs, labels, memory.reshape(exact.nrows(), exact.ncols()))


def parabola(labels: Int64Array) -> Associations:
    r"""Memorize any labels at rank 2 with chosen embeddings: $u_j = (2 j, -j^2)$, $e_i = (g(i), 1)$, $W = I$.

    $u_j^\top e_i = 2 j g(i) - j^2 = g(i)^2 - (j - g(i))^2$, so that the label is ahead of every other token by at least
    1, and by 1 of its neighbours.

    Args:
        labels: $g(i) \ge 0$, `[N]`, at most $2^{25}$.

    Returns:
        The associations, with one output token for every number up to the largest label.

    Raises:
        InputError: Labels out of range.

    Example:
        >>> made = parabola(np.array([2, 0]))
        >>> (made.inputs @ made.memory @ made.outputs.T).tolist()
        [[0, 3, 4], [0, -1, -4]]
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or not labels.size or not 0 <= labels.min() <= labels.max():
        raise InputError("labels", f"is {labels.dtype} of shape {labels.shape}", "integers [N] of at least 0")
    if labels.max() > 2**25:
        raise InputError("labels", f"has the entry {labels.max()}", "at most 2**25")
    j = np.arange(labels.max() + 1, dtype=np.int64)
    i = labels.astype(np.int64)
    return Associations(
        outputs=np.stack([2 * j, -j * j], axis=1),
        inputs=np.stack([i, np.ones_like(i)], axis=1),
        labels=i,
        memory=np.eye(2, dtype=np.int64),
    )


def random_outer_product_memory(*, d_model: int, count: int, seed: int) -> Construction[Task]:
    r"""Return one head of width d with the output matrix $\sum_i e_i u_{g(i)}^\top$ for a random permutation.

    Args:
        d_model: d.
        count: N.
        seed: Seed of the sign vectors and of the permutation.

    Returns:
        The network, and the labels g(i) of the single tokens i as the task.

    Raises:
        InputError: Sizes below 1.

    Source: slides of Dana (2024), "Associative memory"; Bietti et al. (2023).

    Example:
        >>> random_outer_product_memory(d_model=64, count=72, seed=0).summary
        '72 associations in one 64 x 64 matrix, a sum of outer products of sign vectors'
    """
    associations = random_associations(d_model, count, seed=seed)
    task = enumerated_task(count, 1, labels=associations.labels)
    network = bottleneck(
        associations.inputs.astype(np.float64),
        associations.memory.T.astype(np.float64),
        associations.outputs.astype(np.float64),
    )
    summary = f"{count} associations in one {d_model} x {d_model} matrix, a sum of outer products of sign vectors"
    return Construction(task, network, summary)
