"""What of the tables of a sweep does not follow from the models of their points, proved again.

Page: docs/experiments.md
"""

import csv
import io
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from constructions.counted import counted
from constructions.errors import ByheartError, FileFormatError, InputError
from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array
from constructions.progress import Progress, silent
from constructions.tasks.vectors import load_task
from experiments.figure import Figure
from experiments.kept import Kept
from experiments.layers import AnyPoint, LayerPoint
from experiments.limits import ceiling, floor
from experiments.page import Drawn
from experiments.points import Point
from experiments.sweep import FINDINGS, Result, model_of, point_of, proved, read_result, read_table
from verify.provers.memorization import check_memorization
from verify.verdict import Verdict


@dataclass(frozen=True)
class Checked:
    """What came of proving the cells of tables again.

    Args:
        points: How many models the tables name, each counted once.
        missing: The keys of those that have neither a folder nor weights: nothing is proved of them.
        differences: One sentence for each cell, file or certificate that is not what it should be.
    """

    points: int
    missing: tuple[str, ...]
    differences: tuple[str, ...]


def differences(
    out: Path,
    figures: Mapping[str, Figure] | None = None,
    *,
    names: Collection[str] = (),
    weights: Path | None = None,
    progress: Progress = silent,
) -> Checked:
    """Return what of the tables does not follow from the folders of their points, or from their weights, proved again.

    A model is proved once, whatever tables it is in; a point without a folder is proved from its weights.

    Args:
        out: A folder of ``.csv`` tables beside ``points`` or ``weights``, with pictures and findings or without.
        figures: By the names of their tables: a table then has to hold a whole grid, and no other points, and a
            picture and findings have to be those of the table.
        names: Of the tables; by default all.
        weights: Folder of the trained weights; by default ``weights`` in `out`.
        progress: Called with the stage and the finished share of it.

    Raises:
        FileFormatError: There is no table, or one that cannot be read.
    """
    files = [out / f"{name}.csv" for name in names] or sorted(set(out.glob("*.csv")) - {out / FINDINGS})
    missing = [file.stem for file in files if not file.is_file()]
    if missing or not files:
        of = ", ".join(missing) or "points"
        raise FileFormatError(f"{out} holds no table of {of}, expected what `byheart experiment` wrote")
    rows, said = dict[str, list[dict[str, str]]](), list[str]()
    for file in files:
        rows[file.stem], wrong = _rows(file)
        said += [f"{file.name}: {each}" for each in wrong]
    asked = {name: _grids(figures.get(name)) for name in rows} if figures else {}
    keys = {row.get("key", "") for own in rows.values() for row in own}
    proofs, kept = dict[str, tuple[Result | None, list[str]]](), Kept(weights or out / "weights")
    for name, own in rows.items():
        seen = {row.get("key", "") for row in own}
        said += [f"{name}.csv: {each}" for each in _grid_differences(asked[name], seen)] if figures else []
        # a point of no grid is not looked at: its settings could ask for any amount of memory
        own = [row for row in own if not figures or any(row.get("key", "") in grid for grid in asked[name])]
        twice = {key for key, times in Counter(row.get("key", "") for row in own).items() if times > 1}
        said += [f"{name}.csv, point {key}: it stands there twice" for key in sorted(twice)]
        for row in own:
            progress("checking", len(proofs) / len(keys), f"{len(proofs)} of {counted(len(keys), 'model')}")
            wrong = _row_differences(row, out / "points", kept, proofs)
            said += [f"{name}.csv, point {row.get('key')}: {each}" for each in wrong]
    if figures and not said:
        said += _drawing_differences(out, {name: figures[name] for name in rows}, whole=not names)
    without = [key for key, (result, wrong) in proofs.items() if result is None and not wrong]
    return Checked(len(keys), tuple(without), tuple(said))


def _rows(file: Path, first: str = "key") -> tuple[list[dict[str, str]], list[str]]:
    """Return the lines of a table that have a cell for each column, and what is wrong with the table otherwise."""
    try:
        names, *lines = [*csv.reader(io.StringIO(file.read_text(encoding="utf-8")), strict=True)] or [[]]
    except (OSError, ValueError, csv.Error) as error:
        raise FileFormatError(f"{file} is not a table: {error}") from None
    said = [] if first in names else [f"column {first} is missing"]
    said += [f"column {name} stands there twice" for name, times in Counter(names).items() if times > 1]
    said += [
        f"line {place} has {counted(len(line), 'cell')}, expected {len(names)}"
        for place, line in enumerate(lines, 2)
        if len(line) != len(names)
    ]
    rows = [dict(zip(names, line, strict=True)) for line in lines if len(line) == len(names)]
    return rows, said if rows else [*said, "it holds no line"]


def _row_differences(
    row: dict[str, str], folders: Path, kept: Kept, proofs: dict[str, tuple[Result | None, list[str]]]
) -> list[str]:
    try:
        point = point_of(row)
    except ValueError as error:
        return [f"its settings cannot be read: {error}"]
    if point.key != row.get("key"):
        return ["its settings are those of another point"]
    if point.key not in proofs:
        proofs[point.key] = _proof(point, folders / point.key, kept)
    result, wrong = proofs[point.key]
    if result is None and wrong:
        return wrong
    try:
        said = result or _as_far_as_its_settings_say(point, row)
    except (KeyError, ValueError) as error:
        return [f"its cells cannot be read: {error}"]
    beyond, again = [said.violation] if result is None and said.violation else [], said.row()
    unlike = [name for name in {**again, **row} if not _alike(name, row, again, said)]
    found = {name: repr(row[name]) if name in row else "missing" for name in unlike}
    return [*wrong, *beyond] + [f"{name} is {found[name]}, expected {again.get(name, '')!r}" for name in unlike]


def _alike(name: str, row: dict[str, str], again: dict[str, str], said: Result) -> bool:
    """Whether a column is there, and says what it says again; `draws_memorized` stands empty where nothing is drawn.

    The bounds of a loss depend on the order of its sums: those of two machines hold the same number, so they are apart
    by no more than their own distance.
    """
    if name not in row or (name not in again and name != "draws_memorized"):
        return False
    of_a_loss, found = name in ("loss_lower", "loss_upper"), again.get(name, "")
    slack = 4 * (said.loss_upper - said.loss_lower) if of_a_loss else 1e-12 * abs(said.floor or said.bits)
    return _same(row[name], found, slack)


def _as_far_as_its_settings_say(point: AnyPoint, row: dict[str, str]) -> Result:
    """Return a line of which nothing is proved, with what no weights decide."""
    sizes: dict[str, Any] = {"contexts": point.contexts, "parameters": point.parameters()}
    return replace(read_result(row), **sizes, ceiling=ceiling(point), floor=floor(point))


def _proof(point: AnyPoint, folder: Path, kept: Kept) -> tuple[Result | None, list[str]]:
    """Return what is proved of a point again, and what is wrong with it; neither where nothing of it is there."""
    try:
        if folder.is_dir():
            model, lost = _kept(point, folder)
            if point.key in kept and not _equal(model, model_of(point, kept)):
                lost = [*lost, f"{folder} holds another model than that of {kept.file(point.key)}"]
        elif point.key in kept:
            model, lost = model_of(point, kept), []
        else:
            return None, []
        result = proved(point, model)
    except (ByheartError, KeyError, ValueError) as error:
        return None, [f"{error}"]
    return result, lost if result.violation is None else [*lost, result.violation]


def _kept(point: AnyPoint, folder: Path) -> tuple[Model, list[str]]:
    """Return the model in the folder of a point, and what of its certificate is not proved."""
    if load_task(folder / "task.safetensors").sha256() != point.task().sha256():
        raise InputError(folder, "holds a task that is not that of its settings")
    model = Model.load(folder / "model.safetensors")
    if not _is_of(point, model):
        raise InputError(folder, "holds a model that no float32 weights of its settings make")
    report = check_memorization(folder)
    return model, [f"{each.id}: {each.reason}" for each in report.checks if each.verdict is not Verdict.PROVED]


def _grids(figure: Figure | None) -> list[set[str]]:
    """Return the keys of the points of the grids of a figure."""
    return [{point.key for point in grid()} for grid in (figure.quick, figure.full)] if figure else []


def _grid_differences(grids: list[set[str]], keys: set[str]) -> list[str]:
    """Return what a table leaves out, or has beyond, of that grid of its figure which it is nearest to."""
    if not grids:
        return ["it is the table of no figure"]
    grid = min(grids, key=lambda each: len(each ^ keys))
    left, more = grid - keys, keys - grid
    said = [f"it leaves out {counted(len(left), 'point')} of its grid, {min(left)}"] if left else []
    return said + ([f"it has {counted(len(more), 'point')} that its grid has not, {min(more)}"] if more else [])


def _drawing_differences(out: Path, figures: Mapping[str, Figure], *, whole: bool) -> list[str]:
    """Which pictures and findings, where there are some, are not those of their tables."""
    said, findings = [], dict[str, list[dict[str, str]]]()
    if (out / FINDINGS).is_file():
        lines, wrong = _rows(out / FINDINGS, "figure")
        said += [f"{FINDINGS}: {each}" for each in wrong]
        for row in lines:
            findings.setdefault(row.get("figure", ""), []).append(row)
    if whole:
        said += [f"{FINDINGS}: there is no table of {name}" for name in findings if name not in figures]
        pictures = sorted(file.stem for file in out.glob("*.svg"))
        said += [f"{name}.svg: there is no table of {name}" for name in pictures if name not in figures]
    for name, figure in figures.items():
        results, picture = read_table(out / f"{name}.csv"), out / f"{name}.svg"
        drawn = Drawn(figure, results, len(results))
        if picture.is_file() and picture.read_bytes() != drawn.svg().encode():
            said.append(f"{picture.name} is not the picture of its table")
        if (out / FINDINGS).is_file() and findings.get(name, []) != list(drawn.rows()):
            said.append(f"{FINDINGS}: what it says of {name} does not follow from its table")
    return said


def _is_of(point: AnyPoint, model: Model) -> bool:
    """Whether a model is one that float32 weights of a point make, maps that are shared up to their rounding."""
    from experiments.training import exact, shapes

    ones = point.model(exact(point, {name: np.ones(shape, np.float32) for name, shape in shapes(point).items()}))
    found, expected = model.tensors(), ones.tensors()
    own = isinstance(point, Point) and point.maps == "own"
    folded = () if own else ("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V", *(("W_O",) if isinstance(point, Point) else ()))
    if any(not name.endswith(folded) and (x != x.astype(np.float32)).any() for name, x in found.items()):
        return False
    if model.options() != ones.options() or {k: x.shape for k, x in found.items()} != {
        k: x.shape for k, x in expected.items()
    }:
        return False
    heads = next((block for block in model.blocks if isinstance(block, Attention)), None)
    if heads is None or own:
        return True
    maps = np.concatenate([*heads.W_Q, *heads.W_K, *heads.W_V], axis=1)  # (A; I) times what the heads have
    if isinstance(point, LayerPoint):
        assert heads.b_Q is not None and heads.b_K is not None and heads.b_V is not None
        shifts = np.concatenate([*heads.b_Q, *heads.b_K, *heads.b_V])  # b times the same
        return _rank(np.vstack((maps, shifts))) <= point.d_model
    padded = all(not found[name][x == 0.0].any() for name, x in expected.items())
    return padded and _rank(maps) <= point.d_head and _rank(np.concatenate(heads.W_O)) <= point.d_head


def _equal(found: Model, expected: Model) -> bool:
    """Whether two models of one shape are the same, up to the rounding of maps that are multiplied out."""
    theirs = expected.tensors()
    return all(
        np.allclose(x, theirs[name], rtol=0, atol=2.0**-40 * abs(theirs[name]).max(initial=0))
        for name, x in found.tensors().items()
    )


def _rank(matrix: Float64Array) -> int:
    return int(np.linalg.matrix_rank(matrix, rtol=1e-9))


def _same(stored: str, found: str, slack: float) -> bool:
    """Whether two cells say the same, numbers as they are written and no farther apart than that."""
    try:
        return stored == found or (
            "." in found and stored == repr(float(stored)) and abs(float(stored) - float(found)) <= slack
        )
    except ValueError:
        return False
