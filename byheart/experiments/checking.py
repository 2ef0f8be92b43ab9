"""What of the tables of a sweep does not follow from the folders of their points.

Page: docs/experiments.md
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from byheart.experiments.layers import AnyPoint, LayerPoint
from byheart.experiments.points import Point
from byheart.experiments.sweep import FINDINGS, point_of, proved
from constructions.arrays import Float64Array
from constructions.counted import counted
from constructions.errors import ByheartError, FileFormatError
from constructions.models.blocks import Attention
from constructions.models.model import Model
from constructions.tasks.vectors import load_task
from verify.certificates.memorization import check_memorization
from verify.progress import Progress, silent
from verify.verdict import Verdict


def differences(
    out: Path, grids: Mapping[str, Sequence[set[str]]] | None = None, progress: Progress = silent
) -> tuple[int, list[str]]:
    """What of the tables does not follow from the folders of their points, proved again.

    Args:
        out: A folder of ``.csv`` tables beside ``points``.
        grids: The keys of the grids that a table of this name may have, of which it has to hold one whole.
        progress: Called with the stage and the finished share of it.

    Returns:
        How many lines there are, and one sentence for each cell, folder or certificate that is not what it should be.

    Raises:
        FileFormatError: There is no table, or one that cannot be read.
    """
    lines: list[tuple[str, dict[str, str]]] = []
    for file in sorted(set(out.glob("*.csv")) - {out / FINDINGS}):
        try:
            lines += [(file.name, row) for row in csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")))]
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{file} cannot be read: {error}") from None
    if not lines:
        raise FileFormatError(f"{out} holds no table of points, expected what `byheart experiment` wrote")
    said, seen = [], set[tuple[str, str | None]]()
    for place, (name, row) in enumerate(lines):
        progress("checking", place / len(lines), f"{place} of {len(lines)} points")
        line = name, row.get("key")
        wrong = ["it stands there twice"] if line in seen else _point_differences(out / "points", row)
        said += [f"{name}, point {row.get('key')}: {each}" for each in wrong]
        seen.add(line)
    for name in sorted({name for name, _ in lines}):
        left_out = [
            grid - {key for file, key in seen if file == name} for grid in (grids or {}).get(name[:-4], ()) if grid
        ]
        least = min(left_out, key=len, default=set())
        said += [f"{name} leaves out {counted(len(least), 'point')} of its grid, {min(least)}"] if least else []
    return len(lines), said


def _point_differences(folders: Path, row: dict[str, str]) -> list[str]:
    key = row.get("key") or ""
    if not key.isalnum() or not (folders / key).is_dir():
        return ["it has no folder"]
    folder = folders / key
    try:
        point = point_of(row)
        if point.key != key:
            return ["its settings are those of another point"]
        if load_task(folder / "task.safetensors").sha256() != point.task().sha256():
            return ["its task is not that of its settings"]
        model = Model.load(folder / "model.safetensors")
        if not _is_of(point, model):
            return ["its model is not of the shape of its settings"]
        report, result = check_memorization(folder), proved(point, model)
    except (ByheartError, KeyError, StopIteration, ValueError) as error:
        return [f"{error}"]
    again = result.row()
    lost = [f"{each.id}: {each.reason}" for each in report.checks if each.verdict is not Verdict.PROVED]
    lost += [] if result.violation is None else [result.violation]
    unlike = [name for name in {**again, **row} if not _same(row.get(name) or "", again.get(name, ""))]
    found = {name: repr(row[name]) if name in row else "missing" for name in unlike}
    return lost + [f"{name} is {found[name]}, expected {again.get(name, '')!r}" for name in unlike]


def _is_of(point: AnyPoint, model: Model) -> bool:
    """Whether a model is one that weights of a point make, maps that are shared up to their rounding."""
    from byheart.experiments.training import exact, shapes

    ones = point.model(exact(point, {name: np.ones(shape, np.float32) for name, shape in shapes(point).items()}))
    found, expected = model.tensors(), ones.tensors()
    if model.options() != ones.options() or {k: x.shape for k, x in found.items()} != {
        k: x.shape for k, x in expected.items()
    }:
        return False
    heads = next((block for block in model.blocks if isinstance(block, Attention)), None)
    if heads is None or (isinstance(point, Point) and point.maps == "own"):
        return True
    maps = np.concatenate([*heads.W_Q, *heads.W_K, *heads.W_V], axis=1)  # (A; I) times what the heads have
    if isinstance(point, LayerPoint):
        assert heads.b_Q is not None and heads.b_K is not None and heads.b_V is not None
        shifts = np.concatenate([*heads.b_Q, *heads.b_K, *heads.b_V])  # b times the same
        return _rank(np.vstack((maps, shifts))) <= point.d_model
    padded = all(not found[name][x == 0.0].any() for name, x in expected.items())
    return padded and _rank(maps) <= point.d_head and _rank(np.concatenate(heads.W_O)) <= point.d_head


def _rank(matrix: Float64Array) -> int:
    return int(np.linalg.matrix_rank(matrix, rtol=1e-9))


def _same(stored: str, found: str) -> bool:
    """Whether two cells say the same; bounds of a loss depend on the order of sums, in digits that nobody asks for."""
    if "." not in found:
        return stored == found
    try:
        return math.isclose(float(stored), float(found), rel_tol=1e-9, abs_tol=1e-12)
    except ValueError:
        return False
