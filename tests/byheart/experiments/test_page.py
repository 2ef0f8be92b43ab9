import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from byheart.experiments.built import built
from byheart.experiments.figures import FIGURES, gaps
from byheart.experiments.layers import AnyPoint, LayerPoint
from byheart.experiments.page import Drawn, page, write_figures
from byheart.experiments.sweep import Result


def _result(point: AnyPoint, held: int) -> Result:
    T = point.contexts
    saturation = (0,) * point.heads + (T,) if isinstance(point, LayerPoint) else None
    loss = 1 / (1 + held)
    return Result(point, T, held, held, T - held, loss, loss, point.parameters(), T, 0.1, saturation)


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
@pytest.mark.parametrize("grid", ["quick", "full"])
def test_every_figure_is_drawn_and_judged(figure, grid, tmp_path, monkeypatch) -> None:
    """Made-up numbers, that grow with the parameters; one memory stands for that of every label table."""
    monkeypatch.setattr(gaps, "built", lambda tokens, data_seed: built(tokens))
    points = getattr(figure, grid)() or figure.full()
    most = max(point.parameters() for point in points)
    results = [_result(p, max(1, int(0.9 * p.contexts * p.parameters() / most))) for p in points]
    drawn = Drawn(figure, results, len(points))
    assert drawn.findings and all(each.sentence and each.found for each in drawn.findings)
    write_figures(tmp_path, [drawn])
    assert (tmp_path / f"{figure.name}.svg").read_text().count("<circle") >= len(figure.trained(results))
    assert len((tmp_path / f"{figure.name}.csv").read_text().splitlines()) == 1 + len(points)
    assert figure.title in page([drawn])


def test_nothing_is_judged_while_points_are_missing() -> None:
    figure = FIGURES["dana.4"]
    results = [_result(point, 40) for point in figure.quick()]
    assert Drawn(figure, results[:-1], len(results)).findings == []


def test_findings_follow_from_the_results() -> None:
    """What is held is set, to multiples of the count."""
    figure = FIGURES["dana.4"]
    points: list[Any] = [point for point in figure.quick() if point.seed == 0]
    for times, confirmed in ((1.7, {"1.7"}), (1.3, {"1.3"}), (2.0, set())):
        results = [_result(p, round(20 + times * 1.8 * p.heads)) for p in points if p.heads and p.d_head == 2]
        said = [each for each in figure.judge(results) if "scaling" in each.sentence]
        assert len(said) == 4
        for each in said:
            of = re.findall(r"1\.\d", each.sentence)
            assert (each.verdict == "confirmed") == (set(of) <= confirmed), each


def test_a_finding_says_how_long_its_runs_were() -> None:
    figure = FIGURES["gaps"]
    results = [_result(point, point.contexts) for point in figure.quick()]
    said = {row["speaks for"] for row in Drawn(figure, results, len(results)).rows()}
    assert said == {"these 16 runs: 4 seeds, 2,048 to 4,096 steps of Adam"}


def test_bits_a_parameter_are_those_of_what_is_held() -> None:
    figure = FIGURES["bits"]
    point = replace(figure.quick()[0], tokens=2, d_model=1)
    few, many = _result(point, 2), _result(point, 4)
    assert (few.bits, many.bits * many.parameters) == (0, pytest.approx(4))
    assert [each.verdict for each in figure.judge([few, many])] == ["not reproduced"]  # of larger models
    svg = Drawn(figure, [many, _result(replace(point, d_model=2), 4)], 2).svg()
    assert svg.count("<circle") >= 2 and "<path" not in svg  # of several shapes
    assert [each.verdict for each in figure.judge([replace(many, parameters=2)])] == ["confirmed"]


def test_a_printed_line_has_the_colour_of_the_trained_one_and_a_fifth_line_is_thin() -> None:
    figure = FIGURES["dana.3"]
    full: Sequence[Any] = figure.full()
    points = [point for point in full if point.seed == 0]
    svg = Drawn(figure, [_result(point, point.heads + point.neurons) for point in points], len(points)).svg()
    trained = [f"{kind}, d = {d}" for d in (7, 10, 13) for kind in ("heads alone", "one head and neurons")]
    lines = re.findall(
        r'class="((?:first|second|third|fourth)(?: thin)?)"(?: stroke-dasharray="[^"]*")?/>\n<text.*?>(.*?)<', svg
    )
    style = {name.removesuffix(" (trained)"): style for style, name in lines}
    assert len({style[name] for name in trained}) == 6
    assert style["printed, heads alone, d = 13"] == style["heads alone, d = 13"] == "first thin"
