"""Divergences from both sides: what a certificate states, what each checker proves, and what it does not."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from constructions.errors import InputError
from tests.by_kernel import check_by_kernel
from tests.memories import changed, memory, random_task, truth, write_memory
from verify.certificates.certificate import DIVERGENCE, Certificate
from verify.provers import divergence
from verify.provers.memorization import certify_memorization, check_memorization
from verify.verdict import Verdict

PROVED, REFUTED, UNDECIDED = Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED
both = pytest.mark.parametrize("check", [check_memorization, check_by_kernel])


@example(0.0, 5e-324)
@example(2.0**-1022, 2.0**-1022 + 5e-324)
@given(st.floats(0.0, 1e10), st.floats(0.0, 1e10))
def test_a_stored_interval_leaves_its_own_width_on_both_sides(a, b):
    lower, upper = min(a, b), max(a, b)
    outer = divergence.widened(lower, upper)
    width = upper - lower
    assert outer[0] <= lower <= upper <= outer[1]
    assert 0 <= outer[0]
    if width > 1e-300:
        assert outer[0] == 0.0 or lower - outer[0] >= 0.99 * width
        assert outer[1] - upper >= 0.99 * width
        assert outer[1] - outer[0] <= 4 * width


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory whose logits are a tenth too small, so that its divergences are known to many digits."""
    folder, task = tmp_path_factory.mktemp("weak"), random_task()
    network = memory(task)
    write_memory(folder, changed(network, W_U=0.9 * network.W_U), task, rank=False, divergence=True)
    return folder


def restated(folder: Path, to: Path, **values: float) -> Path:
    """The same files with other numbers in the statement."""
    for name in ("model.safetensors", "task.safetensors"):
        (to / name).write_bytes((folder / name).read_bytes())
    found = Certificate.load(folder)
    statements = tuple(
        replace(each, values={**each.values, **values}) if each.id == DIVERGENCE else each for each in found.statements
    )
    replace(found, statements=statements).save(to)
    return to


def verdict(check: Any, folder: Path) -> Verdict:
    return next(each.verdict for each in check(folder).checks if each.id == DIVERGENCE)


def exact(folder: Path) -> dict[str, mpmath.mpf]:
    """The largest divergence and the mean over the occurrences, to 80 digits."""
    task = random_task()
    network = memory(task)
    found, weights = truth(changed(network, W_U=0.9 * network.W_U), task).divergences, task.counts.totals().tolist()
    with mpmath.workprec(300):
        mean = mpmath.fsum(n * each for n, each in zip(weights, found, strict=True)) / sum(weights)
        return {"max": max(found), "mean": mean}


@both
def test_the_ends_enclose_the_truth_tightly_and_are_proved_again(weak: Path, check: Any) -> None:
    stored = Certificate.load(weak).statement(DIVERGENCE).values  # type: ignore[union-attr]
    for name, truth_of in exact(weak).items():
        lower, upper = stored[f"{name}_lower"], stored[f"{name}_upper"]
        assert lower <= truth_of <= upper and upper - lower < 1e-10
    assert verdict(check, weak) is PROVED


@both
@pytest.mark.parametrize("name", ["max", "mean"])
def test_no_end_beyond_the_truth_is_proved(weak: Path, tmp_path: Path, check: Any, name: str) -> None:
    true = exact(weak)[name]
    above = float(true) if float(true) > true else math.nextafter(float(true), math.inf)
    wide = {f"{name}_lower": 0.0, f"{name}_upper": 1.0, "max_upper": 1.0}
    too_strong = {f"{name}_lower": above, f"{name}_upper": math.nextafter(above, -math.inf)}
    for end, number in too_strong.items():
        assert verdict(check, restated(weak, tmp_path, **{**wide, end: number})) is not PROVED, end
        further = number * (1.0 + 1e-6 * (1.0 if number > true else -1.0))
        assert verdict(check, restated(weak, tmp_path, **{**wide, end: further})) is REFUTED, end


@both
def test_another_number_of_occurrences_is_refuted(weak: Path, tmp_path: Path, check: Any) -> None:
    stored = Certificate.load(weak).statement(DIVERGENCE).values  # type: ignore[union-attr]
    folder = restated(weak, tmp_path, occurrences=stored["occurrences"] + 1)
    assert verdict(check, folder) is REFUTED


@both
def test_the_divergences_of_an_exact_memory_are_nearly_nothing(tmp_path: Path, check: Any) -> None:
    """Where a bound from above would do for the answers, the statement still holds from both sides."""
    task = random_task()
    write_memory(tmp_path, memory(task), task, rank=False, divergence=True)
    stored = Certificate.load(tmp_path).statement(DIVERGENCE).values  # type: ignore[union-attr]
    assert 0.0 <= stored["max_lower"] <= stored["max_upper"] < 1e-20
    assert verdict(check, tmp_path) is PROVED


def test_labels_have_no_divergence_from_distributions() -> None:
    task = random_task(target="labels")
    with pytest.raises(InputError, match="divergence"):
        certify_memorization(memory(task), task, divergence=True)
