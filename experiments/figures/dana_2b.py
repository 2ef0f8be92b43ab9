"""Figure 2(b) of Dana, Pydi and Chevaleyre: what a head adds, against d = d_h."""

import math
from collections.abc import Sequence

from experiments.figure import Curve, Figure, Finding, Places, Verdict, fit, means, printed, seeded, unsaturated
from experiments.points import Point
from experiments.sweep import Result

_STORED = (134, 349, 720, 1110, 1630, 2220, 2750, 3400, 4150, 4360, 5540)
PRINTED = {"trained": [(d, y / 100_000) for d, y in enumerate(_STORED, 3)]}
"""Slopes of the curves that the authors' repository stores."""


def _slopes(results: Sequence[Result]) -> dict[str, Places]:
    """Return the slope of the share in H up to .95, for each d."""
    curves = means(results, lambda point: str(point.d_model), lambda point: point.heads)
    kept = {d: unsaturated(places) for d, places in curves.items()}
    return {"trained": sorted((int(d), fit(places)[0]) for d, places in kept.items() if len(places) > 1)}


def _lines(results: Sequence[Result]) -> list[Curve]:
    widths = sorted({result.point.d_model for result in results})
    return [Curve("count", "count", [(d, (1 - 1 / 50) * d / 2500) for d in widths]), *printed(PRINTED)]


def _judge(results: Sequence[Result]) -> list[Finding]:
    sentence = "the coefficient has a cubic growth when d = d_h"
    places = [(d, slope) for d, slope in _slopes(results)["trained"] if slope > 0]
    if len(places) < 4:
        return [Finding(sentence, "not reproduced", f"{len(places)} slopes are too few")]
    middle = len(places) // 2
    halves = [places[: middle + 1], places[middle:]] if len(places) > 7 else []
    best, said = [], []
    for part in (places, *halves):
        fits = {power: fit(part, power)[1] for power in (1, 2, 3)}
        exponent = fit([(math.log(x), math.log(y)) for x, y in part])[0]
        best.append(max(fits, key=lambda power: fits[power]))
        squares = ", ".join(f"d^{power} {r:.3f}" for power, r in fits.items())
        said.append(f"d = {part[0][0]} to {part[-1][0]}: R^2 of {squares}, exponent {exponent:.2f}")
    verdict: Verdict = "confirmed" if set(best) == {3} else "not reproduced" if 3 in best else "not so here"
    return [Finding(sentence, verdict, "; ".join(said))]


def _points(widths: Sequence[int], heads: Sequence[int], seeds: int, steps: int) -> list[Point]:
    each = [{"d_model": d, "d_head": d, "heads": H} for d in widths for H in heads]
    return seeded(each, seeds, tokens=50, steps=steps)


FIGURE = Figure(
    name="dana.2b",
    title="What a head adds to the share of bigrams held, against d = d_h",
    source="Dana, Pydi, Chevaleyre (2024), Figure 2(b)",
    quick=lambda: _points((3, 5, 7, 10), (1, 6, 11), 1, 2048),
    full=lambda: _points(range(3, 14), range(1, 32, 5), 5, 4096),
    abscissa=("d = d_h", lambda point: point.d_model),
    curve=lambda point: "trained",
    ordinate=("share of contexts that a head adds", lambda result: result.share),
    judge=_judge,
    lines=_lines,
    places=_slopes,
)
