"""Figure 4 of Mahdavi, Liao and Thrampoulidis: a context of its own for each example, against heads and length."""

from collections.abc import Sequence

from byheart.experiments.figure import Figure, Finding, chosen, fit, seeded, straight
from byheart.experiments.layers import PRINTED_SIZE, LayerPoint
from byheart.experiments.sweep import Result


def _judge(results: Sequence[Result]) -> list[Finding]:
    curves = FIGURE.trained(results)
    findings = [
        straight(at, name) for name, at in curves.items() if name != "n = 1" and sum(y <= 0.95 for _, y in at) > 2
    ]
    fewest = min(result.point.heads for result in results if result.point.heads > 1)
    by_length = sorted((int(name[4:]), dict(at)[fewest]) for name, at in curves.items())
    share = fit(by_length)[1]
    said = ", ".join(f"n = {n}: {y:.3f}" for n, y in by_length)
    sentence = f"the linearity in n is weakened (H = {fewest})"
    return [*findings, chosen(share < 0.95, sentence, f"R^2 {share:.3f}; {said}")]


FIGURE = Figure(
    name="mahdavi.4",
    title="Examples with contexts of their own against heads, d = 16, d_h = 8",
    source="Mahdavi, Liao, Thrampoulidis (2024), Figure 4, there with d = 64, 100 classes",
    quick=lambda: seeded(
        [{"n_ctx": n, "heads": H} for n in (1, 2, 4, 8) for H in (2, 4, 8)],
        2, LayerPoint, examples=320, context="own", d_model=16, d_head=8,
    ),
    full=lambda: seeded(
        [{"n_ctx": n, "heads": H} for n in (1, 5, *range(10, 61, 10)) for H in (1, 5, *range(10, 61, 10))],
        6, LayerPoint, examples=30_000, context="own", **PRINTED_SIZE,
    ),
    abscissa=("heads H", lambda point: point.heads),
    curve=lambda point: f"n = {point.n_ctx}",
    judge=_judge,
    smaller=True,
    counts=lambda point: point.n_ctx > 1,
)  # fmt: skip
