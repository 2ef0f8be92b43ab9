"""Figure 3 of Dana, Pydi and Chevaleyre: heads against neurons, at equal numbers of parameters."""

from collections.abc import Sequence

import numpy as np

from experiments.figure import Figure, Finding, Places, chosen, seeded
from experiments.points import Point
from experiments.sweep import Result

_STORED = {
    10: ((0.068, 0.151, 0.230, 0.301, 0.389, 0.490, 0.594), (0.070, 0.236, 0.374, 0.498, 0.578, 0.590, 0.693)),
    13: ((0.085, 0.219, 0.363, 0.511, 0.686, 0.911, 0.999), (0.084, 0.395, 0.779, 0.944, 0.977, 0.986, 0.998)),
}
"""What the authors' repository stores, of heads alone and of one head with neurons."""


def _curve(point: Point) -> str:
    return f"{'one head and neurons' if point.neurons else 'heads alone'}, d = {point.d_model}"


def _judge(results: Sequence[Result]) -> list[Finding]:
    found, findings = FIGURE.trained(results), []
    for width in sorted({result.point.d_model for result in results}):
        (x, y), (u, v) = (np.array(found[f"{name}, d = {width}"]).T for name in ("heads alone", "one head and neurons"))
        inside = (u >= x.min()) & (u <= x.max())
        gap = v[inside] - np.interp(u[inside], x, y)
        said = f"neurons less heads: {gap.min():+.3f} to {gap.max():+.3f}"
        curve = f"d = {width}"
        sentence = f"the scaling is the same for the same number of parameters ({curve})"
        findings.append(chosen(bool(np.abs(gap).max() <= 0.05), sentence, said, curve))
    return findings


def _points(tokens: int, width: int, heads: Sequence[int], seeds: int, steps: int) -> list[Point]:
    alone = [{"heads": H} for H in heads]
    layers = [{"heads": 1, "neurons": 2 * width * (H - 1)} for H in heads if H > 1]
    return seeded(alone + layers, seeds, tokens=tokens, d_model=width, d_head=width, steps=steps)


def _full(width: int, seeds: int) -> list[Point]:
    return _points(70, width, range(1, 32, 5), seeds, 4096)


def _printed() -> dict[str, Places]:
    places = {}
    for width, (heads, neurons) in _STORED.items():
        sizes = [point.parameters() for point in _full(width, 1)]
        places[f"heads alone, d = {width}"] = [*zip(sizes, heads, strict=False)]
        # one head without neurons begins both curves
        places[f"one head and neurons, d = {width}"] = [*zip(sizes[:1] + sizes[len(heads) :], neurons, strict=True)]
    return places


FIGURE = Figure(
    name="dana.3",
    title="Bigrams held against parameters, by heads and by neurons",
    source="Dana, Pydi, Chevaleyre (2024), Figure 3, printed with N = 70 and d = 7, 10, 13",
    quick=lambda: _points(20, 8, (1, 2, 3, 4, 6), 2, 2048),
    full=lambda: [point for d in (7, 10, 13) for point in _full(d, 5)],
    abscissa=("parameters", lambda point: point.parameters()),
    curve=_curve,
    judge=_judge,
    built=True,
    printed=_printed(),
    smaller=True,
)
