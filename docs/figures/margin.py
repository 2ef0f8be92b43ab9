"""Three answers on a circle and two tokens at 0: the leads of one answer, of which the least is the margin.

    python docs/figures/margin.py

writes the drawing beside this file.
"""

import math

import figure_program

from byheart.report import drawing as draw

ANSWERS = [(math.cos(turn * math.tau / 3), math.sin(turn * math.tau / 3)) for turn in range(3)]


def drawing() -> str:
    axes = draw.Axes(190, 30, 250, 250, (-1.25, 1.25), (-1.25, 1.25))
    circle = [(math.cos(step * math.tau / 90), math.sin(step * math.tau / 90)) for step in range(91)]
    parts = [axes.curve(circle, "line"), draw.dot(*axes.at(0, 0), "on-first", 6)]
    x, y = axes.at(0, 0)
    parts += [draw.words(x + 12, y + 20, "two more tokens: lead 1", "on-first", "start")]
    for answer, (u, v) in enumerate(ANSWERS):
        x, y = axes.at(u, v)
        kind = "first" if answer else "second"
        lead = 1 - (u * ANSWERS[0][0] + v * ANSWERS[0][1])
        text = f"lead {lead:.2g}" if answer else "the answer"
        parts += [draw.arrow(axes.at(0, 0), (x, y), kind)]
        parts += [
            draw.words(
                x - 10 if answer else x + 10,
                y - 4 if v >= 0 else y + 16,
                text,
                f"on-{kind}",
                "end" if answer else "start",
            )
        ]
    title = (
        "Three unit vectors at 120 degrees, and two tokens at the centre. One answer leads the two others by 1.5 and "
        "the tokens at the centre by 1, so the margin is 1."
    )
    return draw.figure(title, 680, 310, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
