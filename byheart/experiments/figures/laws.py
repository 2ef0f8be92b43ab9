"""Laws instead of labels: there the count of Theorem 1 is seen."""

from collections.abc import Mapping, Sequence

import numpy as np

from byheart.experiments.figure import Curve, Figure, Finding, Places, seeded
from byheart.experiments.points import Point
from byheart.experiments.sweep import Result

_SETTLED = 1e-3  # nats above the best model of the same laws
_TOLD = 1e-12  # nats, about which bounds of a divergence are told apart


def _facts(point: Point) -> float:
    return point.d_model + point.heads * point.d_head


def _curve(point: Point) -> str:
    return f"d = {point.d_model}"


def _excess(results: Sequence[Result]) -> dict[str, Places]:
    """By d, the median over the seeds of the divergence above the best model of the same laws and d, or 1e-12."""
    best: dict[tuple[int, int], float] = {}
    above: dict[str, dict[float, list[float]]] = {}
    for result in results:
        of = result.point.d_model, result.point.data_seed
        best[of] = min(result.loss_upper, best.get(of, np.inf))
    for result in results:
        at = above.setdefault(_curve(result.point), {}).setdefault(_facts(result.point), [])
        at.append(result.loss_upper - best[result.point.d_model, result.point.data_seed])
    return {
        name: [(x, max(_TOLD, float(np.median(each)))) for x, each in sorted(at.items())] for name, at in above.items()
    }


def _lines(results: Sequence[Result]) -> list[Curve]:
    """The count that Theorem 1 asks for, T, from the least to the largest excess."""
    heights, needed = [y for places in _excess(results).values() for _, y in places], results[0].contexts
    return [Curve(f"count: {needed} contexts", "count", [(needed, end(heights)) for end in (min, max)])]


def _judge(results: Sequence[Result]) -> list[Finding]:
    """Theorem 1 says what exists: that training does not get there refutes nothing."""
    findings, needed = [], results[0].contexts
    for name, places in _excess(results).items():
        late = [y for x, y in places if x >= needed]
        if late:
            early = next((x for i, (x, _) in enumerate(places) if all(y <= _SETTLED for _, y in places[i:])), None)
            said = f"at most {max(late):.0e} nats above the best from {needed} on; "
            said += "never settled" if early is None else f"at most {_SETTLED:g} from H d_h + d = {early:g} on"
            sentence = f"from H d_h + d = T on the median is within {_SETTLED:g} nats of the best model found ({name})"
            verdict = "confirmed" if max(late) <= _SETTLED else "not reproduced"
            findings.append(Finding(sentence, verdict, said, name))
    return findings


def _points(heads: Mapping[int, Sequence[int]], seeds: int, steps: int) -> list[Point]:
    each = [{"heads": H, "d_model": d, "d_head": d} for d, counts in heads.items() for H in counts]
    return seeded(each, seeds, tokens=6, targets="laws", steps=steps)


FIGURE = Figure(
    name="laws",
    title="Divergence from random laws above the best model found, against H d_h + d",
    source="ours, of Theorem 1 of Dana, Pydi, Chevaleyre (2024)",
    quick=lambda: _points({2: (2, 6, 10, 14, 17, 20), 4: (2, 4, 6, 8, 10)}, 2, 4096),
    full=lambda: _points({d: range(2, 40 // d + 2, 2) for d in (1, 2, 3, 4)}, 8, 10_000),
    abscissa=("H d_h + d (T = 36)", _facts),
    curve=_curve,
    ordinate=("median of the divergence above the best, nats, or 1e-12", lambda result: result.loss_upper),
    places=_excess,
    judge=_judge,
    lines=_lines,
    log=True,
)
