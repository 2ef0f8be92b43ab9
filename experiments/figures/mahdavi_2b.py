"""Figure 2(b) of Mahdavi, Liao and Thrampoulidis: one context for all examples, against its length."""

from collections.abc import Sequence

from experiments.figure import Figure, Finding, ceilings, monotone, seeded
from experiments.layers import PRINTED_SIZE, LayerPoint
from experiments.sweep import Result


def _judge(results: Sequence[Result]) -> list[Finding]:
    sentence = "memorization increases monotonically with n"
    return [monotone(results, name, FIGURE, sentence, ".3f") for name in FIGURE.trained(results)]


FIGURE = Figure(
    name="mahdavi.2b",
    title="Examples that share one context against its length n",
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
