"""The look-up table of all bigrams: its features as a heat map, and how their condition depends on the attention.

    python docs/figures/lookup_table.py

writes the drawing beside this file.
"""

import figure_program
import numpy as np

from byheart.report import drawing as draw
from constructions.encoders.lookup_table import lookup_table
from constructions.model.attention import features as attention_features
from constructions.tasks.arrays import enumerated_task

SHOWN, TOKENS = 4, 8


def features(tokens: int, attention: float, total: float) -> np.ndarray:
    """Return what N heads write on all bigrams, `[N^2, N^2]`, when they give the token they look for this attention."""
    task = enumerated_task(tokens, 2)
    return attention_features(
        lookup_table(task, gap=float(np.log(attention / (1 - attention))), total=total), task.contexts
    )


def heat(left: float, top: float, side: float) -> list[str]:
    """One square for each entry, the darker the larger; the second colour where it is negative."""
    found = features(SHOWN, 1 / (1 + np.exp(-8.0)), -2.0)
    most = float(np.abs(found).max())
    cell = side / len(found)
    parts = []
    for (row, column), value in np.ndenumerate(found):
        if abs(value) > 0.01 * most:
            kind = "on-first" if value > 0 else "on-second"
            parts.append(draw.cell(left + cell * column, top + cell * row, cell, cell, kind, abs(value) / most))
    for head in range(SHOWN + 1):
        place = side * head / SHOWN
        parts.append(draw.line((left + place, top), (left + place, top + side), "line"))
        parts.append(draw.line((left, top + place), (left + side, top + place), "line"))
    return parts


def drawing() -> str:
    parts = [draw.words(30, 22, f"features, N = {SHOWN}", "faint", "start"), *heat(30, 40, 230)]
    parts += [draw.words(145, 292, "heads, one for each first token", size=13)]
    parts.append(draw.turned(16, 155, "bigrams"))
    axes = draw.Axes(345, 40, 235, 230, (0.5, 1), (5, 5000), log_y=True)
    parts += axes.scales(
        draw.ticks(0.5, 0.75, 1),
        {10: "10", 100: "100", 1000: "1,000"},
        "attention a to the token",
        f"condition, N = {TOKENS}",
    )
    pole = (TOKENS - 3) / (TOKENS - 2)
    grid = np.unique(np.concatenate([np.linspace(0.51, 0.995, 60), pole + np.linspace(-0.01, 0.01, 20)]))
    for total, name in ((-2.0, "first"), (-TOKENS / 2, "second")):
        parts.append(axes.curve([(a, float(np.linalg.cond(features(TOKENS, a, total)))) for a in grid], name))
    parts.append(draw.line(axes.at(pole, 5), axes.at(pole, 5000), "ink", "3 4"))
    x, y = axes.at(pole, 3000)
    parts.append(draw.words(x - 8, y, "(N − 3) / (N − 2)", "", "end", 13))
    parts.append(draw.words(*axes.at(0.69, 40), "σ = −2", "on-first", "middle", 13))
    parts.append(draw.words(*axes.at(0.88, 60), "σ = −N/2", "on-second", "start", 13))
    ends = [float(np.linalg.cond(features(TOKENS, 0.99, total))) for total in (-2.0, -TOKENS / 2)]
    title = (
        f"Left, the features of all bigrams of {SHOWN} tokens as squares: a head reads the first token where it is the "
        f"one it looks for, and the last token elsewhere. Right, for {TOKENS} tokens, the condition number against the "
        f"attention: near 1 it is {ends[0]:.0f} for sigma = -2 and {ends[1]:.0f} for sigma = -N/2, which has a pole at "
        f"(N - 3)/(N - 2)."
    )
    return draw.figure(title, 600, 325, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
