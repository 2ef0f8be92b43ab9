"""Figure 4 of Dana, Pydi and Chevaleyre: ten tokens, two dimensions, and the factor above the count."""

from collections.abc import Sequence

from byheart.experiments.figure import Figure, Finding, chosen, counted, fit, seeded
from byheart.experiments.points import Point
from byheart.experiments.sweep import Result

PRINTED = {"fixed sample": [(1, 0.330), (5, 0.497), (9, 0.633), (13, 0.734), (17, 0.857), (21, 0.858)]}
"""What the authors' repository stores, of 20 runs each."""


def _heads(point: Point) -> float:
    return point.heads


def _curve(point: Point) -> str:
    return point.protocol


def _judge(results: Sequence[Result]) -> list[Finding]:
    findings = []
    for name, places in FIGURE.trained(results).items():
        count = counted([r for r in results if r.point.protocol == name], _curve, _heads)[0].places
        early = [place for place in places if place[0] <= 17]
        (slope, straight), (_, root) = fit(early), fit(early, 0.5)
        times = slope / fit(count)[0]
        said = f"{times:.2f} times the slope of the count up to H = 17; R^2 of H {straight:.3f}, of its root {root:.3f}"
        above = all(y > z for (_, y), (_, z) in zip(places, count, strict=True))
        findings += [
            chosen(abs(times - 1.7) <= 0.15, f"a model holds 1.7 H d_h contexts ({name})", said),
            chosen(
                above,
                f"the count is a lower bound of what is trained ({name})",
                "at every H" if above else "not at every H",
            ),
        ]
    return findings


def _points(seeds: int) -> list[Point]:
    each = [{"heads": H, "protocol": p} for p in ("all contexts", "fixed sample") for H in range(1, 22, 4)]
    return seeded(each, seeds, tokens=10, d_model=2, d_head=2)


FIGURE = Figure(
    name="dana.4",
    title="Bigrams held against heads, N = 10, d = d_h = 2",
    source="Dana, Pydi, Chevaleyre (2024), Figure 4",
    quick=lambda: _points(8),
    full=lambda: _points(20),
    abscissa=("heads H", _heads),
    curve=_curve,
    judge=_judge,
    counts=lambda point: True,
    built=True,
    printed=PRINTED,
)
