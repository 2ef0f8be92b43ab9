"""Figure 1(a) of Dana, Pydi and Chevaleyre: the share that is held against the number of heads."""

from collections.abc import Sequence

from byheart.experiments.figure import Figure, Finding, chosen, counted, fit, seeded, straight, unsaturated
from byheart.experiments.points import Point
from byheart.experiments.sweep import Result

PRINTED = {"trained": [(1, 0.130), (6, 0.324), (11, 0.506), (16, 0.685), (21, 0.861), (26, 0.963), (31, 0.997)]}
"""What the authors' repository stores."""


def _heads(point: Point) -> float:
    return point.heads


def _curve(point: Point) -> str:
    return "trained"


def _judge(results: Sequence[Result]) -> list[Finding]:
    places, count = FIGURE.trained(results)["trained"], counted(results, _curve, _heads)[0].places
    times = fit(unsaturated(places))[0] / fit(count)[0]
    above = sum(y >= z for (_, y), (_, z) in zip(places, count, strict=True))
    return [
        straight(places, "trained"),
        chosen(times >= 2, "the growth is actually much faster than Corollary 1's", f"{times:.1f} times its slope"),
        chosen(
            above == len(places),
            "trained models lie above the lower bound of Corollary 2",
            f"at {above} of {len(places)} numbers of heads",
        ),
    ]


FIGURE = Figure(
    name="dana.1a",
    title="Bigrams held against heads",
    source="Dana, Pydi, Chevaleyre (2024), Figure 1(a)",
    quick=lambda: seeded([{"heads": H} for H in (1, 6, 11, 16, 21)], 1, tokens=50, d_model=10, d_head=10, steps=2048),
    full=lambda: seeded([{"heads": H} for H in range(1, 32, 5)], 5, tokens=50, d_model=10, d_head=10),
    abscissa=("heads H", _heads),
    curve=_curve,
    judge=_judge,
    counts=lambda point: True,
    built=True,
    printed=PRINTED,
)
