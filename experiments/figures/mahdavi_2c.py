"""Figure 2(c) of Mahdavi, Liao and Thrampoulidis: one context for all examples, against the dimension of a head."""

from collections.abc import Sequence
from dataclasses import replace

from experiments.figure import Figure, Finding, chosen, seeded
from experiments.layers import PRINTED_SIZE, LayerPoint
from experiments.sweep import Result


def _judge(results: Sequence[Result]) -> list[Finding]:
    findings = []
    for name, places in FIGURE.trained(results).items():
        n = results[0].point.n_ctx
        within = max(y for x, y in places if x <= n)
        below, beyond = within - min(y for _, y in places), max(y for _, y in places) - within
        sentence = f"there appears no benefit on memorization fraction beyond d_h = n ({name})"
        said = ", ".join(f"d_h = {x:g}: {y:.3f}" for x, y in places)
        found = chosen(beyond <= max(0.02, below / 5), sentence, said, name)
        findings.append(found if within < 0.99 else replace(found, verdict="not reproduced"))  # nothing is left there
    return findings


FIGURE = Figure(
    name="mahdavi.2c",
    title="Examples that share one context against the dimension of a head",
    source="Mahdavi, Liao, Thrampoulidis (2024), Figure 2(c), printed with n = 32, H = 30, d = 64, 100 classes",
    quick=lambda: seeded(
        [{"examples": T, "d_head": d_head} for T in (80, 160) for d_head in (1, 2, 4, 6, 8, 12, 16)],
        2, LayerPoint, n_ctx=8, heads=4, d_model=16,
    ),
    full=lambda: seeded(
        [{"examples": T, "d_head": d_head} for T in (10_000, 15_000, 20_000) for d_head in (*range(10, 61, 5), 64)],
        6, LayerPoint, n_ctx=32, heads=30, **{**PRINTED_SIZE, "steps": 300_000},
    ),
    abscissa=("dimension of a head d_h", lambda point: point.d_head),
    curve=lambda point: f"T = {point.examples}",
    judge=_judge,
    smaller=True,
    counts=lambda point: True,
)  # fmt: skip
