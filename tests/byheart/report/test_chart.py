"""Charts are well-formed, keep every point inside the frame, and never draw or write what is not so."""

import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.report.chart import Line, histogram, line_chart
from byheart.report.drawing import COLOURS

NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def parsed(chart: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{chart.replace(NAMESPACE, '')}</div>")


def points(chart: str) -> np.ndarray:
    line = parsed(chart).find(".//path")
    assert line is not None
    return np.array([[float(x) for x in pair.split()] for pair in line.attrib["d"].removeprefix("M").split(" L")])


def bars(chart: str) -> np.ndarray:
    rows = [[float(r.attrib[name]) for name in ("x", "y", "width", "height")] for r in parsed(chart).findall(".//rect")]
    return np.array(rows).reshape(-1, 4)


def tick_labels(chart: str) -> list[str]:
    return [text.text or "" for text in parsed(chart).findall(".//text") if not text.attrib["class"]]


def draw(x: np.ndarray, y: np.ndarray, *, log: bool = False) -> str:
    return line_chart([Line("", x, y)], title="t", x_label="x", y_label="y", log=log)


@given(
    y=st.lists(st.floats(1e-300, 1e300), min_size=2, max_size=50),
    log=st.booleans(),
    factor=st.sampled_from([1.0, 1e-6, 0.0]),
)
def test_every_point_lies_inside_the_frame(y: list[float], log: bool, factor: float) -> None:
    heights = np.array(y) * factor + (1.0 if factor == 0.0 else 0.0)
    places = points(draw(np.arange(len(y)) * 1.0, heights, log=log))
    assert np.isfinite(places).all()
    assert (places[:, 0] >= 0).all()
    assert (places[:, 0] <= 640).all()
    assert (places[:, 1] >= 0).all()
    assert (places[:, 1] <= 272).all()


def test_larger_values_are_higher_and_equal_ratios_equally_far_on_a_logarithmic_scale() -> None:
    places = points(draw(np.arange(4.0), np.array([1.0, 10.0, 100.0, 1000.0]), log=True))
    steps = np.diff(places[:, 1])
    assert (steps < -10).all()
    assert np.ptp(steps) < 0.11


def test_a_linear_scale_begins_at_zero() -> None:
    places = points(draw(np.arange(2.0), np.array([50.0, 100.0])))
    bottom = 272 - 52
    assert (bottom - places[0, 1]) / (bottom - places[1, 1]) == pytest.approx(0.5, abs=0.01)


def test_what_cannot_be_drawn_is_left_out() -> None:
    y = np.array([1.0, math.nan, math.inf, 0.0, -1.0, 10.0])
    assert len(points(draw(np.arange(6.0), y, log=True))) == 2
    assert len(points(draw(np.arange(6.0), y))) == 4


def shape(drawn: ElementTree.Element) -> str:
    return " ".join([drawn.tag, drawn.attrib["class"], drawn.get("stroke-dasharray", "")]).strip()


def keys_and_body(chart: str) -> tuple[list[ElementTree.Element], list[ElementTree.Element]]:
    """What is drawn in the legend and in the frame, without the scales."""
    drawn = [each for each in parsed(chart).iter() if each.get("class", "").removeprefix("on-").startswith(COLOURS)]
    keys = [each for each in drawn if float(each.get("cy", each.get("y1", "inf"))) < 20]
    return keys, drawn[len(keys) :]


ONE, TWO = np.array([1.0]), np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("drawn", "shapes"),
    [
        (Line("a", TWO, TWO), ["line first"]),
        (Line("a", TWO, TWO, dashes="6 4"), ["line first 6 4"]),
        (Line("a", TWO, TWO, "second thin", "6 4", dots=True), ["line second thin 6 4", "circle on-second thin"]),
        (Line("a", TWO, TWO, dots=True, joined=False), ["circle on-first"]),
        (Line("a", TWO, TWO, joined=False), ["circle on-first"]),
        (Line("a", ONE, ONE, "third", "6 4"), ["circle third"]),
        (Line("a", ONE, ONE, joined=False), ["circle first"]),
        (Line("a", ONE, ONE, dots=True), ["circle on-first"]),
        (Line("a", TWO, np.array([3.0, math.nan])), ["circle first"]),
    ],
)
def test_a_key_is_drawn_as_its_line_and_a_single_point_as_a_ring(drawn: Line, shapes: list[str]) -> None:
    keys, body = keys_and_body(line_chart([drawn], title="t", x_label="x", y_label="y"))
    assert [shape(each) for each in keys] == shapes
    assert {each.attrib["cx"] for each in keys if each.tag == "circle"} <= {"10"}  # the middle of a key
    assert {shape(each) for each in body} == {each.replace("line", "path") for each in shapes}
    assert len([each for each in body if each.tag == "circle"]) in (0, np.isfinite(drawn.y).sum())


def test_a_ring_is_seen_around_a_dot() -> None:
    lines = [Line("", ONE, ONE, dots=True), Line("", ONE, ONE)]
    inner, outer = (
        float(each.attrib["r"]) for each in keys_and_body(line_chart(lines, title="", x_label="", y_label=""))[1]
    )
    assert outer - 2.5 / 2 > inner + 1  # the ring is 2.5 wide


def test_a_long_line_is_thinned_but_keeps_its_ends() -> None:
    x = np.arange(8192.0)
    places = points(draw(x, x + 1.0, log=True))
    assert len(places) <= 400
    assert places[0, 0] == pytest.approx(64)
    assert places[-1, 0] == pytest.approx(624)


def test_points_that_no_line_joins_are_all_drawn() -> None:
    x = np.arange(1000.0)
    svg = line_chart([Line("", x, x, joined=False)], title="", x_label="", y_label="")
    assert svg.count("<circle") == 1000 and "<path" not in svg


@pytest.mark.parametrize("values", [[], [math.nan], [0.0, -1.0]])
def test_nothing_to_draw_is_said_in_words(values: list[float]) -> None:
    for chart in (draw(np.arange(len(values)) * 1.0, np.array(values), log=True), drawn_histogram(values, log=True)):
        assert "nothing to draw" in chart
        assert "<svg" not in chart


def drawn_histogram(values: list[float], *, log: bool) -> str:
    return histogram([("", np.array(values), "first")], title="t", x_label="x", y_label="y", log=log)


@given(values=st.lists(st.floats(1e-30, 1e30), min_size=1, max_size=60), log=st.booleans())
def test_every_value_is_in_exactly_one_bar_inside_the_frame(values: list[float], log: bool) -> None:
    chart = drawn_histogram(values, log=log)
    assert sum(int(title.text or "") for title in parsed(chart).findall(".//rect/title")) == len(values)
    assert (bars(chart) >= 0).all()
    assert (bars(chart)[:, 0] + bars(chart)[:, 2] <= 624.1).all()
    assert (bars(chart)[:, 1] >= 27.9).all()


@pytest.mark.parametrize("log", [True, False])
def test_the_heights_of_bars_are_the_numbers_of_values(log: bool) -> None:
    values = [1.0] * 6 + [10.0] * 3 + [100.0]
    heights = np.sort(bars(drawn_histogram(values, log=log))[:, 3])
    assert heights / heights.max() == pytest.approx([1 / 6, 3 / 6, 1.0], abs=0.01)


def test_groups_share_one_scale() -> None:
    chart = histogram(
        [("a", [1.0, 1.0], "first"), ("b", [1.0] * 4, "second")], title="t", x_label="x", y_label="y", log=True
    )
    both = bars(chart)
    assert len(both) == 2
    assert both[0, 0] == both[1, 0]
    assert both[0, 3] / both[1, 3] == pytest.approx(0.5, abs=0.01)


def test_the_key_of_bars_is_a_line_even_of_a_single_value() -> None:
    chart = histogram([("a", [1.0], "third")], title="t", x_label="x", y_label="y", log=True)
    assert [shape(each) for each in keys_and_body(chart)[0]] == ["line third"]


def test_shares_are_of_the_group() -> None:
    chart = histogram(
        [("a", [1.0], "first"), ("b", [100.0] * 3 + [1e4], "second")],
        title="t",
        x_label="x",
        y_label="y",
        log=True,
        share=True,
    )
    heights = np.sort(bars(chart)[:, 3])
    assert heights / heights.max() == pytest.approx([0.25, 0.75, 1.0], abs=0.01)


@pytest.mark.parametrize("end", [1.0, 1.3, 8.0, 1e3, 1e30, 1e100])
@pytest.mark.parametrize("start", [1e-200, 1e-21, 1.0, 3.7])
def test_a_logarithmic_scale_has_two_to_ten_labels(start: float, end: float) -> None:
    chart = line_chart(
        [Line("", np.arange(2.0), np.array([start, start * end]))], title="t", x_label="x", y_label="y", log=True
    )
    ordinates = parsed(chart).findall(".//text[@class=''][@text-anchor='end']")
    assert 2 <= len(ordinates) <= 10
    assert len({text.text for text in ordinates}) == len(ordinates)


def test_a_legend_names_the_lines_and_escapes_them() -> None:
    chart = line_chart(
        [Line("a<b", np.arange(2.0), np.ones(2)), Line("", np.arange(2.0), np.ones(2), "second")],
        title='q"t',
        x_label="<x>",
        y_label="&y",
    )
    said = [text.text for text in parsed(chart).findall(".//text") if text.attrib["class"] == "faint"]
    assert said == ["a<b", "<x>", "&y"]
    assert "<x>" not in chart
    assert parsed(chart).findtext(".//title") == 'q"t'


def test_lines_have_dashes_dots_and_a_logarithmic_abscissa() -> None:
    x, y = np.array([0.0, 1.0, 10.0, 100.0]), np.arange(4.0)
    chart = line_chart(
        [Line("measured", x, y, "third", dots=True), Line("printed", x, y, "second", "6 4")],
        title="t", x_label="x", y_label="y", log_x=True,
    )  # fmt: skip
    places = points(chart)
    assert len(places) == 3 and np.ptp(np.diff(places[:, 0])) < 0.11
    found = parsed(chart)
    assert [each.attrib["class"] for each in found.findall(".//circle")] == ["on-third"] * 4  # its key, and its points
    dashed = [each.attrib["class"] for each in found.iter() if each.attrib.get("stroke-dasharray") == "6 4"]
    assert dashed == ["second", "second"]  # its key, and itself


def test_a_long_legend_takes_rows_above_the_frame() -> None:
    names = ["a name of thirty letters or so", "another name of about thirty", "and a third one that does not fit"]
    chart = line_chart([Line(name, np.arange(2.0), np.ones(2)) for name in names], title="t", x_label="x", y_label="y")
    keys = [text for text in parsed(chart).findall(".//text") if text.text in names]
    assert [float(text.attrib["y"]) for text in keys] == [14, 14, 34]
    assert (points(chart)[:, 1] > 34).all()


def test_the_same_numbers_give_the_same_text() -> None:
    generator = np.random.default_rng(0)
    values = generator.random(100)
    assert drawn_histogram(values.tolist(), log=True) == drawn_histogram(values.tolist(), log=True)
