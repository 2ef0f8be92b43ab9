"""Labels in two dimensions: the columns of W_U on a circle and on a parabola, and the leads of one label.

    python docs/figures/circle_and_parabola.py

writes the drawing beside this file.
"""

import figure_program
import numpy as np

from byheart.report import drawing as draw
from constructions.encoders.circle import circle
from constructions.encoders.parabola import parabola, stream

TOKENS, MORE, LABEL = 8, 64, 2


def leads(vectors: np.ndarray, state: np.ndarray) -> np.ndarray:
    """By how much the logit of the label is ahead of each."""
    logits = vectors @ state
    return logits[LABEL] - logits


def least(vectors: np.ndarray, states: np.ndarray) -> float:
    """Return the least lead of any label, where the state of each label is a row."""
    logits = states @ vectors.T
    ahead = np.diag(logits)[:, None] - logits
    return float(ahead[~np.eye(len(states), dtype=bool)].min())


def panel(
    axes: draw.Axes, vectors: np.ndarray, state: np.ndarray, centre: tuple[float, float], away: float, reach: float
) -> list[str]:
    """Return the vectors, the lead of the label over each, and the line on which a vector has the logit of the
    label.
    """
    along = np.array([-state[1], state[0]]) / np.linalg.norm(state)
    parts = [axes.curve([vectors[LABEL] - reach * along, vectors[LABEL] + reach * along], "second", "5 4")]
    middle = axes.at(*centre)
    for token, (vector, lead) in enumerate(zip(vectors, leads(vectors, state), strict=True)):
        x, y = axes.at(*vector)
        length = float(np.hypot(x - middle[0], y - middle[1]))
        colour = "on-second" if token == LABEL else "on-first"
        text = "label" if token == LABEL else f"{lead:.2g}"
        place = (x + away * (x - middle[0]) / length, y + away * (y - middle[1]) / length + 5)
        parts += [draw.dot(x, y, colour, 6), draw.words(*place, text, colour, "middle", 13)]
    return parts


def drawing() -> str:
    labels = np.arange(MORE)
    round_least = [least(circle(count), circle(count)) for count in (TOKENS, MORE)]
    steep_least = [least(parabola(count), stream(labels[:count], power=0)) for count in (TOKENS, MORE)]
    ring = draw.Axes(60, 75, 170, 170, (-1, 1), (-1, 1))
    bend = draw.Axes(340, 60, 190, 200, (0, 2 * TOKENS - 2), (-((TOKENS - 1) ** 2), 0))
    parts = [draw.words(145, 22, "W_U on a circle", "faint"), draw.words(440, 22, "W_U on a parabola", "faint")]
    parts += panel(ring, circle(TOKENS), circle(TOKENS)[LABEL], (0, 0), 23, 1.05)
    parts += panel(bend, parabola(TOKENS), stream(labels[[LABEL]], power=0)[0], (60, 90), 24, 12)
    for x, found in ((145, round_least), (440, steep_least)):
        for row, (count, value) in enumerate(zip((TOKENS, MORE), found, strict=True)):
            parts.append(draw.words(x, 312 + 20 * row, f"least lead, {count} tokens: {value:.2g}"))
    title = (
        f"{TOKENS} tokens as points, left on a circle, right on a parabola, with the lead of one label over each other "
        "token. A dashed line through the label has all other points on one side. On the circle the least lead falls "
        f"from {round_least[0]:.2g} to {round_least[1]:.2g} from {TOKENS} to {MORE} tokens, on the parabola it is "
        f"{steep_least[0]:.2g} for both."
    )
    return draw.figure(title, 580, 345, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
