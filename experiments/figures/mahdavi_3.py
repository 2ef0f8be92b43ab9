"""Figure 3 and Appendix H of Mahdavi, Liao and Thrampoulidis: how many heads are saturated on an example."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from experiments.figure import Figure, Finding, Places, chosen, seeded
from experiments.layers import PRINTED_SIZE, LayerPoint
from experiments.sweep import Result


def _curve(point: LayerPoint) -> str:
    return f"H = {point.heads}, T = {point.examples}"


def _histograms(results: Sequence[Result]) -> dict[str, Places]:
    """Return the share of the examples by the number of saturated heads, over all seeds."""
    seen: dict[str, np.ndarray] = {}
    for result in results:
        name = FIGURE.curve(result.point)
        seen[name] = seen.get(name, 0) + np.array(result.saturation or 0)
    return {name: list(enumerate((at / at.sum()).tolist())) for name, at in seen.items() if at.ndim}


def _judge(results: Sequence[Result]) -> list[Finding]:
    findings = []
    for name, places in _histograms(results).items():
        heads = len(places) - 1
        pairs = sum(x * y for x, y in places) / heads
        whole, parts = places[-1][1], {"a quarter": 4, "a third": 3, "half": 2}
        many = {part: sum(y for x, y in places if of * x >= heads) for part, of in parts.items()}
        sentence = f"a significant number of heads are saturated, at .99, for the majority of examples ({name})"
        said = ", ".join(f"{part} of the heads on {share:.1%} of the examples" for part, share in many.items())
        found = chosen(many["half"] > 0.5, sentence, f"{said}; {pairs:.1%} of all pairs of both", name)
        if many["a quarter"] > 0.5 >= many["half"]:
            found = replace(found, verdict="not reproduced")  # by what part is significant
        findings.append(found)
        sentence = f"almost all examples have at least one corresponding non-saturated head ({name})"
        findings.append(chosen(whole <= 0.05, sentence, f"{1 - whole:.1%} of the examples", name))
    return findings


FIGURE = Figure(
    name="mahdavi.3",
    title="Examples by the number of their saturated heads",
    source="Mahdavi, Liao, Thrampoulidis (2024), Figure 3, printed with n = 32, d = 64, T = 550 and 1300",
    quick=lambda: seeded(
        [{"examples": 80, "heads": 4}, {"examples": 160, "heads": 8}],
        4, LayerPoint, n_ctx=8, d_model=16, d_head=8, steps=4096,
    ),
    full=lambda: seeded(
        [{"examples": 550, "heads": 4}, {"examples": 1300, "heads": 8}],
        6, LayerPoint, n_ctx=32, **{**PRINTED_SIZE, "steps": 300_000},
    ),
    abscissa=("saturated heads", lambda point: point.heads),
    curve=_curve,
    judge=_judge,
    smaller=True,
    ordinate=("share of the examples, proved", lambda result: result.share),
    places=_histograms,
)  # fmt: skip
