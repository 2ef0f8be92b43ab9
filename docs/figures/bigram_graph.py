"""Bigrams as arcs between tokens, balanced and not, and the dimensions of the differences of their inputs.

    python docs/figures/bigram_graph.py

writes the drawing beside this file.
"""

import math

import figure_program
import numpy as np

from byheart.report import drawing as draw
from constructions.attention.capacity.bigram_rank import lift_rank

CASES = {  # first and last token of each bigram; its arc goes from the last to the first
    "balanced": ((1, 0), (2, 1), (3, 1), (4, 3), (4, 2)),
    "not balanced": ((1, 0), (2, 1), (3, 1), (4, 3), (4, 1)),
    "loops": ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4)),
}
PLACES = {0: (75, 240), 1: (75, 180), 2: (25, 120), 3: (125, 120), 4: (75, 60)}
RADIUS = 15


def potential(bigrams: tuple[tuple[int, int], ...]) -> dict[int, int]:
    """Heights that rise by 1 along each arc, as far as walks from the last token of the first bigram give them."""
    height = {bigrams[0][1]: 0}
    for _ in bigrams:
        for first, last in bigrams:
            if last in height:
                height.setdefault(first, height[last] + 1)
            if first in height:
                height.setdefault(last, height[first] - 1)
    return height


def graph(left: float, bigrams: tuple[tuple[int, int], ...]) -> list[str]:
    height = potential(bigrams)
    spots = {token: (left + x, y) for token, (x, y) in PLACES.items()}
    parts = []
    for first, last in bigrams:
        rises = first in height and last in height and height[first] == height[last] + 1
        colour = "first" if rises else "second"
        if first == last:
            x, y = spots[first]
            parts += [
                draw.dot(x + 20, y, colour, 13),
                draw.path([(x + 15, y + 17), (x + 14, y + 9), (x + 22, y + 8)], colour),
            ]
            continue
        (x, y), (u, v) = spots[last], spots[first]
        share = (RADIUS + 3) / math.hypot(u - x, v - y)
        parts.append(draw.arrow((x, y), (u - share * (u - x), v - share * (v - y)), colour))
    for token, (x, y) in spots.items():
        parts += [draw.dot(x, y, "box", RADIUS), draw.words(x, y + 5, str(token))]
        if token in height and first != last:
            parts.append(draw.words(x + RADIUS + 6, y + 5, f"+{height[token]}", "faint", "start", 13))
    parts.append(draw.words(left + 75, 290, f"{len(bigrams)} bigrams, ℓ = {lift_rank(np.array(bigrams))}"))
    return parts


def drawing() -> str:
    title = (
        "Three sets of five bigrams as arcs between five tokens. In the first, every arc rises by one step, and the "
        "differences of the inputs have rank 4. In the second one arc, in another colour, rises by two steps, and the "
        "rank is 5. Five loops have rank 1."
    )
    return draw.figure(title, 590, 310, draw.side_by_side(CASES, graph))


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
