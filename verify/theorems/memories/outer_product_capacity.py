"""Count the associations that a matrix answers correctly, bound their probability, and find labels that no matrix
stores.

Page: docs/claims/outer_product_memory.md
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.numeric.products import multiply
from verify.arithmetic import blas
from verify.arithmetic.elementary import exp
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.exact_inputs import is_masked
from verify.arithmetic.sums import total
from verify.verdict import Verdict, decided

Array = NDArray[Any]

_EXACT = 2**53  # integers up to it are floats, and so is every partial sum below it
_ROWS = 1024


@dataclass(frozen=True)
class StoredAssociations:
    r"""The exact number of inputs that a matrix maps to their labels.

    Args:
        stored: How many i have $u_{g(i)}^\top W e_i > u_j^\top W e_i$ for all $j \ne g(i)$.
        count: N, how many there are.
        least_margin: The least difference of these logits, an exact integer; `None` with a single output token.
    """

    stored: int
    count: int
    least_margin: int | None

    @property
    def verdict(self) -> Verdict:
        """PROVED if every association is stored, otherwise REFUTED."""
        return decided(self.stored == self.count)


def stored_associations(outputs: Array, inputs: Array, labels: Array, memory: Array) -> StoredAssociations:
    r"""Count the inputs that a matrix answers with their labels, in exact integer arithmetic.

    Why it is rigorous: every product is computed by `exact_product`, and integers are compared.

    Args:
        outputs: $u_j$, integers, `[M, d]`.
        inputs: $e_i$, integers, `[N, d']`.
        labels: $g(i)$, `[N]`.
        memory: $W$, integers, `[d, d']`.

    Returns:
        The count and the least margin.

    Raises:
        InputError: Shapes that do not fit, arrays that are not integers, or labels out of range.

    Example:
        >>> eye = np.eye(3, dtype=np.int64)
        >>> stored_associations(eye, eye, np.array([0, 1, 1]), eye)
        StoredAssociations(stored=2, count=3, least_margin=-1)
    """
    outputs, inputs, memory = _integers("outputs", outputs), _integers("inputs", inputs), _integers("memory", memory)
    labels = _labels(labels, len(inputs), len(outputs))
    if memory.shape != (outputs.shape[1], inputs.shape[1]):
        raise InputError("memory", f"has shape {memory.shape}", (outputs.shape[1], inputs.shape[1]))
    readout = exact_product(memory.T, outputs.T)
    margins: list[int] = []
    for start in range(0, len(inputs), _ROWS):
        logits = exact_product(inputs[start : start + _ROWS], readout)
        at = np.arange(len(logits)), labels[start : start + _ROWS]
        right = logits[at]
        if len(outputs) == 1:
            continue
        logits[at] = logits.min() - 1
        margins.extend(map(int, right - logits.max(axis=1)))
    if len(outputs) == 1:
        return StoredAssociations(len(inputs), len(inputs), None)
    return StoredAssociations(sum(margin > 0 for margin in margins), len(inputs), min(margins))


def is_sum_of_outer_products(outputs: Array, inputs: Array, labels: Array, memory: Array) -> bool:
    r"""Decide in integers whether $W = \sum_i u_{g(i)} e_i^\top$.

    Args:
        outputs: $u_j$, integers, `[M, d]`.
        inputs: $e_i$, integers, `[N, d']`.
        labels: $g(i)$, `[N]`.
        memory: $W$, integers, `[d, d']`.

    Raises:
        InputError: Arrays that are not integers, or labels out of range.

    Example:
        >>> eye = np.eye(2, dtype=np.int64)
        >>> is_sum_of_outer_products(eye, eye, np.array([1, 0]), eye[::-1])
        True
    """
    outputs, inputs, memory = _integers("outputs", outputs), _integers("inputs", inputs), _integers("memory", memory)
    products = exact_product(outputs[_labels(labels, len(inputs), len(outputs))].T, inputs)
    return bool(np.array_equal(products.astype(object), memory.astype(object)))


def exact_product(a: Array, b: Array) -> Array:
    r"""Return the product of two integer matrices, exactly.

    Why it is rigorous: if $\sum_k \max_i |a_{ik}| \max_j |b_{kj}| < 2^{53}$, then every partial sum of every entry is
    an integer below $2^{53}$ in absolute value, so that nothing is rounded in float64, in any order and with or
    without fused multiply-add. Otherwise FLINT multiplies integers of any size.

    Args:
        a: Integers, `[m, n]`; int64 or Python integers as objects.
        b: Integers, `[n, p]`, likewise.

    Returns:
        `[m, p]`, int64, or objects where float64 was not enough.

    Raises:
        InputError: The shapes do not fit.
        BlasError: The BLAS of this machine fails its probes.

    Example:
        >>> exact_product(np.array([[2**40, 1]]), np.array([[2**40], [1]]))[0, 0] == 2**80 + 1
        True
    """
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise InputError("a and b", f"have shapes {a.shape} and {b.shape}", "[m, n] and [n, p]")
    if 0 in (*a.shape, *b.shape):
        return np.zeros((a.shape[0], b.shape[1]), dtype=np.int64)
    columns, rows = _sizes_along(a, axis=0), _sizes_along(b, axis=1)
    largest_sum = sum(column * row for column, row in zip(columns, rows, strict=True))
    # The entries themselves must be floats too: one may meet only zeros.
    if max(largest_sum, *columns, *rows) < _EXACT:
        blas.probe()
        return multiply(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)
    product = _flint_matrix(a) * _flint_matrix(b)
    return np.array([int(x) for x in product.entries()], dtype=object).reshape(a.shape[0], b.shape[1])


def _sizes_along(matrix: Array, *, axis: int) -> list[int]:
    """Return the largest absolute values along an axis, as Python integers: int64 cannot negate its least number."""
    ends = zip(matrix.min(axis=axis), matrix.max(axis=axis), strict=True)
    return [max(abs(int(low)), abs(int(high))) for low, high in ends]


def _flint_matrix(matrix: Array) -> fmpz_mat:
    return fmpz_mat([[int(x) for x in row] for row in matrix])


def failure_bound(outputs: Array, labels: Array, *, d_model: int) -> float:
    r"""Return an upper bound of the probability that $\sum_i u_{g(i)} e_i^\top$ misses an association, over random
    signs $e_i$.

    The output vectors are given, the entries of the $e_i$ are independent and $\pm 1$ with probability 1/2. With
    $\Delta_{ib} = \langle u_{g(i)} - u_b, u_{g(i)} \rangle$ and
    $S_{ib} = \sum_{k \ne i} \langle u_{g(i)} - u_b, u_{g(k)} \rangle^2$,

    $$ \Pr(\text{some association is missed}) \le
       \sum_i \sum_{b \ne g(i)} \exp\Bigl( - \frac{d \Delta_{ib}^2}{2 S_{ib}} \Bigr) . $$

    A term with $\Delta_{ib} \le 0$ counts as 1, one with $S_{ib} = 0 < \Delta_{ib}$ as 0.

    Why it is rigorous: Theorem V1; $\Delta$ and $S$ are exact integers, the exponentials are enclosed.

    Args:
        outputs: $u_j$, integers, `[M, d']`.
        labels: $g(i)$, `[N]`.
        d_model: d, the dimension of the inputs.

    Returns:
        The bound; at least 1 where it says nothing.

    Raises:
        InputError: Labels out of range, a width below 1, or integers that are too large for float64.

    Source: Hoeffding (1963), Theorem 2.

    Example:
        >>> failure_bound(64 * np.eye(2, dtype=np.int64), np.array([0, 1]), d_model=64) < 1e-12
        True
    """
    outputs = _integers("outputs", outputs)
    if not isinstance(d_model, int) or d_model < 1:
        raise InputError("d_model", f"= {d_model}", "an integer of at least 1")
    labels = _labels(labels, len(labels), len(outputs))
    counts = np.bincount(labels.astype(np.int64), minlength=len(outputs))
    gram = exact_product(outputs, outputs.T)
    scaled = max(abs(int(gram.min())), abs(int(gram.max()))) * len(labels)
    if scaled >= _EXACT:
        raise InputError("outputs", f"lead to integers up to {scaled}", "less than 2**53")
    weighted = exact_product(gram * counts, gram)
    square = np.diagonal(weighted)
    gap = np.diagonal(gram)[:, None] - gram
    noise = square[:, None] - 2 * weighted + square - gap * gap
    largest = max(int(np.abs(noise).max()), d_model * int(np.abs(gap).max()) ** 2, 4 * int(np.abs(weighted).max()))
    if largest >= _EXACT:
        raise InputError("outputs", f"lead to integers up to {largest}", "less than 2**53")
    sure = (gap > 0) & (noise == 0)
    open_ = (gap > 0) & (noise > 0)
    exponent = Enclosure((d_model * gap * gap).astype(np.float64)) / np.where(open_, 2 * noise, 1).astype(np.float64)
    chance = exp(-exponent).upper()
    chance = np.where(open_, np.minimum(chance, 1.0), np.where(sure, 0.0, 1.0))
    np.fill_diagonal(chance, 0.0)
    return float(total(Enclosure(chance) * counts.astype(np.float64)[:, None]).upper())


@dataclass(frozen=True)
class UnstorableLabels:
    r"""Labels with two output tokens that no matrix stores, with the reason.

    Args:
        relation: Integers $c_i$ with $\sum_i c_i e_i = 0$.
        labels: 0 where $c_i > 0$, 1 where $c_i \le 0$.
    """

    relation: tuple[int, ...]
    labels: tuple[int, ...]


def unstorable_labels(inputs: Array) -> UnstorableLabels | None:
    r"""Return labels with two output tokens that no matrix W stores for these inputs, for any output vectors.

    If $\sum_i c_i e_i = 0$, then $\sum_i c_i \langle W^\top (u_0 - u_1), e_i \rangle = 0$; but if the token 0 had the
    larger logit where $c_i > 0$ and the token 1 where $c_i < 0$, every term would be positive.

    Why it is rigorous: the relation comes from an exact elimination and is checked in integers.

    Args:
        inputs: $e_i$, integers, `[N, d]`.

    Returns:
        The relation and the labels; `None` if the inputs are independent, and then every labelling can be stored.

    Raises:
        InputError: No integers.

    Example:
        >>> unstorable_labels(np.array([[1, 1], [1, -1], [1, 0]])).labels
        (0, 0, 1)
        >>> unstorable_labels(np.array([[1, 1], [1, -1]])) is None
        True
    """
    inputs = _integers("inputs", inputs)
    kernel, dimension = fmpz_mat(inputs.T.tolist()).nullspace()
    if dimension == 0:
        return None
    column = [int(kernel[i, 0]) for i in range(len(inputs))]
    divisor = math.gcd(*column)
    first = next(c for c in column if c)
    relation = np.array([c // divisor * (1 if first > 0 else -1) for c in column], dtype=object)
    if exact_product(relation[None], inputs).any():
        raise ArithmeticError("FLINT's nullspace is none")
    return UnstorableLabels(tuple(relation.tolist()), tuple(0 if c > 0 else 1 for c in relation))


def some_labels_are_not_stored(inputs: Array) -> Verdict:
    """Judge whether some labels with two output tokens are stored by no matrix, for these inputs.

    Args:
        inputs: As for `unstorable_labels`.

    Returns:
        PROVED, or REFUTED where the inputs are independent, and every labelling can be stored.

    Raises:
        InputError: No integers.

    Example:
        >>> some_labels_are_not_stored(np.array([[1, 1], [1, -1], [1, 0]])).value
        'PROVED'
    """
    return decided(unstorable_labels(inputs) is not None)


def _labels(values: Array, count: int, n_outputs: int) -> Array:
    labels = np.asarray(values)
    if is_masked(values) or labels.shape != (count,) or labels.dtype.kind not in "iu" or not labels.size:
        raise InputError("labels", f"is {labels.dtype} of shape {labels.shape}", f"{count} integers, none masked")
    if labels.min() < 0 or labels.max() >= n_outputs:
        raise InputError("labels", f"are {labels.min()} .. {labels.max()}", f"0 .. {n_outputs - 1}")
    return labels


def _integers(name: str, values: Array) -> Array:
    if is_masked(values):
        raise InputError(name, "is a masked array or holds one; fill the masked entries first")
    array = np.asarray(values)
    exact = array.dtype.kind in "iu" or (array.dtype == object and all(isinstance(x, int) for x in array.ravel()))
    if array.ndim != 2 or 0 in array.shape or not exact:
        raise InputError(name, f"is {array.dtype} of shape {array.shape}", "a matrix of integers")
    return array
