"""One entry for all models, and a ladder on which no precision decides what it has not proved."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers

from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.model.shapes import dana_network, mahdavi_layer
from constructions.tasks.vectors import VectorTask
from tests.verify.forward.plain_model import holds, plain_logits, random_model
from verify.arithmetic.double_double import DoubleDouble, two_sum
from verify.arithmetic.enclosure import Enclosure
from verify.forward import ladder
from verify.forward.in_balls import logits_in_balls
from verify.forward.ladder import bits_needed, bits_of_balls, decide_argmax, leads, rising_of_parts, rising_precision
from verify.forward.logits import enclose_logits, logit_chunks
from verify.forward.rows.row_balls import logit_balls
from verify.forward.walk import shares_prefixes


def a_network() -> tuple[Model, np.ndarray]:
    n = np.random.default_rng(1).normal
    network = dana_network(
        n(size=(4, 3)), n(size=(2, 3)), n(size=(2, 3, 2)), n(size=(2, 3, 2)), n(size=(2, 3, 1)), n(size=(2, 1, 3)),
        n(size=(3, 5)),
    )  # fmt: skip
    return network, np.array([[0, 1], [2, 3], [1, 1]])


def test_chunks_follow_one_another_and_hold_what_the_whole_holds() -> None:
    n = np.random.default_rng(2).normal
    layer = mahdavi_layer(n(size=(2, 3, 2)), n(size=(2, 3, 2)), n(size=(2, 3, 1)), n(size=(2, 4)), n(size=(4, 2)))
    task = VectorTask(n(size=(5, 4, 3)), n(size=(5, 3)), n(size=(5, 2)))
    for model, inputs, count in ((layer, task, 5), (*a_network(), 3)):
        whole, parts = enclose_logits(model, inputs), list(logit_chunks(model, inputs, rows=2))
        assert [start for start, _ in parts] == list(range(0, count, 2))
        apart = np.concatenate([part.midpoint for _, part in parts])
        assert (np.abs(apart - whole.midpoint) <= 2.0 * whole.radius).all()


@given(st.integers(0, 2**32))
def test_all_paths_hold_the_logits_of_random_models(seed: int) -> None:
    model, contexts = random_model(np.random.default_rng(seed))
    found = enclose_logits(model, contexts)
    assert holds(found.midpoint, np.broadcast_to(found.radius, found.shape), plain_logits(model, contexts))
    assert found.shape == (len(contexts), model.d_vocab_out)


def test_no_contexts_have_no_logits() -> None:
    model, contexts = random_model(np.random.default_rng(3), blocks=2)
    assert enclose_logits(model, contexts[:0]).shape == (0, model.d_vocab_out)


@given(st.integers(0, 2**32), st.sampled_from([1e-3, 1.0, 30.0]))
def test_a_place_that_is_decided_is_that_of_the_largest_logit(seed: int, spread: float) -> None:
    model, contexts = random_model(np.random.default_rng(seed), spread=spread)
    exact = plain_logits(model, contexts)
    for precisions in (("float64",), ("double-double",), ("float64", "double-double")):
        decided = decide_argmax(model, contexts, precisions=precisions)  # type: ignore[arg-type]
        for row, place in zip(exact, decided.place.tolist(), strict=True):
            assert place < 0 or all(row[place] > x for j, x in enumerate(row) if j != place)


def close_logits(distance: float) -> tuple[Model, np.ndarray]:
    """Two logits of about 1.9 this far apart, through neurons, and a third far below."""
    W_U = np.array([[1.0, 1.0, 0.0], [0.0, distance, 0.0]])
    neurons = FeedForward(np.eye(2), np.eye(2), activation="gelu")
    return Model((neurons,), W_U=W_U, W_E=np.ones((1, 2)), W_pos=np.zeros((1, 2))), np.array([[0]])


@pytest.mark.parametrize(
    ("distance", "precision"), [(1e-3, "float64"), (-(2.0**-70), "double-double"), (2.0**-80, "double-double")]
)
def test_each_rung_decides_what_the_rung_before_left_open(distance: float, precision: str) -> None:
    decided = decide_argmax(*close_logits(distance), precisions=("float64", "double-double"))
    assert decided.place.tolist() == [int(distance > 0)] and decided.precision.tolist() == [precision]
    assert decided.summary() == f"1 by {precision}" and not decided.undecided.size


_SCALES = [5e-324, 1e-323, 1e-310, 1e-300, 1.0, 1e300, 1e308]
_ENTRIES = st.sampled_from([0.0, 0.25, -0.5, 0.75, 1.0, 1.5])


@given(
    st.lists(st.sampled_from(_SCALES), min_size=4, max_size=4),
    numbers.arrays(np.float64, (2, 2), elements=_ENTRIES),
    numbers.arrays(np.float64, (2, 2), elements=_ENTRIES),
    numbers.arrays(np.float64, (2, 3), elements=_ENTRIES),
    st.booleans(),
)
@example([1.0, 1.0, 1.0, 5e-324], np.eye(2), np.eye(2), np.eye(2, 3), False)  # a quarter of a gap is 0
@example([1.0, 1.0, 1.0, 1e308], np.eye(2), np.eye(2), np.array([[1.5, -0.5, 0.0], [1.5, -0.5, 0.0]]), False)
def test_matrices_at_the_ends_of_float64_are_decided_rightly_or_not_at_all(
    scales: list[float], W_E: np.ndarray, W_in: np.ndarray, W_U: np.ndarray, neurons: bool
) -> None:
    with np.errstate(all="ignore"):
        first, *others = (W * s for W, s in zip((W_E, W_in, W_in.T, W_U), scales, strict=True))
    blocks = (FeedForward(others[0], others[1]),) if neurons else ()
    model = Model(blocks=blocks, W_U=others[2], W_E=first, W_pos=np.zeros((1, 2)))
    contexts = np.array([[0], [1]])
    decided, exact = decide_argmax(model, contexts), plain_logits(model, contexts, bits=9000)
    for place, row in zip(decided.place, exact, strict=True):
        assert all(x.is_exact() for x in row)
        with ctx.workprec(9000):
            assert place < 0 or all(row[place] > x for i, x in enumerate(row) if i != place)
            size, (*_, second, largest) = max(map(abs, row)), sorted(row)
            # The enclosures are of float64: it has to hold the logits, and their distance.
            assert place >= 0 or size > 1e300 or largest - second <= size * 1e-12 or largest - second < 1e-300


def test_a_tie_is_never_decided() -> None:
    decided = decide_argmax(*close_logits(0.0), precisions=("float64", "double-double"))
    assert decided.place.tolist() == [-1] and decided.precision.tolist() == [""]
    assert decided.summary() == "undecided: 0"


def test_balls_decide_what_pairs_leave_open(monkeypatch: pytest.MonkeyPatch) -> None:
    network, contexts = a_network()
    W_U = np.column_stack([network.W_U[:, 0], network.W_U[:, 0], network.W_U[:, 1] - 100.0])
    W_U[0, 1] = np.nextafter(W_U[0, 0], np.inf)
    close = Model(network.blocks, W_U=W_U, W_E=network.W_E, W_pos=network.W_pos)
    exact = plain_logits(close, contexts)
    decided = decide_argmax(close, contexts, precisions=("balls",))
    assert decided.precision.tolist() == ["balls"] * 3 and decided.bits >= 128
    for row, place in zip(exact, decided.place.tolist(), strict=True):
        assert all(row[place] > x for j, x in enumerate(row) if j != place)
    equal = Model(network.blocks, W_U=W_U[:, [0, 0]], W_E=network.W_E, W_pos=network.W_pos)
    assert decide_argmax(equal, contexts, precisions=("balls",)).place.tolist() == [-1] * 3


def test_a_place_is_decided_only_where_its_lower_end_is_above_all_other_upper_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = Enclosure(
        np.array([[1.0, 1.0, 0.0], [1.0, 0.5, 0.0], [0.0, 2.0, 1.0]]), np.array([[0.0] * 3, [0.375] * 3, [0.375] * 3])
    )
    monkeypatch.setattr(ladder, "rising_precision", lambda *a, **b: iter([("float64", 53, np.arange(3), part)]))
    assert decide_argmax(*a_network()).place.tolist() == [-1, -1, 1]


def inside(found: Enclosure, row: int, column: int, low: Fraction, high: Fraction) -> bool:
    middle = Fraction(float(found.midpoint[row, column]))
    radius = Fraction(float(np.broadcast_to(found.radius, found.shape)[row, column]))
    return middle - radius <= low and high <= middle + radius


entries = st.tuples(st.floats(-4.0, 4.0), st.floats(-(2.0**-53), 2.0**-53), st.sampled_from([0.0, 1.0, 2.0**-60]))


@given(st.lists(st.tuples(entries, entries, entries), min_size=1, max_size=3), st.booleans())
@example([((0.0, 0.0, 1.0), (-0.25, -(2.0**-56), 1.0), (-1.0, 0.0, 0.0))], False)
@example([((1.0, 0.0, 0.0), (1.0, 2.0**-60, 0.0), (0.0, 0.0, 0.0))] * 2, False)
@example([((1.0, 0.0, 0.0),) * 3, ((2.0, 0.0, 0.0),) * 3], False)  # each row has a largest entry of its own
def test_pairs_less_their_largest_are_less_that_one_number(rows: list[Any], absolute: bool) -> None:
    numbers = np.array(rows)
    value, radius = DoubleDouble(*two_sum(numbers[:, :, 0], numbers[:, :, 1])), numbers[:, :, 2]
    found = ladder._less_largest(value, radius, absolute)
    for i in range(len(rows)):
        exact = [Fraction(float(value.high[i, j])) + Fraction(float(value.low[i, j])) for j in range(3)]
        top = Fraction(0) if absolute else max(exact)
        for j in range(3):
            reach = Fraction(float(radius[i, j]))
            assert inside(found, i, j, exact[j] - top - reach, exact[j] - top + reach)


@pytest.mark.parametrize("absolute", [False, True])
def test_balls_less_their_largest_are_less_that_one_number(absolute: bool) -> None:
    one, tiny = Fraction(1), Fraction(1, 2**100)
    middles, radii = [one, one + tiny, -one, one / 4], [Fraction(0), tiny / 4, one / 8, Fraction(0)]
    with ctx.workprec(128):
        row = [arb(float(m // tiny)) * arb(2.0**-100) for m in middles]
        balls = [x + arb(0, float(r)) for x, r in zip(row, radii, strict=True)]
        balls[1] = (arb(1) + arb(2.0**-100)) + arb(0, float(radii[1]))
        # A ball without information is no largest one, wherever it stands.
        found = ladder._rounded_less_largest(arb_mat([[arb("nan"), *balls]]), 128, absolute)
    top = 0 if absolute else one + tiny
    for j, (middle, reach) in enumerate(zip(middles, radii, strict=True), start=1):
        assert inside(found, 0, j, middle - top - reach, middle - top + reach)
        assert found.radius[0, j] <= 2 * reach + abs(middle - top) / 2**50
    assert found.radius[0, 0] == np.inf


def test_every_rung_names_the_contexts_it_encloses_and_only_open_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "_BALLS_TOGETHER", 1)
    monkeypatch.setattr(ladder, "logit_chunks", lambda *a, **b: logit_chunks(*a, **b, rows=2))
    monkeypatch.setattr(ladder, "logit_balls", lambda *a, **b: logit_balls(*a, **b | {"chunk": 2}))
    model, _ = random_model(np.random.default_rng(28), blocks=2)
    contexts = np.arange(5)[:, np.newaxis]
    exact = plain_logits(model, contexts)
    assert len({float(row[1] - row[0]) for row in exact}) == len(model.W_E) == 5  # so that none passes for another
    is_open, closed, seen = np.array([True, False, True, True, True]), [1], {}
    for precision, bits, chosen, part in rising_precision(model, contexts, is_open, most_bits=300):
        seen.setdefault((precision, bits), []).extend(chosen.tolist())
        assert len(part) == len(chosen)
        radius = np.broadcast_to(part.radius, part.shape)
        for row, i in enumerate(chosen.tolist()):
            for j in range(1, part.shape[1]):
                difference = arb(float(part.midpoint[row, j])) - arb(float(part.midpoint[row, 0]))
                reach = float(radius[row, j] + radius[row, 0]) * 1.001
                assert (exact[i][j] - exact[i][0]).overlaps(difference + arb(0, reach))
        if chosen[-1] == 4:  # the end of a precision
            assert sorted(seen[precision, bits]) == [i for i in range(5) if i not in closed]
            closed.append((2, 0, 3)[len(seen) - 1] if len(seen) < 4 else 4)
            is_open[closed[-1]] = False
    assert [precision for precision, _ in seen] == ["float64", "double-double", "double-double", "balls"]


def test_the_least_gap_of_the_open_contexts_chooses_the_bits_of_the_first_balls() -> None:
    model, _ = close_logits(1.0)
    W_E = np.array([[1.0, 2.0**-3], [1.0, 2.0**-80]])
    model = Model(model.blocks, W_U=model.W_U, W_E=W_E, W_pos=model.W_pos)

    def first(closed: int) -> int:
        is_open = np.ones(2, dtype=bool)
        for precision, bits, _, _ in rising_precision(
            model, np.array([[0], [1]]), is_open, precisions=("double-double", "balls")
        ):
            if precision == "balls":
                return bits
            is_open[closed:] = False
        raise AssertionError

    assert first(1) == 128 < 150 < first(2) < 256


def test_bits_that_are_predicted_are_enough_and_hardly_too_many() -> None:
    rng = np.random.default_rng(4)
    model, contexts = random_model(rng, blocks=4)
    assert bits_needed(model, contexts, 1e-3) == 53
    radius = max(float(r.max()) for _, _, r in logit_balls(model, contexts))
    for bits in (60, 90, 150):
        assert abs(bits - bits_needed(model, contexts, radius * 2.0 ** (53 - bits))) <= 1  # type: ignore[operator]
    assert bits_needed(model, contexts, 1e-200) is None


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan"), float("inf")])
def test_a_radius_that_is_none_is_refused(radius: float) -> None:
    model, contexts = random_model(np.random.default_rng(4), blocks=1)
    with pytest.raises(InputError, match="radius"):
        bits_needed(model, contexts, radius)


def test_arguments_that_do_not_fit_are_refused() -> None:
    network, contexts = a_network()
    model, others = random_model(np.random.default_rng(5), blocks=2)
    task = VectorTask(np.ones((1, 2, 3)), np.ones((1, 3)), np.ones((1, 1)))
    one = np.ones((1, 3, 1))
    layer = mahdavi_layer(one, one, one, np.ones((1, 1)), np.ones((1, 1)))
    calls: list[tuple[str, Any]] = [
        ("tokens", lambda: enclose_logits(network, task)),
        ("Vectors", lambda: enclose_logits(layer, contexts)),
        ("rows", lambda: logit_chunks(model, others, rows=0)),
        ("precisions", lambda: decide_argmax(model, others, precisions=("float32",))),  # type: ignore[arg-type]
    ]
    for said, call in calls:
        with pytest.raises(InputError, match=said):
            call()


def test_the_reference_of_these_tests_knows_a_value_by_hand() -> None:
    model, contexts = close_logits(1.0)
    [row] = plain_logits(model, contexts)
    gelu = (1 + (1 / arb(2).sqrt()).erf()) / 2
    assert row[0].overlaps(1 + gelu) and row[1].overlaps(2 * (1 + gelu)) and row[2].overlaps(arb(0))


def deep_model(blocks: int) -> tuple[Model, np.ndarray]:
    """Gated neurons behind norms, whose balls grow by some bits with each block."""
    rng = np.random.default_rng(9)
    norm = Normalization("rms", w=np.ones(6), epsilon=1e-5)
    layers = []
    for _ in range(blocks):
        W_in, W_gate, W_out = (3.0 * rng.standard_normal((6, 9)) for _ in range(3))
        layers.append(FeedForward(W_in, W_out.T / 3.0, W_gate=W_gate, activation="silu", norm=norm))
    W_E, W_U = rng.standard_normal((5, 6)), rng.standard_normal((6, 7))
    return Model(tuple(layers), W_U=W_U, W_E=W_E, W_pos=np.zeros((1, 6))), np.arange(5)[:, None]


def test_deep_models_are_decided_by_as_many_bits_as_they_need() -> None:
    model, contexts = deep_model(240)
    is_open, seen = np.ones(5, dtype=bool), []
    for precision, bits, chosen, part in rising_precision(model, contexts, is_open, most_bits=300):
        seen.append((precision, bits))
        is_open[chosen[leads(part)[1] > 0.0]] = False
    assert [precision for precision, _ in seen] == ["float64", "balls"] and seen[-1][1] > 300
    assert not is_open.any()


def test_bits_of_balls_that_are_predicted_are_enough_and_hardly_too_many() -> None:
    model, contexts = deep_model(90)
    bits = bits_of_balls(model, contexts, 2.0**-20)
    widest = max(float(x.rad()) for x in logits_in_balls(model, contexts, bits).entries())
    assert 2.0 ** (-20 - bits / 4) < widest < 2.0**-20


@pytest.mark.parametrize("logits", [1, 2**20])
@pytest.mark.parametrize("entries", [1, 2**18])
def test_balls_of_several_lengths_name_part_and_context_and_share_what_they_begin_with(
    monkeypatch: pytest.MonkeyPatch, logits: int, entries: int
) -> None:
    monkeypatch.setattr(ladder, "_LOGIT_BALLS", logits)
    monkeypatch.setattr(ladder, "_BALL_ENTRIES", entries)
    rng = np.random.default_rng(12)
    draw = rng.standard_normal
    blocks = [
        Attention(draw((2, 4, 2)), draw((2, 4, 2)), draw((2, 4, 3)), draw((2, 3, 4)), attends="causal", score_root=2)
        for _ in range(2)
    ]
    neurons = FeedForward(draw((4, 5)), draw((5, 4)), activation="relu")
    model = Model((blocks[0], neurons, blocks[1]), W_U=draw((4, 6)), W_E=draw((5, 4)), W_pos=draw((4, 4)))
    assert shares_prefixes(model)
    contexts = rng.integers(0, 3, (9, 4))
    parts = [np.unique(contexts[:, :length], axis=0)[::-1] for length in range(1, contexts.shape[1] + 1)]
    is_open = [np.arange(len(part)) != 1 for part in parts]
    exact = [plain_logits(model, part) for part in parts]
    seen: list[tuple[int, int]] = []
    for precision, _, number, rows, part in rising_of_parts(
        model, parts, is_open, precisions=("balls",), most_bits=128
    ):
        assert precision == "balls" and len(rows) == len(part)
        for row, midpoint, radius in zip(rows.tolist(), part.midpoint, part.radius, strict=True):
            seen.append((number, row))
            is_open[number][row] = False
            gaps = [z - exact[number][row][0] for z in exact[number][row]]
            for j, gap in enumerate(gaps):
                middle, reach = arb(float(midpoint[j])) - arb(float(midpoint[0])), float(radius[j] + radius[0])
                assert gap.overlaps(middle + arb(0, 1.01 * reach)) and reach < 2.0**-40
    assert sorted(seen) == [(i, row) for i, part in enumerate(parts) for row in range(len(part)) if row != 1]
    assert not any(each.any() for each in is_open)
    assert seen[0][0] == 1, "the first answer waits for a longer context than one of the shortest"
