"""What one head writes on a context of two tokens lies on the line through them, which does not contain 0.

    python docs/figures/affine_line.py

writes the drawing beside this file.
"""

import figure_program

from byheart.report import drawing as draw

SHARES = {"1": 0.73, "-1": 0.27, "0": 0.5}  # attention to the first token, by query: sigma(1), sigma(-1), sigma(0)


def drawing() -> str:
    axes = draw.Axes(200, 40, 240, 240, (-0.25, 1.35), (-0.25, 1.35))
    parts = [
        draw.line(axes.at(-0.25, 0), axes.at(1.35, 0), "line"),
        draw.line(axes.at(0, -0.25), axes.at(0, 1.35), "line"),
        axes.curve([(-0.2, 1.2), (1.2, -0.2)], "first"),
        draw.dot(*axes.at(0, 0), "on-ink", 5),
    ]
    x, y = axes.at(0, 0)
    parts += [draw.words(x - 10, y + 18, "0", anchor="end")]
    for (u, v), text in (((1, 0), "the token (1, 0)"), ((0, 1), "the token (0, 1)")):
        x, y = axes.at(u, v)
        parts += [draw.dot(x, y, "on-first", 6), draw.words(x + 14, y - 8, text, "on-first", "start")]
    for query, share in SHARES.items():
        x, y = axes.at(share, 1 - share)
        parts += [draw.dot(x, y, "on-second", 6), draw.words(x + 14, y - 6, f"query {query}", "on-second", "start")]
    title = (
        "The line through the tokens (1, 0) and (0, 1), with the three points that a head writes for the queries 1, 0 "
        "and -1. The point of the query 0 is half way between the two others. The line does not go through 0."
    )
    return draw.figure(title, 680, 300, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
