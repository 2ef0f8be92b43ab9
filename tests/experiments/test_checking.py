import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from constructions.errors import FileFormatError
from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from experiments import checking as module
from experiments import sweep as sweep_module
from experiments.checking import Checked, differences
from experiments.figure import Figure, chosen
from experiments.figures import FIGURES
from experiments.layers import LayerPoint
from experiments.page import Drawn
from experiments.points import Point
from experiments.sweep import FINDINGS, proved, read_table, write_rows, write_table
from experiments.training import exact, shapes, trained
from tests.swept_points import BASE, POINTS, SHAPES
from verify.provers.memorization import certify_memorization


@pytest.mark.parametrize(
    ("column", "place"),
    [(each, 2) for each in ("memorized", "wrong", "right", "loss_upper", "parameters", "bits_a_parameter", "ceiling")]
    + [("draws_memorized", 2), ("draws_memorized", 4)],
)
def test_an_edited_cell_is_noticed(copied, column: str, place: int) -> None:
    table = copied / "figure.csv"
    header, *rows = table.read_text().splitlines()
    cells = rows[place].split(",")
    cells[header.split(",").index(column)] = "7.5"
    rows[place] = ",".join(cells)
    table.write_text("\n".join([header, *rows, ""]))
    found = differences(copied)
    assert (found.points, found.missing) == (len(POINTS), ())
    assert len(found.differences) == 1 and f"{column} is '7.5'" in found.differences[0]


def test_a_column_that_an_earlier_table_lacks_is_named(copied) -> None:
    table = copied / "figure.csv"
    cells = [line.split(",") for line in table.read_text().splitlines()]
    place = cells[0].index("draws_memorized")
    table.write_text("".join(",".join(line[:place] + line[place + 1 :]) + "\n" for line in cells))
    said = differences(copied).differences
    assert len(said) == sum(line[place] != "" for line in cells[1:]) > 0
    assert all("draws_memorized is missing, expected" in each for each in said)


def test_another_label_table_or_seed_is_noticed(copied) -> None:
    table = copied / "figure.csv"
    text = table.read_text().splitlines()
    header = text[0].split(",")
    cells = text[1].split(",")
    cells[header.index("seed")] = "5"
    table.write_text("\n".join([text[0], ",".join(cells), *text[2:]]) + "\n")
    assert any("settings are those of another point" in each for each in differences(copied).differences)
    first, other = (copied / "points" / POINTS[i].key for i in (0, len(SHAPES)))
    for name in ("task.safetensors", "model.safetensors", "certificate.json"):
        shutil.copy(other / name, first / name)
    table.write_text("\n".join(text) + "\n")
    assert any("a task that is not that of its settings" in each for each in differences(copied).differences)


def test_weights_of_another_shape_in_the_folder_of_a_point_are_noticed(copied) -> None:
    """With a certificate and a table that fit them."""
    point, results = POINTS[0], read_table(copied / "figure.csv")
    wide = replace(point, d_model=9, d_head=9, heads=4)
    model, folder = wide.model(exact(wide, trained([wide])[0])), copied / "points" / point.key
    own = proved(point, model)
    model.save(folder / "model.safetensors")
    certify_memorization(model, point.task(), Criterion.at_least(max(1, own.memorized))).save(folder)
    write_table(copied / "figure.csv", [own, *results[1:]])
    [said] = differences(copied).differences
    assert point.key in said and "a model that no float32 weights of its settings make" in said


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
    assert differences(copied).differences == (f"figure.csv, point {results[0].point.key}: it stands there twice",)
    monkeypatch.setattr(sweep_module, "ceiling", lambda point: 0)
    write_table(copied / "figure.csv", [replace(each, ceiling=0) for each in results])
    said = differences(copied).differences
    assert len(said) == sum(each.memorized > 0 for each in results) > 0
    assert all("no weights of the shape hold 1" in each for each in said)


def _drawn(copied, points) -> dict[str, Figure]:
    """A figure of these points, with its picture and findings."""
    made = replace(FIGURES["dana.4"], name="figure", quick=lambda: points[:1], full=lambda: points)
    made = replace(made, judge=lambda results: [chosen(True, "a", f"{len(results)} points")], built=False)
    results = [result for result in read_table(copied / "figure.csv") if result.point in points]
    drawn = Drawn(made, results, len(results))
    write_table(copied / "figure.csv", results)
    (copied / "figure.svg").write_text(drawn.svg())
    write_rows(copied / FINDINGS, list(drawn.rows()))
    return {"figure": made}


def test_a_point_that_was_left_out_or_added_is_noticed(copied) -> None:
    results, figures = read_table(copied / "figure.csv"), _drawn(copied, POINTS)
    assert differences(copied, figures) == Checked(len(POINTS), (), ())
    write_table(copied / "figure.csv", results[1:])
    assert differences(copied, figures).differences[0] == (
        f"figure.csv: it leaves out 1 point of its grid, {POINTS[0].key}"
    )
    write_table(copied / "figure.csv", results)
    fewer = {"figure": replace(figures["figure"], full=lambda: POINTS[1:])}
    [said] = differences(copied, fewer).differences
    assert said == f"figure.csv: it has 1 point that its grid has not, {POINTS[0].key}"
    [said] = differences(copied, {"another": figures["figure"]}).differences
    assert said == "figure.csv: it is the table of no figure"


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"contexts": 10}, "contexts is '10', expected '9'"),
        ({"parameters": 1}, "parameters is '1', expected "),
        ({"ceiling": 9, "memorized": 9, "right": 9, "wrong": 0}, "9 contexts are proved to be held, and no weights of"),
    ],
)
def test_without_weights_a_line_says_no_more_than_its_settings_allow(copied, edits, said: str) -> None:
    """Of the point without heads, whose ceiling is known."""
    shutil.rmtree(copied / "points")
    shutil.rmtree(copied / "weights")
    results, all_of_them = read_table(copied / "figure.csv"), tuple(point.key for point in POINTS)
    assert differences(copied) == Checked(len(POINTS), all_of_them, ())
    write_table(copied / "figure.csv", [results[0], replace(results[1], **edits), *results[2:]])
    found = differences(copied)
    assert found.missing == all_of_them and said in found.differences[0] and POINTS[1].key in found.differences[0]


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"memorized": 10}, "right, held, wrong = "),
        ({"wrong": -1}, "right, held, wrong = "),
        ({"loss_lower": 99.5}, "a loss from 99.5 to "),
        ({"loss_upper": float("nan")}, "a loss from "),
        ({"parameters": 0}, ", 0 parameters"),
    ],
)
def test_no_weights_make_such_cells(copied, edits, said: str) -> None:
    shutil.rmtree(copied / "points")
    shutil.rmtree(copied / "weights")
    results = read_table(copied / "figure.csv")
    write_rows(copied / "figure.csv", [replace(results[0], **{**edits, "memorized": 0}).row() | _texts(edits)])
    assert said in differences(copied).differences[0]
    with pytest.raises(FileFormatError, match="not a table of points"):
        read_table(copied / "figure.csv")


def _texts(cells: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in cells.items()}


def test_a_model_in_the_folder_is_that_of_the_weights_beside_it(copied) -> None:
    """Of another seed on the same task, with a certificate and a table that fit it."""
    point, results = POINTS[0], read_table(copied / "figure.csv")
    model = point.model(exact(point, trained([replace(point, seed=9)])[0]))
    folder, own = copied / "points" / point.key, proved(point, model)
    model.save(folder / "model.safetensors")
    certify_memorization(model, point.task(), Criterion.at_least(max(1, own.memorized))).save(folder)
    write_table(copied / "figure.csv", [own, *results[1:]])
    [said] = differences(copied).differences
    assert "holds another model than that of" in said


def test_a_model_with_one_weight_at_the_next_number_is_another_one(copied) -> None:
    point, results = POINTS[0], read_table(copied / "figure.csv")
    folder = copied / "points" / point.key
    model = Model.load(folder / "model.safetensors")
    W_U = model.W_U.copy()
    at = np.unravel_index(np.abs(W_U).argmax(), W_U.shape)
    W_U[at] = np.nextafter(np.float32(W_U[at]), np.float32(np.inf))
    model = replace(model, W_U=W_U)
    own = proved(point, model)
    model.save(folder / "model.safetensors")
    certify_memorization(model, point.task(), Criterion.at_least(max(1, own.memorized))).save(folder)
    write_table(copied / "figure.csv", [own, *results[1:]])
    [said] = differences(copied).differences
    assert "holds another model than that of" in said


def test_a_model_that_no_float32_weights_make_is_noticed(copied) -> None:
    point = POINTS[0]
    model = Model.load(copied / "points" / point.key / "model.safetensors")
    assert module._is_of(point, model) and not module._is_of(point, replace(model, W_U=model.W_U * np.pi))


@pytest.mark.parametrize(
    "edit",
    [
        lambda cell: str(float(cell) * (1 + 1e-10)),
        lambda cell: f" {cell}",
        lambda cell: f"{cell}0",
        lambda cell: cell.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")),
    ],
)
@pytest.mark.parametrize("column", ["loss_upper", "bits_a_parameter"])
def test_a_number_is_as_it_was_written(copied, column: str, edit) -> None:
    rows = [result.row() for result in read_table(copied / "figure.csv")]
    rows[0][column] = edit(rows[0][column])
    write_rows(copied / "figure.csv", rows)
    [said] = differences(copied).differences
    assert f"{column} is " in said


def test_a_column_too_many_and_a_picture_without_a_table_are_noticed(copied) -> None:
    figures = _drawn(copied, POINTS)
    (copied / "other.svg").write_text("")
    assert differences(copied, figures).differences == ("other.svg: there is no table of other",)
    rows = [{**result.row(), "all of it is false": ""} for result in read_table(copied / "figure.csv")]
    write_rows(copied / "figure.csv", rows)
    assert "all of it is false is '', expected ''" in differences(copied, figures).differences[0]


def test_findings_are_judged_line_by_line(copied) -> None:
    figures, findings = _drawn(copied, POINTS), copied / FINDINGS
    kept = findings.read_text()
    twice = kept.replace("verdict", "verdict,verdict", 1).replace("a,", "a,not so here,", 1)
    for text, said in (
        (f"{kept}figure,a,b,c,d,e\n", "line 3 has 6 cells, expected 5"),
        (twice, "column verdict stands there"),
        (kept.partition("\n")[0] + "\n", "it holds no line"),
    ):
        findings.write_text(text)
        assert said in differences(copied, figures).differences[0]


def test_a_point_of_no_grid_is_not_looked_at(copied, monkeypatch) -> None:
    """Its key is that of its settings, which ask for more contexts than fit anywhere."""
    results, figures = read_table(copied / "figure.csv"), _drawn(copied, POINTS)
    monkeypatch.setattr(Point, "rows", property(lambda point: pytest.fail("made") if point.tokens > 9 else range(9)))
    large = replace(POINTS[0], tokens=10**9)
    write_rows(copied / "figure.csv", [*(each.row() for each in results), {**results[0].row(), **_cells(large)}])
    [said] = differences(copied, figures).differences
    assert said == f"figure.csv: it has 1 point that its grid has not, {large.key}"


def _cells(point: Point) -> dict[str, str]:
    return {"key": point.key, **{name: str(value) for name, value in vars(point).items()}}


def test_findings_without_a_table_and_a_picture_that_is_no_text_are_named(copied) -> None:
    figures = _drawn(copied, POINTS)
    (copied / "figure.svg").write_bytes(b"\xff")
    with (copied / FINDINGS).open("a") as file:
        file.write("other,a,confirmed,b,c\n")
    assert differences(copied, figures).differences == (
        f"{FINDINGS}: there is no table of other",
        "figure.svg is not the picture of its table",
    )
    assert len(differences(copied, figures, names=["figure"]).differences) == 1


def test_a_picture_and_findings_follow_from_their_table(copied) -> None:
    figures = _drawn(copied, POINTS)
    picture, findings = copied / "figure.svg", copied / FINDINGS
    for file, said in ((picture, "figure.svg is not the picture of its table"), (findings, "says of figure")):
        kept = file.read_text()
        file.write_text(kept.replace("10", "11"))
        assert file.read_text() != kept
        assert [said in each for each in differences(copied, figures).differences] == [True]
        file.unlink()
        assert differences(copied, figures).differences == ()


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


def test_a_point_without_a_folder_is_proved_from_its_weights_and_without_them_is_missing(copied) -> None:
    first, second = (point.key for point in POINTS[:2])
    whole = differences(copied)
    shutil.rmtree(copied / "points")
    assert differences(copied) == whole == Checked(len(POINTS), (), ())
    (copied / "weights" / f"{first}.safetensors").unlink()
    assert differences(copied) == Checked(len(POINTS), (first,), ())
    (copied / "weights").rename(copied / "elsewhere")
    assert len(differences(copied).missing) == len(POINTS)
    assert differences(copied, weights=copied / "elsewhere").missing == (first,)
    table = copied / "figure.csv"
    table.write_text(table.read_text().replace(f"\n{second},", "\nnone,"))
    assert "another point" in differences(copied).differences[0]


def test_weights_of_another_point_are_no_proof(copied) -> None:
    """Of the same shape; and of their own, with a cell that says otherwise."""
    shutil.rmtree(copied / "points")
    first, other = (copied / "weights" / f"{POINTS[i].key}.safetensors" for i in (0, len(SHAPES)))
    shutil.copy(other, first)
    found = differences(copied)
    [said] = found.differences
    assert POINTS[0].key in said and "holds the weights of another point" in said and not found.missing
    first.write_bytes(b"none")
    assert "is not" in differences(copied).differences[0]


def test_a_model_in_two_tables_is_proved_once(copied, monkeypatch) -> None:
    shutil.copy(copied / "figure.csv", copied / "other.csv")
    proofs = []
    monkeypatch.setattr(module, "proved", lambda point, model: proofs.append(point) or proved(point, model))
    assert differences(copied) == Checked(len(POINTS), (), ()) and len(proofs) == len(POINTS)
    edited = (copied / "other.csv").read_text().replace(",9,", ",8,", 1)
    (copied / "other.csv").write_text(edited)
    assert [each[:9] for each in differences(copied).differences] == ["other.csv"]
    assert differences(copied, names=["figure"]).differences == ()


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda text: text.replace("\n", ",1\n", 2).replace(",1\n", "\n", 1), "figure.csv: line 2 has "),
        (lambda text: text.rstrip("\n").rpartition(",")[0], "figure.csv: line 11 has "),
        (
            lambda text: text.replace("right,memorized", "memorized,memorized", 1),
            "figure.csv: column memorized stands there twice",
        ),
        (lambda text: text.partition("\n")[0], "figure.csv: it holds no line"),
        (lambda text: text.replace(",own,", ",other,", 1), "its settings are those of another point"),
        (lambda text: text.replace("d_model", "width", 1), "its settings cannot be read: columns key, tokens, width"),
        (lambda text: text.replace(",3,2,1,1,", ",3,x,1,1,", 1), "its settings cannot be read: "),
    ],
)
def test_a_table_that_is_damaged_is_a_difference(copied, edit, said: str) -> None:
    table = copied / "figure.csv"
    damaged = edit(table.read_text())
    assert damaged != table.read_text()
    table.write_text(damaged)
    assert said in differences(copied).differences[0]


def test_a_folder_without_a_table_is_refused(copied) -> None:
    with pytest.raises(FileFormatError, match="holds no table of other"):
        differences(copied, names=["figure", "other"])
    (copied / "figure.csv").unlink()
    with pytest.raises(FileFormatError, match="holds no table of points"):
        differences(copied)
