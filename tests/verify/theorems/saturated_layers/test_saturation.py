"""The judge of saturated heads: every bound holds against balls, and nothing is claimed where nothing is known."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.saturated_layers.saturation import (
    certify_saturation,
    largest_norm,
    one_hot_bound,
    one_hot_distance,
    perturbed_separation,
    separation,
    smallest,
)

numbers = st.floats(-60.0, 60.0, allow_subnormal=False)


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    rows, tokens = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    made = [
        draw(st.lists(st.lists(numbers, min_size=tokens, max_size=tokens), min_size=rows, max_size=rows))
        for _ in range(2)
    ]
    return np.array(made[0]), np.array(made[1])


@given(tables(), st.sampled_from([0.0, 1e-9, 0.5]))
def test_the_distance_to_one_token_is_below_its_bound(made: tuple[np.ndarray, np.ndarray], radius: float) -> None:
    steep, base = made
    bound = one_hot_bound(Enclosure(steep, radius), Enclosure(base, radius))
    shifts = np.where(np.arange(steep.shape[1]) % 2 == 0, radius, -radius)  # other members of the sets
    for s, b in ((steep, base), (steep - shifts, base - shifts)):
        for row, winner in enumerate(bound.winners.tolist()):
            with ctx.workprec(1024):
                powers = [(arb(x) + arb(y)).exp() for x, y in zip(s[row].tolist(), b[row].tolist(), strict=True)]
                rest = sum((p for i, p in enumerate(powers) if i != winner), arb(0))
                assert 2 * rest / sum(powers, arb(0)) <= arb(float(bound.distances[row]))


def test_the_bound_is_the_printed_rate() -> None:
    bound = one_hot_bound(Enclosure([[30.0, 10.0, 10.0]]), Enclosure([[0.0, 3.0, 1.0]]))
    assert math.isclose(bound.distances[0], 4.0 * math.exp(3.0 - 20.0), rel_tol=1e-12)
    assert one_hot_bound(Enclosure([[1.0]]), Enclosure([[5.0]])).distances.tolist() == [0.0]


def test_the_bound_is_that_of_the_worst_member() -> None:
    bound = one_hot_bound(Enclosure([[40.0, 0.0]], 0.5), Enclosure([[0.0, 0.0]], 0.25))
    worst = [39.5 - 0.25, 0.5 + 0.25]
    assert math.isclose(bound.distances[0], 2.0 * math.exp(worst[1] - worst[0]), rel_tol=1e-9)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5))
def test_the_largest_norm_is_not_below_the_exact_one(token: list[float]) -> None:
    found = largest_norm([[token, [0.0] * len(token)]])
    exact = sum(Fraction(x) ** 2 for x in token)
    assert Fraction(found) ** 2 >= exact
    assert found <= (1 + 1e-12) * math.hypot(*token) + 1e-150


@pytest.mark.parametrize("unknown", [np.nan, np.inf])
def test_scores_without_information_bound_nothing(unknown: float) -> None:
    steep = Enclosure([[100.0, 0.0]], [[0.0, unknown]])
    assert one_hot_bound(steep, Enclosure(np.zeros((1, 2)))).distances.tolist() == [2.0]
    assert one_hot_bound(Enclosure([[100.0, 0.0]]), Enclosure(np.zeros((1, 2)), unknown)).distances.tolist() == [2.0]
    found = certify_saturation(Enclosure([[0.999]], unknown), threshold=0.5)
    assert not found.saturated.any() and not found.unsaturated.any()
    assert smallest(Enclosure(np.eye(2), unknown)) == 0.0
    assert separation(Enclosure(np.eye(2), unknown), np.ones((2, 1)), Enclosure([[0.0, 0.0]])) == 0.0
    assert perturbed_separation(Enclosure(np.eye(2)), np.eye(2), np.array([unknown, 0.0]), largest_token=1.0) == 0.0
    assert perturbed_separation(Enclosure(np.eye(2)), np.eye(2), np.zeros(2), largest_token=unknown) in (0.0, 1.0)


def test_saturation_is_decided_at_the_ends_of_the_enclosure() -> None:
    top = Enclosure([[0.75, 0.75, 0.75]], [[0.25, 0.0, 0.125]])
    assert certify_saturation(top, threshold=0.75).saturated.tolist() == [[False, True, False]]
    assert certify_saturation(top, threshold=0.9).unsaturated.tolist() == [[False, True, True]]
    for threshold in (0.0, 1.0, np.nan):
        with pytest.raises(InputError, match="threshold"):
            certify_saturation(top, threshold=threshold)


@given(st.integers(1, 5), st.integers(0, 2**16))
def test_the_enclosed_distance_holds_the_exact_one(tokens: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    powers = rng.integers(0, 9, tokens)
    theta = 2.0**-powers / 64.0  # any numbers: the sum of the others is what is enclosed
    winner = int(rng.integers(tokens))
    found = one_hot_distance(Enclosure(theta[None], 2.0**-40), np.array([winner]))
    exact = 2.0 * (theta.sum() - theta[winner])
    assert found.lower()[0] <= exact <= found.upper()[0]
    assert found.upper()[0] - found.lower()[0] >= 4.0 * (tokens - 1) * 2.0**-40


@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**16))
def test_weyl_bounds_the_perturbed_separation(rows: int, earlier: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    width = rows + int(rng.integers(0, 3))
    D, C = rng.standard_normal((rows, width)), rng.standard_normal((rows, earlier))
    tokens = rng.standard_normal((earlier, 3, width))
    theta = np.full((earlier, 3), 0.0)
    theta[:, 1:] = 10.0 ** rng.uniform(-6, -1) * rng.uniform(size=(earlier, 2))
    theta[:, 0] = 1.0 - theta[:, 1:].sum(axis=1)
    B, F = np.einsum("ti,tid->td", theta, tokens), tokens[:, 0]
    distances = 2.0 * theta[:, 1:].sum(axis=1) * (1 + 1e-12)
    norm = largest_norm(tokens)
    limit = Enclosure.exact(D) - Enclosure.exact(C @ F)
    bound = perturbed_separation(limit, C, distances, largest_token=norm)
    assert bound <= np.linalg.svd(D - C @ B, compute_uv=False).min() * (1 + 1e-9)
    cost = np.linalg.norm(C, 2) * norm * np.linalg.norm(distances)
    assert bound >= (np.linalg.svd(D - C @ F, compute_uv=False).min() - cost) * (1 - 1e-9) - 1e-12
    assert separation(Enclosure.exact(D), C, Enclosure.exact(B)) <= np.linalg.svd(D - C @ B)[1].min() * (1 + 1e-9)


def test_without_a_distance_nothing_is_lost() -> None:
    kept = perturbed_separation(Enclosure([[2.0, 0.0]]), np.array([[3.0]]), np.zeros(1), largest_token=1.0)
    assert 2.0 - 1e-9 < kept <= 2.0


def test_more_rows_than_columns_are_never_separated() -> None:
    assert smallest(Enclosure([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])) == 0.0
    assert smallest(Enclosure([[1.0, 2.0], [2.0, 4.0]])) == 0.0
    assert perturbed_separation(Enclosure([[1.0, 0.0]]), np.ones((1, 1)), np.ones(1), largest_token=1.0) == 0.0


def test_shapes_that_do_not_fit_are_refused() -> None:
    for steep, base in (((1, 2), (2, 2)), ((2,), (2,)), ((1, 0), (1, 0))):
        with pytest.raises(InputError, match="expected"):
            one_hot_bound(Enclosure(np.zeros(steep)), Enclosure(np.zeros(base)))


@pytest.mark.parametrize(("distances", "largest_token"), [([-0.1], 1.0), ([0.1], -1.0), ([0.1, 0.1], 1.0), ([], 1.0)])
def test_what_is_no_bound_of_a_distance_or_of_a_token_is_refused(distances: list[float], largest_token: float) -> None:
    with pytest.raises(InputError):
        perturbed_separation(
            Enclosure([[2.0, 0.0]]), np.array([[3.0]]), np.array(distances), largest_token=largest_token
        )
