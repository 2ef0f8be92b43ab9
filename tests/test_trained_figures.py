"""The trained figures of the book: their tables and pictures, and the weights that prove each drawn point."""

import shutil
from pathlib import Path

import pytest

from byheart.experiments.figures import FIGURES
from byheart.experiments.page import Drawn, write_figures
from byheart.experiments.sweep import FINDINGS, agreeing, differences, read_table, sweep, write_table

TRAINED = Path(__file__).parents[1] / "docs" / "trained"
KEPT = [figure for figure in FIGURES.values() if (TRAINED / f"{figure.name}.csv").is_file()]


def _drawn(figure) -> list:
    return read_table(TRAINED / f"{figure.name}.csv")


def _kept(figure) -> list:
    """The results whose weights are kept: of large models those of one seed, for there are 12 MB of the others."""
    return [each for each in _drawn(figure) if each.point.seed == 0 or each.parameters < 24_000]


def test_every_figure_with_a_quick_grid_is_kept() -> None:
    assert {figure.name for figure in KEPT} == {name for name, figure in FIGURES.items() if figure.quick()}
    points = {result.point.key for figure in KEPT for result in _kept(figure)}
    assert {path.stem for path in (TRAINED / "weights").iterdir()} == points


@pytest.mark.parametrize("figure", KEPT, ids=lambda figure: figure.name)
def test_the_picture_follows_from_the_table(figure) -> None:
    results = _drawn(figure)
    assert [result.point for result in results] in (figure.full(), figure.quick())
    assert all(result.violation is None for result in results) and agreeing(results)
    drawn = Drawn(figure, results, len(results))
    assert (TRAINED / f"{figure.name}.svg").read_text(encoding="utf-8") == drawn.svg()


def test_the_sentences_follow_from_the_tables(tmp_path) -> None:
    drawn = [Drawn(figure, _drawn(figure), len(_drawn(figure))) for figure in KEPT]
    write_figures(tmp_path, drawn)
    assert (tmp_path / FINDINGS).read_text() == (TRAINED.parent / "measured" / FINDINGS).read_text()


def test_one_drawn_point_of_each_figure_is_proved_again(tmp_path) -> None:
    """The cheapest one; a slow test proves all."""
    cheapest = [min(_kept(figure), key=lambda result: (result.contexts, result.parameters)) for figure in KEPT]
    least = list({each.point.key: each for each in cheapest}.values())
    points = [result.point for result in least if result.contexts < 2500]
    again, _ = sweep(points, tmp_path, weights=TRAINED / "weights")
    assert [(each.held, each.wrong, each.right) for each in again] == [
        (each.held, each.wrong, each.right) for each in least if each.point in points
    ]
    for result in again:
        write_table(tmp_path / f"{result.point.key}.csv", [result])
    assert differences(tmp_path) == (len(points), [])


@pytest.mark.slow
@pytest.mark.parametrize("figure", KEPT, ids=lambda figure: figure.name)
def test_every_drawn_point_whose_weights_are_kept_is_proved_again(figure, tmp_path) -> None:
    _prove_again(figure, tmp_path)


def _prove_again(figure, out: Path) -> None:
    """From the kept weights alone, cell by cell; nothing is trained."""
    weights = Path(shutil.copytree(TRAINED / "weights", out / "weights"))
    before = {path.name: path.stat().st_mtime_ns for path in weights.iterdir()}
    points = [result.point for result in _kept(figure)]
    results, failed = sweep(points, out)
    assert not failed and {path.name: path.stat().st_mtime_ns for path in weights.iterdir()} == before
    write_table(out / "again.csv", results)
    write_table(out / f"{figure.name}.csv", _kept(figure))
    grids = {figure.name: [{point.key for point in points}]}
    assert differences(out, grids) == (2 * len(results), [])
