"""The graph that joins each position with the tokens found there, and how many dimensions a head can add.

    python docs/figures/position_tokens.py

writes the drawing beside this file.
"""

from itertools import product

import figure_program
import numpy as np

from byheart.report import drawing as draw
from constructions.attention.capacity.sub_alphabet import dimensions

CASES = {  # the tokens of the first position and of the second, all pairs, before one last token
    "XOR": ((0, 1), (0, 1)),
    "the same letters": ((0, 1, 2), (0, 1, 2)),
    "letters of their own": ((0, 1, 2), (3, 4, 5)),
}
RADIUS = 15


def graph(left: float, letters: tuple[tuple[int, ...], ...]) -> list[str]:
    before = np.array(list(product(*letters)))
    last = int(before.max()) + 1
    contexts = np.column_stack([before, np.full(len(before), last)])
    tokens = np.unique(before).tolist()
    spots = {token: (left + 130, 50 + 200 * (place + 0.5) / len(tokens)) for place, token in enumerate(tokens)}
    positions = [(left + 20, 50 + 200 * (place + 0.5) / before.shape[1]) for place in range(before.shape[1])]
    parts = []
    for place, token in sorted({(place, token) for row in before.tolist() for place, token in enumerate(row)}):
        parts.append(draw.line(positions[place], spots[token], "second" if place else "first"))
    for place, (x, y) in enumerate(positions):
        parts += [draw.box(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS), draw.words(x, y + 5, f"{place + 1}")]
    for token, (x, y) in spots.items():
        parts += [draw.dot(x, y, "box", RADIUS), draw.words(x, y + 5, str(token))]
    found = dimensions(contexts)
    parts.append(draw.words(left + 75, 284, f"{len(contexts)} contexts, κ = {found.variations}"))
    parts.append(draw.words(left + 75, 304, f"rank ≤ {found.last_tokens} + {found.variations} H"))
    return parts


def drawing() -> str:
    title = (
        "Three graphs that join positions, as squares, with the tokens found there, as circles, and the bound of the "
        "rank. For XOR both positions have the tokens 0 and 1. With three letters the bound is smaller where both "
        "positions share them than where each has letters of its own."
    )
    return draw.figure(title, 590, 320, draw.side_by_side(CASES, graph))


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
