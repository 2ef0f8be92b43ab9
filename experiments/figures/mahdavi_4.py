"""Figure 4 of Mahdavi, Liao and Thrampoulidis: a context of its own for each example, against heads and length."""

from collections.abc import Sequence

from experiments.figure import Figure, Finding, fit, seeded, straight
from experiments.layers import PRINTED_SIZE, LayerPoint
from experiments.sweep import Result


def _judge(results: Sequence[Result]) -> list[Finding]:
    curves = FIGURE.trained(results)
    findings = [straight(at, name) for name, at in curves.items() if name != "n = 1"]
    fewest = min(result.point.heads for result in results if result.point.heads > 1)
    by_length = sorted((int(name[4:]), dict(at)[fewest]) for name, at in curves.items())
    said = f"R^2 {fit(by_length)[1]:.3f} over {len(by_length)} lengths; "
    said += ", ".join(f"n = {n}: {y:.3f}" for n, y in by_length)
    sentence = f"the linearity in n is weakened (H = {fewest})"
    weakened = len(by_length) > 4 and fit(by_length)[1] < 0.95
    return [*findings, Finding(sentence, "confirmed" if weakened else "not reproduced", said)]


FIGURE = Figure(
    name="mahdavi.4",
    title="Examples with contexts of their own against heads",
    source="Mahdavi, Liao, Thrampoulidis (2024), Figure 4, printed with d = 64, 100 classes",
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
