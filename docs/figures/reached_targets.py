"""The targets of two contexts in one dimension: all are reached but those on the line of the feature.

    python docs/figures/reached_targets.py

writes the drawing beside this file.
"""

import figure_program

from byheart.report import drawing as draw

X, Y, REACHED, MISSED = (1, 1), (0, 1), (2, 5), (0, 5)


def drawing() -> str:
    M, B = REACHED[0], REACHED[1] - REACHED[0]
    if tuple(M * x + B * y for x, y in zip(X, Y, strict=True)) != REACHED:
        raise ArithmeticError("the target is not X M + Y B")
    axes = draw.Axes(150, 40, 330, 250, (-1, 4), (-0.6, 5.6))
    corner = (M * X[0], M * X[1])
    parts = [
        draw.line(axes.at(-1, 0), axes.at(4, 0), "line"),
        axes.curve([(0, -0.6), (0, 5.6)], "second", "6 5"),
        draw.arrow(axes.at(0, 0), axes.at(*corner), "first"),
        draw.arrow(axes.at(*corner), axes.at(*REACHED), "first"),
        draw.dot(*axes.at(*REACHED), "on-third", 7),
        draw.dot(*axes.at(*MISSED), "on-second", 7),
    ]
    x, y = axes.at(*REACHED)
    parts += [draw.words(x + 14, y + 5, "E = (2, 5), reached", "on-third", "start")]
    x, y = axes.at(*MISSED)
    parts += [draw.words(x - 14, y + 5, "(0, 5), not reached", "on-second", "end")]
    x, y = axes.at(1, 1)
    parts += [draw.words(x + 12, y + 14, f"X times M = {M}", "on-first", "start")]
    x, y = axes.at(2, 3.4)
    parts += [draw.words(x + 12, y, f"Y times B = {B}", "on-first", "start")]
    x, y = axes.at(4, 0)
    parts += [
        draw.words(x, y + 20, "first context", "faint", "end"),
        draw.words(axes.at(0, 0)[0], 28, "second context", "faint"),
    ]
    title = (
        "A plane with an axis for each of two contexts. The target (2, 5) is reached by two arrows, 2 times (1, 1) and "
        "then 3 times (0, 1). The target (0, 5) lies on the dashed line of (0, 1), which is not reached."
    )
    return draw.figure(title, 680, 320, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
