"""Figure 2(a) of Dana, Pydi and Chevaleyre: the share that is held against the embedding dimension."""

from collections.abc import Sequence

from byheart.experiments.figure import Figure, Finding, chosen, fit, seeded
from byheart.experiments.points import Point
from byheart.experiments.sweep import Result

_STORED = (264, 362, 460, 578, 697, 809, 777, 789, 786, 812, 814)
PRINTED = {"shared maps": [(d, y / 1000) for d, y in enumerate(_STORED, 5)]}
"""What the authors' repository stores."""


def _judge(results: Sequence[Result]) -> list[Finding]:
    findings = []
    for name, places in FIGURE.trained(results).items():
        up, flat = (fit([(x, y) for x, y in places if lo <= x <= hi])[0] for lo, hi in ((0, 10), (10, 99)))
        said = f"{name}: {up:.3f} a dimension up to d = d_h, {flat:.4f} beyond"
        findings.append(chosen(flat < up / 5, f"accuracy stops growing at d = d_h ({name})", said))
    return findings


def _points(widths: Sequence[int], seeds: int, steps: int) -> list[Point]:
    each = [{"d_model": d_model, "maps": maps} for maps in ("own", "shared") for d_model in widths]
    return seeded(each, seeds, tokens=50, d_head=10, heads=20, steps=steps)


FIGURE = Figure(
    name="dana.2a",
    title="Bigrams held against the embedding dimension, N = 50, d_h = 10, H = 20",
    source="Dana, Pydi, Chevaleyre (2024), Figure 2(a)",
    quick=lambda: _points((5, 7, 10, 12, 15), 1, 2048),
    full=lambda: _points(range(5, 16), 5, 4096),
    abscissa=("embedding dimension d", lambda point: point.d_model),
    curve=lambda point: f"{point.maps} maps",
    judge=_judge,
    counts=lambda point: point.maps == "own",
    built=True,
    printed=PRINTED,
)
