"""One largest output in every run: against the run that every rounding is turned for, hostile orders and torch."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from tests.verify.runs.hostile_runs import ORDERS, hostile_run
from tests.verify.runs.worst_runs import worst_run
from verify.forward.rows.row_ellipsoids import InRowEllipsoids
from verify.runs.every_run import every_run
from verify.runs.formats import BFLOAT16, EXP_ULPS, FLOAT32, FLOAT64, FloatFormat
from verify.runs.rounding import rounding_bound
from verify.torch.module import Replica
from verify.torch.run import run

COARSE = FloatFormat("coarse", 2.0**-20, 2.0**-126, 2.0**127)


def transformer(
    seed: int, *, kind: Any, activation: Any, gated: bool = False, layers: int = 2, width: int = 16, spread: float = 1.0
) -> Model:
    """A model of random weights of the sizes that training leaves."""
    rng = np.random.default_rng(seed)

    def tensor(*shape: int) -> np.ndarray:
        return rng.normal(0.0, spread / np.sqrt(shape[-2]), shape)

    def norm() -> Normalization:
        b = rng.normal(0, 0.1, width) if kind == "layer" else None
        return Normalization(kind, w=rng.normal(1.0, 0.1, width), b=b)

    blocks: list[Any] = []
    for _ in range(layers):
        heads = (2, width, width // 2)
        b = rng.normal(0.0, 0.1, (2, width // 2))
        blocks.append(
            Attention(
                tensor(*heads),
                tensor(*heads),
                tensor(*heads),
                0.5 * tensor(2, width // 2, width),
                b_Q=b,
                b_K=b,
                b_V=b,
                b_O=rng.normal(0, 0.1, width),
                norm=norm() if kind else None,
                attends="causal",
                score_root=width // 2,
            )
        )
        maps = tensor(width, 3 * width), 0.5 * tensor(3 * width, width)
        gate = tensor(width, 3 * width) if gated else None
        shift = rng.normal(0, 0.1, 3 * width)
        blocks.append(
            FeedForward(
                *maps,
                b_in=shift,
                W_gate=gate,
                b_gate=shift if gated else None,
                norm=norm() if kind else None,
                b_out=rng.normal(0, 0.1, width),
                activation=activation,
            )
        )
    last = [norm()] if kind else []
    positions = 0.3 * rng.normal(size=(4, width))
    return Model(blocks=(*blocks, *last), W_U=2.0 * tensor(width, 9), W_E=rng.normal(size=(11, width)), W_pos=positions)


MODELS = [
    {"kind": "layer", "activation": "gelu-tanh"},
    {"kind": "layer", "activation": "gelu"},
    {"kind": "rms", "activation": "silu", "gated": True},
    {"kind": None, "activation": "relu", "layers": 1},
]
CONTEXTS = np.random.default_rng(0).integers(11, size=(40, 3))


@pytest.mark.parametrize("options", MODELS, ids=str)
@pytest.mark.parametrize("number_format", [FLOAT32, COARSE], ids=lambda f: f.name)
def test_no_run_has_its_largest_output_elsewhere_nor_a_smaller_lead(options: Any, number_format: FloatFormat) -> None:
    """The worst run comes near to what is proved, so that a rounding that is forgotten is found."""
    model, unit = transformer(1, **options), number_format.unit_roundoff
    found = every_run(model, CONTEXTS, number_format=number_format)
    proved = np.flatnonzero(found.place >= 0)
    assert len(proved) > 30
    some, top = CONTEXTS[proved], found.place[proved]
    exact, _ = worst_run(model, some, top, top, unit, EXP_ULPS)
    near = np.where(np.arange(9) == top[:, None], -np.inf, exact).argmax(axis=1)
    exact, worst = worst_run(model, some, top, near, unit, EXP_ULPS)
    each = np.arange(len(some))
    assert (exact.argmax(axis=1) == top).all() and (worst.argmax(axis=1) == top).all()
    leads = (outputs[each, top] - outputs[each, near] for outputs in (exact, worst))
    before, after = leads
    assert (after >= found.lead[proved]).all()
    taken = (before - after) / (before - found.lead[proved])
    assert taken.max() > (0.1 if number_format is FLOAT32 else 0.06), "the test has no teeth"


DEEP = [
    {"kind": "layer", "activation": "gelu-tanh", "layers": 4},
    {"kind": "rms", "activation": "silu", "gated": True, "layers": 4},
]


@pytest.mark.parametrize("options", DEEP, ids=str)
def test_directions_prove_more_and_the_worst_run_takes_two_fifths_of_what_they_say(
    options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, unit = transformer(1, **options), COARSE.unit_roundoff
    first = partial(InRowEllipsoids, directed=False)
    monkeypatch.setattr("verify.runs.every_run.InRowEllipsoids", lambda *given, directed: first(*given))
    without = every_run(model, CONTEXTS, number_format=COARSE)
    monkeypatch.setattr("verify.runs.every_run.InRowEllipsoids", lambda *given, directed: InRowEllipsoids(*given))
    found = every_run(model, CONTEXTS, number_format=COARSE)
    assert 0 < (without.place >= 0).sum() < (found.place >= 0).sum() - 5
    proved = np.flatnonzero(found.place >= 0)
    some, top, each = CONTEXTS[proved], found.place[proved], np.arange(len(proved))
    exact, _ = worst_run(model, some, top, top, unit, EXP_ULPS)
    near = np.where(np.arange(9) == top[:, None], -np.inf, exact).argmax(axis=1)
    exact, worst = worst_run(model, some, top, near, unit, EXP_ULPS)
    before, after = (outputs[each, top] - outputs[each, near] for outputs in (exact, worst))
    assert (after >= found.lead[proved]).all()
    assert np.median((before - after) / (before - found.lead[proved])) > 0.4, "the test has no teeth"


@pytest.mark.parametrize("order", ORDERS, ids=lambda f: f.__name__)
def test_hostile_orders_keep_the_place(order: Any) -> None:
    model = transformer(2, kind=None, activation="relu", layers=1, width=8)
    found = every_run(model, CONTEXTS, number_format=FLOAT32)
    proved = found.place >= 0
    assert proved.mean() > 0.9
    for online in (False, True):
        outputs = hostile_run(model, CONTEXTS[:12], np.float32, order, online=online)
        assert (outputs.argmax(axis=1) == found.place[:12])[proved[:12]].all()


@pytest.mark.parametrize("options", MODELS, ids=str)
def test_torch_has_it_there_and_balls_prove_less(options: Any) -> None:
    model = transformer(3, **options)
    found = every_run(model, CONTEXTS, number_format=FLOAT32)
    with torch.no_grad():
        outputs = Replica.from_model(model)(torch.tensor(CONTEXTS)).double().numpy()
    proved = found.place >= 0
    assert (outputs.argmax(axis=1) == found.place)[proved].all()
    ordered = np.sort(outputs, axis=1)
    gap = ordered[:, -1] - ordered[:, -2]
    assert (found.lead <= gap + 1e-3).all()
    assert proved.sum() >= (gap > 2.1 * rounding_bound(model, CONTEXTS, number_format=FLOAT32)).sum()


def test_a_tie_and_what_is_nearly_one_are_left_open() -> None:
    base = transformer(4, kind="layer", activation="gelu")
    W_U = base.W_U.copy()
    W_U[:, :4] *= 5.0
    W_U[:, 1] = W_U[:, 0]
    W_U[:, 3] = W_U[:, 2] * (1 + 2.0**-20)
    model = Model(blocks=base.blocks, W_U=W_U, W_E=base.W_E, W_pos=base.W_pos)
    found = every_run(model, CONTEXTS, number_format=FLOAT32)
    assert not np.isin(found.place, [0, 1, 2, 3]).any() and (found.place >= 0).any()
    assert (found.lead[found.place < 0] == -1).all() and (found.lead[found.place >= 0] > 0).all()
    exactly = every_run(model, CONTEXTS, number_format=FLOAT64)
    assert np.isin(exactly.place, [2, 3]).any() and not np.isin(exactly.place, [0, 1]).any()


def test_what_may_overflow_or_has_no_bound_is_left_open() -> None:
    base = transformer(5, kind=None, activation="relu", layers=1)
    large = Model(blocks=base.blocks, W_U=base.W_U * 1e37, W_E=base.W_E, W_pos=base.W_pos)
    assert (every_run(large, CONTEXTS, number_format=FLOAT32).place == -1).all()
    assert (every_run(large, CONTEXTS, number_format=FLOAT64).place >= 0).all()
    assert (every_run(base, CONTEXTS, number_format=BFLOAT16).place == -1).all()
    with pytest.raises(InputError, match="exp_ulps"):
        every_run(base, CONTEXTS, number_format=FLOAT32, exp_ulps=0.0)


def test_contexts_keep_their_order_whatever_is_worked_on_together(monkeypatch: pytest.MonkeyPatch) -> None:
    model = transformer(6, kind="rms", activation="silu")
    whole = every_run(model, CONTEXTS, number_format=FLOAT32)
    monkeypatch.setattr("verify.runs.every_run._ENTRIES", 1)
    again = every_run(model, CONTEXTS[::-1], number_format=FLOAT32)
    assert (again.place[::-1] == whole.place).all()
    assert np.allclose(again.lead[::-1], whole.lead, rtol=1e-6)


def test_a_run_counts_what_is_proved_to_first_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of labels; balls alone prove less, and where the work would take long they are all there is."""
    model = transformer(3, kind="layer", activation="gelu", width=24)
    contexts = np.unique(CONTEXTS, axis=0)
    found = every_run(model, contexts, number_format=FLOAT32)
    labels = np.where(found.place >= 0, found.place, 0)
    labels[0] = (labels[0] + 1) % 9
    task = array_task(contexts, next_tokens=labels, vocabulary=11, answers=9, target="labels")
    together = run(model, task)
    monkeypatch.setattr("verify.runs.every_run._MOST_ENTRIES", 0)
    balls = run(model, task)
    assert together.proved is not None and balls.proved is not None
    assert (together.proved == (found.place == labels) | balls.proved).all() and not together.proved[0]
    assert balls.proved.sum() < together.proved.sum() and together.within_bound


def test_a_score_far_below_counts_where_a_rounding_takes_the_lead_of_all_others() -> None:
    """1 + 240 / 2^32 is 1 in float32, so that the query is 0: a row that float64 gives no weight has a third of all."""

    def along(entry: int) -> np.ndarray:
        return np.eye(3)[entry].reshape(1, 3, 1)

    neuron = FeedForward(
        np.zeros((3, 1)), -np.eye(3)[:1], b_in=np.ones(1), b_out=np.array([1.0 + 240.0 * 2.0**-32, 0.0, 0.0])
    )
    head = Attention(2.0**34 * along(0), along(1), along(2), np.eye(3)[None, 2:], attends="last", skip=False)
    W_U, b_U = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), np.array([0.05, 0.0])
    model = Model(blocks=(neuron, head), W_U=W_U, W_E=np.eye(3)[1:], W_pos=np.zeros((3, 3)), b_U=b_U)
    contexts = np.array([[0, 1, 0]])
    with torch.no_grad():
        assert int(Replica.from_model(model)(torch.tensor(contexts)).argmax()) == 1
    assert every_run(model, contexts, number_format=FLOAT32).place.tolist() == [-1]
    assert every_run(model, contexts, number_format=FLOAT64).place.tolist() == [0]


def hostile(seed: int) -> tuple[Model, np.ndarray]:
    """A model of extreme sizes, and contexts: scores equal or far apart, rows nearly constant, heads of width 1."""
    rng = np.random.default_rng(seed)
    width, length, outputs = int(rng.choice([2, 3, 8, 24])), int(rng.integers(1, 6)), int(rng.integers(2, 7))
    kind: Any = rng.choice(["layer", "rms"])

    def tensor(*shape: int) -> np.ndarray:
        return rng.normal(0.0, 10.0 ** rng.choice([0.0, rng.uniform(-2.0, 2.0)]) / np.sqrt(shape[-2]), shape)

    def norm() -> Normalization:
        gains = np.where(rng.random(width) < 0.1, 0.0, rng.normal(1.0, 0.3, width)) * 10.0 ** rng.uniform(-1.0, 1.0)
        shifts = rng.normal(0.0, 0.3, width) if kind == "layer" else None
        return Normalization(kind, w=gains, b=shifts, epsilon=float(10.0 ** rng.uniform(-12.0, -3.0)))

    blocks: list[Any] = []
    for _ in range(int(rng.integers(1, 4))):
        heads, each, neurons = int(rng.choice([1, 2, 8])), int(rng.choice([1, 2, 4])), int(rng.choice([1, 4, 20]))
        queries = tensor(heads, width, each) * rng.choice([0.0, 1.0, 10.0, 100.0])
        maps = queries, tensor(heads, width, each), tensor(heads, width, each), tensor(heads, each, width)
        keys = rng.normal(0.0, 0.3, (heads, each))
        blocks.append(Attention(*maps, b_K=keys, norm=norm(), attends="causal", score_root=each))
        gate = tensor(width, neurons) if rng.random() < 0.4 else None
        activation: Any = rng.choice(["relu", "gelu", "gelu-tanh", "silu"])
        sizes = tensor(width, neurons), tensor(neurons, width)
        blocks.append(
            FeedForward(*sizes, W_gate=gate, norm=norm(), activation=activation, skip=bool(rng.random() < 0.8))
        )
    rows = rng.normal(size=(6, width))
    if rng.random() < 0.3:
        rows = 10.0 + rows * 10.0 ** rng.uniform(-6.0, 0.0)  # a normalization sees a variance near 0
    positions = rng.normal(size=(length, width)) * 10.0 ** rng.uniform(-4.0, 0.0)
    model = Model(blocks=(*blocks, norm()), W_U=2.0 * tensor(width, outputs), W_E=rows, W_pos=positions)
    return model, rng.integers(6, size=(12, length))


@pytest.mark.parametrize("unit", [2.0**-24, 2.0**-20, 2.0**-16, 2.0**-13])
def test_models_of_extreme_sizes_have_no_run_that_says_otherwise(unit: float) -> None:
    number_format, judged = FloatFormat("coarse", unit, 2.0**-126, 2.0**127), 0
    for seed in range(12):
        model, contexts = hostile(seed)
        with np.errstate(all="ignore"):
            found = every_run(model, contexts, number_format=number_format)
        proved = np.flatnonzero(found.place >= 0)
        top, judged = found.place[proved], judged + len(proved)
        for other in range(model.d_vocab_out):
            some = proved[top != other]
            if len(some):
                best, each = found.place[some], np.arange(len(some))
                _, worst = worst_run(model, contexts[some], best, np.full(len(some), other), unit, EXP_ULPS)
                assert (worst[each, best] - worst[:, other] >= found.lead[some] * (1.0 - 2.0**-30)).all(), (seed, other)
    assert judged > 30, "the test has no teeth"
