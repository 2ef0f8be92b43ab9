from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from constructions.errors import FileFormatError
from constructions.formats.tensor_file import load_tensors, save_tensors
from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.vectors import load_task
from experiments import sweep as module
from experiments.checking import Checked, differences
from experiments.layers import LayerPoint
from experiments.sweep import agreeing, proved, read_table, sweep, write_table
from experiments.training import exact, trained
from tests.swept_points import BASE, POINTS
from verify.arithmetic.enclosure import Enclosure
from verify.provers.answer_bounds import Answers
from verify.provers.memorization import check_memorization, judge
from verify.verdict import Verdict


def test_each_point_is_a_folder_that_check_takes(swept) -> None:
    out, results = swept
    assert [result.point for result in results] == POINTS
    for result in results:
        report = check_memorization(out / "points" / result.point.key)
        assert all(each.verdict is Verdict.PROVED for each in report.checks)
        assert result.memorized + result.wrong == result.contexts
    assert agreeing(results) and not agreeing([replace(results[0], right=results[0].memorized - 1), *results[1:]])
    assert differences(out) == Checked(len(POINTS), (), ())


def test_nothing_is_trained_twice(copied, monkeypatch) -> None:
    """A program that was edited proves again, from weights that it did not train."""
    monkeypatch.setattr(module, "_trained", lambda *_, **__: pytest.fail("trained again"))
    results, failed = sweep([*POINTS, *POINTS], copied)
    assert len(results) == len(POINTS) and not failed


def test_a_sweep_that_stopped_goes_on(copied) -> None:
    lost = copied / "weights" / f"{POINTS[0].key}.safetensors"
    before = load_tensors(lost, dtypes=("F32",))[1]
    lost.unlink()
    sweep(POINTS, copied)
    after = load_tensors(lost, dtypes=("F32",))[1]
    assert all(np.allclose(before[name], after[name], atol=1e-4) for name in before)


def test_what_fails_costs_its_own_stack_alone(tmp_path, monkeypatch) -> None:
    kept = module._trained

    def failing(stack, **options):
        if stack[0].maps == "shared":
            raise RuntimeError("no luck")
        return kept(stack, **options)

    monkeypatch.setattr(module, "_trained", failing)
    results, failed = sweep(POINTS, tmp_path)
    assert failed == {point.key: "no luck" for point in POINTS if point.maps == "shared"}
    assert len(results) == len(POINTS) - len(failed)


def test_workers_train_the_same(swept, tmp_path) -> None:
    results, _ = sweep(POINTS, tmp_path, workers=partial(ThreadPoolExecutor, 1))
    assert [each.memorized for each in results] == [each.memorized for each in swept[1]]


def test_a_point_beyond_a_limit_stops_the_sweep(copied, monkeypatch) -> None:
    monkeypatch.setattr(module, "ceiling", lambda point: 0)
    results, _ = sweep(POINTS, copied)
    (*_, last) = results
    assert last.violation is not None and "no weights of the shape hold 1" in last.violation
    assert len(results) < len(POINTS)
    assert (copied / "points" / last.point.key / "certificate.json").is_file()
    distribution = next(each for each in POINTS if each.targets == "distributions")
    monkeypatch.setattr(module, "ceiling", lambda point: None)
    monkeypatch.setattr(module, "floor", lambda point: 99.0)
    assert "at least 99.0" in str(sweep([distribution], copied)[0][0].violation)


def test_layers_that_read_vectors_are_points_too(tmp_path) -> None:
    point = LayerPoint(examples=5, n_ctx=2, d_model=4, d_head=1, heads=2, steps=40)
    points = [point, replace(point, context="own"), replace(point, targets="numbers")]
    results, failed = sweep(points, tmp_path)
    assert not failed and [result.point for result in results] == points
    write_table(tmp_path / "layers.csv", results)
    assert read_table(tmp_path / "layers.csv") == results
    assert differences(tmp_path) == Checked(3, (), ())
    edited = [
        replace(results[0], saturation=(5, 0, 0) if results[0].saturation != (5, 0, 0) else (0, 5, 0)),
        *results[1:],
    ]
    write_table(tmp_path / "layers.csv", edited)
    [said] = differences(tmp_path).differences
    assert "saturation is" in said


def test_a_weight_that_cannot_be_told_from_the_threshold_leaves_the_saturation_open(tmp_path, monkeypatch) -> None:
    point = LayerPoint(examples=5, n_ctx=3, d_model=4, d_head=2, heads=2, steps=20)
    open_, told = Enclosure(np.full((5, 2), 0.99), 1e-9), Enclosure(np.full((5, 2), 0.5), 0.0)
    for top, expected in ((open_, None), (told, (5, 0, 0))):
        monkeypatch.setattr(module, "enclose_layer", lambda *given, top=top: SimpleNamespace(top=top))
        [result], failed = sweep([point], tmp_path / str(expected))
        assert not failed and result.saturation == expected


def test_weights_that_are_not_those_of_a_point_cost_that_point_alone(copied) -> None:
    """Of another shape, of another point, not finite, and no weights at all; none of the files is overwritten."""
    files = [copied / "weights" / f"{point.key}.safetensors" for point in POINTS[:4]]
    (about, arrays), (other, _) = (load_tensors(file, dtypes=("F32",)) for file in files[:2])
    save_tensors(files[0], {**arrays, "W_U": arrays["W_U"][:, :2].copy()}, metadata=about)
    save_tensors(files[1], arrays, metadata=about)
    own, broken = load_tensors(files[2], dtypes=("F32",))
    save_tensors(files[2], {**broken, "W_U": broken["W_U"] * np.float32(np.nan)}, metadata=own)
    files[3].write_bytes(b"none")
    before = [file.read_bytes() for file in files]
    results, failed = sweep(POINTS, copied)
    reasons = ("holds tensors of the shapes", "holds the weights of another point", "not finite", "none")
    assert [result.point for result in results] == POINTS[4:] and list(failed) == [p.key for p in POINTS[:4]]
    assert [file.read_bytes() for file in files] == before and other["point"] != about["point"]
    assert all(reason in failed[point.key] for reason, point in zip(reasons[:3], POINTS, strict=False))


def test_a_folder_in_the_place_of_weights_costs_its_point_alone(copied) -> None:
    file = copied / "weights" / f"{POINTS[0].key}.safetensors"
    file.unlink()
    file.mkdir()
    results, failed = sweep(POINTS, copied)
    assert [result.point for result in results] == POINTS[1:] and list(failed) == [POINTS[0].key] and file.is_dir()


def test_bits_a_parameter_are_those_of_the_share(swept) -> None:
    result = replace(swept[1][0], memorized=9, contexts=9, parameters=9)
    assert result.bits == pytest.approx(np.log2(3))
    assert replace(result, memorized=3).bits == 0.0


def test_a_draw_of_a_fixed_sample_counts_as_often_as_it_is_drawn(swept) -> None:
    out, results = swept
    for result in results:
        if result.point.protocol == "all contexts":
            assert result.draws_memorized is result.draws_share is None
            continue
        folder = out / "points" / result.point.key
        model, task = Model.load(folder / "model.safetensors"), load_task(folder / "task.safetensors")
        right = judge(model, task, Criterion.at_least(1)).answers.margin_lower > 0
        times = Counter(result.point.sample().ravel().tolist())
        assert result.draws_memorized == sum(times[i] for i in range(9) if right[i]) and sum(times.values()) == 2**14
        assert result.draws_share == result.draws_memorized / 2**14


def test_a_table_is_read_as_it_was_written(swept) -> None:
    out, results = swept
    assert read_table(out / "figure.csv") == results
    with pytest.raises(FileFormatError, match="not a table of points"):
        read_table(out / "points")
    (out / "other.txt").write_text("key,tokens\na,b\n")
    with pytest.raises(FileFormatError, match="not a table of points"):
        read_table(out / "other.txt")


def test_a_limit_that_is_reached_is_kept(swept) -> None:
    result = replace(swept[1][0], memorized=5, ceiling=5, loss_lower=0.4, loss_upper=0.5, floor=0.5)
    assert result.violation is None
    assert replace(result, memorized=6).violation is not None
    assert replace(result, floor=0.51).violation is not None


def test_what_is_undecided_is_neither_memorized_nor_wrong(monkeypatch) -> None:
    answers = SimpleNamespace(
        margin_lower=np.array([-1.0, 1.0, -2.0]), margin_upper=np.array([1.0, 2.0, -1.0]), mean_loss=lambda: (0.0, 1.0)
    )
    monkeypatch.setattr(module, "judge", lambda *_: SimpleNamespace(answers=answers))
    (weights,) = trained([BASE])
    result = proved(BASE, BASE.model(exact(BASE, weights)))
    assert (result.memorized, result.wrong) == (1, 1)


def test_a_tie_is_not_memorized(monkeypatch) -> None:
    (weights,) = trained([BASE])
    model = BASE.model(exact(BASE, weights))
    tied = replace(model, W_U=0.0 * model.W_U)
    assert proved(BASE, tied).memorized == 0
    bounds = {"margin_lower": np.array([0.0, 5e-324, 0.0]), "margin_upper": np.array([1.0, 1.0, 0.0])}
    answers = SimpleNamespace(**bounds, mean_loss=lambda: (0.0, 1.0))
    monkeypatch.setattr(module, "judge", lambda *_: SimpleNamespace(answers=answers))
    assert (proved(BASE, tied).memorized, proved(BASE, tied).wrong) == (1, 1)


def test_the_square_of_a_number_lies_between_the_squares_of_its_bounds(monkeypatch) -> None:
    point = LayerPoint(examples=2, n_ctx=2, d_model=2, d_head=1, heads=1, targets="numbers", steps=2)
    lower, upper = np.array([0.0, 0.25]), np.array([0.5, 0.75])
    answers = Answers(lower, upper, lower, upper, None, np.array(["float64"] * 2))
    monkeypatch.setattr(module, "judge", lambda *_: SimpleNamespace(answers=answers))
    (weights,) = trained([point])
    found = proved(point, point.model(exact(point, weights)))
    assert found.loss_lower <= 0.03125 < 0.40625 <= found.loss_upper
    assert (found.loss_lower, found.loss_upper) == (pytest.approx(0.03125), pytest.approx(0.40625))
