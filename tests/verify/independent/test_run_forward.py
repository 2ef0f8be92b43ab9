"""Integers with radii hold what every run computes, in hostile orders, and say nothing where a run may overflow."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions.models.blocks import Attention, FeedForward
from constructions.models.model import Model
from tests.verify.runs.hostile_runs import ORDERS, hostile_run
from tests.verify.runs.integer_models import hashed_windows, judged, known, random_models, sum_modulo
from verify.independent.ball_forward import NoInformationError
from verify.independent.plain.plain_model import PlainModel
from verify.independent.run_forward import UNIT, RunForward, RunOutputs
from verify.runs.exact_sums import EveryRun
from verify.runs.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from verify.runs.rounding import rounding_bound

DTYPES = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


def every_run(
    model: Model, contexts: np.ndarray, folder, number_format=FLOAT32, *, exact=True, soft=True, exp_ulps=4.0
) -> RunOutputs:
    model.save(folder / "model.safetensors")
    plain = PlainModel.read(folder / "model.safetensors")
    forward = RunForward(plain, number_format, exact=exact, soft=soft, exp_ulps=exp_ulps)
    return forward.run([tuple(context) for context in contexts.tolist()])


def holds(outputs: RunOutputs, context: int, run: np.ndarray) -> bool:
    """Whether the outputs of a run lie within the radii."""
    place = outputs.places[context]
    return all(
        abs(Fraction(float(x)) - Fraction(n, 2**outputs.rows.scale)) <= Fraction(radius, 2**UNIT)
        for x, n, radius in zip(run, outputs.rows.values[place], outputs.rows.radii[place], strict=True)
    )


def exact_rows(outputs: RunOutputs) -> int:
    """How many contexts have the same outputs in every run."""
    return sum(not any(outputs.rows.radii[place]) for place in outputs.places)


def test_every_hostile_run_of_random_models_lies_within_the_radii(tmp_path_factory):
    seen: Counter[str] = Counter()
    folder = tmp_path_factory.mktemp("models")

    @settings(max_examples=80)
    @given(random_models(), st.sampled_from([FLOAT16, FLOAT32, FLOAT64]), st.integers(0, 5), st.integers(0, 99))
    def one(given_model, number_format, order, seed):
        model, contexts = given_model
        try:
            found = every_run(model, contexts, folder, number_format, soft=False)
        except NoInformationError:
            seen["refused"] += 1
            return
        for online in (False, True):
            dtype = DTYPES[number_format.name]
            runs = hostile_run(model, contexts, dtype, ORDERS[order], online=online, early=bool(seed % 2), seed=seed)
            for context, run in enumerate(runs):
                assert holds(found, context, run)
        seen["exact"] += exact_rows(found) > 0
        seen["rounded"] += exact_rows(found) < len(contexts)

    one()
    assert min(seen["refused"], seen["exact"], seen["rounded"]) > 3, seen


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("number_format", [FLOAT32, FLOAT64], ids=lambda f: f.name)
def test_every_hostile_run_of_soft_heads_lies_within_the_radii(tmp_path, number_format, seed):
    rng = np.random.default_rng(seed)
    width, length = 3, 5

    def heads(scale: float, **options) -> Attention:
        W_Q, W_K = rng.normal(0, scale, (2, 2, width, 2))
        W_V, W_O = rng.normal(0, 1, (2, width, 2)), rng.normal(0, 1, (2, 2, width))
        return Attention(W_Q, W_K, W_V, W_O, b_Q=rng.normal(0, 1, (2, 2)), b_V=rng.normal(0, 1, (2, 2)), **options)

    neurons = FeedForward(rng.normal(0, 1, (width, 4)), rng.normal(0, 1, (4, width)), b_in=rng.normal(0, 1, 4))
    blocks = (
        heads(1.0, attends="causal"),
        replace(neurons, skip=True),
        replace(heads(2.0), attends="last", score_root=2),
    )
    model = Model(blocks=blocks, W_U=rng.normal(0, 1, (width, 4)), W_E=rng.normal(0, 1, (6, width)),
                  W_pos=rng.normal(0, 1, (length, width)))  # fmt: skip
    contexts = rng.integers(0, 6, (6, length))
    for exact in (False, True):
        found = every_run(model, contexts, tmp_path, number_format, exact=exact)
        for order in ORDERS:
            runs = hostile_run(model, contexts, DTYPES[number_format.name], order, early=bool(seed % 2), seed=seed)
            assert all(holds(found, context, run) for context, run in enumerate(runs))
            for context, run in enumerate(runs):
                places = [label for label in range(4) if found.leads(found.places[context], label)]
                assert places in ([], [int(run.argmax())])
        widest = max(max(radii) for radii in found.rows.radii) / 2**UNIT
        prover = rounding_bound(model, contexts, number_format=number_format).max()
        assert 0.0 < widest < 64 * prover  # of the order of what the prover says


@pytest.mark.parametrize("number_format", [FLOAT16, FLOAT32, FLOAT64, BFLOAT16], ids=lambda f: f.name)
@pytest.mark.parametrize("case", ["sum", "windows"])
def test_what_the_prover_knows_exactly_is_known_here_too(tmp_path, case, number_format):
    model, contexts, _ = sum_modulo(7) if case == "sum" else hashed_windows(5, examples=12)
    there = judged(model, contexts, EveryRun(number_format))
    try:
        found = every_run(model, contexts, tmp_path, number_format, soft=False)
    except NoInformationError:
        assert known(there) == 0
        return
    assert exact_rows(found) == known(there)
    for context, place in enumerate(found.places):
        if (there.radius[context] == 0.0).all():
            assert [n / 2**found.rows.scale for n in found.rows.values[place]] == there.midpoint[context].tolist()


def echo(*values: float) -> Model:
    return Model(blocks=(), W_U=np.array([values]), W_E=np.ones((1, 1)), W_pos=np.zeros((1, 1)))


@pytest.mark.parametrize(
    ("weight", "exact"),
    [
        (1.0, True),
        (2.0**24 - 1, True),
        (2.0**24 + 1, False),  # a bit too many
        (2.0**-126, True),
        (2.0**-127, False),  # may be taken for 0
        (0.1, False),
    ],
)
def test_a_weight_is_exact_where_the_format_holds_it(tmp_path, weight, exact):
    found = every_run(echo(weight), np.array([[0]]), tmp_path)
    assert (found.rows.radii[0][0] == 0) == exact


def test_without_h5_nothing_is_exact(tmp_path):
    found = every_run(echo(1.0), np.array([[0]]), tmp_path, exact=False)
    assert found.rows.radii[0][0] > 0


def test_three_terms_that_cancel_depend_on_their_order(tmp_path):
    """(2^24 + 1) - 2^24: of what a run computes is known that it is 0 or 1, or 2."""
    W_E = np.array([[2.0**24, 1.0, -(2.0**24)]])
    model = Model(blocks=(), W_U=np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), W_E=W_E, W_pos=np.zeros((1, 3)))
    found = every_run(model, np.array([[0]]), tmp_path)
    assert found.rows.radii[0][0] >= 2**UNIT and not found.leads(0, 0)
    finer = every_run(model, np.array([[0]]), tmp_path, FLOAT64)
    assert finer.rows.radii[0] == [0, 0] and finer.leads(0, 0)


@pytest.mark.parametrize(
    "model",
    [
        echo(2.0**126),
        Model(blocks=(), W_U=np.full((1, 1), 2.0**70), W_E=np.full((1, 1), 2.0**60), W_pos=np.zeros((1, 1))),
    ],
)
def test_what_may_overflow_is_not_known(tmp_path, model):
    with pytest.raises(NoInformationError, match="overflow"):
        every_run(model, np.array([[0]]), tmp_path)


def test_other_blocks_are_not_known(tmp_path):
    smooth = FeedForward(np.ones((1, 1)), np.ones((1, 1)), activation="gelu")
    model = Model(blocks=(smooth,), W_U=np.ones((1, 1)), W_E=np.ones((1, 1)), W_pos=np.zeros((1, 1)))
    with pytest.raises(NoInformationError, match="ReLU"):
        every_run(model, np.array([[0]]), tmp_path)


@pytest.mark.parametrize(("lead", "hard"), [(121.0, True), (119.0, False)])
def test_a_head_is_hard_where_its_top_score_leads_by_120(tmp_path, lead, hard):
    head = Attention(
        W_Q=np.zeros((1, 2, 1)), b_Q=np.array([[lead]]), W_K=np.array([[[0.0], [1.0]]]), W_V=np.array([[[1.0], [0.0]]]),
        W_O=np.array([[[1.0, 0.0]]]), skip=False, attends="all",
    )  # fmt: skip
    W_E = np.array([[1.0, 0.0], [3.0, 0.0]])
    model = Model(blocks=(head,), W_U=np.eye(2), W_E=W_E, W_pos=np.array([[0.0, 1.0], [0.0, 0.0]]))
    contexts = np.array([[0, 1]])
    if hard:
        assert every_run(model, contexts, tmp_path, soft=False).rows.radii[0] == [0, 0]
    else:
        with pytest.raises(NoInformationError, match="not hard"):
            every_run(model, contexts, tmp_path, soft=False)
        assert every_run(model, contexts, tmp_path).rows.radii[0][0] > 0


@pytest.mark.parametrize(("exp_ulps", "known"), [(4.0, True), (1e9, False)])
def test_an_exponential_of_no_accuracy_says_nothing(tmp_path, exp_ulps, known):
    head = Attention(*np.ones((2, 1, 1, 1)), np.ones((1, 1, 1)), np.ones((1, 1, 1)), attends="all")
    model = Model(blocks=(head,), W_U=np.ones((1, 1)), W_E=np.array([[1.0], [0.5]]), W_pos=np.zeros((2, 1)))
    if known:
        every_run(model, np.array([[0, 1]]), tmp_path, exp_ulps=exp_ulps)
    else:
        with pytest.raises(NoInformationError, match="exponential"):
            every_run(model, np.array([[0, 1]]), tmp_path, exp_ulps=exp_ulps)


def test_an_embedding_that_the_format_does_not_hold_is_rounded(tmp_path):
    model = Model(blocks=(), W_U=np.ones((1, 1)), W_E=np.array([[0.1]]), W_pos=np.zeros((1, 1)))
    assert every_run(model, np.array([[0]]), tmp_path).rows.radii[0][0] > 0


@pytest.mark.parametrize(("common", "hard"), [(0.5, True), (0.1, False)])
def test_a_lead_counts_less_what_the_scores_are_off_by(tmp_path, common, hard):
    """Both scores have a large term in common, whose rounding may be more than what the lead is above 120."""
    head = Attention(
        W_Q=np.zeros((1, 2, 2)), b_Q=np.array([[1e9, 121.0]]), W_K=np.array([[[0.0, 0.0], [0.0, 1.0]]]),
        b_K=np.array([[common, 0.0]]), W_V=np.array([[[1.0], [0.0]]]), W_O=np.array([[[1.0, 0.0]]]), skip=False,
        attends="all",
    )  # fmt: skip
    model = Model(blocks=(head,), W_U=np.eye(2), W_E=np.array([[1.0, 0.0], [3.0, 0.0]]),
                  W_pos=np.array([[0.0, 1.0], [0.0, 0.0]]))  # fmt: skip
    if hard:
        assert every_run(model, np.array([[0, 1]]), tmp_path, FLOAT64, soft=False).rows.radii[0] == [0, 0]
    else:
        with pytest.raises(NoInformationError, match="not hard"):
            every_run(model, np.array([[0, 1]]), tmp_path, soft=False)


def test_scores_that_may_overflow_are_not_known_however_few_bits_they_have(tmp_path):
    one = np.ones((1, 1, 1))
    head = Attention(one * 256.0, one * 256.0, one, one, attends="all")
    model = Model(blocks=(head,), W_U=np.ones((1, 1)), W_E=np.ones((1, 1)), W_pos=np.zeros((2, 1)))
    assert every_run(model, np.array([[0, 0]]), tmp_path, FLOAT32).rows.radii[0] == [0]
    with pytest.raises(NoInformationError, match="overflow"):
        every_run(model, np.array([[0, 0]]), tmp_path, FLOAT16)


def test_a_soft_head_mixes_values_that_are_off(tmp_path):
    """Values that cancel: 3e8 times 0.1 less 1e8 times 0.3 is 0, and -0.7 in float32."""
    some = np.full((1, 2, 1), 0.3)
    head = Attention(some, some, np.array([[[3e8], [-1e8]]]), np.array([[[1.0, 0.0]]]), skip=False, attends="all")
    W_E = np.array([[0.1, 0.3], [0.2, 0.6]])
    model = Model(blocks=(head,), W_U=np.eye(2), W_E=W_E, W_pos=np.zeros((2, 2)))
    contexts = np.array([[0, 1]])
    found = every_run(model, contexts, tmp_path)
    [run] = hostile_run(model, contexts, np.float32, ORDERS[0])
    assert abs(run[0]) > 0.1 and holds(found, 0, run)
