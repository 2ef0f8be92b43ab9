"""Ellipsoids hold what they are about, in every direction, and not much more; norms are above the exact ones."""

from collections.abc import Iterator

import numpy as np
import pytest

from verify.forward.rows.ellipsoids import Ellipsoids, frobenius_norms, in_blocks_of, spectral_norms

RNG = np.random.default_rng(0)
ROWS, WIDTH = 4, 5
DIRECTIONS = RNG.normal(size=(300, WIDTH))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """As in a walk: infinities and NaN stand for nothing known."""
    with np.errstate(all="ignore"):
        yield


def reaches(x: Ellipsoids, directions: np.ndarray = DIRECTIONS) -> np.ndarray:
    """How far the ellipsoids reach in some directions, `[P, directions]`."""
    squares = np.einsum("ui,...ij,uj->...u", directions, x.gram, directions)
    return x.size[:, None] * np.sqrt(np.broadcast_to(squares, (len(x.size), len(directions))))


def require_memorized(x: Ellipsoids, exact: np.ndarray, *, most: float) -> None:
    """The exact reach is below that of the ellipsoid, and not below this share of it somewhere."""
    shares = exact / reaches(x)
    assert shares.max() <= 1.0
    assert shares.max() > most, "the ellipsoid is far too large"


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e90])
def test_segments_are_memorized(scale: float) -> None:
    halves = RNG.uniform(0, 1, (ROWS, 7))
    halves[0, 2:] = 0.0
    for directions in (scale * RNG.normal(size=(7, WIDTH)), scale * RNG.normal(size=(ROWS, 7, WIDTH))):
        exact = np.einsum(
            "pi,...iu->pu" if directions.ndim == 2 else "pi,piu->pu", halves, np.abs(directions @ DIRECTIONS.T)
        )
        require_memorized(Ellipsoids.of_segments(halves, directions), exact, most=0.6)


def test_one_segment_is_itself_along_its_direction() -> None:
    direction = RNG.normal(size=(1, WIDTH))
    x = Ellipsoids.of_segments(np.array([[0.5]]), direction)
    across = DIRECTIONS - np.outer(DIRECTIONS @ direction[0], direction[0]) / (direction @ direction.T)
    assert (reaches(x, across) < 1e-4 * np.linalg.norm(direction)).all()
    assert np.allclose(reaches(x, direction), 0.5 * direction @ direction.T, rtol=1e-4)


def test_images_of_balls_and_balls_are_memorized() -> None:
    radius, W = RNG.uniform(0, 1, ROWS), RNG.normal(size=(3, WIDTH)) * 1e-40
    exact = radius[:, None] * np.linalg.norm(W @ DIRECTIONS.T, axis=0)
    assert (exact <= reaches(Ellipsoids.of_images(radius, W))).all()
    require_memorized(Ellipsoids.of_images(radius, 1e40 * W), 1e40 * exact, most=0.99)
    lengths = np.linalg.norm(DIRECTIONS, axis=1)
    require_memorized(Ellipsoids.of_balls(radius, WIDTH), radius[:, None] * lengths, most=0.99)


def test_blocks_of_generators_and_sums_are_memorized() -> None:
    linear = RNG.normal(size=(ROWS, 12, WIDTH)) * np.repeat([1.0, 1e-3, 30.0], 4)[:, None]
    exact = np.linalg.norm(linear.reshape(ROWS, 3, 4, WIDTH) @ DIRECTIONS.T, axis=2).sum(axis=1)
    of_blocks = Ellipsoids.of_generators(linear, 4)
    require_memorized(of_blocks, exact, most=0.6)
    radius = RNG.uniform(0, 50, ROWS)
    both = Ellipsoids.sums([of_blocks, Ellipsoids.of_balls(radius, WIDTH)])
    require_memorized(both, exact + radius[:, None] * np.linalg.norm(DIRECTIONS, axis=1), most=0.5)
    assert np.allclose(both.taken(slice(1, 3)).gram, both.gram[1:3])


@pytest.mark.parametrize("count, symbols", [(0, 6), (2, 0), (2, 6)])
def test_blocks_made_wider_are_as_many(count: int, symbols: int) -> None:
    linear = RNG.normal(size=(count, symbols, WIDTH))
    wider = in_blocks_of(4, linear, 3)
    assert wider.shape == (count, symbols // 3 * 4, WIDTH)
    assert np.allclose(frobenius_norms(wider, 4), frobenius_norms(linear, 3))


def test_generators_reach_as_far() -> None:
    x = Ellipsoids.of_segments(RNG.uniform(0, 1, (ROWS, 2)), RNG.normal(size=(2, WIDTH)))
    linear, lost = x.generators()
    exact = reaches(x)
    assert (np.linalg.norm(linear @ DIRECTIONS.T, axis=1) >= exact).all() and not lost.any()
    assert np.allclose(np.linalg.norm(linear @ DIRECTIONS.T, axis=1), exact, rtol=1e-2)


def test_heads_move_independently_of_each_other() -> None:
    """The reach of all heads together is the sum of theirs, where one block for all would only have its root."""
    halves, directions = RNG.uniform(0, 1, (ROWS, 3, 4)), RNG.normal(size=(ROWS, 3, 4, 2))
    linear, lost = Ellipsoids.of_segments(halves, directions).of_each_head(WIDTH)
    assert linear.shape == (ROWS, 3 * WIDTH, 3, 2) and lost.shape == (ROWS, 3)
    for u in RNG.normal(size=(100, 3, 2)):
        exact = (halves * np.abs(np.einsum("phin,hn->phi", directions, u))).sum(axis=(1, 2))
        moved = np.einsum("pshn,hn->ps", linear, u).reshape(ROWS, 3, WIDTH)
        memorized = np.linalg.norm(moved, axis=2).sum(axis=1)
        assert (exact <= memorized).all()


@pytest.mark.parametrize("unknown", [np.inf, np.nan])
def test_where_nothing_is_known_the_rest_is_infinite(unknown: float) -> None:
    halves = np.ones((3, 2))
    halves[1, 0] = unknown
    linear, lost = Ellipsoids.of_segments(halves, np.eye(2)).generators()
    assert lost[1] == np.inf and not linear[1].any() and not lost[[0, 2]].any()
    x = Ellipsoids.sums([Ellipsoids.of_balls(halves[:, 0], 2), Ellipsoids.of_balls(np.ones(3), 2)])
    linear, lost = x.generators()
    assert lost[1] == np.inf and not lost[[0, 2]].any()


@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (1, 4), (8, 1)])
@pytest.mark.parametrize("scale", [1e-300, 1e-90, 1.0, 1e90])
def test_spectral_norms_are_above_the_exact_ones_and_below_those_of_frobenius(
    shape: tuple[int, int], scale: float
) -> None:
    width, d = shape
    blocks = scale * RNG.normal(size=(ROWS, 2, width, d))
    blocks[0, 0] = 0.0
    blocks[1, 0] = scale * np.outer(np.ones(width), np.ones(d))
    exact = np.linalg.svd(blocks / scale, compute_uv=False).max(axis=-1).sum(axis=1) * scale
    linear = blocks.reshape(ROWS, 2 * width, d)
    found, most = spectral_norms(linear, width), frobenius_norms(linear, width)
    assert (found + 2.0**-400 >= exact * (1 - 1e-12)).all() and (found <= most).all()
    if min(shape) > 2 and scale > 1e-100:
        assert (found <= 1.3 * exact).all() and (found < 0.9 * most)[2:].all()


def test_spectral_norms_of_heads_are_those_of_each() -> None:
    linear = RNG.normal(size=(ROWS, 6, 2, 4))
    found = spectral_norms(linear, 3)
    for head in range(2):
        assert np.allclose(found[:, head], spectral_norms(np.ascontiguousarray(linear[:, :, head]), 3))


def test_a_norm_that_is_not_known_is_infinite() -> None:
    linear = np.ones((2, 4, 4))
    linear[1, 0, 0] = np.inf
    found = spectral_norms(linear, 2)
    assert np.isfinite(found[0]) and not found[1] < np.inf
