"""The row of an edited context, two rows to keep, and the cap in which nothing is claimed.

    python docs/figures/cap_of_an_edit.py

writes the drawing beside this file.
"""

import math

import figure_program

from byheart.report import drawing as draw

EDITED, KEPT = (1, 1), ((1, -1), (-1, 1))


def read(row: tuple[float, float]) -> float:
    """Return what the new neuron reads in a row."""
    return 40 * row[0] + 40 * row[1] - 40


def drawing() -> str:
    if read(EDITED) != 40 or any(read(row) != -40 for row in KEPT):
        raise ArithmeticError("the neuron does not tell the edited row from the others")
    axes = draw.Axes(170, 25, 250, 250, (-1.9, 1.9), (-1.9, 1.9))
    circle = [(math.sqrt(2) * math.cos(t), math.sqrt(2) * math.sin(t)) for t in (k * math.tau / 90 for k in range(91))]
    parts = [axes.curve(circle, "line")]
    parts.append(axes.curve([(-1.3, 1.8), (1.8, -1.3)], "second", "6 5"))
    parts.append(draw.arrow(axes.at(0, 0), axes.at(*EDITED), "first"))
    x, y = axes.at(*EDITED)
    parts += [draw.dot(x, y, "on-first", 7), draw.words(x + 14, y - 4, "edited: u = 40", "on-first", "start")]
    for row in KEPT:
        x, y = axes.at(*row)
        parts += [draw.dot(x, y, "on-ink", 7), draw.words(x - 14, y + 5, "kept: u = −40", anchor="end")]
    x, y = axes.at(-1.3, 1.8)
    parts.append(draw.words(x - 8, y + 8, "u = −20", "on-second", "end"))
    title = (
        "A circle with three rows on it: the edited one, (1, 1), where the new neuron reads 40, and two kept ones "
        "where it reads -40. A dashed line on which it reads -20 cuts the cap around the edited row off."
    )
    return draw.figure(title, 680, 300, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
