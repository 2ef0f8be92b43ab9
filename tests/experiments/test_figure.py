from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from experiments.built import built
from experiments.figure import (
    Curve,
    built_beside,
    ceilings,
    chosen,
    count_share,
    counted,
    fit,
    means,
    monotone,
    seeded,
    straight,
)
from experiments.figures import FIGURES
from experiments.points import Point
from experiments.sweep import Result


def _result(heads: int, memorized: int, seed: int = 0) -> Result:
    point = Point(tokens=4, d_model=2, d_head=2, heads=heads, seed=seed)
    return Result(point, 16, memorized, memorized, 16 - memorized, 0.5, 0.5, point.parameters(), None, None)


def test_a_line_is_fitted_exactly_where_there_is_one() -> None:
    assert fit([(x, 3 * x**2 + 1) for x in range(4)], 2) == (pytest.approx(3), pytest.approx(1))
    slope, straight = fit([(0, 0), (1, 1), (2, 0)])
    assert slope == pytest.approx(0) and straight == pytest.approx(0)


def test_what_is_level_or_not_there_has_no_slope() -> None:
    assert fit([]) == fit([(1, 2)]) == fit([(0, 0), (1, 0), (2, 0)]) == (0, 0)


@pytest.mark.parametrize("name", [name for name in FIGURES if name.startswith("dana.")])
@pytest.mark.parametrize("share", [0, 1])
def test_a_figure_whose_models_hold_all_or_nothing_is_judged(name, share: int) -> None:
    figure = FIGURES[name]
    points: Sequence[Any] = figure.quick()
    results = [Result(p, p.contexts, 0, p.contexts * share, 0, 0.5, 0.5, p.parameters(), None, None) for p in points]
    assert figure.judge(results) and figure.trained(results)


def test_the_mean_is_over_the_seeds() -> None:
    found = means([_result(1, 4), _result(1, 8, 1), _result(2, 16)], lambda _: "a", lambda point: point.heads)
    assert found == {"a": [(1, 0.375), (2, 1.0)]}


def test_the_count_is_that_of_the_rank() -> None:
    """Bigrams of ten, d = d_h = 2: 2 + 2 H of a hundred."""
    shares = [count_share(Point(tokens=10, d_model=2, d_head=2, heads=H)) for H in (0, 1, 49, 60)]
    assert shares == pytest.approx([0.1 + 0.9 * 0.02, 0.1 + 0.9 * 0.04, 1, 1])
    assert count_share(Point(tokens=10, d_model=4, d_head=2, heads=3)) == pytest.approx(0.1 + 0.9 * 0.10)
    [line] = counted([_result(1, 4)], lambda _: "a", lambda point: point.heads)
    assert line == Curve("count", "count", [(1, 0.25 + 0.75 * 4 / 16)])


def test_the_smallest_memory_is_drawn_where_it_is_no_larger_than_any_trained_model() -> None:
    parameters, share = built(4)
    sizes = [(1, parameters - 1), (2, parameters), (3, parameters + 1), (3, parameters - 1), (4, parameters + 1)]
    results = [replace(_result(heads, 4), parameters=size) for heads, size in sizes]
    assert share == 1 and built_beside(results[:2], lambda point: point.heads) == [Curve("built", "built", [(2, 1)])]
    assert built_beside(results[2:], lambda point: point.heads) == [Curve("built", "built", [(4, 1)])]
    assert built_beside(results[:1], lambda point: point.heads) == []
    others = [replace(each, point=replace(each.point, tokens=2)) for each in results]
    names = [curve.name for curve in built_beside([*results, *others], lambda point: point.heads)]
    assert names == ["built, N = 4", "built, N = 2"]


def test_points_of_a_grid_have_seeds_of_their_own() -> None:
    points = seeded([{"heads": 1}, {"heads": 2}], 3, tokens=4, d_model=2, d_head=2)
    assert [(point.heads, point.seed, point.data_seed) for point in points] == [
        (heads, seed, seed) for heads in (1, 2) for seed in range(3)
    ]


def test_a_condition_decides() -> None:
    assert chosen(True, "a", "b").verdict == "confirmed"
    assert chosen(False, "a", "b").verdict == "not so here"


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        (lambda H: H / 10, "confirmed"),
        (lambda H: (H / 10) ** 2, "not reproduced"),
        (lambda H: (H / 10) ** 0.5, "not reproduced"),
        (lambda H: (H / 10) ** 5, "not so here"),
    ],
)
def test_growth_is_linear_where_no_root_or_square_fits_better(share, verdict) -> None:
    places = [(H, share(H)) for H in range(1, 10)]
    assert straight(places, "a").verdict == verdict
    assert straight([*places, (10, 0.96)], "a") == straight(places, "a")
    assert straight(places, "a").curve == "a" and straight(places, "a").sentence.endswith(" (a)")
    assert straight(places, "trained").sentence == "the scaling in H is linear"


@pytest.mark.parametrize(
    ("shares", "verdict", "seeds"),
    [
        ([(1, 2, 4), (2, 2, 8)], "confirmed", 3),
        ([(1, 2, 4), (0, 1, 3)], "not so here", 0),
        ([(1, 4, 4), (2, 1, 8)], "not reproduced", 2),
    ],
)
def test_a_curve_is_monotone_where_each_of_its_seeds_is(shares, verdict: str, seeds: int) -> None:
    figure = replace(FIGURES["dana.4"], curve=lambda point: "a")
    results = [
        _result(heads, memorized, seed) for heads, own in enumerate(shares, 1) for seed, memorized in enumerate(own)
    ]
    found = monotone(results, "a", figure, "it grows", ".2f")
    assert (found.verdict, found.sentence, found.curve) == (verdict, "it grows (a)", "a")
    assert found.found.startswith("H = 1: ") and f"so in {seeds} of 3 seeds" in found.found
    falling = [replace(result, memorized=16 - result.memorized) for result in results]
    assert monotone(falling, "a", figure, "it falls", ".2f", falls=True).verdict == verdict


def test_three_places_are_too_few_to_be_linear() -> None:
    found = straight([(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.99)], "a")
    assert (found.verdict, found.found) == ("not reproduced", "3 numbers of heads up to .95 are too few")


def test_the_ceiling_is_drawn_where_it_is_known() -> None:
    results = [replace(_result(1, 4), ceiling=8), replace(_result(1, 4, 1), ceiling=4), _result(2, 4)]
    [line] = ceilings(results, lambda _: "a", lambda point: point.heads)
    assert line == Curve("ceiling, a", "bound", [(1, 6 / 16)])


@pytest.mark.parametrize("name", [name for name in FIGURES if name.startswith("dana.")])
def test_printed_numbers_belong_to_a_trained_curve(name) -> None:
    figure = FIGURES[name]
    results = [Result(p, p.contexts, 9, p.heads, 0, 0.5, 0.5, 9, None, None, None, p.heads) for p in figure.full()]
    beside = figure.beside(results)
    names = {*figure.trained(results), *(curve.name for curve in beside if curve.kind == "trained")}
    found = {curve.name.removeprefix("printed, ") for curve in beside if curve.kind == "printed"}
    assert found and {"trained" if name == "printed" else name for name in found} <= names


def test_figure_5_is_judged_by_contexts_and_by_draws() -> None:
    figure = FIGURES["dana.5"]
    points = [point for point in figure.full() if point.seed == 0]
    results = [Result(p, p.contexts, 9, p.heads, 0, 0.5, 0.5, 9, None, None, None, 2**p.heads) for p in points]
    verdicts = {each.sentence.split(" (")[1][:-1]: each.verdict for each in figure.judge(results)}
    assert verdicts == {f"d = {d}": "confirmed" for d in (40, 50, 60)} | {
        f"d = {d}, of the draws": "not so here" for d in (40, 50, 60)
    }


@pytest.mark.parametrize("name", ["dana.3", "dana.5", "dana.depth"])
def test_printed_numbers_are_drawn_beside_points_of_their_size_alone(name) -> None:
    figure = FIGURES[name]

    def printed(points) -> list[Curve]:
        results = [Result(p, p.contexts, 9, 9, 0, 0.5, 0.5, p.parameters(), None, None) for p in points]
        return [curve for curve in figure.beside(results) if curve.kind == "printed"]

    assert not printed(figure.quick()) and not printed([*figure.full(), figure.quick()[0]])
    full = figure.full()
    assert printed(full) == printed(full[1:]) != []
    places = {figure.abscissa[1](point) for point in full}
    for curve in printed(full):
        assert min(places) <= min(x for x, _ in curve.places) and max(x for x, _ in curve.places) <= max(places)


def test_three_layers_are_judged_for_each_dimension() -> None:
    """A share that falls with the heads, of one dimension alone."""
    full: Sequence[Any] = FIGURES["dana.depth"].full()
    memorized = {p: 100 * p.heads if p.layers == 1 or p.d_model != 10 else 4900 - 100 * p.heads for p in full}
    results = [Result(p, p.contexts, n, n, 0, 0.5, 0.5, p.parameters(), None, None) for p, n in memorized.items()]
    verdicts = {each.sentence.split("d = ")[-1]: each.verdict for each in FIGURES["dana.depth"].judge(results)}
    assert verdicts == {"7)": "confirmed", "10)": "not so here", "13)": "confirmed"}
