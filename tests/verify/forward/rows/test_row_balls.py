"""Every ball holds the exact row, in float64 and in pairs, and none is much larger than it has to be."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.model.shapes import mahdavi_layer
from constructions.tasks.vectors import VectorTask
from tests.verify.forward.plain_model import holds, plain_logits, random_block, random_model
from verify.forward.arithmetic import Numbers
from verify.forward.attention_pairs import AttentionPairs
from verify.forward.in_double_double import InDoubleDouble
from verify.forward.in_float64 import InFloat64
from verify.forward.map_norms import Norms
from verify.forward.rows.row_balls import HeadBalls, InRowBalls, RowBalls, logit_balls
from verify.forward.walk import Stream, passed, stream_of

SPREADS = [1e-3, 0.3, 1.0, 3.0, 30.0]


def balls(model: Model, inputs: Any, numbers: Numbers | None = None) -> tuple[Any, np.ndarray]:
    """All logits with their radii; of pairs both words."""
    parts = list(logit_balls(model, inputs, numbers=numbers))
    radius = np.concatenate([r for _, _, r in parts])
    if isinstance(numbers, InDoubleDouble):
        return tuple(np.concatenate([getattr(v, word) for _, v, _ in parts]) for word in ("high", "low")), radius
    return np.concatenate([v for _, v, _ in parts]), radius


def pairs_hold(value: tuple[np.ndarray, np.ndarray], radius: np.ndarray, exact: list[list[arb]]) -> bool:
    with ctx.workprec(500):
        return all(
            abs(x - arb(h) - arb(low)) <= arb(r)
            for row, *given in zip(exact, value[0].tolist(), value[1].tolist(), radius.tolist(), strict=True)
            for x, h, low, r in zip(row, *given, strict=True)
            if r < np.inf
        )


@given(st.integers(0, 2**32), st.sampled_from(SPREADS))
def test_balls_of_float64_hold_random_models(seed: int, spread: float) -> None:
    model, contexts = random_model(np.random.default_rng(seed), spread=spread)
    assert holds(*balls(model, contexts), plain_logits(model, contexts))


@given(st.integers(0, 2**32), st.sampled_from(SPREADS))
def test_balls_of_pairs_hold_random_models(seed: int, spread: float) -> None:
    model, contexts = random_model(np.random.default_rng(seed), spread=spread)
    assert pairs_hold(*balls(model, contexts, InDoubleDouble()), plain_logits(model, contexts, 500))


def layers(rng: np.random.Generator, width: int, *, count: int = 1, norm: str = "layer", scores: float = 1.0) -> list:
    """Causal attention and neurons, both behind a normalization."""
    heads, n = 2, max(1, width // 2)

    def tensor(*size: int, deviation: float = 0.5) -> np.ndarray:
        return rng.normal(0.0, deviation, size)

    def before() -> Normalization:
        return Normalization(norm, w=rng.normal(1.0, 0.2, width), b=tensor(width), epsilon=1e-5)  # type: ignore[arg-type]

    blocks: list = []
    for _ in range(count):
        blocks.append(
            Attention(
                tensor(heads, width, n, deviation=scores), tensor(heads, width, n), tensor(heads, width, n),
                tensor(heads, n, width), b_Q=tensor(heads, n), b_K=tensor(heads, n), b_V=tensor(heads, n),
                b_O=tensor(width), norm=before(), attends="causal", score_root=n,
            )
        )  # fmt: skip
        blocks.append(
            FeedForward(
                tensor(width, 2 * width), tensor(2 * width, width), b_in=tensor(2 * width), b_out=tensor(width),
                activation="gelu-tanh", norm=before(),
            )
        )  # fmt: skip
    return [*blocks, before()]


def hostile(name: str) -> tuple[Model, np.ndarray]:
    rng = np.random.default_rng(7)
    width, tokens, length = 4, 5, 3
    W_E, W_pos = rng.normal(size=(tokens, width)), rng.normal(size=(length, width))
    contexts = rng.integers(0, tokens, (4, length))
    blocks = layers(rng, width, count=2)
    if name == "tiny variances":
        W_E, W_pos = 1.0 + 1e-9 * W_E, np.zeros((length, width))
    elif name == "zero rows":
        W_E, W_pos = np.zeros_like(W_E), np.zeros_like(W_pos)
    elif name == "equal tokens":
        contexts, W_pos = np.full((2, length), 3), np.zeros_like(W_pos)
    elif name == "one position":
        contexts = contexts[:, :1]
    elif name == "one dimension":
        W_E, W_pos, blocks = W_E[:, :1], W_pos[:, :1], layers(rng, 1, count=2)
    elif name == "huge scores":
        blocks = layers(rng, width, count=2, scores=1e5)
    elif name == "scores that lie 600 to 800 apart":
        blocks = layers(rng, width, count=1, scores=300.0)
    elif name == "huge embeddings":
        W_E = 1e120 * W_E
    elif name == "squares that overflow":
        W_E, blocks = 1e200 * W_E, layers(rng, width, norm="rms")
    elif name == "squares that overflow before the readout":
        W_E, blocks = 1e200 * W_E, [Normalization("rms", w=np.ones(width))]
    elif name == "tiny embeddings":
        W_E, W_pos = 1e-200 * W_E, 1e-200 * W_pos
    elif name == "subnormal epsilon":
        W_E, W_pos = 1e-160 * W_E, 1e-160 * W_pos
        blocks = [Normalization("rms", w=np.ones(width), epsilon=2.0**-1070), *blocks]
    elif name == "no heads and no neurons":
        none = np.zeros((0, width, 1))
        blocks = [
            Attention(none, none, none, np.zeros((0, 1, width)), b_O=np.ones(width), attends="causal"),
            FeedForward(np.zeros((width, 0)), np.zeros((0, width)), b_out=np.ones(width)),
            *blocks,
        ]
    elif name == "no blocks":
        blocks = []
    model = Model(tuple(blocks), W_U=rng.normal(size=(W_E.shape[1], 3)), W_E=W_E, W_pos=W_pos, b_U=rng.normal(size=3))
    return model, contexts


HOSTILE = [
    "tiny variances", "zero rows", "equal tokens", "one position", "one dimension", "huge scores",
    "scores that lie 600 to 800 apart", "huge embeddings", "squares that overflow",
    "squares that overflow before the readout", "tiny embeddings",
    "subnormal epsilon", "no heads and no neurons", "no blocks",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_balls_hold_hostile_models(name: str) -> None:
    model, contexts = hostile(name)
    exact = plain_logits(model, contexts, 3000)
    assert holds(*balls(model, contexts), exact, 3000)
    assert pairs_hold(*balls(model, contexts, InDoubleDouble()), exact)


@pytest.mark.parametrize("name", [n for n in HOSTILE if n not in ("subnormal epsilon", "tiny variances")])
def test_hostile_models_are_still_enclosed_in_finite_balls(name: str) -> None:
    assert balls(*hostile(name))[1].max() < np.inf


def test_what_overflows_before_the_logits_is_no_information() -> None:
    neurons = FeedForward(np.full((1, 1), 1e200), np.full((1, 1), 1e200), activation="relu")
    model = Model((neurons,), W_U=np.ones((1, 1)), W_E=np.ones((1, 1)), W_pos=np.zeros((1, 1)))
    for rows in (InFloat64(), InDoubleDouble()):
        assert not balls(model, np.array([[0]]), rows)[1][0, 0] < np.inf


@pytest.mark.parametrize("rows", [InFloat64(), InDoubleDouble()])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("queries", ["task", "stream"])
def test_balls_hold_models_that_read_vectors(queries: str, shared: bool, rows: Numbers) -> None:
    rng = np.random.default_rng(3)
    n = rng.normal
    task = VectorTask(n(size=(1 if shared else 4, 3, 5)), n(size=(4, 5)), n(size=(4, 1)))
    first = Attention(
        n(size=(2, 5, 2)), n(size=(2, 5, 2)), n(size=(2, 5, 3)), n(size=(2, 3, 5)),
        b_Q=n(size=(2, 2)), b_V=n(size=(2, 3)), skip=queries == "stream", queries=queries, score_root=2,  # type: ignore[arg-type]
    )  # fmt: skip
    model = Model((first, *layers(rng, 5)), W_U=n(size=(5, 2)))
    value, radius = balls(model, task, rows)
    exact = plain_logits(model, task, 500)
    assert (pairs_hold if isinstance(rows, InDoubleDouble) else holds)(value, radius, exact)
    assert radius.max() < (1e-20 if isinstance(rows, InDoubleDouble) else 1e-8)
    layer = mahdavi_layer(n(size=(2, 5, 2)), n(size=(2, 5, 2)), n(size=(2, 5, 1)), n(size=(2, 3)), n(size=(3, 2)))
    value, radius = balls(layer, task, rows)
    assert (pairs_hold if isinstance(rows, InDoubleDouble) else holds)(value, radius, plain_logits(layer, task, 500))


def test_the_radius_of_one_layer_is_a_small_multiple_of_what_roundings_do() -> None:
    rng = np.random.default_rng(5)
    model = Model(
        tuple(layers(rng, 16)), W_U=rng.normal(size=(16, 20)), W_E=rng.normal(size=(9, 16)), W_pos=np.zeros((8, 16))
    )
    contexts = rng.integers(0, 9, (6, 8))
    value, radius = balls(model, contexts)
    exact = plain_logits(model, contexts)
    error = max(
        float(abs(x - v).mid())
        for row, values in zip(exact, value, strict=True)
        for x, v in zip(row, values, strict=True)
    )
    assert 0.0 < error and radius.max() < 2e4 * error
    _, narrow = balls(model, contexts, InDoubleDouble())
    assert narrow.max() < 2.0**-44 * radius.max()


def test_a_context_alone_has_the_ball_it_has_among_others() -> None:
    rng = np.random.default_rng(6)
    model, contexts = random_model(rng, blocks=3)
    together = balls(model, contexts)
    apart = [list(logit_balls(model, contexts, chunk=1))[i][1:] for i in range(len(contexts))]
    assert all(np.allclose(together[0][i], value[0], rtol=1e-12) for i, (value, _) in enumerate(apart))


GAIN = 1e3


def walked(model: Model, x: np.ndarray, radius: float, places: list[int] | None = None) -> Stream[RowBalls]:
    """The stream of contexts with these rows, `[T, S, d]`, all with one radius, behind some blocks."""
    cells = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2])
    stream = Stream(
        RowBalls(x.reshape(cells.size, -1), np.full(cells.size, radius)),
        cells,
        np.tile(np.arange(cells.shape[1]), len(cells)),
    )
    with np.errstate(all="ignore"):
        return passed(InRowBalls(Norms(model)), model, stream, places)


def read(model: Model, x: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    stream = walked(model, x, radius)
    return InRowBalls(Norms(model)).unembed(stream.rows.gather(stream.cells[:, -1]), model.W_U, model.b_U)


def moved_rows(kind: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """A block, rows, and a direction of length 1 for each, along which one path of the block is by far the longest."""
    x = np.array([[[1.0, 0.3], [0.2, -0.4], [0.5, 0.1]]])
    one, zero = np.array([[[1.0], [0.0]]]), np.array([[[0.0], [1.0]]])
    along = np.zeros_like(x)
    if kind == "values":
        block = Attention(one, one, GAIN * zero, np.ones((1, 1, 2)), skip=False, attends="all")
        along[:, :, 1] = 1.0
    elif kind == "keys":
        x[..., 1] = 0.0
        block = Attention(one, GAIN * zero, one, np.ones((1, 1, 2)), skip=False, attends="all", score_root=4)
        along[:, 1, 1] = 1.0
    elif kind == "queries":
        x[..., 1] = 0.0
        block = Attention(GAIN * zero, one, one, np.ones((1, 1, 2)), skip=False, attends="all", score_root=4)
        along[:, :, 1] = 1.0
    elif kind == "queries and keys":
        x[..., 1] = 0.0
        block = Attention(GAIN * zero, GAIN * zero, one, np.ones((1, 1, 2)), skip=False, attends="all")
        along[:, 1, 1] = 1.0
    elif kind == "neurons":
        x[..., 1] = 1.0
        block = FeedForward(zero[0], np.full((1, 2), GAIN), activation="gelu", skip=False)
        along[:, :, 1] = 1.0
    elif kind == "layer":
        x[..., 1] = x[..., 0] + 1e-3
        block = Normalization("layer", w=np.array([3.0, 1.0]), epsilon=1e-6)
        along[..., 0], along[..., 1] = 0.5**0.5, -(0.5**0.5)
    elif kind == "rms":
        x *= 1e-3
        block = Normalization("rms", w=np.array([3.0, 1.0]), epsilon=1e-9)
        along[..., 0] = 1.0
    else:
        block = FeedForward(1e-9 * zero[0], 1e-9 * np.ones((1, 2)), activation="relu")
        along[:, :, 0] = 1.0
    return block, x, along


@pytest.mark.parametrize(
    "kind", ["values", "keys", "queries", "queries and keys", "neurons", "layer", "rms", "residual"]
)
def test_rows_that_move_by_their_radius_stay_in_the_ball(kind: str) -> None:
    block, x, along = moved_rows(kind)
    amount = 1e-3 if kind == "queries and keys" else 1e-5
    nothing = np.zeros((1, 2, 1))
    last = Attention(nothing, nothing, nothing, np.zeros((1, 1, 2)), attends="causal")
    model = Model((block, last), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.eye(2))

    def image(rows: np.ndarray, radius: float) -> RowBalls:
        return walked(model, rows, radius, [0]).rows

    ball = image(x, amount)
    reached = max(
        float((np.linalg.norm(image(x + sign * amount * along, 0.0).value - ball.value, axis=-1) / ball.whole()).max())
        for sign in (1.0, -1.0)
    )
    assert 0.1 < reached <= 1.0


@pytest.mark.parametrize("seed", range(20))
def test_blocks_keep_rows_of_a_ball_in_their_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    block = random_block(rng, 3)
    model = Model((block, *layers(rng, 3)), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.eye(3))
    x = rng.normal(size=(1, 4, 3))
    for amount in (1e-8, 1e-3, 1.0):
        ball = read(model, x, amount)
        for _ in range(10):
            step = rng.normal(size=x.shape)
            step *= amount / np.linalg.norm(step, axis=-1, keepdims=True)
            value, own = read(model, x + step, 0.0)
            assert (np.abs(value - ball[0]) <= ball[1] + own).all()


def test_a_value_that_a_head_reads_alone_is_enclosed_as_well_as_it_is_known() -> None:
    # The scores of a saturated head may be wrong by much: it still reads the same value.
    one = np.array([[[1.0], [0.0]]])
    block = Attention(1e3 * one, 1e3 * one, one, np.ones((1, 1, 2)), skip=False, attends="all")
    model = Model((block, block), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.eye(2))
    x = np.array([[[1.0, 0.0], [0.5, 0.0], [0.0, 0.0]]])
    ball = walked(model, x, 1e-9, [0]).rows
    assert ball.radius[0] < 2e-9 * 2.0**0.5


def test_attention_is_never_farther_off_than_its_values_lie_apart() -> None:
    one = np.array([[[1.0], [0.0]]])
    block = Attention(one, one, one, np.ones((1, 1, 2)), skip=False, attends="all")
    model = Model((block, block), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.eye(2))
    x = np.array([[[1.0, 0.0], [0.5, 0.0], [0.0, 0.0]]])
    radius = walked(model, x, 1e3, [0]).rows.radius
    assert 1e3 < radius.max() < 2.0**0.5 * 1002


def test_the_centre_of_a_row_far_from_zero_is_known_only_as_well_as_its_roundings_allow() -> None:
    rng = np.random.default_rng(11)
    x = 1e8 + rng.normal(size=(1, 64, 7))
    norm = Normalization("layer", w=np.ones(7), epsilon=1e-9)
    model = Model((norm,), W_U=np.eye(7), W_E=np.eye(7), W_pos=np.eye(7))
    arithmetic = InRowBalls(Norms(model))
    ball = arithmetic.normalize(RowBalls(x[0], np.zeros(64)), norm)
    pairs = InDoubleDouble().normalize(InDoubleDouble().exact(x[0]), norm)[0].high
    assert (np.linalg.norm(ball.value - pairs, axis=-1) <= ball.whole()).all()
    assert np.linalg.norm(ball.value - pairs, axis=-1).max() > 1e-10
    value, radius = arithmetic.unembed(ball, model.W_U, None)
    assert (np.abs(value - pairs) <= radius).all() and np.abs(value - pairs).max() > 1e-10


@pytest.mark.parametrize("d", [1, 300])
def test_a_readout_is_off_by_its_roundings_only_and_they_are_counted(d: int) -> None:
    rng = np.random.default_rng(12)
    model = Model((), W_U=rng.normal(size=(d, 50)), W_E=1e3 + rng.normal(size=(20, d)), W_pos=np.zeros((1, d)))
    contexts = np.arange(20)[:, None]
    value, radius = balls(model, contexts)
    assert holds(value, radius, plain_logits(model, contexts))
    shifted = Model((), W_U=np.ones((1, 50)), b_U=rng.normal(size=50), W_E=np.ones((1, 1)), W_pos=np.zeros((1, 1)))
    value, radius = balls(shifted, np.array([[0]]))
    assert holds(value, radius, plain_logits(shifted, np.array([[0]])))


def test_the_sum_of_embeddings_is_memorized_with_its_rounding() -> None:
    rng = np.random.default_rng(13)
    model = Model((), W_U=np.eye(1), W_E=rng.normal(size=(200, 1)), W_pos=rng.normal(size=(1, 1)))
    stream = stream_of(InRowBalls(Norms(model)), model, np.arange(200)[:, None]).rows
    exact = InDoubleDouble().sum_of_exact(model.W_E, np.broadcast_to(model.W_pos, (200, 1)))[0]
    assert (np.abs(exact.low[:, 0]) <= stream.radius).all() and exact.low.any()


def test_a_smaller_unit_predicts_a_smaller_ball() -> None:
    model, contexts = hostile("one position")
    wide, narrow = (balls(model, contexts, InFloat64(unit))[1].max() for unit in (2.0**-53, 2.0**-93))
    assert 2.0**-41 < narrow / wide < 2.0**-39


@pytest.mark.parametrize("unit", [2.0**-52, 0.0, float("nan")])
def test_a_unit_out_of_range_is_refused(unit: float) -> None:
    with pytest.raises(InputError, match="unit"):
        InFloat64(unit)


def test_norms_of_another_model_are_refused() -> None:
    model, contexts = hostile("no blocks")
    other, _ = hostile("no blocks")
    with pytest.raises(InputError, match="another model"):
        logit_balls(model, contexts, norms=Norms(other))


def test_inputs_of_another_kind_are_refused() -> None:
    model, contexts = hostile("no blocks")
    task = VectorTask(np.ones((1, 2, 3)), np.ones((1, 3)), np.ones((1, 1)))
    with pytest.raises(InputError, match="tokens"):
        logit_balls(model, task)
    reader = Model((FeedForward(np.ones((2, 1)), np.ones((1, 2))),), W_U=np.eye(2))
    with pytest.raises(InputError, match="expected Vectors"):
        logit_balls(reader, contexts)
    with pytest.raises(InputError, match="dimension 3"):
        logit_balls(reader, task)
    with pytest.raises(InputError, match="chunk"):
        logit_balls(model, contexts, chunk=0)


@pytest.mark.parametrize("which", [0, 1])
@given(seed=st.integers(0, 2**32))
def test_a_product_of_rows_is_as_uncertain_as_its_factors(seed: int, which: int) -> None:
    """Each factor alone is uncertain: the product by the farthest row of its ball lies within the product's."""
    rng = np.random.default_rng(seed)
    model = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((1, 3)))
    arithmetic = InRowBalls(Norms(model))
    values, radius = rng.normal(size=(2, 4, 3)), np.zeros((2, 4))
    radius[which] = 0.5
    found = arithmetic.multiply(*(RowBalls(value, r) for value, r in zip(values, radius, strict=True)))
    far = np.eye(3)[np.abs(values[1 - which]).argmax(axis=1)] * 0.5
    moved = [value + far * (place == which) for place, value in enumerate(values)]
    assert (np.linalg.norm(moved[0] * moved[1] - found.value, axis=1) <= found.whole() * (1 + 1e-12)).all()


def test_scores_with_slopes_are_off_by_the_rounding_of_their_products() -> None:
    """Queries and keys are 0, so that nothing else is off: a slope times a place is not a float64."""
    zero = np.zeros((2, 1, 1))
    slopes = np.array([0.1, -1 / 3])
    block = Attention(zero, zero, zero, zero, attends="all", slopes=slopes)
    walk = InRowBalls(Norms(Model((block,), W_U=np.eye(1), W_E=np.eye(1), W_pos=np.zeros((12, 1)))))
    none = HeadBalls(np.zeros((12, 2, 1)), np.zeros((12, 2)), np.zeros((12, 2)))
    last, read = np.array([[11]]), np.arange(12)[None]
    pairs = AttentionPairs(asking=last, read=read, allowed=read < 12, kept=np.array([0]), cells=0 * last)
    scores, doubt = walk._scores(block, none, none, pairs, slice(0, 1), None)
    off = [[abs(Fraction(float(scores[0, h, 0, j])) - Fraction(slopes[h]) * j) for j in range(12)] for h in range(2)]
    assert max(map(max, off)) > 0
    assert all(off[h][j] <= Fraction(float(doubt[0, h, 0, j])) for h in range(2) for j in range(12))
