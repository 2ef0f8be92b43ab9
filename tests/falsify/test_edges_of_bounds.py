"""Attacks on the numbers of a certificate: a float better than the truth is not proved, a millionth worse is."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from constructions.model.model import Model
from constructions.tasks.task import Task
from tests.by_kernel import check_by_kernel
from tests.memories import changed, memory, random_task, truth, write_memory
from verify.certificates.certificate import (
    ANSWERS,
    DIVERGENCE,
    FEATURE_RANK,
    RANK_HEADS,
    RANK_WITH_SKIP,
    TEXT_DIVERGENCE,
    Certificate,
)
from verify.provers.memorization import certify_memorization, check_memorization
from verify.verdict import Verdict

BETTER, WORSE = 1e-9, 1e-6  # relatively; float64 knows all of these numbers to 1e-11


def weak_memory(target: str) -> tuple[Model, Task]:
    """Every context is memorized, by a margin of about 1 and with a loss of about a nat."""
    task = random_task(target=target)
    network = memory(task)
    return changed(network, W_U=(0.05 if target == "labels" else 0.9) * network.W_U), task


def entropy(masses: Any) -> mpmath.mpf:
    whole = sum(map(mpmath.mpf, masses))
    return -sum(mpmath.mpf(m) / whole * mpmath.log(mpmath.mpf(m) / whole) for m in masses if m)


def exact_numbers(network: Model, task: Task) -> dict[tuple[str, str], mpmath.mpf]:
    """What a certificate bounds, by statement and name, to 80 digits."""
    found = truth(network, task)
    with mpmath.workprec(300):
        numbers = {
            (ANSWERS, "max_upper"): max(found.divergences),
            (ANSWERS, "mean_upper"): sum(found.divergences) / len(found.divergences),
            (TEXT_DIVERGENCE, "lower"): found.mean_over_all,
            (TEXT_DIVERGENCE, "upper"): found.mean_over_all,
        }
        if task.distributions is None:
            numbers[ANSWERS, "margin_lower"] = min(found.margins)
            numbers[ANSWERS, "guess_lower"] = entropy(np.bincount(task.labels).tolist())
        else:
            distributions = [
                [mpmath.mpf(x) / sum(map(mpmath.mpf, distribution)) for x in distribution]
                for distribution in task.distributions.tolist()
            ]
            mean = [sum(column) / len(distributions) for column in zip(*distributions, strict=True)]
            numbers[ANSWERS, "guess_lower"] = entropy(mean) - sum(map(entropy, distributions)) / len(distributions)
            weights = task.counts.totals().tolist()
            weighted = mpmath.fsum(n * each for n, each in zip(weights, found.divergences, strict=True)) / sum(weights)
            for end in ("lower", "upper"):
                numbers[DIVERGENCE, f"max_{end}"] = max(found.divergences)
                numbers[DIVERGENCE, f"mean_{end}"] = weighted
        values = mpmath.svd_r(mpmath.matrix(found.features), compute_uv=False)
        numbers[FEATURE_RANK, "smallest_singular_value_lower"] = min(values)
        numbers[FEATURE_RANK, "condition_upper"] = max(values) / min(values)
    return numbers


def verdict(check: Any, folder: Path, id: str, **values: float) -> Verdict:
    """The verdict on a statement of a certificate that says other numbers."""
    found = Certificate.load(folder)
    changed_ones = tuple(
        replace(each, values={**each.values, **values}) if each.id == id else each for each in found.statements
    )
    replace(found, statements=changed_ones).save(folder)
    return next(each.verdict for each in check(folder).checks if each.id == id)


@pytest.mark.parametrize("check", [check_memorization, check_by_kernel])
@pytest.mark.parametrize("target", ["labels", "distributions"])
def test_no_number_is_proved_that_is_better_than_the_truth(tmp_path: Path, check: Any, target: str) -> None:
    network, task = weak_memory(target)
    write_memory(tmp_path, network, task, divergence=target == "distributions")
    stored = {each.id: dict(each.values) for each in Certificate.load(tmp_path).statements}
    numbers = exact_numbers(network, task)
    for (id, name), exact in numbers.items():
        honest = stored[id] | ({"lower": 0.0, "upper": 2.0 * float(exact)} if id == TEXT_DIVERGENCE else {})
        honest |= {"mean_lower": 0.0, "mean_upper": 9.0, "max_lower": 0.0, "max_upper": 9.0} if id == DIVERGENCE else {}
        assert name in honest, (id, name)
        side = 1 if name.endswith("upper") or name == "upper" else -1
        better, worse = (float(exact) * (1.0 + side * by) for by in (-BETTER, WORSE))
        nearest = float(exact)  # or the next float, whichever is surely better than the truth
        nearest = nearest if side * nearest < side * exact else math.nextafter(nearest, -side * math.inf)
        for number in (better, nearest):
            assert verdict(check, tmp_path, id, **{**honest, name: number}) is not Verdict.PROVED, (id, name, number)
        if id != FEATURE_RANK:  # its bounds are further from the truth
            assert verdict(check, tmp_path, id, **{**honest, name: worse}) is Verdict.PROVED, (id, name)
        assert verdict(check, tmp_path, id, **{**honest, name: stored[id][name]}) is Verdict.PROVED, (id, name)


@pytest.mark.parametrize("target", ["labels", "distributions"])
def test_what_is_certified_is_on_the_right_side_of_the_truth_and_near_it(target: str) -> None:
    network, task = weak_memory(target)
    stated = {"rank": True, "text_divergence": True, "divergence": target == "distributions"}
    certified = certify_memorization(network, task, **stated).certificate
    for (id, name), exact in exact_numbers(network, task).items():
        value = certified.statement(id).values[name]  # type: ignore[union-attr]
        is_upper = name.endswith("upper") or name == "upper"
        assert value >= exact if is_upper else value <= exact
        assert id == FEATURE_RANK or math.isclose(value, float(exact), rel_tol=1e-3), (id, name)


@pytest.mark.parametrize("check", [check_memorization, check_by_kernel])
@pytest.mark.parametrize("n_heads", [1, 2, 3])
def test_no_rank_is_proved_that_is_one_unit_better_than_the_truth(tmp_path: Path, check: Any, n_heads: int) -> None:
    task = random_task(target="labels")
    network = memory(task, n_heads=n_heads)
    write_memory(tmp_path, network, task, rank=False, rank_of_heads=True, rank_with_skip=True)
    found = truth(network, task)
    matrices = {RANK_HEADS: found.features}
    matrices[RANK_WITH_SKIP] = [[*last, *row] for last, row in zip(found.last, found.features, strict=True)]
    for id, rows in matrices.items():
        with mpmath.workprec(300):
            values = mpmath.svd_r(mpmath.matrix(rows), compute_uv=False)
            rank = sum(1 for value in values if value > mpmath.mpf(2) ** -150 * max(values))
        stored = dict(Certificate.load(tmp_path).statement(id).values)  # type: ignore[union-attr]
        most = min(stored["rows"], stored["columns"])
        assert (stored["lower"], stored["upper"]) == (rank, rank)
        assert verdict(check, tmp_path, id, **stored) is Verdict.PROVED
        for name in ("upper", "all_weights_upper"):
            too_small = {**stored, "lower": 0, "upper": rank - 1, name: rank - 1}
            assert verdict(check, tmp_path, id, **too_small) is Verdict.REFUTED, (id, name)
        if rank < most:
            too_large = {**stored, "lower": rank + 1, "upper": most, "all_weights_upper": most}
            assert verdict(check, tmp_path, id, **too_large) is Verdict.REFUTED, id
        for weaker in ({"lower": rank - 1}, {"upper": most, "all_weights_upper": most}, {"lower": 0}):
            assert verdict(check, tmp_path, id, **{**stored, **weaker}) is Verdict.PROVED, (id, weaker)
