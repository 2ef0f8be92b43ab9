r"""Damped Gauss-Newton steps for violated inequalities: as small a sum of squares as the steps can reach.

Page: docs/claims/newton_memory.md
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import scipy.linalg

from constructions.numeric.arrays import Float64Array

_FIRST_DAMPING = 100.0
_LEAST_DAMPING = 1e-10
_ATTEMPTS = 40  # dampings tried in a row before a point counts as a minimum
_TINY = 2.0**-1000  # what a promise of nothing counts as
_EASING = 5.0  # at most so much less damping after a step that kept its promise
_REACH = 0.1  # share of a step at which the bend of the path is measured
_BEND = 0.75  # how long twice the correction for it may be, beside the step
_CALL, _ENTRY, _PRODUCT = 5e5, 20.0, 0.05  # nanoseconds: of a point, of an entry of J, of a multiplication in a product

_factor: Any
_solve: Any
_factor, _solve = scipy.linalg.get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)


class Rows(Protocol):
    """The rows of a derivative J, `[R, P]`, which need not be stored."""

    def gram(self) -> Float64Array:
        """Return the lower triangle of $J J^T$, `[R, R]`, in Fortran's order; the caller may overwrite it."""
        ...

    def normal(self) -> Float64Array:
        """Return the lower triangle of $J^T J$, `[P, P]`, in Fortran's order; the caller may overwrite it."""
        ...

    def pulled_back(self, weights: Float64Array) -> Float64Array:
        """Return $J^T$ times a vector of R entries, `[P]`."""
        ...


class Point(Protocol):
    """The values and derivatives at one choice of the variables.

    Args:
        cost: Sum of the squares of all violations.
        done: Whether nothing is left to do.
    """

    @property
    def cost(self) -> float: ...

    @property
    def done(self) -> bool: ...

    def violations(self) -> Float64Array:
        """Return the violations that are not 0, `[R]`."""
        ...

    def rows(self) -> Rows:
        """Return the derivative of the violations."""
        ...

    def at_other(self, other: Self) -> Float64Array:
        """Return the currently violated rows at another point, as smooth functions not cut off at 0, `[R]`."""
        ...


PointType = TypeVar("PointType", bound=Point)


@dataclass(frozen=True, eq=False)
class Descent:
    """The result of a descent.

    Args:
        variables: The last point, `[P]`.
        done: Whether it has nothing left to do.
        iterations: How many steps were taken, or refused for the last time.
        cost: The sum of squares there.
        work: What the steps were counted to take, nanoseconds.
        spent: Whether what was left of the work ended the steps.
    """

    variables: Float64Array
    done: bool
    iterations: int
    cost: float
    work: float
    spent: bool


def levenberg_marquardt(
    at: Callable[[Float64Array], PointType],
    start: Float64Array,
    *,
    iterations: int,
    patience: int,
    fall: float,
    work: float = math.inf,
    report: Callable[[int, PointType], None] | None = None,
) -> Descent:
    r"""Lower a sum of squares of violations $\rho(\theta)$ step by step, until nothing is violated.

    A step solves $(J^T J + \mu) \, \delta = -J^T \rho$ over the violated rows alone, in the dual form
    $\delta = -J^T (J J^T + \mu)^{-1} \rho$ where these are fewer than the variables. The linear model promises to lower
    $|\rho|^2$ by $\mu |\delta|^2 - \delta \cdot J^T \rho$.

    Half of what the same equations give for the second derivative of $\rho$ along $\delta$, in place of $\rho$, is
    added: so the step bends with a curved valley. Where that is not short beside $\delta$, the step is too long. A step
    that is too long or raises the cost is tried again with more damping; after one that is kept, the damping follows
    the share r of the promise that was kept, by the factor $\max(1/5, 1 - (2 r - 1)^3)$.

    Args:
        at: What is known at given variables.
        start: The variables to start from, `[P]`.
        iterations: How many steps at most.
        patience: Give up when this many steps have not lowered the cost to `fall` times what it was.
        fall: See `patience`.
        work: Nanoseconds that all steps may take, as they are counted: from R and P alone, so that equal arguments
            take equal steps on every clock. A step that would take more is not begun.
        report: Called before each step with the number of those done, and the point.

    Returns:
        The last point, which is the best.

    Source: Levenberg (1944), Marquardt (1963); the damping rule is Nielsen's (1999), the bend that of Transtrum and
    Sethna, arXiv:1201.5885.
    """
    variables, point = start, at(start)
    damping, growth = _FIRST_DAMPING, 2.0
    costs: list[float] = []
    taken = 0.0
    while not point.done and len(costs) < iterations:
        costs.append(point.cost)
        if len(costs) > patience and not point.cost <= fall * costs[-1 - patience]:
            break
        if report is not None:
            report(len(costs) - 1, point)
        entries = len(point.violations()) * len(variables)
        smaller = min(len(point.violations()), len(variables))
        of_point = _CALL + _ENTRY * entries
        point_cost, step_cost = of_point + _PRODUCT * entries * smaller, of_point + _PRODUCT * smaller**3 / 3
        if taken + point_cost + step_cost > work:
            return Descent(variables, False, len(costs) - 1, point.cost, taken, True)
        taken += point_cost
        linear = _Linear.of(point, len(variables))
        for _ in range(_ATTEMPTS):
            if taken + step_cost > work:
                return Descent(variables, False, len(costs), point.cost, taken, True)
            taken += step_cost
            with np.errstate(over="ignore", invalid="ignore"):
                step = linear.step(damping, at, variables)
            if step is not None:
                moved = variables + step.bent
                with np.errstate(over="ignore", invalid="ignore"):
                    reached = at(moved)
                    better = reached.cost < point.cost  # not so where it is NaN
                if better:
                    gain_ratio = (point.cost - reached.cost) / max(linear.promise(step.straight, damping), _TINY)
                    ease = 1.0 - (2.0 * min(gain_ratio, 2.0) - 1.0) ** 3
                    damping, growth = max(damping * max(1.0 / _EASING, ease), _LEAST_DAMPING), 2.0
                    variables, point = moved, reached
                    break
            damping, growth = damping * growth, growth * 2.0
        else:
            break
    return Descent(variables, point.done, len(costs), point.cost, taken, False)


class _Step(NamedTuple):
    straight: Float64Array
    bent: Float64Array


@dataclass(frozen=True, eq=False)
class _Linear(Generic[PointType]):
    """The linear model at one point."""

    point: PointType
    rows: Rows
    violations: Float64Array
    gradient: Float64Array
    matrix: Float64Array
    dual: bool

    @classmethod
    def of(cls, point: PointType, variables: int) -> "_Linear[PointType]":
        rows, violations = point.rows(), point.violations()
        dual = len(violations) < variables
        return cls(point, rows, violations, rows.pulled_back(violations), rows.gram() if dual else rows.normal(), dual)

    def step(self, damping: float, at: Callable[[Float64Array], PointType], variables: Float64Array) -> _Step | None:
        """Return the step; `None` if it is too long, or the damping is too small for a numerically singular matrix."""
        matrix = self.matrix.copy(order="F")
        matrix.ravel(order="K")[:: len(matrix) + 1] += damping
        factor, failed = _factor(matrix, lower=1, overwrite_a=1, clean=0)
        if failed:
            return None
        straight = self._towards(self.violations, factor)
        ahead, behind = (self.point.at_other(at(variables + reach * straight)) for reach in (_REACH, -_REACH))
        second = (ahead - 2.0 * self.violations + behind) / _REACH**2
        if not np.isfinite(second).all():
            return None
        bend = 0.5 * self._towards(second, factor)
        if not 2.0 * np.linalg.norm(bend) <= _BEND * np.linalg.norm(straight):
            return None
        return _Step(straight, straight + bend)

    def _towards(self, violations: Float64Array, factor: Float64Array) -> Float64Array:
        right = violations if self.dual else self.rows.pulled_back(violations)
        solved, _ = _solve(factor, right, lower=1)
        return -(self.rows.pulled_back(solved) if self.dual else solved)

    def promise(self, step: Float64Array, damping: float) -> float:
        r"""Return the decrease of the sum of squares that the linear model predicts: $\mu |\delta|^2 - \delta \cdot J^T
        \rho$.
        """
        return float(damping * (step @ step) - step @ self.gradient)
