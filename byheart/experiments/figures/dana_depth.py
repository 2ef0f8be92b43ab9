"""The runs with depth of Dana, Pydi and Chevaleyre: three layers of heads."""

from collections.abc import Sequence

from byheart.experiments.figure import Figure, Finding, chosen, seeded
from byheart.experiments.points import Point
from byheart.experiments.sweep import Result


def _curve(point: Point) -> str:
    return "one layer" if point.layers == 1 else f"{point.layers} layers"


def _judge(results: Sequence[Result]) -> list[Finding]:
    found = FIGURE.trained(results)
    ends = {name: places[-1] for name, places in found.items()}
    rising = all(a <= b + 0.02 for a, b in zip(*[[y for _, y in found["3 layers"]][i:] for i in (0, 1)], strict=False))
    said = "; ".join(f"{name}: {y:.2f} at {x:g} parameters" for name, (x, y) in ends.items())
    return [chosen(rising, "with three layers, too, the share grows with the number of heads", said)]


def _points(tokens: int, width: int, heads: Sequence[int], seeds: int, steps: int) -> list[Point]:
    deep = [{"heads": H, "layers": 3} for H in heads]
    return seeded(
        deep + [{"heads": 3 * H} for H in heads], seeds, tokens=tokens, d_model=width, d_head=width, steps=steps,
        rate=0.0025, last_rate=0.0025,
    )  # fmt: skip


FIGURE = Figure(
    name="dana.depth",
    title="Bigrams held against parameters, by one layer and by three",
    source="Dana, Pydi, Chevaleyre (2024), the runs with depth, there with N = 70 and d = 7, 10, 13",
    quick=lambda: _points(10, 2, (1, 2, 3, 4), 4, 2048),
    full=lambda: [point for d in (7, 10, 13) for point in _points(70, d, range(1, 22, 5), 3, 4096)],
    abscissa=("parameters", lambda point: point.parameters()),
    curve=_curve,
    judge=_judge,
    smaller=True,
)
