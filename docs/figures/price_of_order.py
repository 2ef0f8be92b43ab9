"""What a logit difference costs after the contexts of the two labels of XOR, and the pair that has to meet.

    python docs/figures/price_of_order.py

writes the drawing beside this file.
"""

import math

import figure_program

from byheart.report import drawing as draw

P = 0.99
TARGET = math.log(P / (1 - P))
PLACES = [step / 10 for step in range(-60, 61)]


def cost(g: float) -> float:
    """Return the divergence of (p, 1 - p) from the prediction with the logit difference g."""
    predicted = 1 / (1 + math.exp(-g))
    return P * math.log(P / predicted) + (1 - P) * math.log((1 - P) / (1 - predicted))


def drawing() -> str:
    axes = draw.Axes(70, 60, 560, 200, (-6, 6), (0, 2))
    parts = axes.scales(draw.ticks(-4, -2, 0, 2, 4), draw.ticks(0, 1, 2), "difference of the logits", "nats")
    low = [g for g in PLACES if cost(g) <= 2]
    parts += [axes.curve([(g, cost(g)) for g in low], "first")]
    parts += [axes.curve([(-g, cost(g)) for g in low], "second")]
    parts += [draw.words(*axes.at(TARGET, 0.22), "000 and 110", "on-first")]
    parts += [draw.words(*axes.at(-TARGET, 0.22), "010 and 100", "on-second")]
    parts += [draw.dot(*axes.at(TARGET, 0), "on-first", 6), draw.dot(*axes.at(-TARGET, 0), "on-second", 6)]
    x, y = axes.at(0, cost(0))
    parts += [
        draw.dot(x, y, "on-ink", 7),
        draw.words(x + 16, y + 5, f"a pair that meets: {cost(0):.4f} each", anchor="start"),
    ]
    title = (
        "Two curves over the difference of the logits. One is 0 at 4.6, the target of the contexts 000 and 110, the "
        f"other at -4.6, that of 010 and 100. They cross at 0, at {cost(0):.4f} nats."
    )
    return draw.figure(title, 680, 320, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
