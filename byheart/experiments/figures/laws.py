"""Laws instead of labels: there the count of Theorem 1 is seen, and a floor below every encoder."""

from collections.abc import Mapping, Sequence

from byheart.experiments.figure import Curve, Figure, Finding, means, seeded
from byheart.experiments.points import Point
from byheart.experiments.sweep import Result


def _facts(point: Point) -> float:
    return point.d_model + point.heads * point.d_head


def _curve(point: Point) -> str:
    return f"d = {point.d_model}"


def _lines(results: Sequence[Result]) -> list[Curve]:
    floors = means(results, _curve, _facts, lambda result: result.floor or 0.0)
    return [Curve(f"floor, {name}", "bound", places) for name, places in floors.items()]


def _judge(results: Sequence[Result]) -> list[Finding]:
    findings = []
    for name, places in FIGURE.trained(results).items():
        late = [y for x, y in places if x >= results[0].contexts]
        if late:
            last = min(y for _, y in places)
            said = ", ".join(f"{x:g}: {y:.4f}" for x, y in places)
            near = all(y <= 1.05 * last + 1e-4 for y in late)
            sentence = f"training ends at the same divergence from H d_h + d = T on ({name})"
            findings.append(Finding(sentence, "confirmed" if near else "not reproduced", said))
    return findings


def _points(heads: Mapping[int, Sequence[int]], seeds: int, steps: int) -> list[Point]:
    each = [{"heads": H, "d_model": d, "d_head": d} for d, counts in heads.items() for H in counts]
    return seeded(each, seeds, tokens=6, targets="laws", steps=steps)


FIGURE = Figure(
    name="laws",
    title="Mean divergence from random laws against H d_h + d, N = 6, all bigrams",
    source="ours, of Theorem 1 of Dana, Pydi, Chevaleyre (2024)",
    quick=lambda: _points({2: (2, 6, 10, 14, 17, 20), 4: (2, 4, 6, 8, 10)}, 2, 4096),
    full=lambda: _points({d: range(2, 40 // d + 2, 2) for d in (1, 2, 3, 4)}, 8, 10_000),
    abscissa=("H d_h + d (T = 36)", _facts),
    curve=_curve,
    ordinate=("mean divergence, nats, proved", lambda result: result.loss_upper),
    judge=_judge,
    lines=_lines,
    log=True,
)
