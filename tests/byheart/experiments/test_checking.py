import shutil
from dataclasses import replace

import numpy as np
import pytest

from byheart.experiments import checking as module
from byheart.experiments import sweep as sweep_module
from byheart.experiments.checking import differences
from byheart.experiments.layers import LayerPoint
from byheart.experiments.sweep import proved, read_table, write_table
from byheart.experiments.training import exact, shapes, trained
from constructions.errors import FileFormatError
from constructions.models.blocks import Attention
from constructions.tasks.criterion import Criterion
from tests.swept_points import BASE, POINTS, SHAPES
from verify.certificates.memorization import certify_memorization


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
    first, other = (copied / "points" / POINTS[i].key for i in (0, len(SHAPES)))
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
    rng, point = np.random.default_rng(0), replace(BASE, maps="shared", heads=2)
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
    monkeypatch.setattr(sweep_module, "ceiling", lambda point: 0)
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
