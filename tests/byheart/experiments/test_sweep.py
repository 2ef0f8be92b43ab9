import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from byheart.experiments import sweep as module
from byheart.experiments.layers import LayerPoint
from byheart.experiments.points import Point
from byheart.experiments.sweep import agreeing, differences, proved, read_table, sweep, write_table
from byheart.experiments.training import exact, shapes, trained
from constructions.errors import FileFormatError, InputError
from constructions.models.blocks import Attention
from constructions.models.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.vectors import load_task
from constructions.tensor_file import load_tensors, save_tensors
from verify.arithmetic.enclosure import Enclosure
from verify.certificates.answers import Answers
from verify.certificates.memorization import certify_memorization, check_memorization, judge
from verify.verdict import Verdict

_BASE = Point(tokens=3, d_model=2, d_head=1, heads=1, steps=60)
_SHAPES = (_BASE, replace(_BASE, heads=0), replace(_BASE, maps="shared"), replace(_BASE, targets="laws", d_model=1))
_SHAPES += (replace(_BASE, protocol="fixed sample"),)
POINTS = [replace(shape, data_seed=seed, seed=seed) for seed in range(2) for shape in _SHAPES]


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> tuple[Path, list]:
    out = tmp_path_factory.mktemp("experiment")
    results, failed = sweep(POINTS, out)
    assert not failed
    write_table(out / "figure.csv", results)
    return out, results


@pytest.fixture
def copied(swept, tmp_path) -> Path:
    return Path(shutil.copytree(swept[0], tmp_path / "out"))


def test_each_point_is_a_folder_that_check_takes(swept) -> None:
    out, results = swept
    assert [result.point for result in results] == POINTS
    for result in results:
        report = check_memorization(out / "points" / result.point.key)
        assert all(each.verdict is Verdict.PROVED for each in report.checks)
        assert result.held + result.wrong == result.contexts
    assert agreeing(results) and not agreeing([replace(results[0], right=results[0].held - 1), *results[1:]])
    assert differences(out) == (len(POINTS), [])


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
    assert [each.held for each in results] == [each.held for each in swept[1]]


def test_a_point_beyond_a_limit_stops_the_sweep(copied, monkeypatch) -> None:
    monkeypatch.setattr(module, "ceiling", lambda point: 0)
    results, _ = sweep(POINTS, copied)
    (*_, last) = results
    assert last.violation is not None and "no weights of the shape hold 1" in last.violation
    assert len(results) < len(POINTS)
    assert (copied / "points" / last.point.key / "certificate.json").is_file()
    law = next(each for each in POINTS if each.targets == "laws")
    monkeypatch.setattr(module, "ceiling", lambda point: None)
    monkeypatch.setattr(module, "floor", lambda point: 99.0)
    assert "at least 99.0" in str(sweep([law], copied)[0][0].violation)


@pytest.mark.parametrize(
    ("column", "place"),
    [(each, 2) for each in ("held", "wrong", "right", "loss_upper", "parameters", "bits_a_parameter", "ceiling")]
    + [("draws_held", 2), ("draws_held", 4)],
)
def test_an_edited_cell_is_noticed(copied, column: str, place: int) -> None:
    table = copied / "figure.csv"
    header, *rows = table.read_text().splitlines()
    cells = rows[place].split(",")
    cells[header.split(",").index(column)] = "7.5"
    rows[place] = ",".join(cells)
    table.write_text("\n".join([header, *rows, ""]))
    lines, wrong = differences(copied)
    assert lines == len(POINTS)
    assert len(wrong) == 1 and f"{column} is '7.5'" in wrong[0]


def test_a_column_that_an_earlier_table_lacks_is_named(copied) -> None:
    table = copied / "figure.csv"
    cells = [line.split(",") for line in table.read_text().splitlines()]
    place = cells[0].index("draws_held")
    table.write_text("".join(",".join(line[:place] + line[place + 1 :]) + "\n" for line in cells))
    said = differences(copied)[1]
    assert len(said) == sum(line[place] != "" for line in cells[1:]) > 0
    assert all("draws_held is missing, expected" in each for each in said)


def test_another_label_table_or_seed_is_noticed(copied) -> None:
    table = copied / "figure.csv"
    text = table.read_text().splitlines()
    header = text[0].split(",")
    cells = text[1].split(",")
    cells[header.index("seed")] = "5"
    table.write_text("\n".join([text[0], ",".join(cells), *text[2:]]) + "\n")
    assert any("settings are those of another point" in each for each in differences(copied)[1])
    first, other = (copied / "points" / POINTS[i].key for i in (0, len(_SHAPES)))
    for name in ("task.safetensors", "model.safetensors", "certificate.json"):
        shutil.copy(other / name, first / name)
    table.write_text("\n".join(text) + "\n")
    assert any("task is not that of its settings" in each for each in differences(copied)[1])


def test_weights_of_another_shape_in_the_folder_of_a_point_are_noticed(copied) -> None:
    """With a certificate and a table that fit them."""
    point, results = POINTS[0], read_table(copied / "figure.csv")
    wide = replace(point, d_model=9, d_head=9, heads=4)
    model, folder = wide.model(exact(wide, trained([wide])[0])), copied / "points" / point.key
    own = proved(point, model)
    model.save(folder / "model.safetensors")
    certify_memorization(model, point.task(), Criterion.at_least(max(1, own.held))).save(folder)
    write_table(copied / "figure.csv", [own, *results[1:]])
    [said] = differences(copied)[1]
    assert point.key in said and "its model is not of the shape of its settings" in said


def test_only_maps_that_are_shared_are_those_of_a_point_that_shares_them() -> None:
    rng, point = np.random.default_rng(0), replace(_BASE, maps="shared", heads=2)
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes(point).items()}
    model = point.model(exact(point, weights))
    [attention] = model.blocks
    assert isinstance(attention, Attention) and module._is_of(point, model)
    assert not module._is_of(replace(point, d_head=2), model)
    for name, place in (("W_Q", 0), ("W_V", 0), ("W_O", 0), ("W_O", -1)):
        maps = getattr(attention, name).copy()
        maps[0, 0, place] += 1.0
        assert not module._is_of(point, replace(model, blocks=(replace(attention, **{name: maps}),))), (name, place)


def test_a_point_beyond_a_limit_or_twice_in_a_table_is_noticed(copied, monkeypatch) -> None:
    results = read_table(copied / "figure.csv")
    write_table(copied / "figure.csv", [*results, results[0]])
    assert differences(copied)[1] == [f"figure.csv, point {results[0].point.key}: it stands there twice"]
    monkeypatch.setattr(module, "ceiling", lambda point: 0)
    write_table(copied / "figure.csv", [replace(each, ceiling=0) for each in results])
    said = differences(copied)[1]
    assert len(said) == sum(each.held > 0 for each in results) > 0
    assert all("no weights of the shape hold 1" in each for each in said)


def test_a_row_that_was_left_out_is_noticed(copied) -> None:
    results, keys = read_table(copied / "figure.csv"), {point.key for point in POINTS}
    grids = {"figure": [keys, keys | {"another"}, set()]}
    assert differences(copied, grids) == (len(POINTS), [])
    write_table(copied / "figure.csv", results[1:])
    [said] = differences(copied, grids)[1]
    assert said == f"figure.csv leaves out 1 point of its grid, {POINTS[0].key}"


def test_layers_that_read_vectors_are_points_too(tmp_path) -> None:
    point = LayerPoint(examples=5, n_ctx=2, d_model=4, d_head=1, heads=2, steps=40)
    points = [point, replace(point, context="own"), replace(point, targets="numbers")]
    results, failed = sweep(points, tmp_path)
    assert not failed and [result.point for result in results] == points
    write_table(tmp_path / "layers.csv", results)
    assert read_table(tmp_path / "layers.csv") == results
    assert differences(tmp_path) == (3, [])
    edited = [
        replace(results[0], saturation=(5, 0, 0) if results[0].saturation != (5, 0, 0) else (0, 5, 0)),
        *results[1:],
    ]
    write_table(tmp_path / "layers.csv", edited)
    [said] = differences(tmp_path)[1]
    assert "saturation is" in said


def test_a_weight_that_cannot_be_told_from_the_threshold_leaves_the_saturation_open(tmp_path, monkeypatch) -> None:
    point = LayerPoint(examples=5, n_ctx=3, d_model=4, d_head=2, heads=2, steps=20)
    open_, told = Enclosure(np.full((5, 2), 0.99), 1e-9), Enclosure(np.full((5, 2), 0.5), 0.0)
    for top, expected in ((open_, None), (told, (5, 0, 0))):
        monkeypatch.setattr(module, "enclose_layer", lambda *given, top=top: SimpleNamespace(top=top))
        [result], failed = sweep([point], tmp_path / str(expected))
        assert not failed and result.saturation == expected


def test_only_maps_behind_one_map_are_those_of_a_layer() -> None:
    rng, point = np.random.default_rng(0), LayerPoint(examples=5, n_ctx=2, d_model=4, d_head=3, heads=2)
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes(point).items()}
    model = point.model(exact(point, weights))
    [attention] = model.blocks
    assert isinstance(attention, Attention) and module._is_of(point, model)
    for name in ("W_Q", "W_V", "b_K"):
        other = getattr(attention, name).copy()
        other[0, 0] += 1.0
        assert not module._is_of(point, replace(model, blocks=(replace(attention, **{name: other}),))), name


def test_a_row_without_a_folder_and_a_folder_without_a_table(copied) -> None:
    shutil.rmtree(copied / "points" / POINTS[0].key)
    assert ["it has no folder" in each for each in differences(copied)[1]] == [True]
    (copied / "figure.csv").unlink()
    with pytest.raises(FileFormatError, match="no table of points"):
        differences(copied)


def test_weights_of_another_shape_are_refused(copied) -> None:
    file = copied / "weights" / f"{POINTS[0].key}.safetensors"
    _, arrays = load_tensors(file, dtypes=("F32",))
    save_tensors(file, {**arrays, "W_U": arrays["W_U"][:, :2].copy()}, metadata={})
    with pytest.raises(InputError, match="holds tensors of the shapes"):
        sweep(POINTS, copied)


def test_bits_a_parameter_are_those_of_the_share(swept) -> None:
    result = replace(swept[1][0], held=9, contexts=9, parameters=9)
    assert result.bits == pytest.approx(np.log2(3))
    assert replace(result, held=3).bits == 0.0


def test_a_draw_of_a_fixed_sample_counts_as_often_as_it_is_drawn(swept) -> None:
    out, results = swept
    for result in results:
        if result.point.protocol == "all contexts":
            assert result.draws_held is result.draws_share is None
            continue
        folder = out / "points" / result.point.key
        model, task = Model.load(folder / "model.safetensors"), load_task(folder / "task.safetensors")
        right = judge(model, task, Criterion.at_least(1)).answers.margin_lower > 0
        times = Counter(result.point.sample().ravel().tolist())
        assert result.draws_held == sum(times[i] for i in range(9) if right[i]) and sum(times.values()) == 2**14
        assert result.draws_share == result.draws_held / 2**14


def test_a_table_is_read_as_it_was_written(swept) -> None:
    out, results = swept
    assert read_table(out / "figure.csv") == results
    with pytest.raises(FileFormatError, match="no table of points"):
        read_table(out / "points")
    (out / "other.txt").write_text("key,tokens\na,b\n")
    with pytest.raises(FileFormatError, match="no table of points"):
        read_table(out / "other.txt")


def test_a_limit_that_is_reached_is_kept(swept) -> None:
    result = replace(swept[1][0], held=5, ceiling=5, loss_lower=0.4, loss_upper=0.5, floor=0.5)
    assert result.violation is None
    assert replace(result, held=6).violation is not None
    assert replace(result, floor=0.51).violation is not None


def test_what_is_undecided_is_neither_held_nor_wrong(monkeypatch) -> None:
    answers = SimpleNamespace(
        margin_lower=np.array([-1.0, 1.0, -2.0]), margin_upper=np.array([1.0, 2.0, -1.0]), mean_loss=lambda: (0.0, 1.0)
    )
    monkeypatch.setattr(module, "judge", lambda *_: SimpleNamespace(answers=answers))
    (weights,) = trained([_BASE])
    result = proved(_BASE, _BASE.model(exact(_BASE, weights)))
    assert (result.held, result.wrong) == (1, 1)


def test_the_square_of_a_number_lies_between_the_squares_of_its_bounds(monkeypatch) -> None:
    point = LayerPoint(examples=2, n_ctx=2, d_model=2, d_head=1, heads=1, targets="numbers", steps=2)
    lower, upper = np.array([0.0, 0.25]), np.array([0.5, 0.75])
    answers = Answers(lower, upper, lower, upper, None, None, np.array(["float64"] * 2))
    monkeypatch.setattr(module, "judge", lambda *_: SimpleNamespace(answers=answers))
    (weights,) = trained([point])
    found = proved(point, point.model(exact(point, weights)))
    assert found.loss_lower <= 0.03125 < 0.40625 <= found.loss_upper
    assert (found.loss_lower, found.loss_upper) == (pytest.approx(0.03125), pytest.approx(0.40625))
