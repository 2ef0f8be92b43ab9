"""Figure 2(a) of Mahdavi, Liao and Thrampoulidis: one context for all examples, against the number of heads."""

from collections.abc import Sequence

from experiments.figure import Figure, Finding, seeded, straight
from experiments.layers import PRINTED_SIZE, LayerPoint
from experiments.sweep import Result


def _judge(results: Sequence[Result]) -> list[Finding]:
    places = FIGURE.trained(results)
    return [straight(at, name) for name, at in places.items()]


FIGURE = Figure(
    name="mahdavi.2a",
    title="Examples that share one context against heads",
    source="Mahdavi, Liao, Thrampoulidis (2024), Figure 2(a), printed with n = 32, d = 64, 100 classes",
    quick=lambda: seeded(
        [{"examples": T, "heads": H} for T in (80, 160, 320) for H in (1, 2, 4, 8, 16)],
        2, LayerPoint, n_ctx=8, d_model=16, d_head=8,
    ),
    full=lambda: seeded(
        [{"examples": 10_000 * k, "heads": H} for k in (1, 2, 3, 4) for H in (1, *range(5, 11, 5), *range(20, 61, 10))],
        6, LayerPoint, n_ctx=32, **PRINTED_SIZE,
    ),
    abscissa=("heads H", lambda point: point.heads),
    curve=lambda point: f"T = {point.examples}",
    judge=_judge,
    smaller=True,
    counts=lambda point: True,
)  # fmt: skip
