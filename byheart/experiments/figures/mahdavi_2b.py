"""Figure 2(b) of Mahdavi, Liao and Thrampoulidis: one context for all examples, against its length."""

from collections.abc import Sequence
from itertools import pairwise

from byheart.experiments.figure import Curve, Figure, Finding, chosen, means, seeded
from byheart.experiments.layers import PRINTED_SIZE, LayerPoint
from byheart.experiments.sweep import Result


def _lines(results: Sequence[Result]) -> list[Curve]:
    alone = [result for result in results if result.ceiling is not None]
    most = means(alone, FIGURE.curve, lambda point: point.n_ctx, lambda result: (result.ceiling or 0) / result.contexts)
    return [Curve(f"ceiling, {name}", "bound", places) for name, places in most.items()]


def _judge(results: Sequence[Result]) -> list[Finding]:
    findings = []
    for name, places in FIGURE.trained(results).items():
        rising = all(y <= v for (_, y), (_, v) in pairwise(places))
        said = ", ".join(f"n = {x:g}: {y:.3f}" for x, y in places)
        findings.append(chosen(rising, f"accuracy never falls with n ({name})", said))
    return findings


FIGURE = Figure(
    name="mahdavi.2b",
    title="Examples with one context against its length n, H = 4, d = 16, d_h = 8",
    source="Mahdavi, Liao, Thrampoulidis (2024), Figure 2(b), there with H = 20, d = 64, 100 classes",
    quick=lambda: seeded(
        [{"examples": T, "n_ctx": n} for T in (80, 160) for n in (1, 2, 4, 8, 16)],
        2, LayerPoint, heads=4, d_model=16, d_head=8,
    ),
    full=lambda: seeded(
        [{"examples": T, "n_ctx": n} for T in (6000, 10_000, 14_000, 18_000) for n in (1, 5, *range(10, 61, 10))],
        6, LayerPoint, heads=20, **PRINTED_SIZE,
    ),
    abscissa=("length of the context n", lambda point: point.n_ctx),
    curve=lambda point: f"T = {point.examples}",
    judge=_judge,
    smaller=True,
    counts=lambda point: True,
    lines=_lines,
)  # fmt: skip
