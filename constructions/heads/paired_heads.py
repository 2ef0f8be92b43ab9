r"""Heads in pairs that nearly cancel: what differs between the two is linear, and one linear system finds it.

Page: docs/claims/paired_heads.md
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constructions.counted import counted
from constructions.errors import CapacityError, InputError
from constructions.heads.label_system import ENOUGH, embeddings, least_lead, readout, require_labels_after_two, solved
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.models.shapes import dana_network
from constructions.tasks.task import Task

Float64Array = NDArray[np.float64]

_CLAIM = "The memory of paired heads"
_MORE = (1.05, 1.1, 1.2, 1.35)  # pairs that are tried, in multiples of those that the rank asks for
_DRAWS = 2
_STEPS = (2.0**-12, 2.0**-16, 2.0**-20, 2.0**-8)  # the first that leaves the margin is taken


class _Base(NamedTuple):
    """Inputs `[T, S, d]`, and the heads in the middle of each pair, `[H, d, r]` and `[H, d]`."""

    W_E: Float64Array
    W_pos: Float64Array
    U: Float64Array
    V: Float64Array
    v: Float64Array


def paired_heads_memory(task: Task, *, d_model: int = 6, d_qk: int = 2, seed: int = 0) -> Construction[Task]:
    r"""Hold any labels of contexts in general position by pairs of heads and one linear system.

    Head h of rank r reads $\varphi_h = v_h \cdot A^h$, $A^h$ the mean of the inputs with the attention of
    $x_S U_h V_h^\top x_s$. The two heads of a pair have $(U, V, v) \pm \frac\epsilon2 (\dot U, \dot V, \dot v)$ and
    write $\pm 1 / \epsilon$ times what they read, so together, up to $O(\epsilon^2)$, the derivative

    $$ \dot v \cdot A^h + \langle x_S \otimes V^\top g, \dot U \rangle + \langle g \otimes U^\top x_S, \dot V \rangle ,
       \qquad g = \sum_s a_s (v \cdot x_s - \varphi_h) x_s , $$

    which is linear in the dotted numbers. If the matrix J of these derivatives and of $x_S$ has rank T, they can be
    chosen so that it is the label's point on a line for every context. Each pair has $d + 2 d r - r^2$ directions that
    count. The difference of a pair asks for float64 weights.

    Args:
        task: Contexts of two tokens or more, and labels.
        d_model: d, at least 2.
        d_qk: r, from 1 to d.
        seed: Seed of the draws; on one machine equal arguments give equal bits.

    Returns:
        The network, with `d_head` = 1, in float64.

    Raises:
        InputError: A width or a rank out of range.
        HypothesisError: A task of laws, or contexts of one token.
        CapacityError: No draw has derivatives of full rank and a step that leaves a margin of 0.1.

    Page: docs/claims/paired_heads.md

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> paired_heads_memory(enumerated_task(10, 2)).summary
        '100 contexts by 4 pairs of heads, d = 6, d_qk = 2, 420 parameters'
    """
    if d_model < 2 or not 1 <= d_qk <= d_model:
        raise InputError(f"d_model = {d_model} and d_qk = {d_qk}, expected at least 2, and from 1 to d_model")
    require_labels_after_two(task, _CLAIM)
    each = d_model + 2 * d_model * d_qk - d_qk**2
    best = -math.inf
    tried = sorted({max(1, math.ceil((more * task.n_contexts - d_model) / each)) for more in _MORE})
    for pairs in tried:
        for draw in range(_DRAWS):
            base = _drawn(task, d_model, d_qk, pairs, (seed, draw))
            numbers = solved(_derivatives(task, base), task)
            if numbers is None:
                continue
            for step in _STEPS:
                model = _paired(task, base, numbers, step)
                best = max(best, least_lead(model, task))
                if best >= ENOUGH:
                    summary = f"{counted(task.n_contexts, 'context')} by {counted(pairs, 'pair of heads')}"
                    return Construction(
                        task, model, f"{summary}, d = {d_model}, d_qk = {d_qk}, {model.parameters} parameters"
                    )
    reached = "no draw has" if best == -math.inf else f"the best draw leaves a margin of {best:.2g} with"
    needed = f"derivatives of rank T = {task.n_contexts}"
    raise CapacityError(_CLAIM, needed, f"{reached} them; {tried[-1]} pairs, d = {d_model}, d_qk = {d_qk}")


def _drawn(task: Task, width: int, rank: int, pairs: int, seed: tuple[int, int]) -> _Base:
    """Random embeddings, with the coordinate that the label code needs, and random heads."""
    rng = np.random.default_rng(seed)
    W_E, W_pos = embeddings(task, width, rng)
    size = (2.0 / (width * math.sqrt(rank))) ** 0.5
    U, V = size * rng.standard_normal((2, pairs, width, rank))
    return _Base(W_E, W_pos, U, V, rng.standard_normal((pairs, width)) / math.sqrt(width))


def _derivatives(task: Task, base: _Base) -> Float64Array:
    """The matrix J: the last input, then for each head the derivatives by v, U and V."""
    inputs = base.W_E[task.contexts] + base.W_pos
    last = inputs[:, -1]
    columns = [last]
    for U, V, v in zip(base.U, base.V, base.v, strict=True):
        query = last @ U
        scores = np.einsum("tsd,td->ts", inputs, query @ V.T)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        values = inputs @ v
        apart = shares * (values - (shares * values).sum(axis=1, keepdims=True))
        pulled = np.einsum("ts,tsd->td", apart, inputs)
        columns.append(np.einsum("ts,tsd->td", shares, inputs))
        for left, right in ((last, pulled @ V), (pulled, query)):
            columns.append((left[:, :, None] * right[:, None, :]).reshape(len(inputs), -1))
    return np.concatenate(columns, axis=1)


def _paired(task: Task, base: _Base, numbers: Float64Array, step: float) -> Model:
    """The network whose number y is the point of each label, up to the square of the step."""
    pairs, width, rank = base.U.shape
    reach = float(np.abs(base.W_E[:, 1:]).max() + np.abs(base.W_pos[:, 1:]).max())
    output, W_U = readout(task, numbers[:width], reach)
    rest = numbers[width:].reshape(pairs, width * (1 + 2 * rank))
    v, U, V = rest[:, :width], rest[:, width : width * (1 + rank)], rest[:, width * (1 + rank) :]
    moved = (U.reshape(base.U.shape), V.reshape(base.V.shape), v)
    heads = [
        np.concatenate([middle + step / 2 * change, middle - step / 2 * change])
        for middle, change in zip((base.U, base.V, base.v), moved, strict=True)
    ]
    signs = np.repeat([1.0, -1.0], pairs) / step
    return dana_network(
        W_E=base.W_E,
        W_pos=base.W_pos,
        W_Q=heads[0],
        W_K=heads[1],
        W_V=heads[2][:, :, None],
        W_O=signs[:, None, None] * output,
        W_U=W_U,
    )
