import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest

from constructions.errors import FileFormatError
from experiments.figure import Kind
from experiments.figures import FIGURES
from experiments.layers import AnyPoint, LayerPoint
from experiments.page import Drawn, page, read_figure, write_figure, write_page
from experiments.points import Point
from experiments.sweep import Result, write_rows


def _result(point: AnyPoint, memorized: int) -> Result:
    T = point.contexts
    saturation = (0,) * point.heads + (T,) if isinstance(point, LayerPoint) else None
    loss = 1 / (1 + memorized)
    return Result(point, T, memorized, memorized, T - memorized, loss, loss, point.parameters(), T, 0.1, saturation)


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
@pytest.mark.parametrize("grid", ["quick", "full"])
def test_every_figure_is_drawn_and_judged(figure, grid, tmp_path) -> None:
    """Made-up numbers, that grow with the parameters."""
    points = getattr(figure, grid)() or figure.full()
    most = max(point.parameters() for point in points)
    results = [_result(p, max(1, int(0.9 * p.contexts * p.parameters() / most))) for p in points]
    drawn = Drawn(figure, results, len(points))
    assert drawn.findings and all(each.sentence and each.found for each in drawn.findings)
    write_figure(tmp_path, drawn)
    write_page(tmp_path, [drawn])
    assert (tmp_path / f"{figure.name}.svg").read_text().count("<circle") >= len(figure.trained(results))
    assert len((tmp_path / f"{figure.name}.csv").read_text().splitlines()) == 1 + len(points)
    assert f"<h2>{drawn.title}</h2>" in page([drawn])


def test_a_figure_is_read_as_it_was_written_and_judged_where_it_is_a_whole_grid(tmp_path) -> None:
    figure = FIGURES["dana.1a"]
    results = [_result(point, point.heads) for point in figure.quick()]
    for some in (results, results[1:]):
        write_figure(tmp_path, Drawn(figure, some, len(some)))
        drawn = read_figure(tmp_path, figure)
        assert drawn.results == some and bool(drawn.findings) == (some == results)


@pytest.mark.parametrize("edit", [("tokens", "1000000"), ("contexts", "0"), ("memorized", "9" * 400)])
def test_a_table_that_cannot_be_drawn_is_refused(edit, tmp_path) -> None:
    figure = FIGURES["dana.1a"]
    rows = [_result(point, point.heads).row() | dict([edit]) for point in figure.quick()]
    write_rows(tmp_path / "dana.1a.csv", rows)
    with pytest.raises(FileFormatError, match=r"dana\.1a\.csv is not a table of"):
        read_figure(tmp_path, figure)


def test_of_a_figure_without_results_nothing_is_left(tmp_path) -> None:
    figure = FIGURES["dana.1a"]
    drawn = Drawn(figure, [_result(point, point.heads) for point in figure.quick()], 5)
    for each in (drawn, replace(drawn, results=[])):
        write_figure(tmp_path, each)
        write_page(tmp_path, [each])
    assert [file.name for file in tmp_path.iterdir()] == ["index.html"]


def test_nothing_is_judged_while_points_are_missing() -> None:
    figure = FIGURES["dana.4"]
    results = [_result(point, 40) for point in figure.quick()]
    assert Drawn(figure, results[:-1], len(results)).findings == []


def test_findings_follow_from_the_results() -> None:
    """What is held is set, to multiples of the count."""
    figure = FIGURES["dana.4"]
    points: list[Any] = [point for point in figure.quick() if point.seed == 0]
    for times, confirmed in ((1.7, {"1.7", "twice"}), (1.3, {"1.3"}), (2.0, {"twice"}), (3.0, set())):
        results = [_result(p, round(20 + times * 1.8 * p.heads)) for p in points if p.heads and p.d_head == 2]
        said = [each for each in figure.judge(results) if re.search("scaling|slope", each.sentence)]
        assert len(said) == 6
        for each in said:
            [of] = re.findall(r"1\.\d|twice", each.sentence)
            assert each.verdict == ("confirmed" if of in confirmed else "not so here"), each


def test_a_slope_that_depends_on_where_one_stops_is_open() -> None:
    figure = FIGURES["dana.4"]
    quick: Sequence[Any] = figure.quick()
    points = [p for p in quick if p.seed == 0 and p.heads and p.d_head == 2 and p.protocol == "all contexts"]
    results = [_result(point, round(20 + 16 * point.heads**0.5)) for point in points]
    verdicts = [each.verdict for each in figure.judge(results) if re.search("scaling|slope", each.sentence)]
    assert verdicts == ["not reproduced", "not reproduced", "not so here"]


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("dana.1a", "5 runs: 1 seed, 2,048 steps of Adam, learning rate 0.01 at first and 0.0005 at last, all contexts"
                    " in every step"),
        ("dana.depth", "32 runs: 4 seeds, 2,048 steps of Adam, learning rate 0.0025 at first and 0.0025 at last, all"
                       " contexts in every step"),
        ("mahdavi.3", "8 runs: 4 seeds, 4,096 steps of Adam, learning rate 0.01 at first and 0.0005 at last, all"
                      " examples in every step"),
    ],
)  # fmt: skip
def test_findings_and_the_page_say_of_which_runs_they_speak(name, runs) -> None:
    figure = FIGURES[name]
    results = [_result(point, point.contexts // 2) for point in figure.quick()]
    drawn = Drawn(figure, results, len(results))
    assert f". {runs}; " in page([drawn])
    for row, found in zip(drawn.rows(), drawn.findings, strict=True):
        own = [each for each in results if figure.curve(each.point).endswith(found.curve)]
        assert row["speaks for"].startswith(f"these {len(own)} runs: ") and own
        assert len(own) < len(results) or row["speaks for"] == f"these {runs}"


_HEADS = Point(tokens=50, d_model=10, d_head=10, heads=20)
_LAYER = LayerPoint(examples=160, n_ctx=8, d_model=16, d_head=8, heads=4)


@pytest.mark.parametrize(
    ("name", "points", "title"),
    [
        ("dana.1a", [_HEADS, replace(_HEADS, heads=1)], "Held, N = 50, d = d_h = 10"),
        ("dana.1a", [_HEADS], "Held, N = 50, d = d_h = 10"),  # heads are the abscissa, even of a single one
        ("dana.1b", [_HEADS, replace(_HEADS, d_head=1)], "Held, N = 50, d = 10, H = 20"),
        ("dana.2b", [_HEADS], "Held, N = 50, H = 20"),
        ("dana.3", [replace(_HEADS, d_head=100)], "Held, N = 50, d = 10, d_h = 100, H = 20"),
        ("dana.3", [replace(_HEADS, heads=0)], "Held, N = 50, d = 10"),
        ("dana.3", [_HEADS, replace(_HEADS, heads=0)], "Held, N = 50, d = 10"),
        ("mahdavi.3", [_LAYER, replace(_LAYER, seed=1)], "Held, n = 8, d = 16, d_h = 8, T = 160, H = 4"),
        ("mahdavi.2b", [replace(_LAYER, examples=80), _LAYER], "Held, d = 16, d_h = 8, H = 4"),
    ],
)
def test_a_title_has_the_sizes_that_all_points_share(name, points, title) -> None:
    results = [_result(point, 1) for point in points]
    drawn = Drawn(replace(FIGURES[name], title="Held"), results, len(points) + 1)  # one is missing, so none is judged
    assert drawn.title == title and f"<h2>{title}</h2>" in page([drawn])
    assert f"<title>{title}; {len(points)} model" in drawn.svg()


def _keys(svg: str) -> dict[str, str]:
    """The shapes of each key of a legend and the style of the last one, by the name behind it."""
    found = re.findall(r"((?:<(?:line|circle) [^>]*>\n)+)<text [^>]*>([^<]*)</text>", svg)
    shapes = {name: re.findall(r'<(\w+) .*class="(?:on-)?([^"]*)"', key) for key, name in found}
    return {name: " ".join([*(shape for shape, _ in key), key[-1][1]]) for name, key in shapes.items()}


def test_a_line_beside_a_trained_one_has_its_colour_and_a_fifth_line_is_thin() -> None:
    figure = FIGURES["dana.3"]
    full: Sequence[Any] = figure.full()
    points = [point for point in full if point.seed == 0]
    keys = _keys(Drawn(figure, [_result(point, point.heads + point.neurons) for point in points], len(points)).svg())
    trained = [f"{kind}, d = {d} (trained)" for d in (7, 10, 13) for kind in ("heads alone", "one head and neurons")]
    assert len({keys[name] for name in trained}) == 6
    assert keys["printed, heads alone, d = 13"] == keys["heads alone, d = 13 (trained)"] == "line circle first thin"


def test_a_bound_has_the_colour_of_the_trained_line_whose_name_follows_its_own() -> None:
    points = [replace(_LAYER, examples=T, n_ctx=n) for T in (80, 160) for n in (1, 2)]
    *unbounded, bounded = (_result(point, 40) for point in points)
    keys = _keys(Drawn(FIGURES["mahdavi.2b"], [*(replace(each, ceiling=None) for each in unbounded), bounded], 0).svg())
    assert keys["T = 160 (trained)"] == "line circle second"
    assert keys["ceiling, T = 160 (bound)"] == "circle second"  # a ring of its single point


def test_trained_lines_have_colours_of_their_own() -> None:
    figure = replace(FIGURES["dana.4"], curve=lambda point: "d = 2" if point.protocol[0] == "a" else "drawn, d = 2")
    keys = _keys(Drawn(figure, [_result(point, 40) for point in figure.quick()], 0).svg())
    assert keys["d = 2 (trained)"] == "line circle first" and keys["drawn, d = 2 (trained)"] == "line circle second"


def test_the_page_says_what_each_kind_of_line_is() -> None:
    said = page([])
    assert all(f"<em>{kind}</em>" in said for kind in get_args(Kind)) and "A ring marks" in said
