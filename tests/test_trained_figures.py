"""The trained figures of the book: their tables and pictures, and the weights that prove what is drawn."""

import csv
import re
from pathlib import Path

import pytest

from experiments.checking import Checked, differences
from experiments.figures import FIGURES
from experiments.kept import Kept
from experiments.page import Drawn, write_page
from experiments.sweep import FINDINGS, agreeing, read_table, sweep, write_rows, write_table

TRAINED = Path(__file__).parents[1] / "docs" / "trained"
FULL = {name for name in FIGURES if name.startswith("dana.")}
KEPT = [figure for figure in FIGURES.values() if (TRAINED / f"{figure.name}.csv").is_file()]


def _drawn(figure) -> list:
    return read_table(TRAINED / f"{figure.name}.csv")


def _kept(figure) -> list:
    """The results whose weights are kept: of one seed, and small; all are 34 MB. Of each figure one at least."""
    own = _drawn(figure)
    small = [each for each in own if each.point.seed == 0 and each.parameters < 8_000]
    return small or [min(own, key=lambda each: each.parameters)]


def _write_kept(figure, keys: set[str], out: Path) -> None:
    """Lines of the table as they stand there."""
    with (TRAINED / f"{figure.name}.csv").open(encoding="utf-8") as table:
        write_rows(out / f"{figure.name}.csv", [row for row in csv.DictReader(table) if row["key"] in keys])


def test_every_figure_with_a_quick_grid_is_kept() -> None:
    assert {figure.name for figure in KEPT} == {name for name, figure in FIGURES.items() if figure.quick()}
    files = {path.name: path.stat().st_size for path in (TRAINED / "weights").iterdir()}
    assert files.keys() == {f"{figure.name}.safetensors" for figure in KEPT} and sum(files.values()) < 2.7e6
    kept = Kept(TRAINED / "weights")
    keys = {result.point.key for figure in KEPT for result in _drawn(figure)}
    assert {key for key in keys if key in kept} == {result.point.key for figure in KEPT for result in _kept(figure)}


def test_tables_agree_on_the_points_that_they_share() -> None:
    results = [result for figure in KEPT for result in _drawn(figure)]
    found = {result.point.key: result for result in results}
    assert len(found) < len(results) and all(found[result.point.key] == result for result in results)


@pytest.mark.parametrize("figure", KEPT, ids=lambda figure: figure.name)
def test_the_picture_follows_from_the_table(figure, tmp_path) -> None:
    results = _drawn(figure)
    assert [result.point for result in results] == (figure.full() if figure.name in FULL else figure.quick())
    write_table(tmp_path / "same.csv", results)
    assert (tmp_path / "same.csv").read_bytes() == (TRAINED / f"{figure.name}.csv").read_bytes()
    assert all(result.violation is None for result in results) and agreeing(results)
    drawn = Drawn(figure, results, len(results))
    assert (TRAINED / f"{figure.name}.svg").read_text(encoding="utf-8") == drawn.svg()


def test_the_sentences_follow_from_the_tables(tmp_path) -> None:
    drawn = [Drawn(figure, _drawn(figure), len(_drawn(figure))) for figure in KEPT]
    write_page(tmp_path, drawn)
    assert (tmp_path / FINDINGS).read_text() == (TRAINED.parent / "measured" / FINDINGS).read_text()


def test_one_drawn_point_of_each_figure_is_proved_again(tmp_path) -> None:
    """The cheapest one, and of a fixed sample; a slow test proves all."""
    points = []
    for figure in KEPT:
        own = [result for result in _kept(figure) if result.contexts < 2500]
        cheapest = {result.draws_memorized is None: result for result in sorted(own, key=lambda each: -each.parameters)}
        points += [result.point for result in cheapest.values()]
        if cheapest:
            _write_kept(figure, {result.point.key for result in cheapest.values()}, tmp_path)
    sweep(points, tmp_path, weights=TRAINED / "weights")
    assert differences(tmp_path) == Checked(len(set(points)), (), ())


def test_the_gallery_shows_every_picture() -> None:
    gallery = (TRAINED.parent / "gallery.md").read_text(encoding="utf-8")
    assert re.findall(r"\(trained/(.+)\.svg\)", gallery) == [figure.name for figure in KEPT]


@pytest.mark.slow
def test_every_model_whose_weights_are_kept_is_proved_again() -> None:
    """Cell by cell, as `byheart experiment --check --out docs/trained` does; nothing is trained."""
    points = {result.point.key: result for figure in KEPT for result in _drawn(figure)}
    kept = {result.point.key for figure in KEPT for result in _kept(figure)}
    found = differences(TRAINED, FIGURES)
    assert (found.points, set(found.missing), found.differences) == (len(points), points.keys() - kept, ())
