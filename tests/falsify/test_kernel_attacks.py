"""Weights, claims and files at their limits: what the kernel, which checks every folder, can be made to believe."""

import dataclasses
import shutil
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import ByheartError
from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.rule import RuleTask, rule_task
from constructions.tasks.task import Counts, make_task
from tests import task_files
from tests.by_kernel import check_by_kernel, read_rule_file
from tests.corpus.cases import GOOD_FOLDERS
from tests.corpus.forging import restated
from tests.layers import memory_layer, random_layer_task, write_layer
from tests.memories import changed, memory, random_task, truth, write_memory
from tests.verify.kernel import folders
from tests.verify.kernel.test_rule import CHANGES
from verify.certificates.certificate import (
    ANSWERS,
    FEATURE_RANK,
    SATURATION,
    TEXT_DIVERGENCE,
    Certificate,
    Statement,
)
from verify.provers.memorization import check_memorization
from verify.verdict import Verdict

PROVED, REFUTED, UNDECIDED = Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED
BOTH = (check_memorization, check_by_kernel)


def verdicts(folder: Path) -> dict[str, Verdict]:
    return {check.id: check.verdict for check in check_by_kernel(folder).checks}


# Weights.


@pytest.mark.parametrize("distance, expected", [(2.0**-700, PROVED), (-(2.0**-700), REFUTED), (0.0, UNDECIDED)])
def test_logits_that_differ_in_the_seven_hundredth_bit_are_told_apart_and_ties_are_not(
    tmp_path: Path, distance: float, expected: Verdict
) -> None:
    """Two columns of the readout that differ by the smallest numbers; a third one tells how large all of them are."""
    neurons = FeedForward(np.eye(2), np.eye(2), activation="gelu")
    task = make_task(np.array([[0]]), Counts.from_rows([{1: 1}]), vocabulary=("a", "b", "c"), target="labels")
    W_U = np.array([[1.0, 1.0, 0.0], [0.0, distance, 0.0]])
    model = Model((neurons,), W_U=W_U, W_E=np.ones((3, 2)), W_pos=np.zeros((1, 2)))
    folders.written(tmp_path, model, task)
    restated(tmp_path, ANSWERS, "", memorized=1, wrong=0, margin_lower=None)
    assert verdicts(tmp_path)[ANSWERS] is expected


def test_scores_that_no_float64_holds_are_decided_by_more_bits(tmp_path: Path) -> None:
    task = random_task(target="labels", facts=4)
    network = memory(task)
    huge = changed(network, W_Q=network.W_Q * 1e300, W_K=network.W_K * 1e300)
    write_memory(tmp_path, huge, task)
    right = sum(margin > 0 for margin in truth(huge, task, bits=2500).margins)
    assert check_by_kernel(tmp_path).verdict is (PROVED if right == 4 else REFUTED)


@pytest.mark.parametrize("tensor", ["W_E", "W_V", "W_O", "W_U"])
@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_weights_of_any_size_are_judged_exactly(tmp_path: Path, tensor: str, size: float) -> None:
    task = random_task(target="labels", facts=4, tail=1)
    network = memory(task, n_heads=3)
    huge = changed(network, **{tensor: getattr(network, tensor) * size})
    write_memory(tmp_path, huge, task)
    right = sum(margin > 0 for margin in truth(huge, task, bits=2500).margins)
    assert check_by_kernel(tmp_path).verdict is (PROVED if right == 4 else REFUTED)
    restated(tmp_path, ANSWERS, "", memorized=0, wrong=4 - right, margin_lower=None)
    assert verdicts(tmp_path)[ANSWERS] is PROVED
    if right:
        restated(tmp_path, ANSWERS, wrong=5 - right)
        assert verdicts(tmp_path)[ANSWERS] is REFUTED


# Claims.


def test_a_margin_exactly_at_the_truth_is_not_refuted_and_beyond_it_is(tmp_path: Path) -> None:
    task = random_task(target="labels", facts=3, tail=0)
    network = memory(task)
    write_memory(tmp_path, network, task)
    with mpmath.workprec(300):
        at = Fraction(int(mpmath.floor(mpmath.ldexp(min(truth(network, task).margins), 140))), 2**140)
    for margin, expected in ((at, PROVED), (at + Fraction(1, 2**60), REFUTED), (at - Fraction(1, 2**60), PROVED)):
        restated(tmp_path, ANSWERS, margin_lower=margin)
        assert verdicts(tmp_path)[ANSWERS] is expected


@pytest.mark.parametrize("tail", [0, 3])
def test_a_mean_over_the_text_is_known_to_as_many_bits_as_it_takes(tmp_path: Path, tail: int) -> None:
    task = random_task(facts=4, tail=tail)
    network = memory(task, n_heads=3)
    certificate = write_memory(tmp_path, network, task, rank=False).certificate
    with mpmath.workprec(500):
        below = int(mpmath.floor(mpmath.ldexp(truth(network, task, bits=500).mean_over_all, 160)))
    occurrences = int(task.counts.totals().sum() + task.tail_counts.totals().sum())
    for shift, expected in ((0, PROVED), (1, REFUTED), (-1, REFUTED)):
        ends = {"lower": Fraction(below + shift, 2**160), "upper": Fraction(below + shift + 1, 2**160)}
        stated = Statement(TEXT_DIVERGENCE, "tight", {"contexts": 4 + tail, "occurrences": occurrences, **ends})
        dataclasses.replace(certificate, statements=(certificate.answers, stated)).save(tmp_path)
        assert verdicts(tmp_path)[TEXT_DIVERGENCE] is expected


@pytest.mark.parametrize("columns", [8, 14, 40])  # of the features, with the embedded last token, of neither
def test_a_forged_rank_of_more_contexts_than_features_is_refuted(tmp_path: Path, columns: int) -> None:
    task = random_task(facts=30)
    certified = write_memory(tmp_path, memory(task, n_heads=4), task).certificate
    assert certified.statement(FEATURE_RANK) is None
    forged = Statement(FEATURE_RANK, "forged", {"rows": 30, "columns": columns})
    dataclasses.replace(certified, statements=(*certified.statements, forged)).save(tmp_path)
    assert verdicts(tmp_path)[FEATURE_RANK] is REFUTED


@given(st.integers(0, 10**6))
def test_dependent_features_are_not_proved_independent(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Features of rank 2 in exact arithmetic, which no balls tell from independent ones: nothing is proved."""
    folder = tmp_path_factory.mktemp("dependent")
    task = random_task(facts=4, tail=0, seed=seed % 50)
    network = memory(task, n_heads=3, seed=seed)
    twins = {name: np.repeat(getattr(network, name)[:1], 3, axis=0) for name in ("W_Q", "W_K", "W_V")}
    certificate = write_memory(folder, changed(network, **twins), task, rank=False).certificate
    numbers = {"rows": 4, "columns": 6, "smallest_singular_value_lower": 2.0**-900, "condition_upper": 2.0**900}
    forged = Statement(FEATURE_RANK, "forged", numbers)
    dataclasses.replace(certificate, statements=(*certificate.statements, forged)).save(folder)
    assert verdicts(folder)[FEATURE_RANK] is not PROVED


@pytest.mark.parametrize("step", [2, 10])
def test_features_of_very_different_sizes_have_the_rank_that_is_stated(tmp_path: Path, step: int) -> None:
    task = random_task(facts=8, tail=0)
    network = memory(task)
    sizes = np.ldexp(1.0, -step * np.arange(5))
    network = changed(network, W_E=network.W_E * sizes[:, None], W_pos=0 * network.W_pos)
    stated = write_memory(tmp_path, network, task).certificate.statement(FEATURE_RANK)
    assert stated is not None and verdicts(tmp_path)[FEATURE_RANK] is PROVED
    with mpmath.workprec(300):
        least = min(mpmath.svd_r(mpmath.matrix(truth(network, task).features), compute_uv=False))
    assert stated.values["smallest_singular_value_lower"] <= least
    restated(tmp_path, FEATURE_RANK, smallest_singular_value_lower=1.0000001 * float(least))
    assert verdicts(tmp_path)[FEATURE_RANK] is REFUTED


@pytest.fixture
def layer_folder(tmp_path: Path) -> Path:
    task = random_layer_task(examples=6, tokens=4, d_model=4, d_out=1, shared=False)
    write_layer(tmp_path, memory_layer(task, n_heads=3), task)
    return tmp_path


@pytest.mark.parametrize(
    ("id", "values", "expected"),
    [
        (ANSWERS, {"max_upper": 1e-60, "mean_upper": 1e-60}, REFUTED),
        (ANSWERS, {"memorized": 0}, PROVED),
        (ANSWERS, {"memorized": 0, "wrong": 1}, REFUTED),
        (SATURATION, {"saturated_lower": 0}, PROVED),
        (SATURATION, {"saturated_lower": 18}, REFUTED),
        (SATURATION, {"pairs": 19}, REFUTED),
        (FEATURE_RANK, {"columns": 15}, REFUTED),
        (FEATURE_RANK, {"smallest_singular_value_lower": 1e9}, REFUTED),
        (FEATURE_RANK, {"smallest_singular_value_lower": 1e-9, "condition_upper": 1e12}, PROVED),
    ],
)
def test_forged_numbers_about_a_layer_are_not_proved(layer_folder: Path, id: str, values: dict, expected: Verdict):
    assert check_by_kernel(layer_folder).verdict is PROVED
    restated(layer_folder, id, **values)
    assert verdicts(layer_folder)[id] is expected


def test_statements_that_the_kind_of_task_cannot_have_are_refuted(tmp_path: Path) -> None:
    task = random_layer_task(examples=3, tokens=4, d_model=4, kind="classification")
    certified = write_layer(tmp_path / "classes", memory_layer(task, n_heads=3), task, rank=False).certificate
    text = Statement(TEXT_DIVERGENCE, "", {"contexts": 3, "occurrences": 3, "lower": 0.0, "upper": 9.0})
    dataclasses.replace(certified, statements=(certified.answers, text)).save(tmp_path / "classes")
    words = random_task()
    model = memory(words)
    tokens = write_memory(tmp_path / "tokens", model, words, rank=False).certificate
    pairs = words.n_contexts * model.attention.n_heads
    saturated = Statement(SATURATION, "", {"pairs": pairs, "saturated_lower": 0, "delta": 0.5})
    dataclasses.replace(tokens, statements=(*tokens.statements, saturated)).save(tmp_path / "tokens")
    for check in BOTH:
        for folder, id in (("classes", TEXT_DIVERGENCE), ("tokens", SATURATION)):
            found = {each.id: each.verdict for each in check(tmp_path / folder).checks}
            assert found[id] is REFUTED


# Rules.


@pytest.mark.parametrize("change", CHANGES)
def test_both_readers_refuse_the_same_rules(change: dict, tmp_path: Path) -> None:
    path, honest = tmp_path / "task.safetensors", task_files.parts(rule_task("max", d_vocab=3, n_ctx=2))
    for read in (RuleTask.load, read_rule_file):
        task_files.write(path, honest, task="rule")
        read(path)
        task_files.write(path, {**honest, **change}, task="rule")
        with pytest.raises(ByheartError):
            read(path)


def test_a_certificate_of_prompts_that_claims_more_is_not_proved(tmp_path: Path) -> None:
    shutil.copytree(GOOD_FOLDERS / "prompts-at-least", tmp_path, dirs_exist_ok=True)
    found = Certificate.load(tmp_path)
    values = {**found.answers.values, "memorized": 4, "wrong": 0}
    statement = dataclasses.replace(found.answers, values=values, memorized="")
    dataclasses.replace(found, statements=(statement,), criterion=Criterion()).save(tmp_path)
    for check in BOTH:
        assert check(tmp_path).verdict is REFUTED is check(tmp_path).checks[0].verdict
