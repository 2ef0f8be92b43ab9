"""Figure 4 of Mahdavi, Liao and Thrampoulidis: a context of its own for each example, against heads and length."""

from collections.abc import Sequence

from byheart.experiments.figure import Figure, Finding, chosen, seeded, straight
from byheart.experiments.layers import PRINTED_SIZE, LayerPoint
from byheart.experiments.sweep import Result


def _judge(results: Sequence[Result]) -> list[Finding]:
    curves = FIGURE.trained(results)
    findings = [straight(at, name) for name, at in curves.items() if sum(y <= 0.95 for _, y in at) > 2]
    fewest = min(result.point.heads for result in results if result.point.heads > 1)
    longer = {name: dict(at)[fewest] for name, at in curves.items() if name != "n = 1"}
    said = f"H = {fewest}: " + ", ".join(f"{name}: {y:.3f}" for name, y in longer.items())
    sentence = "n hardly matters from n = 2 on, as no count of own contexts contains it"
    return [*findings, chosen(max(longer.values()) - min(longer.values()) <= 0.1, sentence, said)]


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
    counts=lambda point: point.n_ctx > 1,
)  # fmt: skip
