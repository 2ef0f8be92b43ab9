"""Three contexts on a line, and the two neurons that give them the labels 0, 1, 0.

    python docs/figures/knots.py

writes the drawing beside this file.
"""

import figure_program

from byheart.report import drawing as draw

LABELS = {0: 0, 1: 1, 2: 0}
PLACES = [step / 4 for step in range(-2, 11)]


def first(z: float) -> float:
    """Return the neuron that bends at 0."""
    return max(z, 0)


def second(z: float) -> float:
    """Return the neuron that bends at 1, with its output weight."""
    return -2 * max(z - 1, 0)


def drawing() -> str:
    if any(first(z) + second(z) != label for z, label in LABELS.items()):
        raise ArithmeticError("the two neurons do not meet the labels")
    neurons = draw.Axes(50, 50, 250, 200, (-0.5, 2.5), (-3, 3))
    total = draw.Axes(380, 50, 250, 200, (-0.5, 2.5), (-3, 3))
    parts = [
        draw.words(175, 26, "two neurons", "faint"),
        draw.words(505, 26, "their sum at the three contexts", "faint"),
        neurons.curve([(z, first(z)) for z in PLACES], "first"),
        neurons.curve([(z, second(z)) for z in PLACES], "second"),
        draw.words(*neurons.at(1.6, 2.2), "max(z, 0)", "on-first", "end"),
        draw.words(*neurons.at(1.6, -2.2), "-2 max(z - 1, 0)", "on-second", "end"),
        total.curve([(z, first(z) + second(z)) for z in PLACES], "first"),
    ]
    for z, label in LABELS.items():
        x, y = total.at(z, label)
        parts += [draw.dot(x, y, "on-first", 6), draw.words(x, y - 14, f"{z} → {label}")]
    title = (
        "Left, two piecewise linear functions: one is 0 up to z = 0 and rises with slope 1, the other is 0 up to z = 1 "
        "and falls with slope 2. Right, their sum goes through the points (0, 0), (1, 1) and (2, 0)."
    )
    return draw.figure(title, 680, 275, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
