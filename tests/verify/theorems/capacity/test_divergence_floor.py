"""The floors hold for every network tried, agree with an independent formula, and refuse what is no relation."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from flint import fmpq
from hypothesis import assume, given
from hypothesis import strategies as st

from constructions.encoders.one_head_optimum import exclusive_or_contexts, line_contexts, line_optimum
from constructions.errors import InputError
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.model.attention import logits
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import array_task
from verify.divergence.kullback_leibler import divergence
from verify.forward.logits import enclose_logits
from verify.theorems.capacity.divergence_floor import (
    _Given,
    collinear_divergence_floor,
    relation_divergence_floor,
)
from verify.verdict import Verdict

XOR = exclusive_or_contexts()
LINE = line_contexts()
ODDS = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=100)
SEEDS = st.integers(0, 2**32 - 1)


def binary(probabilities: list[Fraction]) -> list[list[Fraction]]:
    return [[p, 1 - p] for p in probabilities]


def opposed(p: Fraction) -> list[list[Fraction]]:
    return binary([p, p, 1 - p, 1 - p])


def floats(distributions: list[list[Fraction]]) -> np.ndarray:
    return np.array([[float(entry) for entry in distribution] for distribution in distributions])


def random_distributions(seed: int, rows: int, tokens: int) -> np.ndarray:
    distributions = np.random.default_rng(seed).dirichlet(np.full(tokens, 0.7), rows) + 1e-3
    return distributions / distributions.sum(axis=1, keepdims=True)


def mean_upper(
    network: Model, contexts: np.ndarray, distributions: np.ndarray, prior: np.ndarray | None = None
) -> float:
    """A certified upper bound of the mean divergence, but for roundings far below the slack of the tests."""
    upper = divergence(enclose_logits(network, contexts), distributions).upper()
    return float(upper.mean() if prior is None else upper @ prior) * (1 + 1e-14)


class Shape:
    """All weights of a network in one vector."""

    def __init__(self, tokens: int, n_ctx: int, width: int, d_head: int, key_width: int) -> None:
        self.shapes = {
            "W_E": (tokens, width),
            "W_pos": (n_ctx, width),
            "W_Q": (1, width, key_width),
            "W_K": (1, width, key_width),
            "W_V": (1, width, d_head),
            "W_O": (1, d_head, width),
            "W_U": (width, tokens),
        }
        self.size = sum(math.prod(shape) for shape in self.shapes.values())

    def network(self, weights: np.ndarray) -> Model:
        tensors, start = {}, 0
        for name, shape in self.shapes.items():
            tensors[name] = weights[start : start + math.prod(shape)].reshape(shape)
            start += math.prod(shape)
        return dana_network(**tensors)

    def trained(self, contexts: np.ndarray, distributions: np.ndarray, *, seed: int, steps: int) -> Model:
        """The best weights after some steps of L-BFGS from random ones."""

        def loss(weights: np.ndarray) -> float:
            z = logits(self.network(np.clip(weights, -1e3, 1e3)), contexts)
            z = z - z.max(axis=1, keepdims=True)
            return float(
                (distributions * (np.log(distributions) - z + np.log(np.exp(z).sum(axis=1, keepdims=True))))
                .sum(axis=1)
                .mean()
            )

        start = np.random.default_rng(seed).normal(0, 1, self.size)
        found = scipy.optimize.minimize(loss, start, method="L-BFGS-B", options={"maxiter": steps})
        return self.network(np.clip(found.x, -1e3, 1e3))


def test_the_floor_of_exclusive_or_is_half_of_what_a_coin_lacks_in_entropy() -> None:
    for p in (Fraction(51, 100), Fraction(9, 10), Fraction(99, 100), Fraction(1, 100)):
        floor = relation_divergence_floor(XOR, opposed(p))
        x = float(p)
        expected = (math.log(2) + x * math.log(x) + (1 - x) * math.log(1 - x)) / 2
        assert floor.verdict is Verdict.PROVED
        assert expected - 1e-14 < floor.lower <= expected * (1 + 1e-14)
    assert 0.31857282310 < relation_divergence_floor(XOR, opposed(Fraction(99, 100))).lower < 0.31857282311


def test_labels_cost_half_of_log_two() -> None:
    floor = relation_divergence_floor(XOR, [[1, 0], [1, 0], [0, 1], [0, 1]])
    assert math.log(2) / 2 - 1e-12 < floor.lower < math.log(2) / 2


@pytest.mark.parametrize("n_ctx", [3, 4, 9])
def test_padding_changes_nothing(n_ctx: int) -> None:
    distributions = opposed(Fraction(9, 10))
    assert relation_divergence_floor(exclusive_or_contexts(n_ctx), distributions) == relation_divergence_floor(
        XOR, distributions
    )


@given(st.lists(ODDS, min_size=4, max_size=4), st.lists(st.integers(1, 9), min_size=4, max_size=4))
def test_for_two_tokens_the_floor_is_the_least_cost_of_giving_two_contexts_one_distribution(
    odds: list[Fraction], weights: list[int]
) -> None:
    prior = [Fraction(weight, sum(weights)) for weight in weights]
    floor = relation_divergence_floor(XOR, binary(odds), prior=prior)
    high, low = odds[:2], odds[2:]
    if not (min(high) > max(low) or max(high) < min(low)):
        assert floor.verdict is Verdict.UNDECIDED and floor.lower == 0.0
        return

    def cost(i: int, j: int) -> float:
        p, q, a, b = float(odds[i]), float(odds[j]), float(prior[i]), float(prior[j])
        m = (a * p + b * q) / (a + b)
        return sum(w * (x * math.log(x / m) + (1 - x) * math.log((1 - x) / (1 - m))) for w, x in ((a, p), (b, q)))

    expected = min(cost(i, j) for i in (0, 1) for j in (2, 3))
    assert expected - 1e-9 < floor.lower <= expected + 1e-15


@given(ODDS, ODDS)
def test_the_floor_grows_as_the_distributions_sharpen(p: Fraction, q: Fraction) -> None:
    p, q = sorted((max(p, 1 - p), max(q, 1 - q)))
    assume(q - p > Fraction(1, 1000))
    assert relation_divergence_floor(XOR, opposed(p)).lower < relation_divergence_floor(XOR, opposed(q)).lower


@given(SEEDS, st.integers(1, 4), st.integers(1, 3), st.integers(2, 4))
def test_no_random_head_beats_the_floor_of_exclusive_or(seed: int, width: int, d_head: int, tokens: int) -> None:
    rng = np.random.default_rng(seed)
    shape = Shape(tokens, 3, width, min(d_head, width), 1 + seed % 2)
    network = shape.network(rng.normal(0, rng.choice([0.3, 1.0, 3.0]), shape.size))
    sharp = rng.choice([0.0, 0.9, 0.99])
    distributions = (1 - sharp) * random_distributions(seed, 4, tokens) + sharp * np.eye(tokens)[[0, 0, 1, 1]]
    distributions = np.maximum(distributions, 1e-4)
    prior = rng.dirichlet([2.0] * 4)
    floor = relation_divergence_floor(XOR, distributions, prior=prior.tolist())
    assert floor.lower <= mean_upper(network, XOR, distributions, prior)


@pytest.mark.parametrize(("width", "d_head"), [(2, 2), pytest.param(3, 1, marks=pytest.mark.slow)])
def test_no_trained_head_beats_the_floor_of_exclusive_or(width: int, d_head: int) -> None:
    distributions = opposed(Fraction(9, 10))
    floor = relation_divergence_floor(XOR, distributions).lower
    networks = [
        Shape(2, 3, width, d_head, 1).trained(XOR, floats(distributions), seed=seed, steps=120) for seed in range(2)
    ]
    reached = [mean_upper(network, XOR, floats(distributions)) for network in networks]
    assert floor <= min(reached) < 1.3 * floor  # the attack is strong, and fails


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_no_well_trained_head_beats_the_floors(seed: int) -> None:
    distributions = random_distributions(seed, 4, 2)
    distributions[:2] = np.sort(distributions[:2], axis=1)
    distributions[2:] = np.sort(distributions[2:], axis=1)[:, ::-1]
    network = Shape(2, 3, 3, 2, 2).trained(XOR, distributions, seed=seed, steps=1000)
    assert relation_divergence_floor(XOR, distributions).lower <= mean_upper(network, XOR, distributions)
    three = random_distributions(seed, 3, 3)
    network = Shape(3, 2, 3, 1, 2).trained(LINE, three, seed=seed, steps=1000)
    assert collinear_divergence_floor(LINE, three).lower <= mean_upper(network, LINE, three)


def test_two_heads_go_below_the_floor_of_one() -> None:
    distributions = floats(opposed(Fraction(99, 100)))
    built = build_memory(array_task(XOR, distributions=distributions), d_model=2, d_head=2, n_heads=2)
    assert mean_upper(built.model, XOR, distributions) < 1e-9 < relation_divergence_floor(XOR, distributions).lower


@given(SEEDS, st.integers(2, 4), st.integers(3, 12))
def test_the_floor_of_a_line_is_below_the_best_line(seed: int, tokens: int, pieces: int) -> None:
    distributions = random_distributions(seed, 3, tokens)
    best = mean_upper(line_optimum(distributions), LINE, distributions)
    floor = collinear_divergence_floor(LINE, distributions, pieces=pieces)
    assert floor.lower <= best
    assert floor.certificates == pieces


@pytest.mark.parametrize("seed", range(4))
def test_with_many_pieces_the_floor_of_a_line_is_sharp(seed: int) -> None:
    distributions = random_distributions(seed, 3, 3)
    best = mean_upper(line_optimum(distributions), LINE, distributions)
    assert best - 1e-4 < collinear_divergence_floor(LINE, distributions).lower <= best


@pytest.mark.parametrize(("width", "key_width"), [(2, 1), pytest.param(4, 2, marks=pytest.mark.slow)])
def test_no_trained_head_of_width_one_beats_the_floor_of_a_line(width: int, key_width: int) -> None:
    distributions = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    floor = collinear_divergence_floor(LINE, distributions).lower
    networks = [
        Shape(3, 2, width, 1, key_width).trained(LINE, distributions, seed=seed, steps=120) for seed in range(2)
    ]
    reached = [mean_upper(network, LINE, distributions) for network in networks]
    assert 0.161124 < floor <= min(reached) < 1.1 * floor


def test_the_floor_of_a_line_needs_each_choice_of_the_middle() -> None:
    """Permuting the contexts permutes the choices, and the floor stays."""
    distributions = random_distributions(5, 3, 3)
    floors = [
        collinear_divergence_floor(LINE, distributions[list(order)], pieces=48).lower
        for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2))
    ]
    assert max(floors) - min(floors) < 1e-3 * max(floors)
    assert min(floors) > 0


def test_distributions_that_one_head_can_hold_are_undecided() -> None:
    assert relation_divergence_floor(XOR, [[1, 2]] * 4).verdict is Verdict.UNDECIDED
    assert relation_divergence_floor(XOR, [[9, 1], [1, 9], [9, 1], [1, 9]]).lower == 0.0
    on_a_line = [[1, 1, 1], [4, 2, 1], [16, 4, 1]]
    assert collinear_divergence_floor(LINE, on_a_line).verdict is Verdict.UNDECIDED
    # Labels are a limit of points on a line; equal distributions are a point.
    for distributions in (np.eye(3), [[1, 0, 0]] * 3, [[1, 1e-300, 1e-300]] * 3, [[5, 2, 1]] * 3):
        assert collinear_divergence_floor(LINE, distributions, pieces=24).verdict is Verdict.UNDECIDED


def test_contexts_without_a_relation_are_undecided() -> None:
    for contexts in (XOR[:3], np.array([[0, 0], [1, 1]]), np.array([[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 0, 1]])):
        floor = relation_divergence_floor(contexts, np.eye(len(contexts)))
        assert (floor.verdict, floor.lower, floor.relation) == (Verdict.UNDECIDED, 0.0, ())


def test_a_longer_relation_gives_a_floor_too() -> None:
    """Parity of three bits: eight contexts, half of them on either side."""
    contexts = np.array([[a, b, c, 0] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    odd = contexts.sum(axis=1) % 2
    relation = (1 - 2 * odd).tolist()
    floor = relation_divergence_floor(contexts, np.eye(2)[odd], relation=relation)
    assert math.log(2) / 4 - 1e-12 < floor.lower < math.log(2) / 4


@given(st.integers(0, 3), st.integers(-3, 3).filter(bool))
def test_a_relation_with_one_changed_coefficient_is_refused(position: int, change: int) -> None:
    relation = [1, 1, -1, -1]
    relation[position] += change
    with pytest.raises(InputError, match="do not add up to 0"):
        relation_divergence_floor(XOR, np.eye(2)[[0, 0, 1, 1]], relation=relation)


@pytest.mark.parametrize("relation", [[0, 0, 0, 0], [1, 1, -1], [1.0, 1.0, -1.0, -1.0], []])
def test_a_relation_that_is_none_is_refused(relation: list) -> None:
    with pytest.raises(InputError, match="relation is"):
        relation_divergence_floor(XOR, np.eye(2)[[0, 0, 1, 1]], relation=relation)


def test_a_relation_between_contexts_with_different_last_tokens_is_refused() -> None:
    contexts = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    with pytest.raises(InputError, match="last tokens"):
        relation_divergence_floor(contexts, np.eye(2)[[0, 0, 1, 1]], relation=[1, 1, -1, -1])
    with pytest.raises(InputError, match="one last token"):
        collinear_divergence_floor(contexts[:3], np.eye(3))


def test_contexts_outside_the_relation_change_nothing() -> None:
    contexts = np.vstack([XOR, [[0, 1, 1]]])
    distributions = [*opposed(Fraction(9, 10)), [Fraction(1, 3), Fraction(2, 3)]]
    quarter = [Fraction(1, 4)] * 5
    floor = relation_divergence_floor(contexts, distributions, prior=quarter, relation=[1, 1, -1, -1, 0])
    assert floor.lower == relation_divergence_floor(XOR, distributions[:4]).lower


def test_the_prior_is_not_normalized() -> None:
    distributions = opposed(Fraction(9, 10))
    half = relation_divergence_floor(XOR, distributions, prior=[Fraction(1, 8)] * 4).lower
    assert half == pytest.approx(relation_divergence_floor(XOR, distributions).lower / 2, rel=1e-12)


@pytest.mark.parametrize(
    "distributions", [[[1, -1]] * 4, [[0, 0]] * 4, [[1, 1]] * 3, [[math.nan, 1]] * 4, [1, 2, 3, 4]]
)
def test_distributions_that_are_none_are_refused(distributions: list) -> None:
    with pytest.raises(InputError):
        relation_divergence_floor(XOR, distributions)


@pytest.mark.parametrize("prior", [[1, 1, 1], [1, 1, 1, 0], [1, 1, 1, -1], [1, 1, 1, math.inf]])
def test_a_prior_that_is_none_is_refused(prior: list) -> None:
    with pytest.raises(InputError):
        relation_divergence_floor(XOR, opposed(Fraction(9, 10)), prior=prior)


@pytest.mark.parametrize("contexts", [np.zeros((3, 0), int), np.zeros((3, 2)), -np.ones((3, 2), int), np.zeros(3, int)])
def test_contexts_that_are_none_are_refused(contexts: np.ndarray) -> None:
    with pytest.raises(InputError, match="contexts"):
        relation_divergence_floor(contexts, np.eye(3))


def test_tokens_that_64_bits_cannot_hold_are_refused() -> None:
    """Cast to int64, the first token would be -1, the place of the last one, and a relation would seem to hold."""
    contexts: Any = np.array([[2**64 - 1, 0], [1, 0]], dtype=np.uint64)
    with pytest.raises(InputError, match="below 2"):
        relation_divergence_floor(contexts, [[9, 1], [1, 9]], relation=[1, -1])


def test_large_tokens_are_only_names() -> None:
    distributions = opposed(Fraction(9, 10))
    renamed: list[Any] = [XOR + 2**62, (XOR * (2**63 - 1)).astype(np.uint64), XOR.astype(np.uint8)]
    for contexts in renamed:
        assert relation_divergence_floor(contexts, distributions) == relation_divergence_floor(XOR, distributions)


def test_equal_contexts_are_refused() -> None:
    with pytest.raises(InputError, match="equal rows"):
        relation_divergence_floor(XOR[[0, 1, 0, 1]], opposed(Fraction(9, 10)))
    with pytest.raises(InputError, match="equal rows"):
        collinear_divergence_floor(LINE[[0, 1, 1]], np.eye(3))


@pytest.mark.parametrize("found", [-0.1, math.nan, 10.0])
def test_a_search_that_leaves_its_interval_proves_nothing(monkeypatch: pytest.MonkeyPatch, found: float) -> None:
    monkeypatch.setattr(scipy.optimize, "fminbound", lambda *_, **__: found)
    assert relation_divergence_floor(XOR, opposed(Fraction(9, 10))).verdict is Verdict.UNDECIDED


def test_multipliers_that_leave_the_distributions_bound_nothing() -> None:
    given_distributions = _Given([[1, 3], [1, 1]], None, 2)
    eighth = fmpq(1, 8)
    assert given_distributions.dual_value([(0, [-eighth, eighth])]) > 0
    assert not given_distributions.dual_value([(0, [eighth, eighth])]).is_finite()  # no distribution: the sum is not 1
    assert not given_distributions.dual_value(
        [(0, [3 * eighth, -3 * eighth])]
    ).is_finite()  # no distribution: an entry below 0


def test_too_few_pieces_are_refused() -> None:
    with pytest.raises(InputError, match="pieces = 2"):
        collinear_divergence_floor(LINE, np.eye(3), pieces=2)
