"""Drawings are files of their own, parts of a page, and the same on every machine."""

import xml.etree.ElementTree as ElementTree

import pytest

from byheart.report.drawing import STYLE, Axes, arrow, figure, number, part_of_page, words


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (-0.001, "0"), (0.126, "0.13"), (-0.5, "-0.5"), (100.0, "100")]
)
def test_a_place_has_two_decimals(value: float, text: str) -> None:
    assert number(value) == text


def test_a_drawing_stands_alone_and_within_a_page_has_neither_namespace_nor_style() -> None:
    drawn = figure("a < b", 20, 10, [words(1, 2, "x & y"), arrow((0, 0), (3, 4), "ink")])
    root = ElementTree.fromstring(drawn)
    assert (root.attrib["viewBox"], root[0].text, root[2].text) == ("0 0 20 10", "a < b", "x & y") and STYLE in drawn
    assert "http" not in part_of_page(drawn) and "<style>" not in part_of_page(drawn)
    assert len(part_of_page(drawn)) > 100 and ElementTree.fromstring(part_of_page(drawn))[1].text == "x & y"


def test_equal_ratios_are_equally_far_where_a_scale_is_logarithmic() -> None:
    axes = Axes(10, 20, 100, 50, (1, 100), (0, 5), log_x=True)
    assert axes.at(10, 0) == pytest.approx((60, 70)) and axes.at(100, 5) == pytest.approx((110, 20))
