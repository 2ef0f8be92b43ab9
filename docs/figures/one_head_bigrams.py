"""Exclusive or of two tokens in one head: the attention, and the point of the label that is read off it.

    python docs/figures/one_head_bigrams.py

writes the drawing beside this file.
"""

from fractions import Fraction

import figure_program

from byheart.report import drawing as draw

ATTENTION = {(0, 0): Fraction(1, 4), (1, 0): Fraction(7, 12), (0, 1): Fraction(2, 3), (1, 1): Fraction(1, 3)}
COLOURS = {0: "first", 1: "second"}


def point(context: tuple[int, int]) -> Fraction:
    """Return what is read off the attention: a quarter of the coordinate of the stream, plus 3/2."""
    shift = Fraction(1, 4) if context[1] == 0 else Fraction(0)
    return 3 * (ATTENTION[context] - 1) + shift + Fraction(3, 2)


def drawing() -> str:
    attention = draw.Axes(60, 80, 560, 0, (0, 1), (0, 1))
    points = draw.Axes(60, 240, 560, 0, (-1, 1), (0, 1))
    parts = [
        draw.words(340, 26, "attention to the first position", "faint"),
        draw.words(340, 300, "the point that is read off it: the label", "faint"),
        draw.line(attention.at(0, 0), attention.at(1, 0), "ink"),
        draw.line(points.at(-1, 0), points.at(1, 0), "ink"),
        draw.words(50, 85, "0", anchor="end"),
        draw.words(630, 85, "1", anchor="start"),
    ]
    for context, share in ATTENTION.items():
        label = sum(context) % 2
        if point(context) != label - Fraction(1, 2):
            raise ArithmeticError(f"the head does not give {context} the point of its label")
        start, end = attention.at(float(share), 0), points.at(float(point(context)), 0)
        parts += [draw.arrow(start, (end[0], end[1] - 8), COLOURS[label])]
        parts += [draw.dot(*start, f"on-{COLOURS[label]}", 6)]
        parts += [draw.words(start[0], start[1] - 28, f"({context[0]}, {context[1]})")]
        parts += [draw.words(start[0], start[1] - 11, str(share), "faint")]
    for label, name in enumerate(("-1/2: label 0", "1/2: label 1")):
        x, y = points.at(label - 0.5, 0)
        parts += [draw.dot(x, y, f"on-{COLOURS[label]}", 7), draw.words(x, y + 26, name)]
    title = (
        "Four bigrams on a line, at the attention that the head gives to their first position. Arrows lead the two of "
        "label 0 to the point -1/2 and the two of label 1 to the point 1/2."
    )
    return draw.figure(title, 680, 315, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
