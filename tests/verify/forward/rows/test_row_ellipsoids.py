"""Rows with ellipsoids: what an operation makes of every row that is memorized is memorized again, with the same
symbols.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from verify.forward.attention_pairs import pairs_of
from verify.forward.in_float64 import InFloat64
from verify.forward.map_norms import Norms
from verify.forward.rows.ellipsoids import Ellipsoids
from verify.forward.rows.row_ellipsoids import InRowEllipsoids, Spread, _curvature
from verify.runs.every_run import every_run
from verify.runs.format_rows import InFormat
from verify.runs.formats import EXP_ULPS, FLOAT32, FLOAT64

EXACT = InFloat64()  # the tests look at differences that are far above what float64 rounds
ROWS, WIDTH = 6, 5


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """As in a walk: infinities and NaN stand for nothing known."""
    with np.errstate(all="ignore"):
        yield


def arithmetic(*blocks: Any, width: int = WIDTH) -> InRowEllipsoids:
    model = Model(blocks=blocks, W_U=np.eye(width), W_E=np.eye(width), W_pos=np.zeros((4, width)))
    return InRowEllipsoids(Norms(model), InFormat(FLOAT32, EXP_ULPS))


def spread(
    rng: np.random.Generator, *shape: int, size: float, symbols: int = 3, blocks: int = 1, age: int = 7
) -> Spread:
    """Rows whose generators and rests have about this size, relatively to them."""
    count = shape[0]
    linear = rng.normal(size=(count, blocks * symbols, *shape[1:])) * size / np.sqrt(symbols)
    rest = rng.uniform(0, 0.3 * size, shape[: len(shape) - 1])
    return Spread(rng.normal(size=shape), linear, rest, np.arange(count), age, symbols)


def symbols_of(rng: np.random.Generator, x: Spread) -> np.ndarray:
    """Symbols for each row, every block of them of norm 1, `[P, symbols]`."""
    s = rng.normal(size=(len(x.value), x.linear.shape[1] // x.width, x.width))
    # Half of them along the strongest direction of a block, where second orders are largest.
    blocks = x.linear.reshape(*s.shape, -1)
    strongest = np.linalg.svd(blocks, full_matrices=False)[0][..., 0]
    s = np.where(
        rng.integers(2, size=len(s))[:, None, None], strongest * np.sign(rng.normal(size=s.shape[:2]))[..., None], s
    )
    return (s / np.linalg.norm(s, axis=2, keepdims=True)).reshape(len(s), -1)


def at(x: Spread, s: np.ndarray) -> np.ndarray:
    """The rows with these symbols and no rest."""
    return x.value + np.einsum("ps,ps...->p...", s, x.linear)


def member(rng: np.random.Generator, x: Spread, s: np.ndarray) -> np.ndarray:
    """A row that is memorized, at the edge of what is beyond the generators."""
    r = rng.normal(size=x.value.shape)
    return at(x, s) + r / np.linalg.norm(r, axis=-1, keepdims=True) * x.rest[..., None]


def share_of_rest(y: np.ndarray, out: Spread, s: np.ndarray) -> float:
    """How much of what is beyond these symbols the worst row takes; at most 1 where the row is memorized.

    Symbols that the operation has added are anybody's: what is beyond is in a sum of an ellipsoid and a ball, which is
    the intersection of the ellipsoids of E^T E / p + rest^2 / (1 - p) over all p.
    """
    known, added = np.split(out.linear, [s.shape[1]], axis=1)
    beyond = y - out.value - np.einsum("ps,ps...->p...", s, known)
    if not added.shape[1]:
        return float((np.linalg.norm(beyond, axis=-1) / out.rest).max())
    added = np.moveaxis(added, 1, -2)  # of each head its own
    gram, unit = np.swapaxes(added, -1, -2) @ added, np.eye(y.shape[-1])
    shares = []
    for p in (1e-9, 1e-3, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.999, 1 - 1e-9):
        C = gram / p + np.square(out.rest)[..., None, None] / (1.0 - p) * unit
        scale = np.trace(C, axis1=-2, axis2=-1)[..., None]
        shares.append((beyond * np.linalg.solve(C / scale[..., None], beyond[..., None])[..., 0] / scale).sum(axis=-1))
    return float(np.sqrt(np.max(shares)))


def worst(x: Spread, operation: Any, exact: Any, *, rounds: int = 40, seed: int = 0) -> float:
    """The largest share over members of rows, after an operation on the rows and exactly on the member."""
    rng, out = np.random.default_rng(seed), operation(x)
    shares = []
    for _ in range(rounds):
        s = symbols_of(rng, x)
        shares.append(share_of_rest(exact(member(rng, x, s)), out, s))
    assert max(shares) <= 1.0
    return max(shares)


def bare(x: Spread) -> Spread:
    """The same rows without a rest."""
    return replace(x, rest=np.zeros_like(x.rest))


@pytest.mark.parametrize("kind", ["layer", "rms"])
@pytest.mark.parametrize("size", [1e-6, 1e-2, 0.15])
@pytest.mark.parametrize("symbols", [3, WIDTH])
def test_normalized_rows_are_memorized(kind: Any, size: float, symbols: int) -> None:
    """With as many symbols as entries what is beyond has generators too."""
    rng = np.random.default_rng(1)
    norm = Normalization(kind, w=rng.normal(1, 0.3, WIDTH), b=rng.normal(size=WIDTH), epsilon=1e-3)
    a, x = arithmetic(norm), spread(rng, ROWS, WIDTH, size=size, symbols=symbols)
    worst(x, lambda x: a.normalize(x, norm), lambda x: EXACT.normalize(x, norm)[0])
    sharp = worst(bare(x), lambda x: a.normalize(x, norm), lambda x: EXACT.normalize(x, norm)[0])
    assert sharp > 0.2 or size < 1e-3


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_a_row_too_near_to_zero_is_a_ball(kind: Any) -> None:
    """Which is small without centring: a centred row may be divided by a root that knows another mean."""
    rng, norm = np.random.default_rng(2), Normalization(kind, w=np.ones(WIDTH), epsilon=1e-10)
    a, x = arithmetic(norm), spread(rng, ROWS, WIDTH, size=3.0, symbols=WIDTH)
    out = a.normalize(x, norm)
    assert np.abs(out.linear).max() < 2.0**-190 and np.isfinite(out.rest).all()
    assert (out.rest < 7 * np.sqrt(WIDTH)).all() == (kind == "rms")
    worst(x, lambda x: a.normalize(x, norm), lambda x: EXACT.normalize(x, norm)[0])


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu-tanh", "silu"])
@pytest.mark.parametrize("size", [1e-5, 0.05, 1.0])
def test_activated_rows_are_memorized(activation: Any, size: float) -> None:
    rng, a = np.random.default_rng(3), arithmetic()
    x = spread(rng, 40, WIDTH, size=size)
    share = worst(x, lambda x: a.activate(x, activation), lambda x: EXACT.activate(x, activation))
    assert share > 0.05 or size < 1e-3
    # One symbol alone: the second derivative is met in full at 0, a kink in full anywhere.
    one = Spread(np.zeros((1, 1)), np.full((1, 1, 1), size), np.zeros(1), np.zeros(1, int), 0, 1)
    assert (
        worst(one, lambda x: a.activate(x, activation), lambda x: EXACT.activate(x, activation)) > 0.4 or size != 0.05
    )


def test_products_of_entries_are_memorized() -> None:
    rng, a = np.random.default_rng(4), arithmetic()
    x, y = (spread(rng, ROWS, WIDTH, size=0.3) for _ in range(2))
    out, shares = a.multiply(x, y), []
    for _ in range(60):
        s = symbols_of(rng, x)
        shares.append(share_of_rest(member(rng, x, s) * member(rng, y, s), out, s))
    assert 0.2 < max(shares) <= 1.0


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu-tanh", "silu"])
def test_what_is_known_of_each_entry_counts(activation: Any) -> None:
    """A steep neuron that is off says nothing, whatever the rest of the rows: each entry has a bound."""
    rng, a = np.random.default_rng(17), arithmetic()
    W = rng.normal(size=(WIDTH, 6))
    W[:, :3] *= 200.0
    b = np.array([-5000.0, 0.0, 5000.0, -0.3, 0.0, 0.3])
    x = replace(spread(rng, 30, WIDTH, size=1e-3), rest=np.full(30, 1e-2))

    def neurons(x: Spread) -> Spread:
        return a.activate(a.linear(x, W, b), activation)

    off = neurons(x)
    assert off.each is not None and (off.each[:, 0] < 0.02).all()
    share = worst(x, neurons, lambda x: EXACT.activate(x @ W + b, activation))
    assert share > 0.1
    # Gates: both factors know their entries.
    gated = lambda x: a.multiply(neurons(x), a.linear(x, W, b))  # noqa: E731
    worst(x, gated, lambda x: EXACT.activate(x @ W + b, activation) * (x @ W + b))
    s = symbols_of(rng, x)
    for _ in range(20):
        y = member(rng, x, s)
        beyond = np.abs(EXACT.activate(y @ W + b, activation) - at(off, s))
        assert (beyond <= off.each).all()


def test_the_second_derivative_far_from_zero() -> None:
    x = np.linspace(3.0, 60.0, 3000)
    for activation in ("gelu", "gelu-tanh", "silu"):
        bounds = _curvature(activation, x)
        h = 2.0**-10
        for t in (x, -x):
            second = (
                EXACT.activate(t + h, activation)
                - 2 * EXACT.activate(t, activation)
                + EXACT.activate(t - h, activation)
            ) / h**2
            assert (np.abs(second) <= bounds + 1e-7).all()
        assert (np.diff(bounds) <= 0).all() and bounds[-1] < 1e-15 and bounds[0] >= 0.5
        assert (_curvature(activation, np.array([-1.0, 0.0, 700.0, np.nan])) >= 0).sum() == 4


@pytest.mark.parametrize("which", [0, 1])
def test_a_product_of_entries_keeps_the_rest_of_each_factor(which: int) -> None:
    rng, a = np.random.default_rng(18), arithmetic()
    x, y = (bare(spread(rng, ROWS, WIDTH, size=1e-9)) for _ in range(2))
    x, y = (replace(z, rest=np.full(ROWS, 0.1 * (i == which))) for i, z in enumerate((x, y)))
    for together in (
        a.multiply(x, y),
        a.multiply(replace(x, each=np.broadcast_to(x.rest[:, None], x.value.shape)), y),
    ):
        s = symbols_of(rng, x)
        shares = [share_of_rest(member(rng, x, s) * member(rng, y, s), together, s) for _ in range(100)]
        assert 0.4 < max(shares) <= 1.0


def test_maps_and_heads_hold_rows_and_their_roundings() -> None:
    rng = np.random.default_rng(5)
    W, b, maps, shifts = (
        rng.normal(size=(WIDTH, 7)),
        rng.normal(size=7),
        rng.normal(size=(3, WIDTH, 2)),
        rng.normal(size=(3, 2)),
    )
    neurons = FeedForward(W, W.T, b_in=b, activation="relu")
    attention = Attention(maps, maps, maps, maps.transpose(0, 2, 1), attends="causal")
    a, x = arithmetic(neurons, attention), spread(rng, ROWS, WIDTH, size=0.1)
    assert worst(x, lambda x: a.linear(x, W, b), lambda x: x @ W + b) > 0.5
    worst(x, lambda x: a.project_heads(x, maps, shifts), lambda x: np.einsum("pd,hdn->phn", x, maps) + shifts)
    assert worst(x, lambda x: a.add_bias(x, np.ones(WIDTH)), lambda x: x + 1.0) > 0.9
    h = spread(rng, ROWS, 3, 2, size=0.1, blocks=2)
    exact = lambda h: np.einsum("phn,hnd->pd", h, attention.W_O)  # noqa: E731
    assert worst(h, lambda h: a.project_output(h, attention), exact) > 0.3


def share_of_ellipsoid(beyond: np.ndarray, out: Spread) -> float:
    """How much of the ellipsoid about what is beyond the worst row takes; at most 1 where the row is memorized."""
    about = out.about()
    gram = np.broadcast_to(about.gram, (len(beyond), *about.gram.shape[-2:]))
    squares = (beyond * np.linalg.solve(gram, beyond[..., None])[..., 0]).sum(axis=-1)
    return float((np.sqrt(squares) / about.size).max())


def test_what_is_beyond_neurons_and_heads_keeps_its_directions() -> None:
    rng, shift = np.random.default_rng(19), 1e3 * np.ones(WIDTH)
    W, W_out = rng.normal(size=(WIDTH, 7)), rng.normal(size=(7, WIDTH))
    maps = rng.normal(size=(3, 2, WIDTH))
    one = np.ones((3, WIDTH, 2))
    block = Attention(one, one, one, maps, attends="causal")
    a, x = arithmetic(FeedForward(W, W_out, activation="gelu"), block), spread(rng, ROWS, WIDTH, size=0.05)
    heads = spread(rng, ROWS, 3, 2, size=0.1)
    heads = replace(heads, rest=np.full((ROWS, 3), 0.1))
    behind, written = a.linear(a.activate(a.linear(x, W, None), "gelu"), W_out, None), a.project_output(heads, block)
    shares = []
    for _ in range(300):
        s, t = symbols_of(rng, x), symbols_of(rng, heads)
        y = EXACT.activate(member(rng, x, s) @ W, "gelu") @ W_out
        z = np.einsum("phn,hnd->pd", member(rng, heads, t), maps)
        shares.append((share_of_ellipsoid(y - at(behind, s), behind), share_of_ellipsoid(z - at(written, t), written)))
    assert (np.max(shares, axis=0) <= 1.0).all() and (np.max(shares, axis=0) > (0.1, 0.5)).all()
    # A shift is one more term, that may be added first; and what is beyond the skip row is beyond the sum.
    shifted = a.add_bias(a.project_output(bare(heads), block), shift)
    assert share_of_ellipsoid(np.full((ROWS, WIDTH), 2.0 * FLOAT32.unit_roundoff * 1e3), shifted) < 1.0
    still = replace(
        written, linear=np.zeros_like(written.linear), ellipsoids=Ellipsoids.of_balls(np.zeros(ROWS), WIDTH)
    )
    total = a.add(x, replace(still, rest=np.zeros(ROWS)))
    for direction in rng.normal(size=(50, WIDTH)):
        reach = np.linalg.norm(x.linear @ direction, axis=1) + x.rest * np.linalg.norm(direction)
        assert (np.linalg.norm(total.linear @ direction, axis=1) >= reach).all()


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_roundings_behind_a_root_are_of_each_entry(kind: Any) -> None:
    """Five behind the root and two of the gain, whatever their signs."""
    rng = np.random.default_rng(20)
    norm = Normalization(kind, w=rng.normal(1.0, 0.2, WIDTH), epsilon=1e-3)
    a, x = arithmetic(norm), rng.normal(size=(ROWS, WIDTH))
    out = a.normalize(Spread(x, np.zeros((ROWS, 0, WIDTH)), np.zeros(ROWS), np.arange(ROWS), -1, 1), norm)
    off, shares = 7.0 * FLOAT32.unit_roundoff * out.value, []
    for _ in range(100):
        shares.append(share_of_rest(out.value + off * rng.choice([-1.0, 1.0], off.shape), out, np.zeros((ROWS, 0))))
    assert 0.1 < max(shares) <= 1.0


def test_the_roundings_of_a_root_are_a_factor_of_the_row() -> None:
    """Half of those of a sum of 200 squares, and two of the root."""
    rng, width = np.random.default_rng(21), 200
    norm, x = Normalization("rms", w=rng.normal(1.0, 0.2, width), epsilon=1e-3), rng.normal(size=(ROWS, width))
    a = arithmetic(norm, width=width)
    out = a.normalize(Spread(x, np.zeros((ROWS, 0, width)), np.zeros(ROWS), np.arange(ROWS), -1, 1), norm)
    off = (0.5 * width + 2.0) * FLOAT32.unit_roundoff * out.value
    assert 0.5 < share_of_rest(out.value + off, out, np.zeros((ROWS, 0))) < 1.0
    across = off * rng.choice([-1.0, 1.0], off.shape)
    assert share_of_rest(out.value + across, out, np.zeros((ROWS, 0))) > 1.0, "the root is off in all directions"


def worst_sum(terms: np.ndarray, u: float, towards: float) -> float:
    """A sum of these terms, each product, each weight and each node of the worst order rounded in one direction."""
    total = 0.0
    order = np.argsort(terms) if terms.sum() < 0 else np.argsort(-terms)
    for i, term in enumerate(terms[order]):
        rounded = term * (1 + np.sign(term) * towards * u) ** 2
        total = rounded if i == 0 else (total + rounded) * (1 + np.sign(total + rounded) * towards * u)
    return total


@pytest.mark.parametrize("terms", [1, 2, 5, 60])
@pytest.mark.parametrize("shifted", [False, True])
def test_a_product_rounds_by_less_than_is_said_in_the_worst_order(terms: int, shifted: bool) -> None:
    rng, u = np.random.default_rng(6), FLOAT32.unit_roundoff
    W, b = rng.normal(size=(terms, 4)), rng.normal(size=4) if shifted else None
    x = Spread(rng.normal(size=(5, terms)), np.zeros((5, 0, terms)), np.zeros(5), np.arange(5), -1, 1)
    a = arithmetic(width=terms)
    out = a.linear(x, W, b)
    y, shares = out.value, []
    assert out.sum is not None
    for (p, j), bound in np.ndenumerate(out.sum.rounded):
        entries = x.value[p] * W[:, j]
        entries = entries if b is None else np.append(entries, b[j])
        for towards in (-1.0, 1.0):
            shares.append(abs(worst_sum(entries, u, towards) - y[p, j]) / bound)
    assert 0.4 < max(shares) <= 1.0


def test_sums_share_symbols_only_of_one_age_and_owner() -> None:
    rng, a = np.random.default_rng(7), arithmetic()
    x = spread(rng, ROWS, WIDTH, size=0.1)
    opposite = replace(x, value=x.value + 1.0, linear=-x.linear, rest=np.zeros(ROWS))
    together = a.add(replace(x, rest=np.zeros(ROWS)), opposite)
    assert np.abs(together.linear).max() < 1e-4
    for other in (
        replace(opposite, age=8),
        replace(opposite, own=np.arange(ROWS)[::-1].copy()),
        replace(opposite, age=-1),
    ):
        apart = a.add(replace(x, age=other.age if other.age < 0 else x.age), other)
        # Symbols that are not the same ones may be opposite.
        for direction in rng.normal(size=(30, WIDTH)):
            reach = 2.0 * np.linalg.norm(x.linear @ direction, axis=1)
            assert (
                np.linalg.norm(apart.linear @ direction, axis=1) + apart.rest * np.linalg.norm(direction) >= reach
            ).all()


@pytest.mark.parametrize("order", [1, -1])
def test_sums_of_rows_with_blocks_of_different_widths_are_memorized(order: int) -> None:
    """Two blocks of the narrower ones must not pass for one of the wider, of whose symbols the norm is 1 in all."""
    rng, a = np.random.default_rng(22), arithmetic()
    wide, narrow = (
        spread(rng, ROWS, WIDTH, size=1e-3, symbols=6),
        spread(rng, ROWS, WIDTH, size=0.3, symbols=3, blocks=4),
    )
    out = a.add(*(wide, replace(narrow, age=8))[::order])
    for direction in rng.normal(size=(100, WIDTH)):
        exact = np.linalg.norm((narrow.linear @ direction).reshape(ROWS, 4, 3), axis=2).sum(axis=1)
        assert (np.linalg.norm(out.linear @ direction, axis=1) >= exact).all()


@pytest.mark.parametrize("last", [8, 12])
def test_neurons_in_parallel_may_read_a_stream_whose_symbols_are_of_a_narrower_one(last: int) -> None:
    rng = np.random.default_rng(23)

    def tensor(*shape: int) -> np.ndarray:
        return rng.normal(size=shape) / np.sqrt(shape[-2])

    neurons = FeedForward(tensor(8, 6), tensor(6, last), activation="gelu", skip=False)
    heads = tensor(2, last, 4), tensor(2, last, 4), tensor(2, last, 4), tensor(2, 4, last)
    parallel = FeedForward(tensor(last, 6), tensor(6, last), activation="gelu", parallel=True)
    first = FeedForward(tensor(8, 6), tensor(6, 8), activation="gelu")
    blocks = first, neurons, Attention(*heads, attends="causal"), parallel
    model = Model(blocks=blocks, W_U=tensor(last, 7), W_E=tensor(5, 8), W_pos=tensor(3, 8))
    found = every_run(model, rng.integers(5, size=(6, 3)), number_format=FLOAT32)
    assert (found.place >= 0).all()


def test_one_ellipsoid_holds_all_blocks_and_the_rest() -> None:
    rng, a = np.random.default_rng(8), arithmetic()
    x = spread(rng, ROWS, WIDTH, size=0.1, symbols=2, blocks=4)
    out, directions = a._renewed(x), rng.normal(size=(200, WIDTH))
    blocks = x.linear.reshape(ROWS, 4, 2, WIDTH)
    for u in directions:
        exact = np.linalg.norm(blocks @ u, axis=2).sum(axis=1) + x.rest * np.linalg.norm(u)
        assert (exact <= np.linalg.norm(out.linear @ u, axis=1)).all()
    assert not out.rest.any() and out.width == WIDTH and out.age != x.age
    lost = a._renewed(replace(x, rest=np.where(np.arange(ROWS) == 1, np.inf, x.rest)))
    assert lost.rest[1] == np.inf and not lost.linear[1].any() and not lost.rest[[0, 2, 3, 4, 5]].any()
    alone = a._renewed(Spread(x.value, np.zeros((ROWS, 0, WIDTH)), x.rest, x.own, -1, 1))
    assert np.allclose(np.linalg.norm(alone.linear, axis=(1, 2)), np.sqrt(WIDTH) * x.rest)


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize("attends", ["last", "causal", "all"])
@pytest.mark.parametrize(
    "options", [{}, {"score_root": 2}, {"score_cap": 1.5}, {"slopes": np.array([-0.5, 1.0])}], ids=str
)
@pytest.mark.parametrize("size", [1e-3, 0.05])
def test_what_heads_mix_is_memorized(attends: Any, options: Any, size: float) -> None:
    """All rows have symbols of their own; the row that asks is read as well."""
    rng = np.random.default_rng(9)
    one = np.ones((2, WIDTH, 2))
    block = Attention(one, one, one, np.ones((2, 2, WIDTH)), attends=attends, **options)
    a, cells = arithmetic(block), np.array([[0, 2, 4], [0, 3, 4], [1, 3, 5]])
    pairs = pairs_of(block, cells, only_last=False)
    q, k, v = (spread(rng, ROWS, 2, 2, size=size) for _ in range(3))
    shares = [mixed_share(rng, a, block, pairs, q, k, v) for _ in range(30)]
    assert max(shares) <= 1.0 and (max(shares) > 0.1 or size < 1e-2)


def mixed_share(rng: Any, a: Any, block: Attention, pairs: Any, q: Spread, k: Spread, v: Spread) -> float:
    """How much of the rest rows of one draw of symbols take behind the heads."""
    out, asked, positions = a.attend(block, q, k, v, pairs), pairs.asked, pairs.asking.shape[1]
    s = symbols_of(rng, q)
    asks, has, gives = (member(rng, x, s) for x in (q, k, v))
    y, symbols = np.empty_like(out.value), np.empty((len(asked), (1 + pairs.read.shape[1]) * s.shape[1]))
    for pair, place in enumerate(pairs.kept):
        context, position = divmod(place, positions)
        read = pairs.read[context]
        scores = np.einsum("he,she->hs", asks[asked[pair]], has[read]) / np.sqrt(block.score_root)
        if block.score_cap is not None:
            scores = block.score_cap * np.tanh(scores / block.score_cap)
        if block.slopes is not None:
            scores = scores + block.slopes[:, None] * np.arange(3)
        shares_of = softmax(np.where(pairs.allowed[position], scores, -np.inf))
        y[pair] = np.einsum("hs,shn->hn", shares_of, gives[read])
        symbols[pair] = np.concatenate([s[asked[pair]], *s[read]])
    return share_of_rest(y, out, symbols)


@pytest.mark.parametrize("directed", [False, True])
def test_a_row_that_weighs_nothing_may_be_read_where_the_scores_of_all_others_fall(directed: bool) -> None:
    """Its own score is known; what all others have in common moves no weight but that of this row."""
    one = np.ones((1, 1, 1))
    block = Attention(one, one, one, one, attends="all")
    a, ages = arithmetic(block, width=1), np.arange(3)
    a.directed = directed
    pairs = pairs_of(block, np.array([[0, 1, 2]]), only_last=True)

    def rows(*entries: float) -> Spread:
        return Spread(np.reshape(entries, (3, 1, 1)), np.zeros((3, 1, 1, 1)), np.zeros((3, 1)), ages, 7, 1)

    key, value = rows(1.0, 0.0, 1.0), rows(0.0, 1.0, 0.0)
    for moved, known in ((1000.0, False), (1.0, True)):
        query = replace(rows(700.0, 700.0, 700.0), linear=np.full((3, 1, 1, 1), moved))
        out = a.attend(block, query, key, value, pairs)
        assert (out.rest < 1e-3).all() == known and (out.rest >= 1.0).all() != known


@pytest.mark.parametrize("power", [10, 25, 37])
def test_what_moves_all_scores_alike_is_rounded_in_all_directions(power: int) -> None:
    """The average of the gaps is 0 but for what float64 rounds, which is not along them."""
    maps = np.ones((1, 2, 2))
    block = Attention(maps, maps, maps, maps, attends="all")
    model = Model(blocks=(block,), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((4, 2)))
    a = InRowEllipsoids(Norms(model), InFormat(FLOAT64, EXP_ULPS))
    pairs = pairs_of(block, np.array([[0, 1, 2]]), only_last=True)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        still = Spread(np.ones((3, 1, 2)), np.zeros((3, 2, 1, 2)), np.zeros((3, 1)), np.arange(3), 7, 2)
        query, key = replace(still, linear=still.linear.copy()), replace(still, value=still.value.copy())
        query.linear[:, 0, 0, 0] = 2.0**power
        key.value[:, 0, 1] = rng.normal(size=3)
        value = replace(still, value=rng.normal(size=(3, 1, 1)) * rng.normal(size=2))
        out = a.attend(block, query, key, value, pairs)
        assert (out.rest < 1.0).all() and share_of_rest(out.value, out, np.eye(8)[:1]) <= 1.0


SECOND = {
    # What moves, by how much, and what the values of queries, keys and values are multiplied with.
    "the exponential": ({"q": 0.3}, (1.0, 1.0, 1.0), {}),
    "scores": ({"q": 0.5, "k": 0.5}, (0.0, 0.0, 1.0), {}),
    "weights and values": ({"q": 0.2, "v": 0.5}, (1.0, 1.0, 0.0), {}),
    "weights and values of one row": ({"k": 0.3, "v": 0.5}, (1.0, 1.0, 0.0), {}),
    "a cap": ({"q": 0.15}, (1.0, 1.0, 1.0), {"score_cap": 0.15}),
    "all": ({"q": 0.15, "k": 0.15, "v": 0.3}, (1.0, 1.0, 1.0), {}),
}


@pytest.mark.parametrize("what", SECOND)
def test_each_second_order_of_heads_is_met(what: str) -> None:
    """With no rests and hardly any rounding, the rest is what the derivative leaves out: nearly all of it is taken."""
    moved, sizes, options = SECOND[what]
    rng, one = np.random.default_rng(16), np.ones((1, WIDTH, 1))
    block = Attention(one, one, one, np.ones((1, 1, WIDTH)), attends="last", **options)
    a, pairs, shares = arithmetic(block), pairs_of(block, np.array([[0, 1, 2]]), only_last=True), []
    for _ in range(60):
        q, k, v = (bare(spread(rng, 3, 1, 1, size=moved.get(name, 0.0), symbols=1)) for name in ("q", "k", "v"))
        q, k, v = (replace(x, value=size * x.value) for x, size in zip((q, k, v), sizes, strict=True))
        if what.endswith("one row"):
            k.linear[1:], v.linear[1:] = 0.0, 0.0
        shares.append(mixed_share(rng, a, block, pairs, q, k, v))
    assert 0.35 < max(shares) <= 1.0


def test_scores_that_may_be_anywhere_leave_the_hull() -> None:
    rng, one = np.random.default_rng(10), np.ones((1, WIDTH, 2))
    block = Attention(one, one, one, np.ones((1, 2, WIDTH)), attends="last")
    a, pairs = arithmetic(block), pairs_of(block, np.array([[0, 1, 2]]), only_last=True)
    q, k, v = spread(rng, 3, 1, 2, size=9.0), spread(rng, 3, 1, 2, size=9.0), spread(rng, 3, 1, 2, size=1e-9)
    out = a.attend(block, q, k, v, pairs)
    assert np.abs(out.linear).max() < 2.0**-190
    assert (np.linalg.norm(v.value[:, 0] - out.value[0, 0], axis=1) <= out.rest[0, 0]).all() and out.rest[0, 0] < 9.0


@pytest.mark.parametrize("together", [False, True])
def test_heads_of_hosts_are_memorized(together: bool) -> None:
    rng = np.random.default_rng(11)
    one, f = np.ones((3, WIDTH, 4)), np.array([1.0, 0.3])
    block = Attention(one, one, one, np.ones((3, 4, WIDTH)), attends="causal", frequencies=f)
    norm = Normalization("rms", w=rng.normal(1, 0.2, 12 if together else 4), epsilon=1e-3)
    a, x, places = arithmetic(block), spread(rng, ROWS, 3, 4, size=0.02), np.arange(ROWS) % 4

    def normalized(x: np.ndarray) -> np.ndarray:
        rows = x.reshape(ROWS, 12) if together else x
        return EXACT.normalize(rows, norm)[0].reshape(x.shape)

    # The rests of all heads side by side are one; each head alone is memorized by it.
    worst(x, lambda x: a.normalize_heads(x, norm, together), normalized)
    assert worst(x, lambda x: a.rope(x, block, places), lambda x: EXACT.rope(x, block, places)) > 0.9
    worst(x, lambda x: a.clip(x, 0.5), lambda x: np.clip(x, -0.5, 0.5))
    assert a.select_heads(x, [2, 0]).linear[0, 0, 0, 0] == x.linear[0, 0, 2, 0]
    assert not a.clip(x, 50.0).rest.max() > x.rest.max() * 2 + 1e-4


def test_outputs_are_memorized_one_by_one_and_against_the_largest() -> None:
    rng, W, b = np.random.default_rng(12), np.random.default_rng(13).normal(size=(WIDTH, 4)), np.arange(4.0)
    a, x = arithmetic(), spread(rng, ROWS, WIDTH, size=0.2)
    out = a.unembed(x, W, b)
    top = out.value.argmax(axis=1)
    singles, pairs = [], []
    for _ in range(200):
        y = member(rng, x, symbols_of(rng, x)) @ W + b
        singles.append(np.abs(y - out.value) / out.radius)
        difference = (y - out.value) - np.take_along_axis(y - out.value, top[:, None], 1)
        pairs.append(np.abs(difference) / out.apart)
    assert 0.4 < np.max(singles) <= 1.0 and 0.4 < np.max(pairs) <= 1.0
    # Rounded outputs differ by the roundings of both.
    still = replace(x, linear=np.zeros_like(x.linear), rest=np.zeros(ROWS))
    alone, moved, sums = a.unembed(still, W, b), a.linear(x, W, b).sum, a.linear(still, W, b).sum
    assert sums is not None and moved is not None and (moved.rounded >= sums.rounded).all()
    assert (alone.apart >= sums.rounded + np.take_along_axis(sums.rounded, top[:, None], 1)).all()
    assert a.softcap(out, None, None) is out
    bent = a.softcap(out, 2.0, 1.5)
    for _ in range(50):
        y = 1.5 * np.tanh((member(rng, x, symbols_of(rng, x)) @ W + b) / 2.0 / 1.5)
        assert (np.abs(y - bent.value) <= bent.radius).all()
    assert (bent.apart >= bent.radius).all()


def test_what_has_no_direction_is_a_ball() -> None:
    rng, a = np.random.default_rng(14), arithmetic()
    x, y = (spread(rng, 4, WIDTH, size=0.1) for _ in range(2))
    read = np.array([[0, 1], [2, 3]])
    exact = a.mean(x, read), a.subtract(x, y), a.concat([x, y]), a.exact(x.value), a.embed(x.value, y.value)
    values = (
        x.value[read].mean(axis=1),
        x.value - y.value,
        np.concatenate([x.value, y.value]),
        x.value,
        x.value + y.value,
    )
    for out, value in zip(exact, values, strict=True):
        assert out.linear.shape[1] == 0 and np.allclose(out.value, value) and (out.rest > 0).all() and out.age < 0
    assert (exact[0].rest >= x.whole()[read].mean(axis=1)).all()
    assert (exact[1].rest >= x.whole() + y.whole()).all() and a.nonzero(x).all()
    heads = spread(rng, 4, 2, 3, size=0.1)
    assert (a.uniform_attention(heads, 3).rest >= heads.whole()).all() and a.repeat_heads(x, 2).value.shape == (
        4,
        2,
        WIDTH,
    )


def test_an_overflow_is_noticed() -> None:
    rng, a = np.random.default_rng(15), arithmetic()
    x = spread(rng, ROWS, WIDTH, size=0.1)
    assert a.fits
    for spoil in (
        lambda a: a.add_bias(x, np.full(WIDTH, 1e38)),
        lambda a: a.linear(x, np.full((WIDTH, 2), 1e38), None),
        lambda a: a.linear(x, np.ones((WIDTH, 2)), np.full(2, 1e38)),
        lambda a: a.multiply(
            replace(x, value=np.full_like(x.value, 1e20)), replace(x, value=np.full_like(x.value, 1e20))
        ),
        lambda a: a.add(replace(x, value=np.full_like(x.value, 3e37)), replace(x, value=np.full_like(x.value, 3e37))),
        lambda a: a.activate(replace(x, value=np.full_like(x.value, 1e38)), "gelu"),
    ):
        other = arithmetic()
        spoil(other)
        assert not other.fits


@pytest.mark.parametrize("certain", [True, False])
def test_scores_below_the_lowest_count_unless_nobody_knows_them(certain: bool) -> None:
    one = np.ones((1, WIDTH, 1))
    block = Attention(one, one, one, np.ones((1, 1, WIDTH)), attends="last")
    a, pairs = arithmetic(block), pairs_of(block, np.array([[0, 1]]), only_last=True)

    def fixed(x: list[float], rest: list[float]) -> Spread:
        return Spread(np.array(x)[:, None, None], np.zeros((2, 0, 1, 1)), np.array(rest)[:, None], np.arange(2), -1, 1)

    doubt = 1e-9 if certain else 750.0
    out = a.attend(block, fixed([0, 1], [0, 0]), fixed([-700, 0], [doubt, 0]), fixed([1, -1], [0, 0]), pairs)
    assert out.value[0, 0, 0] == -1.0
    # A score that may be 50 above the other one brings the other value.
    assert (out.rest[0, 0] < 1e-5) == certain and (out.rest[0, 0] >= 2.0) != certain


def test_weights_that_are_taken_for_zero_count_however_large_the_rows() -> None:
    """A run may read what is not normal as 0."""
    W = np.full((WIDTH, 2), 0.9 * FLOAT32.smallest_normal)
    x = Spread(np.full((1, WIDTH), 1e20), np.zeros((1, 0, WIDTH)), np.zeros(1), np.arange(1), -1, 1)
    y = arithmetic().linear(x, W, None)
    assert y.sum is not None and (y.sum.rounded >= np.abs(y.value)).all() and (y.rest >= np.linalg.norm(y.value)).all()


def test_generators_near_the_largest_number_are_not_lost() -> None:
    linear = np.zeros((1, 8, WIDTH))
    linear[0, :, 0] = 1e154
    x = Spread(np.zeros((1, WIDTH)), linear, np.zeros(1), np.arange(1), -1, 1)
    assert arithmetic()._renewed(x).whole()[0] >= 8e154
    alone = replace(x, linear=np.zeros((1, 1, WIDTH)), rest=np.full(1, 1e154))
    assert arithmetic()._renewed(alone).whole()[0] >= 1e154
