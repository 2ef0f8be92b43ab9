"""The runs with depth of Dana, Pydi and Chevaleyre: three layers of heads."""

from collections.abc import Sequence
from itertools import pairwise

from experiments.figure import Figure, Finding, Places, chosen, seeded
from experiments.points import Point
from experiments.sweep import Result

_STORED = (0.088, 0.177, 0.289, 0.383, 0.464, 0.543)
"""What the authors' repository stores for d = 10 and H = 1, 5, .., 21."""


def _curve(point: Point) -> str:
    layers = "one layer" if point.layers == 1 else f"{point.layers} layers"
    return f"{layers}, d = {point.d_model}"


def _judge(results: Sequence[Result]) -> list[Finding]:
    trained, findings = FIGURE.trained(results), []
    for width in sorted({result.point.d_model for result in results}):
        own = {name: places for name, places in trained.items() if name.endswith(f"d = {width}")}
        deep, curve = own[f"3 layers, d = {width}"], f"d = {width}"
        rising = all(y < z for (_, y), (_, z) in pairwise(deep))
        (x, one), shares = own[f"one layer, d = {width}"][-1], ", ".join(f"{y:.3f}" for _, y in deep)
        said = f"{shares}, the last one with {x:,} parameters, with which one layer holds {one:.3f}"
        sentence = f"with three layers, too, the share grows with the number of heads ({curve})"
        findings.append(chosen(rising, sentence, said, curve))
    return findings


def _points(tokens: int, width: int, heads: Sequence[int], seeds: int, steps: int) -> list[Point]:
    deep = [{"heads": H, "layers": 3} for H in heads]
    return seeded(
        deep + [{"heads": 3 * H} for H in heads], seeds, tokens=tokens, d_model=width, d_head=width, steps=steps,
        rate=0.0025, last_rate=0.0025,
    )  # fmt: skip


def _printed() -> dict[str, Places]:
    sizes = [point.parameters() for point in _points(70, 10, range(1, 22, 4), 1, 4096) if point.layers == 3]
    return {"3 layers, d = 10": [*zip(sizes, _STORED, strict=True)]}


FIGURE = Figure(
    name="dana.depth",
    title="Bigrams held against parameters, by one layer and by three",
    source="Dana, Pydi, Chevaleyre (2024), the runs with depth, printed with N = 70 and d = 7, 10, 13",
    quick=lambda: _points(10, 2, (1, 2, 3, 4), 4, 2048),
    full=lambda: [point for d in (7, 10, 13) for point in _points(70, d, range(1, 22, 5), 3, 4096)],
    abscissa=("parameters", lambda point: point.parameters()),
    curve=_curve,
    judge=_judge,
    built=True,
    printed=_printed(),
    smaller=True,
)
