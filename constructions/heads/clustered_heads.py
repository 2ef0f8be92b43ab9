r"""Heads in clusters that nearly cancel: what differs between them is linear, and one linear system finds it.

Page: docs/claims/clustered_heads.md
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from constructions.arrays import Float64Array
from constructions.counted import counted
from constructions.errors import InputError, require_at_least
from constructions.features.minimum_norm import RightInverse
from constructions.heads.label_system import (
    embeddings,
    first_that_holds,
    inverted,
    points,
    readout,
    require_labels_after_two,
)
from constructions.models.attention import features, last, softmax
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.models.precision import Precision, require_precision, rounded_model
from constructions.models.shapes import dana_network
from constructions.tasks.task import Task

_CLAIM = "The memory of clustered heads"
_MORE = (1.05, 1.1, 1.2, 1.35)  # bounds on the rank that are tried, in multiples of the facts
_DRAWS = 3
_STEPS = tuple(2.0**-e for e in (8, 10, 12, 14, 16, 18, 20, 24))  # the first that leaves the margin is taken
_CORRECTIONS = 12
_NEAR = 2.0**-8  # by which the numbers may miss the points of their labels without a further correction
_WIDTHS, _RANKS, _COPIES = range(4, 25), range(1, 5), range(2, 6)  # that are tried where they are not given


class Shape(NamedTuple):
    """The sizes of clustered heads.

    Args:
        d_model: d.
        rank: r, the query and key dimension.
        copies: k, heads in each cluster; 2 for pairs.
        clusters: B.
    """

    d_model: int
    rank: int
    copies: int
    clusters: int

    def parameters(self, task: Task) -> int:
        """Entries of all tensors of the network."""
        vectors = task.n_ctx + task.d_vocab + task.n_answers
        return self.d_model * (vectors + 2 * self.clusters * self.copies * (self.rank + 1))


class _Base(NamedTuple):
    """Embeddings, and the heads that a cluster consists of before they differ, `[B, d, r]` and `[B, k, d]`."""

    W_E: Float64Array
    W_pos: Float64Array
    U: Float64Array
    V: Float64Array
    v: Float64Array


def clustered_heads_memory(
    task: Task,
    *,
    d_model: int | None = None,
    d_qk: int | None = None,
    copies: int | None = None,
    dtype: Precision = "float64",
    seed: int = 0,
) -> Construction[Task]:
    r"""Hold any labels of contexts in general position by clusters of k heads and one linear system.

    Head h of rank r reads $\varphi_h = v_h \cdot A^h$, $A^h$ the mean of the inputs with the attention of
    $x_S U_h V_h^\top x_s$. The k heads of a cluster have the same attention, and values $v_1 + \dots + v_k = 0$: they
    cancel. With $U + \epsilon \dot U_i$, $V + \epsilon \dot V_i$ and $v_i + \epsilon \dot v / k$ they write, divided
    by $\epsilon$ and up to $O(\epsilon)$,

    $$ \dot v \cdot A + \sum_i \langle x_S \otimes V^\top g_i, \dot U_i \rangle
       + \langle g_i \otimes U^\top x_S, \dot V_i \rangle , \qquad g_i = \sum_s a_s (v_i \cdot x_s - \varphi_i) x_s , $$

    which is linear in the dotted numbers. If the matrix J of these derivatives and of $x_S$ has rank T, they can be
    chosen so that it is the label's point on a line for every context. What is missed at a step $\epsilon$ that leaves
    enough digits is corrected by the inverse of the same system, Newton's method with a fixed derivative.

    Args:
        task: Contexts of two tokens or more, and labels.
        d_model: d, at least 2; by default what takes the fewest parameters, from 4 to 24, and so are
        d_qk: r, from 1 to d, and
        copies: k, from 2 to d + 1. More copies have no more directions.
        dtype: The precision that every weight is rounded to; embeddings are rounded before the system is solved.
        seed: Seed of the draws; on one machine equal arguments give equal bits.

    Returns:
        The network, with `d_head` = 1.

    Raises:
        InputError: A width, a rank, a number of copies or a precision out of range.
        HypothesisError: A task of laws, or contexts of one token.
        CapacityError: No draw has derivatives of full rank and a step that leaves a margin of 0.1.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> clustered_heads_memory(enumerated_task(10, 2), dtype="float32").summary
        '100 contexts by 6 clusters of 3 heads, d = 4, d_qk = 1, 376 parameters'
    """
    require_at_least(1, d_qk=d_qk)
    require_at_least(2, d_model=d_model, copies=copies)
    if d_model is not None and d_model < max(d_qk or 1, (copies or 2) - 1):
        raise InputError("d_model", f"= {d_model}", f"at least d_qk = {d_qk} and one less than copies = {copies}")
    require_precision(dtype)
    require_labels_after_two(task, _CLAIM)
    shapes = dict.fromkeys(_smallest(task, more, d_model, d_qk, copies) for more in _MORE)
    return first_that_holds(task, _CLAIM, "derivatives", _tried(task, shapes, dtype, seed))


def _tried(task: Task, shapes: Iterable[Shape], dtype: Precision, seed: int) -> Iterator[tuple[Model | None, str]]:
    for shape in shapes:
        named = (
            f"{counted(shape.clusters, f'cluster of {shape.copies} heads')}, d = {shape.d_model}, d_qk = {shape.rank}"
        )
        for draw in range(_DRAWS):
            base = _drawn(task, shape, dtype, (seed, draw))
            inverse = inverted(_derivatives(task, base))
            if inverse is None:
                yield None, named
            else:
                yield from ((_solved(task, base, inverse, step, dtype), named) for step in _STEPS)


def fewest_parameters_by_clusters(task: Task) -> int:
    """Entries of the smallest network that `clustered_heads_memory` tries for labels of contexts of two tokens or more.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> fewest_parameters_by_clusters(enumerated_task(10, 2))
        376
    """
    if task.target != "labels" or task.n_ctx < 2:
        return 0
    return _smallest(task, _MORE[0], None, None, None).parameters(task)


def rank_bound(task: Task, shape: Shape) -> int:
    r"""The rank that the derivatives J of a shape cannot exceed, whatever embeddings and heads.

    On contexts whose last inputs span p dimensions and whose differences $x_s - x_S$ span q, B clusters add at most
    $B (q + (k - 1) r (p + q - r) - \kappa)$ to p, with r and k - 1 replaced by p or q where these are smaller, and

    $$ \kappa = r \binom{k - 1}{2} + (p - r) \binom m2 , \quad m = \max(0, k - 1 + r - q) : $$

    the antisymmetric combinations of the copies that move nothing. The contexts that are left out add one each.

    Args:
        task: Contexts of two tokens or more.
        shape: d, r, k and B.

    Returns:
        The least of these bounds over the contexts with the j most frequent last tokens, for all j.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> rank_bound(enumerated_task(10, 2), Shape(d_model=4, rank=1, copies=3, clusters=6))
        100
        >>> rank_bound(enumerated_task(10, 2), Shape(d_model=4, rank=1, copies=3, clusters=5))
        89
    """
    bounds = [
        task.n_contexts - count + p + shape.clusters * _directions(p, q, shape.rank, shape.copies)
        for count, p, q in _parts(task, shape.d_model)
    ]
    return min(task.n_contexts, *bounds)


def _parts(task: Task, d_model: int) -> Iterator[tuple[int, int, int]]:
    """Contexts with the j most frequent last tokens: their number, and the most dimensions p and q."""
    sizes = np.sort(np.unique(task.contexts[:, -1], return_counts=True)[1])[::-1].cumsum().tolist()
    # x_s - x_S is a difference of token embeddings and one of positions.
    apart = min(d_model, len(np.unique(task.contexts)) + task.n_ctx - 2)
    yield from ((count, j, apart) for j, count in enumerate(sizes[: d_model - 1], 1))
    yield sizes[-1], min(d_model, len(sizes)), apart


def _directions(p: int, q: int, rank: int, copies: int) -> int:
    """By how much each cluster raises the rank at most."""
    r, different = min(rank, p, q), min(copies - 1, q)
    inside = max(0, different + r - q)
    each = different * r * (p + q - r) - r * math.comb(different, 2) - (p - r) * math.comb(inside, 2)
    return q + each


def _smallest(task: Task, more: float, d_model: int | None, rank: int | None, copies: int | None) -> Shape:
    """The shape of fewest parameters whose bounds on the rank are so many times the facts, of what is not given."""
    found: list[tuple[int, Shape]] = []
    for d in (d_model,) if d_model is not None else (*_WIDTHS, max(rank or 1, (copies or 2) - 1, _WIDTHS[0])):
        parts = list(_parts(task, d))
        for r in (rank,) if rank is not None else _RANKS:
            for k in (copies,) if copies is not None else _COPIES:
                if r > d or k > d + 1:
                    continue
                needed = [math.ceil((more * count - p) / _directions(p, q, r, k)) for count, p, q in parts]
                shape = Shape(d, r, k, max(1, *needed))
                found.append((shape.parameters(task), shape))
    return min(found)[1]


def _drawn(task: Task, shape: Shape, dtype: Precision, seed: tuple[int, int]) -> _Base:
    """Random embeddings, with the coordinate that the label code needs, and random heads whose values cancel."""
    width, rank, copies, clusters = shape
    rng = np.random.default_rng(seed)
    W_E, W_pos = (tensor.astype(dtype).astype(np.float64) for tensor in embeddings(task, width, rng))
    size = (2.0 / (width * math.sqrt(rank))) ** 0.5
    U, V = size * rng.standard_normal((2, clusters, width, rank))
    v = rng.standard_normal((clusters, copies, width)) / math.sqrt(width)
    return _Base(W_E, W_pos, U, V, v - v.mean(axis=1, keepdims=True))


def _derivatives(task: Task, base: _Base) -> Float64Array:
    """The matrix J: the last input, then for each cluster the derivatives by v, and by U and V of each copy."""
    inputs = base.W_E[task.contexts] + base.W_pos
    last_input = inputs[:, -1]
    columns = [last_input]
    for U, V, values in zip(base.U, base.V, base.v, strict=True):
        query = last_input @ U
        shares = softmax(np.einsum("tsd,td->ts", inputs, query @ V.T))
        columns.append(np.einsum("ts,tsd->td", shares, inputs))
        for v in values:
            read = inputs @ v
            apart = shares * (read - (shares * read).sum(axis=1, keepdims=True))
            pulled = np.einsum("ts,tsd->td", apart, inputs)
            for left, right in ((last_input, pulled @ V), (pulled, query)):
                columns.append((left[:, :, None] * right[:, None, :]).reshape(len(inputs), -1))
    return np.concatenate(columns, axis=1)


def _solved(task: Task, base: _Base, inverse: RightInverse, step: float, dtype: Precision) -> Model:
    """The network of the solution of the linear system, corrected while that halves what the numbers miss."""
    width, wanted = base.W_E.shape[1], points(task)
    numbers = inverse.solve(wanted[:, None])[:, 0]
    kept, least = None, math.inf
    for _ in range(1 + _CORRECTIONS):
        model = _network(task, base, numbers, step, dtype)
        read = last(model, task.contexts) @ numbers[:width] + features(model, task.contexts).sum(axis=1) / step
        missed = wanted - read
        if kept is not None and not np.abs(missed).max() < least / 2:
            break
        kept, least = model, np.abs(missed).max()
        if least < _NEAR:
            break
        numbers = numbers + inverse.solve(missed[:, None])[:, 0]
    assert kept is not None
    return kept


def _network(task: Task, base: _Base, numbers: Float64Array, step: float, dtype: Precision) -> Model:
    """The heads of each cluster, moved by a step along the numbers."""
    clusters, copies, width = base.v.shape
    rank = base.U.shape[2]
    reach = float(np.abs(base.W_E[:, 1:]).max() + np.abs(base.W_pos[:, 1:]).max())
    output, W_U = readout(task, numbers[:width], reach)
    rest = numbers[width:].reshape(clusters, width * (1 + 2 * copies * rank))
    values = base.v + step / copies * rest[:, None, :width]
    maps = rest[:, width:].reshape(clusters, copies, 2, width, rank)
    n_heads = clusters * copies
    model = dana_network(
        W_E=base.W_E,
        W_pos=base.W_pos,
        W_Q=(base.U[:, None] + step * maps[:, :, 0]).reshape(n_heads, width, rank),
        W_K=(base.V[:, None] + step * maps[:, :, 1]).reshape(n_heads, width, rank),
        W_V=values.reshape(n_heads, width, 1),
        W_O=np.broadcast_to(output / step, (n_heads, 1, width)).copy(),
        W_U=W_U,
    )
    return rounded_model(model, dtype)
