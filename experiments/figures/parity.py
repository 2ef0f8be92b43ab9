"""Parity of bits: no number of heads below that of the bits holds it, whatever is trained."""

from collections.abc import Sequence

from experiments.figure import Figure, Finding, ceilings, seeded
from experiments.points import Point
from experiments.sweep import Result


def _heads(point: Point) -> float:
    return point.heads


def _curve(point: Point) -> str:
    return f"{point.length - 1} bits"


def _judge(results: Sequence[Result]) -> list[Finding]:
    best: dict[tuple[int, int], int] = {}
    for result in results:
        at = (result.point.length - 1, result.point.heads)
        best[at] = max(best.get(at, 0), result.memorized)
    most = {(r.point.length - 1, r.point.heads): r.ceiling for r in results}
    reached = sum(best[at] == most[at] for at in best)
    said = f"the best of the seeds reaches the ceiling at {reached} of {len(best)} places, and passes it nowhere"
    sentence = "training reaches the most that H heads can hold of a parity"
    return [Finding(sentence, "confirmed" if reached == len(best) else "not reproduced", said)]


def _points(bits: Sequence[int], seeds: int, steps: int) -> list[Point]:
    each = [{"length": n + 1, "heads": H} for n in bits for H in range(1, n + 2)]
    return seeded(each, seeds, tokens=2, d_model=8, d_head=8, targets="parity", steps=steps)


FIGURE = Figure(
    name="parity",
    title="Contexts held of the parity of n bits against heads",
    source="ours, docs/claims/heads_of_any_width.md",
    quick=lambda: _points((2, 3, 4), 4, 1024),
    full=lambda: _points((2, 3, 4, 5, 6), 16, 4096),
    abscissa=("heads H", _heads),
    curve=_curve,
    judge=_judge,
    lines=lambda results: ceilings(results, _curve, _heads),
)
