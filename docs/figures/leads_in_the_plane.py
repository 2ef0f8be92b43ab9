"""Three and four tokens in the plane, with the leads of one of them over the others.

    python docs/figures/leads_in_the_plane.py

writes the drawing beside this file.
"""

import figure_program

from byheart.report import drawing as draw

Vector = tuple[float, float]
THREE: list[Vector] = [(1, 0), (0, 1), (0, 0)]
FOUR: list[Vector] = [(1, 0), (0, 1), (-1, 0), (0, -1)]


def lead(vectors: list[Vector], encoder: Vector, over: int) -> float:
    """Return by how much the first token is ahead of another one."""
    return sum((a - b) * e for a, b, e in zip(vectors[0], vectors[over], encoder, strict=True))


def panel(axes: draw.Axes, vectors: list[Vector]) -> list[str]:
    """Return the vectors, the first one as the encoder of itself, and its lead over each other one."""
    parts = [draw.line(axes.at(-1.2, 0), axes.at(1.2, 0), "line"), draw.line(axes.at(0, -1.2), axes.at(0, 1.2), "line")]
    for token, vector in enumerate(vectors):
        x, y = axes.at(*vector)
        kind = "second" if token == 0 else "first"
        if vector != (0, 0):
            parts.append(draw.arrow(axes.at(0, 0), (x, y), kind))
        text = "token" if token == 0 else f"lead {lead(vectors, vectors[0], token):g}"
        parts += [draw.dot(x, y, f"on-{kind}", 5)]
        parts += [
            draw.words(
                x - 8 if vector[0] < 0 else x + 8, y - 9, text, f"on-{kind}", "end" if vector[0] < 0 else "start"
            )
        ]
    return parts


def drawing() -> str:
    left = draw.Axes(60, 55, 200, 200, (-1.2, 1.2), (-1.2, 1.2))
    right = draw.Axes(390, 55, 200, 200, (-1.2, 1.2), (-1.2, 1.2))
    parts = [draw.words(160, 26, "three tokens: all leads are 1", "faint")]
    parts += [draw.words(490, 26, "four tokens: leads 1 and 2", "faint")]
    parts += panel(left, THREE) + panel(right, FOUR)
    title = (
        "Left, the vectors (1, 0), (0, 1) and (0, 0): the first is ahead of both others by 1. Right, the vectors "
        "(1, 0), (0, 1), (-1, 0) and (0, -1): the first is ahead of its neighbours by 1 and of the opposite one by 2."
    )
    return draw.figure(title, 680, 275, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
