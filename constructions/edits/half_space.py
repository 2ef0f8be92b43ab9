"""Half-spaces that separate one row of a normalized stream from many others: the neurons of an edit.

Page: docs/claims/editing.md
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from constructions.errors import HypothesisError, InputError
from constructions.model.blocks import Normalization
from constructions.numeric.arrays import Float64Array, Int64Array

TRIGGER = 40.0
"""What the preactivation of an edit's neuron is at its own context, and minus what it is at most at the others."""

_ROUNDS = 40  # of the linear program, each with the rows that the last half-space left on the wrong side
_FIRST = 256  # rows nearest to the one that is cut off, with which the linear program begins
_NOTHING = 1e-9  # a relative gap that may be the linear program's own rounding
_TOGETHER = 128  # edits whose products with all rows are held at once


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    r"""Neurons $u_j = \langle a_j, y \rangle + b_j$ on the normalized rows $y = n \odot w + b$.

    Args:
        weights: The $a_j$ as columns, `[d, edits]`.
        shifts: The $b_j$, `[edits]`.
        gaps: $(\langle m_j, n_j\rangle - \max \langle m_j, n \rangle)/(|m_j| |n_j|)$ for the normal $m_j$, `[edits]`:
            what rounding may use up.
        nearest: The row that each half-space leaves out last, `[edits]`; -1 where there is no other.
    """

    weights: Float64Array
    shifts: Float64Array
    gaps: Float64Array
    nearest: Int64Array


def half_spaces(
    rows: Float64Array,
    norm: Normalization,
    places: Int64Array,
    *,
    least_gap: float = 0.0,
    trigger: float = TRIGGER,
    named: Callable[[int], str] = str,
) -> HalfSpaces:
    r"""Return a neuron for each of some rows: `trigger` at that row and at most minus `trigger` at every other row.

    With $n_j$ the row before gain and shift, $\mathrm{gap} = |n_j|^2 - \max_c \langle n_j, n(c) \rangle$ and
    $g = 2T/\mathrm{gap}$ the neuron is $g(\langle n_j, n \rangle - |n_j|^2 + \frac12 \mathrm{gap})$, written as weights
    $g n_j / w$ of what the normalization puts out. Rows behind a normalization lie on a sphere but for $\epsilon$, so
    that the own normal cuts a row off wherever another is not very near (Lemma N1). Where it does not, a linear program
    looks for another normal, which exists unless the row lies in the convex hull of the others. Coordinates of gain 0
    are read by nobody.

    Args:
        rows: The rows n of all contexts that count, `[contexts, d]`; approximate ones do, for the weights are judged
            afterwards.
        norm: The normalization that the neurons read behind.
        places: Which rows are to be cut off.
        least_gap: What the relative gap must exceed, so that rounded weights keep it.
        trigger: $T$, above 0.
        named: What the context of a row is called in a refusal.

    Returns:
        The neurons.

    Raises:
        HypothesisError: A row that no half-space cuts off from the others by so much; names the nearest one.

    Source: known of perceptrons (Cover, 1965).

    Example:
        >>> rows = np.sqrt(2.0) * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
        >>> found = half_spaces(rows, Normalization("rms", w=np.ones(2)), np.array([0]), trigger=1.0)
        >>> (rows @ found.weights + found.shifts).ravel().round(6).tolist(), found.nearest.tolist()
        ([1.0, -1.0, -3.0], [1])
    """
    if not trigger > 0.0:
        raise InputError("trigger", f"= {trigger}", "a number above 0")
    read = np.flatnonzero(norm.w)
    seen = np.ascontiguousarray(rows[:, read])
    triggers = seen[places]
    normals = triggers.copy()
    gaps, nearest = _gaps(seen, places, normals)
    for edit in np.flatnonzero(~(gaps > least_gap * _sizes(normals, triggers))):
        size = float(_sizes(normals[edit], triggers[edit]))
        gap = float(gaps[edit]) / size if size > 0.0 else 0.0
        separation = _another_normal(seen, int(places[edit]), least_gap)
        if separation is None:
            raise HypothesisError(
                "an edit",
                f"a row that a half-space cuts off from all others by more than {least_gap:.1e} of its size (Lemma N1)",
                f"no half-space was found that cuts context {named(int(places[edit]))} off from context "
                f"{named(int(nearest[edit]))}; along the row itself the gap is {gap:.1e} of its size",
            )
        normals[edit], gaps[edit], nearest[edit] = separation
    weights = np.zeros((len(norm.w), len(places)))
    with np.errstate(all="ignore"):
        scale = 2.0 * trigger / gaps
        weights[read] = (normals * scale[:, None] / norm.w[read]).T
        shifts = -scale * (np.einsum("ij,ij->i", normals, triggers) - gaps / 2.0)
        if norm.b is not None:
            shifts -= norm.b @ weights
    beyond = np.flatnonzero(~(np.isfinite(weights).all(axis=0) & np.isfinite(shifts)))
    if len(beyond):
        raise HypothesisError(
            "an edit",
            "a half-space whose weights are within the range of float64 (Lemma N1)",
            f"those that cut context {named(int(places[beyond[0]]))} off from all others are larger",
        )
    return HalfSpaces(weights, shifts, gaps / _sizes(normals, triggers), nearest)


def _sizes(normals: Float64Array, rows: Float64Array) -> Float64Array:
    return np.linalg.norm(normals, axis=-1) * np.linalg.norm(rows, axis=-1)


def _gaps(rows: Float64Array, places: Int64Array, normals: Float64Array) -> tuple[Float64Array, Int64Array]:
    """Return how much farther each row lies along its normal than any other row, and which row is the closest."""
    gaps, nearest = np.empty(len(places)), np.full(len(places), -1)
    for start in range(0, len(places), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        products = rows @ normals[part].T
        here = places[part], np.arange(products.shape[1])
        own_products = products[here]
        products[here] = -np.inf
        if len(rows) == 1:  # nothing else is there: the half-space ends at 0
            return own_products, nearest
        nearest[part] = products.argmax(axis=0)
        gaps[part] = own_products - products.max(axis=0)
    return gaps, nearest


def _another_normal(rows: Float64Array, place: int, least_gap: float) -> tuple[Float64Array, float, int] | None:
    """Return the normal of the widest gap that a linear program finds, the gap, and the next row; or none."""
    from scipy.optimize import linprog

    target = rows[place]
    chosen = np.argsort(-(rows @ target))[: _FIRST + 1]
    chosen = chosen[chosen != place]
    for _ in range(_ROUNDS):
        # the widest gap among the chosen rows, with entries of the normal from -1 to 1
        program = linprog(
            np.append(np.zeros(len(target)), -1.0),
            A_ub=np.column_stack([rows[chosen] - target, np.ones(len(chosen))]),
            b_ub=np.zeros(len(chosen)),
            bounds=[(-1.0, 1.0)] * len(target) + [(None, None)],
            method="highs",
        )
        if not program.success:
            break
        normal = program.x[:-1]
        gaps, last = _gaps(rows, np.array([place]), normal[None])
        if gaps[0] > max(least_gap, _NOTHING) * _sizes(normal, target):
            return normal, float(gaps[0]), int(last[0])
        if last[0] in chosen:
            break
        chosen = np.union1d(chosen, np.setdiff1d(np.argsort(-(rows @ normal))[:_FIRST], place))
    return None
