"""Three contexts on a line, and the two neurons that give them the labels 0, 1, 0.

    python docs/figures/knots.py

writes the drawing beside this file.
"""

import figure_program

from byheart.report import drawing as draw

LABELS = {0: 0, 1: 1, 2: 0}


def first(z: float) -> float:
    """The neuron that bends at 0."""
    return max(z, 0)


def second(z: float) -> float:
    """The neuron that bends at 1, with its output weight."""
    return -2 * max(z - 1, 0)


def drawing() -> str:
    if any(first(z) + second(z) != label for z, label in LABELS.items()):
        raise ArithmeticError("the two neurons do not meet the labels")
    places = [step / 4 for step in range(-2, 11)]
    parts = []
    for left, title, function in ((50, "two neurons", None), (380, "their sum at the three contexts", lambda z: first(z) + second(z))):
        axes = draw.Axes(left, 50, 250, 200, (-0.5, 2.5), (-3, 3))
        parts.append(draw.words(left + 125, 26, title, "faint"))
        parts.append(draw.line(axes.at(-0.5, 0), axes.at(2.5, 0), kind="faint"))
        if function is None:
            parts.append(axes.curve([(z, first(z)) for z in places], "first"))
            parts.append(axes.curve([(z, second(z)) for z in places], "second"))
            parts.append(draw.words(*axes.at(1.6, 2.2), "max(z, 0)", "on-first", "end"))
            parts.append(draw.words(*axes.at(1.6, -2.2), "-2 max(z - 1, 0)", "on-second", "end"))
            continue
        parts.append(axes.curve([(z, function(z)) for z in places], "first"))
        for z, label in LABELS.items():
            x, y = axes.at(z, label)
            parts += [draw.dot(x, y, "on-first", 6), draw.words(x, y - 14, f"{z} → {label}")]
    title = (
        "Left, two piecewise linear functions: one is 0 up to z = 0 and rises with slope 1, the other is 0 up to z = 1 "
        "and falls with slope 2. Right, their sum goes through the points (0, 0), (1, 1) and (2, 0)."
    )
    return draw.figure(title, 680, 275, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
