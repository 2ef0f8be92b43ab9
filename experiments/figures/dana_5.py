"""Figure 5 of Dana, Pydi and Chevaleyre: two hundred tokens, and a quarter of that with a quarter of the dimensions.

The full grid sees the fixed sample of the program, the quick one all contexts.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from experiments.figure import Curve, Figure, Finding, Places, means, seeded, straight
from experiments.points import Point
from experiments.sweep import Result

PRINTED = {"d = 50, of the draws": [(1, 0.094), (3, 0.203), (5, 0.299), (7, 0.393), (9, 0.478), (11, 0.559)]}
"""What the authors' repository stores: of the draws of the sample, of which a context that it knows has several."""


def _of_the_draws(results: Sequence[Result]) -> dict[str, Places]:
    own = [result for result in results if result.draws_share is not None]
    return means(own, lambda p: f"d = {p.d_model}, of the draws", FIGURE.abscissa[1], lambda r: r.draws_share or 0.0)


def _judge(results: Sequence[Result]) -> list[Finding]:
    found = FIGURE.trained(results)
    judged = [straight(places, name) for name, places in {**found, **_of_the_draws(results)}.items()]
    return [replace(each, curve=each.curve.partition(",")[0]) for each in judged]


def _points(widths: Sequence[int], seeds: int, **common: Any) -> list[Point]:
    each = [{"d_model": d, "d_head": d, "heads": H} for d in widths for H in range(1, 12, 2)]
    return seeded(each, seeds, **common)


FIGURE = Figure(
    name="dana.5",
    title="Bigrams held against heads, for three dimensions d = d_h",
    source="Dana, Pydi, Chevaleyre (2024), Figure 5, printed with N = 200 and d = 40, 50, 60",
    quick=lambda: _points((10, 12, 15), 2, tokens=50, steps=2048),
    full=lambda: _points((40, 50, 60), 3, tokens=200, protocol="fixed sample"),
    abscissa=("heads H", lambda point: point.heads),
    curve=lambda point: f"d = {point.d_model}",
    judge=_judge,
    counts=lambda point: True,
    built=True,
    printed=PRINTED,
    lines=lambda results: [Curve(k, "trained", v) for k, v in _of_the_draws(results).items() if k in PRINTED],
    smaller=True,
)
