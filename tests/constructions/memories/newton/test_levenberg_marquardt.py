"""Violated inequalities are mended step by step, in either form of the equations."""

from dataclasses import dataclass

import numpy as np
import pytest

from constructions.memories.newton.levenberg_marquardt import Descent, levenberg_marquardt


@dataclass(frozen=True, eq=False)
class Dense:
    derivative: np.ndarray

    def gram(self) -> np.ndarray:
        return np.asfortranarray(np.tril(self.derivative @ self.derivative.T))

    def normal(self) -> np.ndarray:
        return np.asfortranarray(np.tril(self.derivative.T @ self.derivative))

    def pulled_back(self, weights: np.ndarray) -> np.ndarray:
        return weights @ self.derivative


@dataclass(frozen=True, eq=False)
class At:
    residual: np.ndarray
    derivative: np.ndarray

    @property
    def violated(self) -> np.ndarray:
        return self.residual > 0

    @property
    def cost(self) -> float:
        return float((np.maximum(self.residual, 0) ** 2).sum())

    @property
    def done(self) -> bool:
        return bool((self.residual < 1e-9).all())

    def violations(self) -> np.ndarray:
        return self.residual[self.violated]

    def at_other(self, other: "At") -> np.ndarray:
        return other.residual[self.violated]

    def rows(self) -> Dense:
        return Dense(self.derivative[self.violated])


def descend(at, start, *, iterations: int = 200, patience: int = 200, fall: float = 0.99, report=None) -> Descent:
    return levenberg_marquardt(at, np.array(start), iterations=iterations, patience=patience, fall=fall, report=report)


@pytest.mark.parametrize(("rows", "columns"), [(3, 8), (30, 4)])
def test_linear_inequalities_that_can_be_met_are_met(rows: int, columns: int) -> None:
    rng = np.random.default_rng(rows)
    matrix = rng.standard_normal((rows, columns))
    bound = matrix @ rng.standard_normal(columns) + 0.1

    found = descend(lambda x: At(matrix @ x - bound, matrix), np.zeros(columns))
    assert found.done and found.iterations < 60
    assert (matrix @ found.variables <= bound + 1e-9).all()


def rosenbrock(x: np.ndarray) -> At:
    first, second = 10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]
    derivative = np.array([[-20.0 * x[0], 10.0], [-1.0, 0.0]])
    return At(np.array([first, second, -first, -second]), np.concatenate([derivative, -derivative]))


def test_a_curved_valley_is_followed_to_its_end() -> None:
    found = descend(rosenbrock, [-1.2, 1.0])
    assert found.done and found.cost < 1e-17
    assert np.abs(found.variables - 1.0).max() < 1e-8


@dataclass(frozen=True, eq=False)
class Equal(At):
    """Residuals that are to be 0: all of them count."""

    @property
    def violated(self) -> np.ndarray:
        return np.ones(len(self.residual), dtype=bool)

    @property
    def cost(self) -> float:
        return float(self.residual @ self.residual)


def valley(bend: float):
    """10 (y - bend x^2) and 1 - x, both to be 0."""
    return lambda x: Equal(
        np.array([10.0 * (x[1] - bend * x[0] ** 2), 1.0 - x[0]]),
        np.array([[-20.0 * bend * x[0], 10.0, *x[2:] * 0.0], [-1.0, 0.0, *x[2:] * 0.0]]),
    )


@pytest.mark.parametrize("variables", [2, 3], ids=["in the variables", "in the rows"])
@pytest.mark.parametrize(("bend", "damping"), [(1.0, 100.0), (-20.0, 100.0), (100.0, 200.0)])
def test_a_step_bends_with_the_valley_and_is_damped_where_it_bends_too_much(bend, damping, variables) -> None:
    # By hand, at 0: J^T J + mu = diag(1 + mu, 100 + mu); the second derivative along the step is (-20 bend x^2, 0).
    # With mu = 100 the last bends by .99 of its length, twice counted, and is refused.
    found = descend(valley(bend), np.zeros(variables), iterations=1)
    x = 1.0 / (1.0 + damping)
    assert found.variables[:2] == pytest.approx([x, 100.0 * bend * x**2 / (100.0 + damping)], rel=1e-9)


def test_the_cost_never_rises_and_is_that_of_the_last_point() -> None:
    costs: list[float] = []
    found = descend(rosenbrock, [-1.2, 1.0], report=lambda done, point: costs.append(point.cost))
    assert len(costs) == found.iterations > 3
    assert (np.diff([*costs, found.cost]) < 0).all()
    assert found.cost == rosenbrock(found.variables).cost


def test_what_cannot_be_met_ends_at_the_least_squares_without_success() -> None:
    derivative = np.array([[1.0], [-1.0]])
    found = descend(lambda x: At(np.array([x[0] + 1.0, 3.0 - x[0]]), derivative), [9.0])
    assert not found.done
    assert found.variables == pytest.approx([1.0], abs=1e-4) and found.cost == pytest.approx(8.0)


def test_a_fall_that_is_too_slow_ends_the_search() -> None:
    slow = descend(rosenbrock, [-1.2, 1.0], patience=2, fall=1e-9)
    assert not slow.done and slow.iterations == 3


def test_no_more_steps_are_taken_than_allowed() -> None:
    assert descend(rosenbrock, [-1.2, 1.0], iterations=4).iterations == 4


def test_a_point_without_violations_is_left_where_it_is() -> None:
    found = descend(rosenbrock, [1.0, 1.0])
    assert found.done and found.iterations == 0 and found.variables.tolist() == [1.0, 1.0]


def test_a_step_to_where_nothing_is_defined_is_taken_back() -> None:
    def at(x: np.ndarray) -> At:
        with np.errstate(invalid="ignore"):
            root = np.sqrt(1.0 - x[0])  # NaN beyond 1
        return At(np.array([2.0 - x[0] - 0.0 * root]), np.array([[-1.0]]))

    found = descend(at, [0.0])
    assert not found.done and 0.9 < found.variables[0] <= 1.0
