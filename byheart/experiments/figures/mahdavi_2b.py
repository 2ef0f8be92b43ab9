"""Figure 2(b) of Mahdavi, Liao and Thrampoulidis: one context for all examples, against its length."""

from collections.abc import Sequence
from itertools import pairwise

from byheart.experiments.figure import Figure, Finding, ceilings, chosen, seeded
from byheart.experiments.layers import PRINTED_SIZE, LayerPoint
from byheart.experiments.sweep import Result


def _judge(results: Sequence[Result]) -> list[Finding]:
    findings = []
    for name, places in FIGURE.trained(results).items():
        rising = all(y <= v for (_, y), (_, v) in pairwise(places))
        said = ", ".join(f"n = {x:g}: {y:.3f}" for x, y in places)
        findings.append(chosen(rising, f"memorization increases monotonically with n ({name})", said, name))
    return findings


FIGURE = Figure(
    name="mahdavi.2b",
    title="Examples with one context against its length n",
    source="Mahdavi, Liao, Thrampoulidis (2024), Figure 2(b), printed with H = 20, d = 64, 100 classes",
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
    lines=lambda results: ceilings(results, FIGURE.curve, FIGURE.abscissa[1]),
)  # fmt: skip
