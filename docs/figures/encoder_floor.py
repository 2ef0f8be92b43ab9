"""How close encoders of d dimensions come to given distributions.

The floor holds for all encoders; beside it stand the best that was found and a ceiling.

    python docs/figures/encoder_floor.py

writes the drawing beside this file, from a table that ``--measure`` computes.
"""

from collections.abc import Mapping, Sequence

import figure_program
import numpy as np

from byheart.report import drawing as draw
from constructions.encoders.sequence_encoder import best_encoder
from verify.theorems.encoders.encoder_ceiling import encoder_divergence, truncation_ceiling
from verify.theorems.encoders.encoder_floor import encoder_floor

CONTEXTS, TOKENS = 24, 8
SPREADS = {"nearly uniform distributions": 0.1, "peaked distributions": 2.0}  # the deviation of the logarithms
KINDS = {"ceiling": "second", "found": "third", "floor": "first"}


def distributions(spread: float) -> np.ndarray:
    drawn = np.exp(spread * np.random.default_rng(0).standard_normal((CONTEXTS, TOKENS)))
    return drawn / drawn.sum(axis=1, keepdims=True)


def measured() -> Sequence[Mapping[str, object]]:
    """Divergences in nats, to four digits, from both sides."""
    rows = []
    for name, spread in SPREADS.items():
        given = distributions(spread)
        for width in range(TOKENS - 1):
            found = best_encoder(given, width, starts=4)
            values = {
                "floor": encoder_floor(given, width).lower,
                "found": encoder_divergence(found.E, found.W, given)[1],
                "ceiling": truncation_ceiling(given, width),
            }
            rows.append({"distributions": name, "d": width} | {kind: f"{value:.4g}" for kind, value in values.items()})
    return rows


def drawing() -> str:
    parts = []
    for left, name in zip((66, 372), SPREADS, strict=True):
        rows = [row for row in figure_program.table(__file__) if row["distributions"] == name]
        values = [float(row[kind]) for row in rows for kind in KINDS]
        axes = draw.Axes(left, 60, 225, 240, (0, TOKENS - 2), (min(values) / 1.5, max(values) * 1.5), log_y=True)
        powers = [10.0**power for power in range(-6, 3) if axes.y[0] <= 10.0**power <= axes.y[1]]
        parts += axes.scales(draw.ticks(*range(TOKENS - 1)), draw.ticks(*powers), "dimensions d", "nats")
        parts.append(draw.words(left + 225, 30, name, "", "end"))
        for kind, colour in KINDS.items():
            points = [(int(row["d"]), float(row[kind])) for row in rows]
            parts.append(axes.curve(points, colour))
            parts += [draw.dot(*axes.at(*point), f"on-{colour}", 3.5) for point in points]
            x, y = axes.at(*points[2 if kind == "floor" else 3])
            below, anchor = (22, "end") if kind == "floor" else (-10, "start")
            parts.append(draw.words(x, y + below, kind, f"on-{colour}", anchor))
    uniform, peaked = (
        next(row for row in figure_program.table(__file__) if row["distributions"] == name) for name in SPREADS
    )
    title = (
        f"The divergence against the dimensions of the encoder, on logarithmic scales, for {CONTEXTS} nearly uniform "
        f"and {CONTEXTS} peaked distributions of {TOKENS} tokens. Without any dimension floor and found encoder are "
        f"{uniform['floor']} and {uniform['found']} nats for the former, {peaked['floor']} and {peaked['found']} for "
        "the latter."
    )
    return draw.figure(title, 620, 350, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing, measured)
