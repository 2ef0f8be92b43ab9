"""Figure 1(a) of Dana, Pydi and Chevaleyre: the share that is held against the number of heads."""

from collections.abc import Sequence

from experiments.figure import Figure, Finding, chosen, counted, fit, seeded, straight, unsaturated
from experiments.points import TEXT, Point
from experiments.sweep import Result

PRINTED = {"trained": [(1, 0.130), (6, 0.324), (11, 0.506), (16, 0.685), (21, 0.861), (26, 0.963), (31, 0.997)]}
"""What the authors' repository stores."""


def _heads(point: Point) -> float:
    return point.heads


def _curve(point: Point) -> str:
    return "trained" if point.protocol == "all contexts" else point.protocol


def _judge(results: Sequence[Result]) -> list[Finding]:
    findings = []
    for name, places in FIGURE.trained(results).items():
        count = counted([each for each in results if _curve(each.point) == name], _curve, _heads)[0].places
        times = fit(unsaturated(places))[0] / fit(count)[0]
        above = sum(y >= z for (_, y), (_, z) in zip(places, count, strict=True))
        of = f" ({name})" * (name != "trained")
        said = f"{times:.1f} times its slope"
        findings += [
            straight(places, name),
            chosen(times >= 2, f"the growth is actually much faster than Corollary 1's{of}", said, name),
            chosen(
                above == len(places),
                f"trained models lie above the lower bound of Corollary 2{of}",
                f"at {above} of {len(places)} numbers of heads",
                name,
            ),
        ]
    return findings


FIGURE = Figure(
    name="dana.1a",
    title="Bigrams held against heads",
    source="Dana, Pydi, Chevaleyre (2024), Figure 1(a)",
    quick=lambda: seeded([{"heads": H} for H in (1, 6, 11, 16, 21)], 1, tokens=50, d_model=10, d_head=10, steps=2048),
    full=lambda: [
        point
        for seeds, how in ((5, {}), (2, TEXT))
        for point in seeded([{"heads": H, **how} for H in range(1, 32, 5)], seeds, tokens=50, d_model=10, d_head=10)
    ],
    abscissa=("heads H", _heads),
    curve=_curve,
    judge=_judge,
    counts=lambda point: True,
    built=True,
    printed=PRINTED,
)
