"""Exact integers with one radius for each column hold what balls of thousands of bits find, or refuse."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings

from constructions.memories.knots import knots_memory
from constructions.models.blocks import Attention, FeedForward, Normalization
from constructions.models.model import Model
from constructions.models.precision import rounded_model
from constructions.probes.probe_memory import probe_memory
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from tests.verify.independent.test_ball_forward import read
from tests.verify.runs.integer_models import random_models
from verify.certificates.certificate import MODEL_FILE, TASK_FILE
from verify.independent import evaluation
from verify.independent.ball_forward import BallForward, NoInformationError
from verify.independent.checker import check_independently
from verify.independent.exact_forward import ExactForward
from verify.independent.plain.plain_task import PlainTask
from verify.provers.memorization import certify_memorization
from verify.verdict import Verdict

MANY = 8192  # bits


def task_of(contexts: np.ndarray, model: Model) -> Task:
    labels = np.zeros(len(contexts), dtype=np.int64)
    return array_task(
        contexts, next_tokens=labels, vocabulary=max(model.W_E.shape[0], model.d_vocab_out), target="labels"
    )


def rational(x: arb) -> Fraction:
    mantissa, exponent = (int(n) for n in x.man_exp())
    return mantissa * Fraction(2) ** exponent


def differences(model: Model, contexts: np.ndarray) -> tuple[Fraction, Fraction]:
    """How far the exact logits are from the real ones at most, and how far they say; refuses if these disagree."""
    plain, task = read(model, task_of(np.unique(contexts, axis=0), model))
    assert isinstance(task, PlainTask)
    found = ExactForward(plain).run(task.contexts)
    rows = [(row, error) for row, error in found.of(range(len(found.rows)))]
    balls = BallForward(plain, task, bits=MANY).run(range(len(task.contexts))).outputs
    furthest = said = Fraction(0)
    with ctx.workprec(MANY):
        for place, real in zip(found.places, balls, strict=True):
            row, error = rows[place]
            assert all(x.is_exact() for x in row)
            said = rational(error)
            for x, y in zip(row, real, strict=True):
                off = abs(rational(x) - rational(y.mid()))
                assert off <= said + rational(y.rad())
                furthest = max(furthest, off)
    return furthest, said


def test_the_real_logits_are_within_the_radius_or_the_model_is_refused() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=60)
    @given(random_models())
    def one(given_model: tuple[Model, np.ndarray]) -> None:
        try:
            differences(*given_model)
            seen["judged"] += 1
        except NoInformationError:
            seen["refused"] += 1

    one()
    assert seen["judged"] > 5 and seen["refused"] > 0


def hard_head(lead: float, *, values: Sequence[float], skip: bool = False, ties: int = 1) -> tuple[Model, np.ndarray]:
    """A head that reads the first `ties` positions, whose scores lead by this, of rows with these values."""
    length = len(values)
    W_pos = np.zeros((length, 2))
    W_pos[:ties, 1] = 1.0
    block = Attention(
        W_Q=np.zeros((1, 2, 1)), b_Q=np.array([[lead]]), W_K=np.array([[[0.0], [1.0]]]), W_V=np.array([[[1.0], [0.0]]]),
        W_O=np.array([[[1.0, 0.0]]]), skip=skip, attends="all",
    )  # fmt: skip
    W_E = np.stack([np.array(values, dtype=float), np.zeros(length)], axis=1)
    model = Model(blocks=(block,), W_U=np.array([[1.0, 0.0], [0.0, 1.0]]), W_E=W_E, W_pos=W_pos)
    return model, np.arange(length)[None]


@pytest.mark.parametrize("ties", [1, 2])
def test_what_a_head_reads_beside_its_rows_is_within_the_radius_and_not_much_less(ties: int) -> None:
    model, contexts = hard_head(50.0, values=[3.0, 5.0, 1024.0, -7.0], ties=ties)
    off, said = differences(model, contexts)
    assert Fraction(1, 100) < off / said <= 1


AFTER = {
    "neurons beside a skip connection": FeedForward(W_in=np.zeros((2, 1)), W_out=np.zeros((1, 2)), skip=True),
    "a head beside a skip connection": Attention(
        W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.zeros((1, 2, 1)), W_O=np.zeros((1, 1, 2)),
        skip=True, attends="all",
    ),
    "a map that changes signs once": FeedForward(
        W_in=-np.eye(2), b_in=np.array([9.0, 9.0]), W_out=np.eye(2), b_out=np.zeros(2), skip=False
    ),
    "a map that changes signs twice": FeedForward(
        W_in=-np.eye(2), b_in=np.array([9.0, 9.0]), W_out=-np.eye(2), b_out=np.zeros(2), skip=False
    ),
}  # fmt: skip


@pytest.mark.parametrize("after", AFTER)
def test_the_radius_goes_through_what_follows(after: str) -> None:
    model, contexts = hard_head(50.0, values=[3.0, 5.0, 1024.0, -7.0])
    off, said = differences(replace(model, blocks=(*model.blocks, AFTER[after])), contexts)
    assert Fraction(1, 100) < off / said <= 1


def test_scores_that_are_equal_but_for_the_radius_share_a_head_nearly() -> None:
    """Both rows read the 1 of the first position, with dust of another size, into a column of their own."""
    first = Attention(
        W_Q=np.array([[[1.0], [0.0], [0.0], [0.0]]]), W_K=np.array([[[0.0], [1.0], [0.0], [0.0]]]),
        W_V=np.array([[[0.0], [1.0], [0.0], [0.0]]]), W_O=np.array([[[0.0, 0.0, 0.0, 1.0]]]), skip=True, attends="all",
    )  # fmt: skip
    second = Attention(
        W_Q=np.zeros((1, 4, 1)), b_Q=np.array([[2.0**40]]), W_K=np.array([[[0.0], [0.0], [0.0], [1.0]]]),
        W_V=np.array([[[0.0], [0.0], [1.0], [0.0]]]), W_O=np.array([[[0.0, 0.0, 1.0, 0.0]]]), skip=False, attends="all",
    )  # fmt: skip
    W_pos = np.array([[46.0, 1.0, 0.0, 0.0], [90.0, 0.0, 2.0, 0.0]])
    W_U = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, -1.0], [0.0, 0.0]])
    model = Model(blocks=(first, second), W_U=W_U, W_E=np.zeros((1, 4)), W_pos=W_pos)
    off, said = differences(model, np.zeros((1, 2), dtype=np.int64))
    assert Fraction(1, 1000) < off / said <= 1


def test_a_causal_head_reads_what_is_before() -> None:
    W_pos = np.eye(3)
    head = Attention(
        W_Q=np.zeros((1, 3, 1)), b_Q=np.array([[60.0]]), W_K=np.array([[[1.0], [2.0], [3.0]]]), W_V=np.eye(3)[None],
        W_O=np.eye(3)[None], skip=True, attends="causal",
    )  # fmt: skip
    last = Attention(  # reads the first position
        W_Q=np.zeros((1, 3, 1)), b_Q=np.array([[60.0]]), W_K=np.array([[[4.0], [1.0], [1.0]]]), W_V=np.eye(3)[None],
        W_O=np.eye(3)[None], skip=False, attends="last",
    )  # fmt: skip
    model = Model(blocks=(head, last), W_U=np.eye(3), W_E=np.zeros((1, 3)), W_pos=W_pos)
    differences(model, np.zeros((1, 3), dtype=np.int64))


def test_a_head_that_is_not_hard_is_refused() -> None:
    for lead, ties in ((44.0, 1), (0.5, 1), (50.0, 3)):
        with pytest.raises(NoInformationError):
            differences(*hard_head(lead, values=[3.0, 5.0, 1024.0, -7.0], ties=ties))


def test_a_radius_moves_the_scores_of_the_next_head() -> None:
    """What the first head leaves beside an integer is blown up until the second no longer knows its scores."""
    (first,), contexts = hard_head(50.0, values=[3.0, 5.0, 1024.0, -7.0])[0].blocks, np.arange(4)[None]
    for gain, known in ((2.0**20, True), (2.0**200, False)):
        again = Attention(
            W_Q=np.array([[[gain], [0.0]]]), W_K=np.array([[[1.0], [0.0]]]), W_V=np.array([[[1.0], [0.0]]]),
            W_O=np.array([[[1.0, 0.0]]]), skip=True, attends="all",
        )  # fmt: skip
        model = hard_head(50.0, values=[3.0, 5.0, 1024.0, -7.0])[0]
        model = Model(blocks=(first, again), W_U=model.W_U, W_E=model.W_E, W_pos=model.W_pos)
        if known:
            differences(model, contexts)
        else:
            with pytest.raises(NoInformationError, match="not known well enough"):
                differences(model, contexts)


def test_other_blocks_are_left_to_balls() -> None:
    model = hard_head(50.0, values=[3.0, 5.0])[0]
    normalized = Normalization(kind="layer", w=np.ones(2), b=np.zeros(2), epsilon=1e-5)
    smooth = FeedForward(W_in=np.ones((2, 1)), W_out=np.ones((1, 2)), activation="gelu")
    for block in (normalized, smooth):
        other = Model(blocks=(*model.blocks, block), W_U=model.W_U, W_E=model.W_E, W_pos=model.W_pos)
        assert not ExactForward.fits(read(other, task_of(np.arange(2)[None], other))[0])
    assert ExactForward.fits(read(model, task_of(np.arange(2)[None], model))[0])


def folder(path: Path, task: Task, model: Model) -> Path:
    path.mkdir()
    model.save(path / MODEL_FILE)
    task.save(path / TASK_FILE)
    certify_memorization(model, task, rank=False).save(path)
    return path


@pytest.fixture(scope="module")
def thousand() -> Task:
    rng = np.random.default_rng(3)
    contexts = np.unique(rng.integers(0, 40, (1100, 4)), axis=0)[:1000]
    return array_task(contexts, next_tokens=rng.integers(0, 200, 1000), vocabulary=200, target="labels")


def test_a_thousand_facts_are_checked_at_once_and_one_that_is_wrong_is_found(
    tmp_path: Path, thousand: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sizes, run = probe_memory(thousand).model, [], ExactForward.run
    with monkeypatch.context() as patch:
        patch.setattr(
            ExactForward, "run", lambda exact, contexts: (sizes.append(len(contexts)), run(exact, contexts))[1]
        )
        for slower in ("BallForward", "IntegerForward"):
            patch.setattr(evaluation, slower, None)
        report = check_independently(folder(tmp_path / "right", thousand, model))
    assert sizes == [1000]
    assert report.checks[0].verdict is Verdict.PROVED and report.checks[0].values["held"] == 1000
    W_U = model.W_U.copy()
    W_U[:, int(thousand.labels[0])] = 0.0  # this answer is lost
    lost = int((thousand.labels == thousand.labels[0]).sum())
    forged = folder(tmp_path / "forged", thousand, Model(**{**vars(model), "W_U": W_U}))
    assert check_independently(forged).checks[0].values["held"] <= 1000 - lost


@pytest.mark.parametrize("build", [probe_memory, knots_memory])
def test_both_paths_say_the_same(tmp_path: Path, build: object, monkeypatch: pytest.MonkeyPatch) -> None:
    task = enumerated_task(4, 3)
    path = folder(tmp_path / "made", task, rounded_model(build(task).model, "float32"))  # type: ignore[operator]
    integers = check_independently(path).checks[0]
    monkeypatch.setattr(ExactForward, "fits", staticmethod(lambda model: False))
    balls = check_independently(path).checks[0]
    assert integers.verdict is balls.verdict is Verdict.PROVED
    assert integers.values.keys() == balls.values.keys()
    for name, value in integers.values.items():
        assert float(value) == pytest.approx(float(balls.values[name]), rel=1e-12)
