"""Two distributions that are nearly certain of one token, and the prediction that one strength gives for both.

    python docs/figures/nearly_certain.py

writes the drawing beside this file.
"""

import figure_program

from byheart.report import drawing as draw

MISSING = 0.2
DISTRIBUTIONS = {
    "met exactly": (1 - MISSING, MISSING / 2, MISSING / 2),
    "costs ε log 2": (1 - MISSING, MISSING, 0.0),
}
PREDICTION = (1 - MISSING, MISSING / 2, MISSING / 2)
WIDTH = 26


def panel(left: float, distribution: tuple[float, ...]) -> list[str]:
    """Return the probabilities of three tokens as bars, and beside each the predicted one."""
    axes = draw.Axes(left, 55, 240, 180, (0, 240), (0, 1))
    parts = [draw.line(axes.at(0, 0), axes.at(240, 0), "ink")]
    for token, (right, predicted) in enumerate(zip(distribution, PREDICTION, strict=True)):
        start = 14 + 78 * token
        for place, (value, kind) in enumerate(((right, "first"), (predicted, "second"))):
            x, y = axes.at(start + place * WIDTH, value)
            parts += [draw.cell(x, y, WIDTH - 4, axes.at(0, 0)[1] - y, f"on-{kind}", 1)]
            parts += [draw.words(x + WIDTH / 2 - 2, y - 6, f"{value:g}", size=12)]
        parts += [draw.words(axes.at(start + WIDTH - 2, 0)[0], 255, "g" if token == 0 else f"token {token + 1}")]
    return parts


def drawing() -> str:
    parts = []
    for place, (name, distribution) in enumerate(DISTRIBUTIONS.items()):
        left = 60 + 330 * place
        parts += [draw.words(left + 120, 26, name, "faint"), *panel(left, distribution)]
    parts += [
        draw.words(250, 284, "blue: the distribution", "on-first"),
        draw.words(440, 284, "orange: the prediction", "on-second"),
    ]
    title = (
        "Two pairs of bars for three tokens. Left, the distribution (0.8, 0.1, 0.1), which the prediction meets. "
        "Right, the distribution (0.8, 0.2, 0) beside the same prediction."
    )
    return draw.figure(title, 680, 300, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
